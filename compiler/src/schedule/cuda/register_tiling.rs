//! Register tiling of stencils of matrices: each thread computes several rows of several columns,
//! and keeps the rows that they share in registers (Micikevicius 2009). Chosen where neighbouring
//! elements read the same elements of an array and the rows fit into registers; the cost is in
//! `stencil_cost.rs`.
//!
//! ```text
//! block: 8 warps below each other, each with R rows of 32 * v columns; a lane has v columns
//!
//! for each line of the arrays, from above the thread's first row to below its last:
//!     load what the lane's columns read of it, by aligned vector accesses (`register_window.rs`)
//!     compute what can be computed with it: sums shrink to one value before the next line comes
//!     store the rows that are complete
//! ```
//!
//! A line is loaded once for all rows of the thread that read it. Threads that are not in the
//! interior leave their elements to `boundary_elements.rs`. Blocks count the axes before the last
//! two. If rows may have any alignment, the columns of a lane are 32 apart and each is loaded by
//! itself; if arrays have any strides, a lane has one column.

pub mod placement;

use super::register_pressure::LineSchedule;
use super::register_window::{self, pieces};
use super::shared_tile_2d::SharedTiles;
use super::thread_layout::ThreadLayout;
use super::{access, boundary_elements, line_sums, map};
use crate::core::linear::is_i64;
use crate::core::{NodeId, Op, StencilHint};
use crate::error;
use crate::kernel::{Expr, Stmt};
use crate::plan::gpu::Profit;
use crate::scalar::{Lit, Ty};
use crate::schedule::boundary::interior::Interior;
use crate::schedule::element::lower::{LaunchContext, Lower, bind};
use crate::schedule::element::{canonical, opened};
use crate::schedule::facts::stencil::{self, Stencil};
use crate::schedule::groups::{FusedGroup, Item};
use placement::{InteriorBounds, Line, PlaneTiling, Reach, ThreadPosition};
use rustc_hash::FxHashMap as HashMap;
use std::collections::BTreeMap;

/// The maximum number of words of registers for the lines that a thread needs at once.
const MAX_WORDS: i64 = 160;

/// From this height of a stencil on, a thread has eight rows in place of four, so that the lines above and below its
/// rows are a smaller part of its loads.
const MANY_ROWS: i64 = 7;

/// The maximum number of taps for which a thread has the full vector width of columns if these are 32 apart; with
/// more taps it has two columns.
const MAX_TAPS_FULL_WIDTH: usize = 12;

/// The minimum share of the device, in percent, that the blocks keep busy. With less, the launch takes as long as a
/// warp whose rows are at an edge, which computes its elements one after another: 13 us for bytes, of which a thread
/// has 64, and 6 us for the 27-point stencil of f32.
const MIN_BUSY: u32 = 51;

/// The minimum number of resident blocks per multiprocessor for sums, which leaves a thread 64 registers. Without a
/// bound, ptxas takes either 32 registers, so that the thread waits for each line, or too many.
const RESIDENT_BLOCKS: u32 = 4;

/// The parameters of register tiling.
#[derive(Clone)]
pub struct RegisterTilingParams {
    /// The lines that a thread loads, in the order of loading.
    lines: Vec<Line>,
    tiling: PlaneTiling,
    /// The shared-memory tiles of the block. `None` if each thread loads its own lines.
    shared_tiles: Option<SharedTiles>,
    /// The number of elements of arrays that an element reads.
    taps: usize,
    /// Whether the stencil has many rows.
    many_rows: bool,
}

impl RegisterTilingParams {
    /// Returns the parameters, or the reason why register tiling does not serve the group. The reason is empty if the
    /// group just has no such stencil.
    pub fn of(
        l: &mut LaunchContext,
        (fused, inner): (&FusedGroup, &Interior),
        stencils: &[Stencil],
        strategy: StencilHint,
        layout: ThreadLayout,
    ) -> Result<RegisterTilingParams, Option<&'static str>> {
        let mine: Vec<&Stencil> = stencils.iter().filter(|s| s.is_static(&l.g)).collect();
        let shared = fused.domain.len() > 1 && mine.iter().any(|s| s.overlaps());
        if !shared || strategy == StencilHint::Direct {
            return Err(None);
        }
        if stencil::may_record(&mut l.g, &fused.domain, &inner.arrays, &mine) {
            return Err(Some("an element may leave a record where it is not at an edge"));
        }
        let widest = mine.iter().map(|s| s.reach(fused.domain.len() - 2)).map(|(a, b)| b - a + 1).max();
        let height = widest.unwrap_or(1);
        let taps = mine.iter().map(|s| s.taps.len()).sum::<usize>();
        let v = if layout.unaligned && taps > MAX_TAPS_FULL_WIDTH { layout.v.min(2) } else { layout.v };
        let tiling =
            PlaneTiling::new(if height < MANY_ROWS { 4 } else { 8 }, v, !layout.unaligned, layout.threads);
        if profit(l, fused, tiling).is_none() {
            return Err(Some("a block has many more rows or columns than the index space"));
        }
        let mut lines: Vec<Line> = mine.iter().flat_map(|s| lines(l, s, tiling)).collect();
        // all lines of one row are loaded together
        lines.sort_by_key(Line::row);
        let words = |line: &Line| {
            let size = l.g.ty(line.array).elem.size() as i64;
            line.pieces.iter().map(|p| (p.1 * size + 3) / 4).sum::<i64>()
        };
        let all: i64 = lines.iter().map(words).sum();
        if all * height / (tiling.thread_rows + height - 1) > MAX_WORDS {
            return Err(Some("the lines that are needed at once take too many registers"));
        }
        let tiled = strategy == StencilHint::Tile && !layout.strided && !layout.unaligned;
        let shared_tiles = if tiled { SharedTiles::of(l, &lines, tiling) } else { None };
        Ok(RegisterTilingParams { lines, tiling, shared_tiles, taps, many_rows: height >= MANY_ROWS })
    }

    /// Returns the minimum number of resident blocks per multiprocessor, or `None` for the bound of other maps. It is
    /// given where it was measured to be faster: for sums, which shrink to one value for each element before the next
    /// line comes, but not for few rows of one or two columns.
    pub fn min_resident_blocks(
        &self,
        l: &mut LaunchContext,
        inner: &Interior,
        layout: ThreadLayout,
    ) -> Option<u32> {
        let axes = self.lines.first()?.at.len() + 1;
        let index: Vec<NodeId> = (0..axes).map(|_| l.g.fresh_var(Ty::I64).1).collect();
        let roots: Vec<NodeId> = inner.arrays.iter().map(|a| opened(&mut l.g, *a, &index)).collect();
        let computes = |n: &NodeId| {
            let op = matches!(
                l.g.op(*n),
                Op::Unary(..) | Op::Binary(..) | Op::MulAdd(..) | Op::Select(..) | Op::Cast(..)
            );
            op && !l.g.is_closed(*n) && !is_i64(&l.g, *n)
        };
        let operations = l.g.reachable(roots).into_iter().filter(computes).count();
        let is_sum = operations <= 2 * self.taps + 8;
        let several_columns = self.tiling.v > 2 || self.many_rows || !layout.unaligned && self.tiling.v > 1;
        (is_sum && several_columns && self.shared_tiles.is_none()).then_some(RESIDENT_BLOCKS)
    }

    /// Returns the strategy's name in reports.
    pub fn strategy(&self) -> StencilHint {
        if self.shared_tiles.is_some() { StencilHint::Tile } else { StencilHint::Rows }
    }

    /// Returns the number of elements of a thread along each axis.
    fn sizes(&self) -> Vec<i64> {
        let outer = self.lines.first().map_or(0, |line| line.at.len() - 1);
        let mut sizes = vec![1; outer];
        sizes.extend([self.tiling.thread_rows, self.tiling.span()]);
        sizes
    }

    /// Returns what a thread loads of each array along each axis.
    fn reaches(&self) -> Vec<Reach> {
        let of = |line: &Line| {
            let outer: Vec<(i64, i64)> =
                line.at.iter().map(|i| (*i, i + 1)).chain([line.columns()]).collect();
            let array = line.array;
            outer.into_iter().enumerate().map(move |(axis, (first, end))| Reach { array, axis, first, end })
        };
        self.lines.iter().flat_map(of).collect()
    }

    /// Returns the bytes of an array that are loaded for each element.
    pub fn loaded(&self, l: &LaunchContext, s: &Stencil) -> f64 {
        let lines = self.lines.iter().filter(|line| line.array == s.array);
        let elements: i64 = lines.flat_map(|line| line.pieces.iter().map(|p| p.1)).sum();
        let size = l.g.ty(s.array).elem.size() as f64;
        match &self.shared_tiles {
            Some(shared_tiles) => {
                size * shared_tiles.elements(s.array) as f64
                    / (self.tiling.block_rows * self.tiling.block_columns) as f64
            }
            None => size * elements as f64 / (self.tiling.thread_rows * self.tiling.v) as f64,
        }
    }

    /// Returns for which extents blocks have enough elements, and there are enough blocks.
    pub fn profit(&self, l: &LaunchContext, fused: &FusedGroup) -> Profit {
        let of_plane = profit(l, fused, self.tiling).unwrap_or_default();
        Profit { min_busy: Some(MIN_BUSY), ..of_plane }
    }

    /// Returns the number of rows and of columns of a block.
    pub fn block(&self) -> (i64, i64) {
        (self.tiling.block_rows, self.tiling.block_columns)
    }
}

/// Returns for which extents blocks have enough elements, where constants do not decide it; `None` if they never
/// have.
pub fn profit(l: &LaunchContext, fused: &FusedGroup, tiling: PlaneTiling) -> Option<Profit> {
    let last = fused.domain.len().checked_sub(2)?;
    let mut limits = tiling.least().map(Some);
    for (n, limit) in fused.domain[last..].iter().zip(&mut limits) {
        if let Some(known) = l.g.as_lit(*n).map(Lit::as_i64)
            && limit.take().is_some_and(|least| known < least.into())
        {
            return None;
        }
    }
    let [min_rows, min_columns] = limits;
    Some(Profit { min_rows, min_columns, ..Profit::default() })
}

/// Returns the lines of one array that a thread's rows read.
pub fn lines(l: &LaunchContext, s: &Stencil, tiling: PlaneTiling) -> Vec<Line> {
    let mut columns: BTreeMap<Vec<i64>, Vec<i64>> = BTreeMap::new();
    for (r, tap) in (0..tiling.thread_rows).flat_map(|r| s.taps.iter().map(move |t| (r, t))) {
        let (column, before) = tap.split_last().unwrap_or((&0, &[]));
        let mut at = before.to_vec();
        at.iter_mut().next_back().into_iter().for_each(|row| *row += r);
        columns.entry(at).or_default().push(*column);
    }
    let width = if tiling.column_stride == 1 { register_window::widest(l, s.array, tiling.v) } else { 1 };
    let line = |(at, taps): (Vec<i64>, Vec<i64>)| {
        let lanes = taps.iter().flat_map(|t| tiling.thread_columns().map(move |k| t + k)).collect();
        Line { array: s.array, at, pieces: pieces(&lanes, width) }
    };
    columns.into_iter().map(line).collect()
}

/// Writes the body of one thread.
pub fn main(
    l: &mut Lower,
    fused: &FusedGroup,
    inner: &Interior,
    layout: ThreadLayout,
    params: &RegisterTilingParams,
) -> error::Result<Vec<Stmt>> {
    let (rows, columns) = params.block();
    let others = map::min_resident_blocks(l.launch.facts.cost, rows * columns / i64::from(layout.threads));
    l.k.kernel.min_resident_blocks = params.min_resident_blocks(l.launch, inner, layout).unwrap_or(others);
    let items: Vec<&Item> = fused.items.iter().collect();
    let params = &RegisterTilingParams {
        shared_tiles: params.shared_tiles.clone().map(|p| p.declared(l)),
        ..params.clone()
    };
    let (mut out, mut full) = (Vec::new(), Vec::new());
    let position = placement::position(l, fused, layout, params.tiling, &mut out);
    let within = (fused, inner.widths.as_slice());
    let tile = ThreadTile { items: &items, arrays: &inner.arrays, params, position: &position };
    let (thread_is_interior, warp_is_interior, bounds) = match &params.shared_tiles {
        Some(shared_tiles) => {
            let inside = shared_tiles.inside(l, within, params.tiling, &position);
            let inside = bind(l, "inside", inside, &mut out);
            shared_tiles.fill(l, &position, &mut full);
            (inside.clone(), inside, None)
        }
        None => {
            let firsts: Vec<Expr> = position.vars.iter().map(|v| v.1.clone()).collect();
            let bounds = InteriorBounds::of(l, within, &firsts, &params.sizes(), &params.reaches());
            let last = firsts.len() - 1;
            let own = bounds.contains(&firsts[last], params.tiling.span());
            (own, bounds.contains(&position.block[last], params.tiling.block_columns), Some(bounds))
        }
    };
    elements(l, &tile, &mut full)?;
    let edge = boundary_elements::elements(l, (fused, &items), params.tiling, &position, bounds.as_ref())?;
    out.push(Stmt::If(thread_is_interior, full, vec![]));
    out.push(Stmt::If(warp_is_interior, vec![], edge));
    Ok(out)
}

/// The elements of a thread, while their code is written.
struct ThreadTile<'a> {
    items: &'a [&'a Item],
    /// The arrays whose elements are computed.
    arrays: &'a [NodeId],
    params: &'a RegisterTilingParams,
    position: &'a ThreadPosition,
}

/// Computes all elements of a thread, line by line, and stores each row as soon as it is complete.
fn elements(l: &mut Lower, tile: &ThreadTile, out: &mut Vec<Stmt>) -> error::Result<()> {
    let &ThreadTile { items, arrays, params, position, .. } = tile;
    l.with_loaded(HashMap::default(), |l| {
        let mut roots = Vec::new();
        for (r, k) in
            (0..params.tiling.thread_rows).flat_map(|r| params.tiling.thread_columns().map(move |k| (r, k)))
        {
            let mut at = vec![0; position.vars.len()];
            let rank = at.len();
            (at[rank - 2], at[rank - 1]) = (r, k);
            let index = position.index(l, &at);
            roots.extend(arrays.iter().map(|a| opened(&mut l.launch.g, *a, &index)));
        }
        let mut roots = l.launch.shared(&roots);
        let mut rows: Vec<i64> = params.lines.iter().map(Line::row).collect();
        rows.dedup();
        let mut ready = HashMap::default();
        for line in &params.lines {
            for lane in line.pieces.iter().flat_map(|p| p.0..p.0 + p.1) {
                let at: Vec<i64> = line.at.iter().copied().chain([lane]).collect();
                ready.insert((line.array, position.index(l, &at)), line.row());
            }
        }
        let mut line_schedule = LineSchedule::of(l.launch, &roots, &ready);
        if let Some(ordered) = line_sums::by_lines(l.launch, &roots, &line_schedule) {
            roots = ordered;
            line_schedule = LineSchedule::of(l.launch, &roots, &ready);
        }
        let mut vars = position.vars.clone();
        let per_row = params.tiling.v as usize * items.len();
        let mut stored = 0;
        for row in rows {
            for line in params.lines.iter().filter(|line| line.row() == row) {
                load(l, line, tile, out);
            }
            line_schedule.advance(l, row, &mut vars, out)?;
            while stored < params.tiling.thread_rows
                && roots[stored as usize * per_row..][..per_row].iter().all(|n| line_schedule.line(*n) <= row)
            {
                let values = &roots[stored as usize * per_row..][..per_row];
                store(l, tile, stored, (values, &vars), out)?;
                stored += 1;
            }
        }
        Ok(())
    })
}

/// Loads a line into registers.
fn load(l: &mut Lower, line: &Line, tile: &ThreadTile, out: &mut Vec<Stmt>) {
    let &ThreadTile { params, position, .. } = tile;
    // the facts have this access already, so it need not be noted here
    let (mem, ty) = (l.launch.input(line.array), l.launch.g.ty(line.array).elem);
    let mut start = None;
    for (first, count) in &line.pieces {
        let (mem, at) = match params.shared_tiles.as_ref().and_then(|p| p.address(line, *first)) {
            Some(found) => found,
            None => {
                let start = match &start {
                    Some(known) => Expr::clone(known),
                    None => {
                        let line = position.line(l, mem, &line.at);
                        start.insert(bind(l, "line", line, out)).clone()
                    }
                };
                (mem, position.column(l, mem, &start, *first))
            }
        };
        let regs: Vec<_> = (0..*count).map(|_| l.k.reg("x", ty)).collect();
        for (lane, r) in (*first..).zip(&regs) {
            let at: Vec<i64> = line.at.iter().copied().chain([lane]).collect();
            let key = (line.array, position.index(l, &at));
            l.scope.loaded.get_or_insert_default().insert(key, Expr::Reg(*r));
        }
        access::load(l, mem, regs, at, out);
    }
}

/// Computes the rest of a row's values, and stores them.
fn store(
    l: &mut Lower,
    tile: &ThreadTile,
    row: i64,
    (roots, vars): (&[NodeId], &[(NodeId, Expr)]),
    out: &mut Vec<Stmt>,
) -> error::Result<()> {
    let &ThreadTile { items, params, position, .. } = tile;
    let values = l.region(vars, roots, &Expr::int(0), out)?;
    let mut at = vec![0; position.vars.len() - 1];
    at.iter_mut().next_back().into_iter().for_each(|r| *r = row);
    for (i, item) in items.iter().enumerate() {
        let (mem, ty) = (l.launch.output(item), l.launch.g.ty(item.node).elem);
        let line = position.line(l, mem, &at);
        let each = values.iter().skip(i).step_by(items.len());
        let list: Vec<Expr> = each.map(|e| canonical(e.clone(), ty, &mut l.k.kernel, out)).collect();
        if params.tiling.span() == 1 || params.tiling.column_stride > 1 {
            for (k, e) in params.tiling.thread_columns().zip(list) {
                out.push(Stmt::Store(mem, position.column(l, mem, &line, k), e));
            }
        } else {
            let to = position.column(l, mem, &line, 0);
            l.k.vector(mem);
            out.push(Stmt::StoreVec(mem, to, list));
        }
    }
    Ok(())
}
