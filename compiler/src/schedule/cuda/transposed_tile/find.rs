//! Recognises transposed reads, and chooses the tiles.

use super::geometry::{Partition, Swizzle, padded_pitch};
use crate::core::linear::Linear;
use crate::core::{NodeId, Op};
use crate::plan::gpu::Profit;
use crate::scalar::Lit;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::elements::MAX_UNROLLED;
use crate::schedule::cuda::map;
use crate::schedule::element::opened;
use crate::schedule::groups::{FusedGroup, is_store};
use crate::schedule::lower::LaunchContext;
use crate::schedule::stencil;

/// The bytes of shared memory that a block has on every device.
const MAX_BYTES: i64 = 48 << 10;
/// The sides of tiles, from the greatest.
const SIDES: [i64; 3] = [128, 64, 32];
/// The maximum number of rows, or columns, that the reads of one array are apart. More would make
/// the tile much larger than what an element needs of it.
const MAX_SPREAD: i64 = 16;

/// What a transposed read has as its index along one axis of its array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AxisIndex {
    /// The row of the element.
    Row,
    /// The column of the element.
    Column,
    /// A value that depends on neither.
    Other(NodeId),
}

/// The tile of one array: its elements at the given indices, for all rows and columns of a block.
#[derive(Clone, Debug)]
pub struct Tile {
    pub array: NodeId,
    /// The bytes of an element.
    pub size: i64,
    /// The indices. The last is the row, and another one the column.
    pub axes: Vec<AxisIndex>,
    /// The constants that are added to the column and to the row, of each read.
    pub reads: Vec<[i64; 2]>,
    /// Where its elements lie.
    pub swizzle: Swizzle,
}

impl Tile {
    /// Returns the least and the greatest constant that is added to the column (0) or the row (1).
    fn reach(&self, which: usize) -> (i64, i64) {
        let of = self.reads.iter().map(|r| r[which]);
        (of.clone().min().unwrap_or(0), of.max().unwrap_or(0))
    }

    /// Returns the constants of the tile's first element, and its rows and columns, as far as reads
    /// need them.
    pub fn needed(&self, side: i64) -> ([i64; 2], [i64; 2]) {
        let reaches = [0, 1].map(|which| self.reach(which));
        (reaches.map(|r| r.0), reaches.map(|r| side + r.1 - r.0))
    }

    /// Returns the constant of the first column that is loaded, if columns are loaded in chunks.
    pub fn first_chunk(&self) -> i64 {
        self.reach(1).0.div_euclid(self.swizzle.width) * self.swizzle.width
    }

    /// Returns the elements of its shared memory: chunks, or elements one by one.
    pub fn len(&self, side: i64) -> i64 {
        let (_, [rows, columns]) = self.needed(side);
        rows * self.swizzle.pitch.max(padded_pitch(columns, self.size))
    }
}

/// The parameters of a transposed tile.
#[derive(Clone)]
pub struct TransposedTileParams {
    /// The variables of an element's indices in the tiles' indices.
    pub index: Vec<NodeId>,
    pub tiles: Vec<Tile>,
    pub partition: Partition,
    /// Whether all accesses of full tiles take 16 bytes where that is possible. Else arrays may have
    /// any alignment, and elements are accessed one by one.
    pub is_aligned: bool,
}

impl TransposedTileParams {
    /// Returns the parameters for aligned arrays, if the strategy serves the group.
    pub fn of(l: &mut LaunchContext, fused: &FusedGroup, inner: &Interior) -> Option<TransposedTileParams> {
        let stores_only = !fused.sequential && fused.items.iter().all(|it| is_store(&l.g, it));
        // an error record names its element, and is left by the code of one element
        let is_simple = stores_only && !l.facts.nested && !l.facts.may_record && inner.is_whole(fused);
        if fused.domain.len() < 2 || !is_simple {
            return None;
        }
        if stencil::stencils(&mut l.g, &fused.domain, &inner.arrays).iter().any(|s| s.overlaps()) {
            return None;
        }
        let index: Vec<NodeId> = l.g.sample_index(fused.domain.len()).iter().map(|v| v.1).collect();
        let found = reads(l, fused, &index);
        let stored = fused.items.iter().map(|it| l.g.ty(it.node).elem.size() as i64);
        let straight = l.facts.accesses.own.iter().map(|x| l.g.ty(*x).elem.size() as i64);
        let widest = stored.clone().chain(straight).max()?;
        let narrowest = stored.chain(found.iter().map(|t| l.g.ty(t.0).elem.size() as i64)).min()?;
        let of_side = |side: i64| {
            let group = (16 / widest).min(side * side / i64::from(super::THREADS));
            let partition = Partition::new(side, group);
            let tiles: Vec<Tile> = found.iter().map(|found| tile(l, found, partition)).collect();
            let bytes = |t: &Tile| t.len(side) * t.size + 16;
            let fits = tiles.iter().map(bytes).sum::<i64>() <= MAX_BYTES;
            fits.then(|| TransposedTileParams { index: index.clone(), tiles, partition, is_aligned: true })
        };
        let most = match narrowest {
            1 => 128,
            2 | 4 => 64,
            _ => 32,
        };
        let params = SIDES.into_iter().filter(|side| *side <= most).find_map(of_side)?;
        let operations = i64::from(l.facts.cost) * params.partition.group;
        let is_cheap = operations <= 4 * i64::from(MAX_UNROLLED);
        (!params.tiles.is_empty() && is_cheap && params.profit(l, fused).is_some()).then_some(params)
    }

    /// Returns for which extents a block has enough elements, as far as it is not known here; `None`
    /// if it never has.
    pub fn profit(&self, l: &LaunchContext, fused: &FusedGroup) -> Option<Profit> {
        let least = (self.partition.side / 2) as u32;
        let last = fused.domain.len() - 2;
        let known = |n: &NodeId| l.g.as_lit(*n).map(Lit::as_i64);
        if fused.domain[last..].iter().filter_map(known).any(|n| n < least.into()) {
            return None;
        }
        Some(Profit { min_rows: Some(least), min_columns: Some(least), ..Profit::default() })
    }

    /// Returns the number of a thread's groups that are computed together, before the next ones.
    pub fn groups_at_once(&self, l: &LaunchContext) -> i64 {
        let affordable = i64::from(MAX_UNROLLED) / (i64::from(l.facts.cost.max(1)) * self.partition.group);
        self.partition.groups().min(1 << affordable.max(1).ilog2())
    }

    /// Returns the minimum number of resident blocks per multiprocessor, as for maps.
    pub fn min_resident_blocks(&self, l: &LaunchContext) -> u32 {
        map::min_resident_blocks(l.facts.cost, self.groups_at_once(l) * self.partition.group)
    }
}

/// A transposed array, with its indices, and the constants of each read.
type Found = (NodeId, Vec<AxisIndex>, Vec<[i64; 2]>);

/// Returns the transposed reads of the elements at `index`.
fn reads(l: &mut LaunchContext, fused: &FusedGroup, index: &[NodeId]) -> Vec<Found> {
    let roots: Vec<NodeId> = fused.items.iter().map(|it| opened(&mut l.g, it.node, index)).collect();
    let mut all: Vec<Found> = Vec::new();
    for n in l.g.reachable(roots) {
        let Op::Elem(x, at) = l.g.op(n).clone() else { continue };
        let Some((axes, read)) = transposed(l, &at, index) else { continue };
        let near = |f: &&mut Found| {
            let apart = |other: &[i64; 2]| (0..2).map(|i| other[i].abs_diff(read[i])).max();
            f.0 == x && f.1 == axes && f.2.iter().all(|r| apart(r) <= Some(MAX_SPREAD as u64))
        };
        match all.iter_mut().find(near) {
            Some(found) if found.2.contains(&read) => {}
            Some(found) => found.2.push(read),
            None => all.push((x, axes, vec![read])),
        }
    }
    all
}

/// Returns the indices of a transposed read, and the constants that it adds to the column and to the
/// row; `None` if it is no transposed read.
fn transposed(l: &LaunchContext, at: &[NodeId], index: &[NodeId]) -> Option<(Vec<AxisIndex>, [i64; 2])> {
    let [.., row, column] = *index else { return None };
    let (mut axes, mut constants) = (Vec::new(), [0, 0]);
    for i in at {
        let depends = |on: NodeId| l.g.node(*i).free.iter().any(|v| l.g.node(on).free.contains(v));
        let form = Linear::of(&l.g, *i);
        let is = |of: NodeId| form.terms.len() == 1 && form.terms.get(&of) == Some(&1);
        let (axis, which) = match (is(column), is(row)) {
            (true, _) => (AxisIndex::Column, 0),
            (_, true) => (AxisIndex::Row, 1),
            _ if depends(row) || depends(column) => return None,
            _ => {
                axes.push(AxisIndex::Other(*i));
                continue;
            }
        };
        if axes.contains(&axis) || form.constant.unsigned_abs() >= 1 << 30 {
            return None;
        }
        axes.push(axis);
        constants[which] = form.constant;
    }
    let is_transposed = axes.last() == Some(&AxisIndex::Row) && axes.contains(&AxisIndex::Column);
    is_transposed.then_some((axes, constants))
}

fn tile(l: &LaunchContext, (array, axes, reads): &Found, partition: Partition) -> Tile {
    let size = l.g.ty(*array).elem.size() as i64;
    let swizzle = |chunks| Swizzle::new(partition, size, chunks);
    let mut tile =
        Tile { array: *array, size, axes: axes.clone(), reads: reads.clone(), swizzle: swizzle(1) };
    let ([_, first], [_, columns]) = tile.needed(partition.side);
    let (start, width) = (tile.first_chunk(), tile.swizzle.width);
    tile.swizzle = swizzle((first + columns - start + width - 1) / width);
    tile
}
