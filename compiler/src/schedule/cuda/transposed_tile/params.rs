//! Chooses the tiles, and says which maps have none.

use super::geometry::{CHUNK, Partition, Swizzle, padded_pitch};
use crate::core::NodeId;
use crate::kernel::{MAX_SHARED, STATIC_SHARED};
use crate::plan::gpu::Profit;
use crate::scalar::Lit;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::cuda::elements::MAX_UNROLLED;
use crate::schedule::cuda::map;
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::element::opened;
use crate::schedule::facts::stencil;
use crate::schedule::facts::transposed::{self, TiledArray, TransposedReads};
use crate::schedule::groups::{FusedGroup, is_store};

/// The sides of tiles, from the greatest.
const SIDES: [i64; 4] = [256, 128, 64, 32];
/// The bytes of a row of a large tile: two cache lines. On an H100, a copy by tiles of 128 x 128 bytes that swaps
/// nothing takes 0.199 ms, by tiles of 256 x 256 bytes 0.189, and a copy in order 0.181.
const LARGE_ROW: i64 = 256;
/// The maximum number of operations of an element. With more of them, computing takes longer than reading element by
/// element. The number is computed, not measured: for bytes, such reads take the time of about a hundred operations.
const MAX_COST: u32 = 256;
/// The minimum number of elements of a group, even if loads of wider arrays at the own index would take fewer: such
/// loads take several accesses instead, so that the stores of narrow results do not become narrower.
const MIN_GROUP: i64 = 4;

/// The tile of one array: what a block's elements read of it.
#[derive(Clone, Debug)]
pub struct Tile {
    pub of: TransposedReads,
    /// The bytes of an element.
    pub size: i64,
    /// Where its elements lie.
    pub swizzle: Swizzle,
}

impl Tile {
    /// Returns the least and the greatest constant that is added to the column (0) or the row (1).
    fn reach(&self, which: usize) -> (i64, i64) {
        let of = self.of.distances.iter().map(|r| r[which]);
        (of.clone().min().unwrap_or(0), of.max().unwrap_or(0))
    }

    /// Returns the constants of the tile's first element, and the numbers of its rows and columns that reads need.
    pub fn needed(&self, side: i64) -> ([i64; 2], [i64; 2]) {
        let reaches = [0, 1].map(|which| self.reach(which));
        (reaches.map(|r| r.0), reaches.map(|r| side + r.1 - r.0))
    }

    /// Returns the constant of the first column that is loaded, if columns are loaded in chunks.
    pub fn first_chunk(&self) -> i64 {
        self.reach(1).0.div_euclid(self.swizzle.width) * self.swizzle.width
    }

    /// Returns the number of columns that are loaded, if columns are loaded in chunks.
    pub fn chunked(&self) -> i64 {
        self.swizzle.chunks * self.swizzle.width
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
    /// The variables that stand for an element's indices in the indices of the tiles.
    pub index: Vec<NodeId>,
    pub tiles: Vec<Tile>,
    pub partition: Partition,
    /// Whether all accesses of full tiles take 16 bytes where that is possible. Else arrays may have
    /// any alignment, and elements are accessed one by one.
    pub is_aligned: bool,
}

impl TransposedTileParams {
    /// Returns the parameters for aligned arrays, if the strategy serves the group. Matrices have large tiles if
    /// there are enough of them for all the places of the device.
    pub fn of(
        l: &mut LaunchContext,
        fused: &FusedGroup,
        inner: &Interior,
        is_large: bool,
    ) -> Option<TransposedTileParams> {
        let stores_only = !fused.sequential && fused.items.iter().all(|it| is_store(&l.g, it));
        // an error record names its element, so the code of a single element must leave it
        let is_simple = stores_only && !l.facts.nested && !l.facts.may_record && inner.is_whole(fused);
        if fused.domain.len() < 2 || !is_simple || l.facts.cost > MAX_COST {
            return None;
        }
        if stencil::stencils(&mut l.g, &fused.domain, &inner.arrays).iter().any(|s| s.overlaps()) {
            return None;
        }
        let index: Vec<NodeId> = l.g.sample_index(fused.domain.len()).iter().map(|v| v.1).collect();
        let roots = fused.items.iter().map(|it| opened(&mut l.g, it.node, &index)).collect();
        let found = transposed::of(&mut l.g, &index, roots);
        let size = |x: &NodeId| l.g.ty(*x).elem.size() as i64;
        let stored = fused.items.iter().map(|it| size(&it.node));
        let own = l.facts.accesses.own.iter().map(size).max().unwrap_or(1);
        let narrowest = stored.clone().chain(found.iter().map(|t| size(&t.array))).min()?;
        let most_stored = CHUNK / stored.max()?;
        let affordable = 1 << (4 * MAX_UNROLLED / l.facts.cost.max(1)).max(1).ilog2();
        let most_bytes = if is_large { MAX_SHARED } else { STATIC_SHARED };
        let of_side = |side: i64| {
            let most = side * side / i64::from(map::THREADS);
            let group = (CHUNK / own).max(MIN_GROUP).min(most_stored).min(most).min(affordable);
            let partition = Partition::new(side, group);
            let tiles: Vec<Tile> = found.iter().map(|found| tile(l, found, partition)).collect();
            let bytes = |t: &Tile| t.len(side) * t.size + 16;
            let fits = tiles.iter().map(bytes).sum::<i64>() <= most_bytes.into();
            fits.then(|| TransposedTileParams { index: index.clone(), tiles, partition, is_aligned: true })
        };
        let most = match narrowest {
            narrowest if is_large => LARGE_ROW / narrowest,
            1 => 128,
            2 | 4 => 64,
            _ => 32,
        };
        let params = SIDES.into_iter().filter(|side| *side <= most).find_map(of_side)?;
        (!params.tiles.is_empty() && params.profit(l, fused).is_some()).then_some(params)
    }

    /// Returns for which extents a block has enough elements, where constants do not decide it; `None` if it never
    /// has.
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

    /// Returns what was decided about the arrays that are read transposed, for reports.
    pub fn report(&self, l: &LaunchContext) -> Vec<TiledArray> {
        let side = self.partition.side;
        let tile = |t: &Tile| {
            let (_, [rows, columns]) = t.needed(side);
            let loaded = (rows * t.chunked() * t.size) as f64 / (side * side) as f64;
            TiledArray { array: l.array_name(t.of.array), tile: [rows, columns], loaded }
        };
        self.tiles.iter().map(tile).collect()
    }

    /// Returns the minimum number of resident blocks per multiprocessor, as for maps.
    pub fn min_resident_blocks(&self, l: &LaunchContext) -> u32 {
        map::min_resident_blocks(l.facts.cost, self.groups_at_once(l) * self.partition.group)
    }
}

/// Returns the tile that these reads need for a block's elements.
fn tile(l: &LaunchContext, of: &TransposedReads, partition: Partition) -> Tile {
    let size = l.g.ty(of.array).elem.size() as i64;
    let swizzle = |chunks| Swizzle::new(partition, size, chunks);
    let mut tile = Tile { of: of.clone(), size, swizzle: swizzle(1) };
    let ([_, first], [_, columns]) = tile.needed(partition.side);
    let (start, width) = (tile.first_chunk(), tile.swizzle.width);
    tile.swizzle = swizzle((first + columns - start + width - 1) / width);
    tile
}
