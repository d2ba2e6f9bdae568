//! Scan: each part of a scan (semantics 5.18) is a launch of its own, so that no block waits for another (reduce,
//! then scan: D. Merrill, A. Grimshaw, "Parallel scan for stream architectures", 2009). The elements are read twice
//! and stored once.
//!
//! ```text
//! chunk: 4 elements of a lane    row: 32 chunks of a warp    tile: 64 rows of a block    group: 32 tiles
//!
//! ScanPart::Totals   the total of each tile                        a block for each tile
//! ScanPart::Before   the prefix of each tile, from all totals      one block, in rounds: a warp for each group
//! ScanPart::Tiles    the scan of each tile, after its prefix       a block for each tile
//! ```
//!
//! The *prefix* of a tile (or row, or chunk) is the join of the initial value and all elements before it. *Partial
//! results* are what a scan gives at each element (inclusive). Within a tile, warps scan the totals of a row's
//! chunks, and then one warp scans the totals of the rows, by a butterfly over lanes (`halve`).

mod before;
mod behind;
mod compact;
pub mod one_pass;
mod place;
mod rows;

use super::access;
use super::elements::Elements;
use super::expressions::{int32, to_i64, warp_number};
use super::partial_tile::PartialTile;
use super::segments::lane;
use super::thread_layout::ThreadLayout;
use super::variant::{Choice, Guards, VariantGroup};
use crate::core::{SCAN_CHUNK, SCAN_ROW, SCAN_TILE, ScanPart};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Mem, Stmt, WARP};
use crate::plan::gpu::Grid;
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::boundary::interior::Interior;
use crate::schedule::element::canonical;
use crate::schedule::element::lower::{LaunchContext, Lower, bind};
use crate::schedule::element::scan_operator::Operator;
use crate::schedule::facts::scans::Scan;
use crate::schedule::groups::{FusedGroup, Item, domain};
use std::rc::Rc;

/// The threads of a block that has a tile, and of the block that computes prefixes.
const THREADS: u32 = 512;
const THREADS_OF_GROUPS: u32 = 1024;
const ROWS: i64 = SCAN_TILE / SCAN_ROW;
/// The number of rows of a warp in a block that has a tile.
const OF_WARP: i64 = ROWS * WARP as i64 / THREADS as i64;

/// The maximum number of stored arrays for which a launch that stores elements at other places asks for two resident
/// blocks.
const MAX_BOUND: usize = 3;

/// The values of all components of one item.
type Value = Vec<Expr>;

/// Returns the variants of a part of a scan, or `None` if the group is not one.
pub fn variants(l: &mut LaunchContext, fused: &FusedGroup) -> Option<Vec<VariantGroup>> {
    let scan = Scan::of(&l.g, &fused.items)?;
    let (inner, threads) = (Rc::new(Interior::whole(fused)), threads(scan.part));
    // a scan that counts elements computes in 32 bits if there are fewer than 2^31 of them
    let counts = scan.counts(&l.g);
    let groups = |strided: bool, list: &[(&str, Guards)]| {
        let v = if strided { 1 } else { SCAN_CHUNK };
        let layout = ThreadLayout { v, strided, threads, ..Default::default() };
        let (short, long): (Vec<_>, Vec<_>) = list.iter().partition(|(_, guards)| counts && guards.narrow);
        let both = [(true, short), (false, long)].into_iter().filter(|(_, list)| !list.is_empty());
        let of_list = |(in_32_bits, list): (bool, Vec<(&str, Guards)>)| {
            let mut scan = scan.clone();
            scan.in_32_bits = in_32_bits;
            VariantGroup::guarded(Choice::Scan(scan), layout, &inner, &list)
        };
        both.map(of_list).collect::<Vec<_>>()
    };
    let contiguous = Guards::contiguous();
    // the outputs of `Totals` have one element for each tile, so guards on strides and aliases make sense only if an
    // array is read at each element
    let has_length = scan.part != ScanPart::Totals || l.facts.accesses.pointwise().next().is_some();
    let skipped = if has_length { 0 } else { 2 };
    let usual =
        [("", contiguous.narrow().noalias()), ("_in_place", contiguous.narrow()), ("_wide", contiguous)];
    // in a launch that stores at other places no output is an input; its unrolled code has too few registers for
    // 64-bit indices, so the variant for any strides serves these
    let is_left_out = |suffix: &str| match suffix {
        "_in_place" => scan.goes_elsewhere(),
        "_wide" => scan.goes_elsewhere() && l.wanted.is_general(),
        _ => false,
    };
    let usual: Vec<(&str, Guards)> =
        usual.into_iter().filter(|(suffix, _)| !is_left_out(suffix)).skip(skipped).collect();
    let mut all = groups(false, &usual);
    if l.wanted.is_general() {
        let strided = Guards::strided();
        all.extend(groups(true, &[("_any", strided.narrow()), ("_any_wide", strided)][skipped / 2..]));
    }
    Some(all)
}

fn threads(part: ScanPart) -> u32 {
    if part == ScanPart::Before { THREADS_OF_GROUPS } else { THREADS }
}

/// Returns the minimum number of resident blocks per multiprocessor; 0 sets no bound. Blocks that store elements at
/// other places have further loads to wait for, so two should be resident. Without the bound the assembler takes 79
/// registers for a digit of keys, and only one block fits. With more arrays, the bound would leave too few registers.
fn min_resident_blocks(scan: &Scan, fused: &FusedGroup, layout: ThreadLayout) -> u32 {
    let is_bound = scan.goes_elsewhere() && fused.items.len() <= MAX_BOUND && !layout.strided;
    if is_bound { 2 } else { 0 }
}

/// Returns the kernel body of a part of a scan, and its grid.
pub fn main(
    l: &mut Lower,
    fused: &FusedGroup,
    scan: &Scan,
    layout: ThreadLayout,
) -> Result<(Vec<Stmt>, Grid)> {
    l.k.kernel.min_resident_blocks = min_resident_blocks(scan, fused, layout);
    let mut out = Vec::new();
    let items = Scan::items(&l.launch.g, &fused.items);
    let code = Code::new(l, (scan, &items), fused, layout, &mut out);
    if scan.part == ScanPart::Before {
        code.before_tiles(l, &mut out)?;
        return Ok((out, Grid::One));
    }
    code.tile(l, &mut out)?;
    Ok((out, Grid::Segments(1)))
}

/// What the functions that write the kernel of a part share.
struct Code<'a> {
    scan: &'a Scan,
    operator: Operator,
    items: &'a [(usize, &'a Item)],
    fused: &'a FusedGroup,
    layout: ThreadLayout,
    lane: Expr,
    warp: Expr,
}

impl<'a> Code<'a> {
    fn new(
        l: &mut Lower,
        (scan, items): (&'a Scan, &'a [(usize, &'a Item)]),
        fused: &'a FusedGroup,
        layout: ThreadLayout,
        out: &mut Vec<Stmt>,
    ) -> Code<'a> {
        let lane = lane(l, WARP, out);
        let warp = bind(l, "warp", warp_number(), out);
        Code { operator: Operator::of(l, scan), scan, items, fused, layout, lane, warp }
    }

    /// Returns the partial results of a chunk's four elements, within the chunk.
    fn chunk(&self, l: &mut Lower, x: &[Value], out: &mut Vec<Stmt>) -> Result<[Value; 4]> {
        let (low, all) = self.total_of_chunk(l, x, out)?;
        let third = self.operator.join(l, &low, &x[2], out)?;
        Ok([x[0].clone(), low, third, all])
    }

    /// Returns the total of the first half of a chunk, and that of the chunk.
    fn total_of_chunk(&self, l: &mut Lower, x: &[Value], out: &mut Vec<Stmt>) -> Result<(Value, Value)> {
        let low = self.operator.join(l, &x[0], &x[1], out)?;
        let high = self.operator.join(l, &x[2], &x[3], out)?;
        let all = self.operator.join(l, &low, &high, out)?;
        Ok((low, all))
    }

    /// Returns the thread's elements of a tile, the index of the tile's first element (i64), and whether all elements
    /// of the tile exist.
    fn elements_of_tile(
        &self,
        l: &mut Lower,
        tile: Expr,
        n: &Expr,
        out: &mut Vec<Stmt>,
    ) -> (Elements, Expr, Expr) {
        let begin = bind(l, "begin", tile.times(Expr::int(SCAN_TILE)), out);
        let of_warp = to_i64(self.warp.clone()).times(Expr::int(self.of_warp() * SCAN_ROW));
        let of_lane = to_i64(self.lane.clone()).times(Expr::int(SCAN_CHUNK));
        let base = bind(l, "base", begin.clone().plus(of_warp).plus(of_lane), out);
        let is_full = Expr::binary(BinaryOp::Le, begin.clone().plus(Expr::int(SCAN_TILE)), n.clone());
        let is_full = bind(l, "full", is_full, out);
        let rows = (0..self.of_warp()).map(|j| j * SCAN_ROW).collect();
        (Elements::new(l, base, rows, SCAN_CHUNK), begin, is_full)
    }

    /// Writes the kernel body of `Totals` and of `Tiles`, in which a block has a tile.
    fn tile(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<()> {
        let n = self.scan.length(&mut l.launch.g);
        let n = l.launch.host(n);
        let partition = self.partition(l);
        let block = to_i64(Expr::Place(Gpu::Block));
        let tile = match &partition {
            // tiles in reverse order: the launch of the totals read the last tiles last, so they may still be cached
            Some(_) => {
                let tiles = self.scan.tiles(&mut l.launch.g);
                l.launch.host(tiles).minus(block).minus(Expr::int(1))
            }
            None => block,
        };
        let tile = bind(l, "tile", tile, out);
        let (elements, begin, is_full) = self.elements_of_tile(l, tile.clone(), &n, out);
        if let Some(partition) = partition {
            return self.compact(l, (&partition, &elements), (&tile, &begin), (&is_full, &n), out);
        }
        let x = self.load(l, &elements, (&is_full, &n), out)?;
        // for each row: the partial results within the lane's chunk, and the join of the chunks up to that one
        let is_scan = self.scan.part == ScanPart::Tiles;
        let (mut own, mut chunks) = (Vec::new(), Vec::new());
        let rows = self.share(l, "rows", ROWS);
        for (x, row) in x.chunks(SCAN_CHUNK as usize).zip(0..) {
            let all = if is_scan {
                let results = self.chunk(l, x, out)?;
                let all = results[3].clone();
                own.push(results);
                all
            } else {
                self.total_of_chunk(l, x, out)?.1
            };
            let mut inside = if is_scan { vec![all.clone()] } else { Vec::new() };
            let total = self.halve(l, all, &mut inside, out)?;
            chunks.extend(inside);
            let at = self.row(row);
            let is_first = Expr::binary(BinaryOp::Eq, self.lane.clone(), int32(0));
            out.push(Stmt::If(is_first, store_all(&rows, &at, &total), vec![]));
        }
        out.push(Stmt::Barrier);
        let halved = self.share(l, "halved", ROWS);
        let mut first = Vec::new();
        self.rows(l, (&rows, &halved), (&tile, &is_full), &mut first)?;
        let is_first = Expr::binary(BinaryOp::Eq, self.warp.clone(), int32(0));
        out.push(Stmt::If(is_first, first, vec![]));
        if is_scan {
            out.push(Stmt::Barrier);
            let before = self.before_chunks(l, &tile, (&halved, chunks), out)?;
            self.store(l, &elements, (before, own), (is_full, &n), out)?;
        }
        Ok(())
    }

    /// Returns the number of rows of a warp.
    fn of_warp(&self) -> i64 {
        ROWS * i64::from(WARP) / i64::from(self.layout.threads)
    }

    /// Returns the number in the tile of the warp's row with the number `row`.
    fn row(&self, row: i64) -> Expr {
        self.warp.clone().times(int32(self.of_warp() as i32)).plus(int32(row as i32))
    }

    fn share(&self, l: &mut Lower, name: &'static str, len: i64) -> Vec<Mem> {
        self.types().map(|ty| l.k.share(name, ty, len as u32)).collect()
    }

    /// Returns the types in which components are computed: of 32 bits for counts of few elements.
    fn types(&self) -> impl Iterator<Item = Ty> {
        self.scan.types.iter().map(|ty| self.scan.computed(*ty))
    }

    /// Converts values from the types in which they are computed to the components' own types.
    fn widened(&self, values: &[Expr]) -> Value {
        values.iter().map(|e| if self.scan.in_32_bits { to_i64(e.clone()) } else { e.clone() }).collect()
    }

    /// Loads the elements of a thread. In place of elements past the end, the last one is loaded.
    fn load(
        &self,
        l: &mut Lower,
        elements: &Elements,
        (is_full, n): (&Expr, &Expr),
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Value>> {
        self.load_after(l, elements, (is_full, n), &|_, _| {}, out)
    }

    /// Does what [`Self::load`] does. In a full tile, `first` runs before the loads and may note elements that need
    /// no load.
    fn load_after(
        &self,
        l: &mut Lower,
        elements: &Elements,
        (is_full, n): (&Expr, &Expr),
        first: &dyn Fn(&mut Lower, &mut Vec<Stmt>),
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Value>> {
        let types: Vec<Ty> = self.types().collect();
        let load = |l: &mut Lower, out: &mut Vec<Stmt>| {
            first(l, out);
            elements.load(l, &[], out);
        };
        let tile = PartialTile { elements, is_full, n, strided: self.layout.strided };
        tile.values(l, ("own", &types), &load, |l, i| self.scan.elements(&mut l.launch.g, i), out)
    }

    /// Scans over the lanes of a warp by a butterfly: lanes exchange totals with lane `^ d`, for d = 1, 2, .. 16. The
    /// totals of all lower lanes are joined before each of the values `inside`. Returns the total of all lanes.
    fn halve(
        &self,
        l: &mut Lower,
        mut total: Value,
        inside: &mut [Value],
        out: &mut Vec<Stmt>,
    ) -> Result<Value> {
        let mut distance = 1;
        while distance < WARP {
            let other: Value = total
                .iter()
                .map(|e| bind(l, "other", Expr::ShuffleXor(Box::new(e.clone()), distance), out))
                .collect();
            let bit = Expr::binary(BinaryOp::And, self.lane.clone(), int32(distance as i32));
            let is_high = bind(l, "high", Expr::binary(BinaryOp::Ne, bit, int32(0)), out);
            for own in inside.iter_mut() {
                let joined = self.operator.join(l, &other, own, out)?;
                *own = chosen(l, &is_high, &joined, own, out);
            }
            let low = chosen(l, &is_high, &other, &total, out);
            let high = chosen(l, &is_high, &total, &other, out);
            total = self.operator.join(l, &low, &high, out)?;
            distance *= 2;
        }
        Ok(total)
    }

    /// Stores the thread's partial results, or what is computed from them. `before` has the prefixes of its chunks,
    /// and `own` the partial results within each.
    fn store(
        &self,
        l: &mut Lower,
        elements: &Elements,
        (before, own): (Vec<Value>, Vec<[Value; 4]>),
        (is_full, n): (Expr, &Expr),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        if self.scan.placed.is_some() {
            return self.place(l, elements, (before, own), (is_full, n), out);
        }
        let (mut full, mut part) = (Vec::new(), Vec::new());
        for (j, (before, own)) in before.iter().zip(&own).enumerate() {
            let mut values = Vec::new();
            for own in own {
                let value = self.operator.join(l, before, own, out)?;
                values.push(self.widened(&value));
            }
            let first = j * SCAN_CHUNK as usize;
            for (which, it) in self.items {
                let (mem, ty) = (l.launch.output(it), l.launch.g.ty(it.node).elem);
                let of_item = bound(l, ty, values.iter().map(|v| v[*which].clone()), out);
                if !self.layout.strided {
                    access::store(l, mem, of_item.clone(), elements.at(first), &mut full);
                }
                for (k, e) in of_item.into_iter().enumerate() {
                    let i = elements.at(first + k);
                    let is_inside = Expr::binary(BinaryOp::Lt, i.clone(), n.clone());
                    part.push(Stmt::If(is_inside, vec![Stmt::Store(mem, i, e)], vec![]));
                }
            }
        }
        match self.layout.strided {
            true => out.append(&mut part),
            false => out.push(Stmt::If(is_full, full, part)),
        }
        Ok(())
    }

    fn store_one(&self, l: &mut Lower, values: &[Expr], at: &Expr, out: &mut Vec<Stmt>) {
        for (which, it) in self.items {
            let (mem, ty) = (l.launch.output(it), l.launch.g.ty(it.node).elem);
            let extents = domain(&l.launch.g, it.node);
            let at = l.place(mem, &extents, at);
            let e = canonical(values[*which].clone(), ty, &mut l.k.kernel, out);
            out.push(Stmt::Store(mem, at, e));
        }
    }
}

/// Returns the values of the lane below this one.
fn shifted(l: &mut Lower, values: &[Expr], out: &mut Vec<Stmt>) -> Value {
    values.iter().map(|e| bind(l, "lower", Expr::ShuffleUp(Box::new(e.clone()), 1), out)).collect()
}

fn chosen(l: &mut Lower, first: &Expr, a: &[Expr], b: &[Expr], out: &mut Vec<Stmt>) -> Value {
    let both = a.iter().zip(b).map(|(a, b)| first.clone().select(a.clone(), b.clone()));
    both.map(|e| bind(l, "chosen", e, out)).collect()
}

fn load_all(l: &mut Lower, from: &[Mem], at: &Expr, out: &mut Vec<Stmt>) -> Value {
    from.iter().map(|m| bind(l, "v", Expr::load(*m, at.clone()), out)).collect()
}

fn store_all(to: &[Mem], at: &Expr, values: &[Expr]) -> Vec<Stmt> {
    to.iter().zip(values).map(|(m, e)| Stmt::Store(*m, at.clone(), e.clone())).collect()
}

/// Binds an item's values of neighbouring elements to registers, in the form in which they are stored.
fn bound(l: &mut Lower, ty: Ty, values: impl Iterator<Item = Expr>, out: &mut Vec<Stmt>) -> Vec<Expr> {
    let values: Vec<Expr> = values.map(|v| canonical(v, ty, &mut l.k.kernel, out)).collect();
    values.into_iter().map(|e| bind(l, "y", e, out)).collect()
}
