//! Reduction by the fixed tree (semantics 5.1), for any number of reductions and stored vectors
//! over one index space: a team of 128 threads per tile, with one column per thread. Chosen for all
//! reductions that are neither segmented nor nested. Its cost is that of reading memory once.
//!
//! A row of 128 columns is one coalesced access by each of four warps. A thread loads all 16 rows of its column
//! before it folds them; then lanes are joined by shuffles, and warps through shared memory ([`super::tree`]). A
//! block has two teams and takes `span` pairs of tiles, in turn with the other blocks of its group. [`super::levels`]
//! joins the tiles' results in the same launch. One warp for each tile, with 16-byte accesses, is as fast on long
//! vectors; on short ones it takes 1.3 times as long, because only a quarter as many threads read at once
//! (`bench/NOTES.md`).

mod stored;
mod tile;

use super::divided_number::{DividedNumber, Walk};
use super::elements::{stored, words};
use super::expressions::{int32, thread, to_i64, warp_number};
use super::levels::{self, ReductionBlock, TEAMS, THREADS};
use super::thread_layout::ThreadLayout;
use super::tree::{Column, WARPS, join_warps, variables, width_of};
use crate::core::{COLUMNS, NodeId, TILE, Var};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Mem, Reg, STATIC_SHARED, Stmt, WARP};
use crate::plan::gpu::Grid;
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::element;
use crate::schedule::element::in_bounds::{self, Range};
use crate::schedule::element::lower::{LaunchContext, Lower, bind};
use crate::schedule::element::nested_loop::read;
use crate::schedule::element::reduction::{Accumulator, Reduction, by_reduction, each_accumulator, tiles};
use crate::schedule::groups::{FusedGroup, Item};
pub use stored::{StoredKernel, main as main_of_stored, stored_kernels};
use tile::{MatrixTile, ROWS, Tile};

/// The maximum number of pairs of tiles of a block, for long vectors: with more pairs, fewer blocks
/// arrive at the counters. More than 8 pairs are faster only if an element has 4 bytes.
const MAX_SPAN: u32 = 32;
/// Words of memory that a thread keeps in flight.
const WORDS_IN_FLIGHT: i64 = 32;
/// The maximum number of operations of the rows that a thread has unrolled.
const MAX_UNROLLED: i64 = 200;
/// [`WORDS_IN_FLIGHT`] for arrays with any strides, where every element has an address of its own.
const STRIDED_WORDS_IN_FLIGHT: i64 = 16;
/// Bytes of shared memory that are kept for what a block shares beside results.
const COUNTER_BYTES: u32 = 64;

/// Returns the minimum number of resident blocks per multiprocessor, by the cost of an element and the bytes of all
/// results. It leaves a thread 64, 128 or all registers; arrays with any strides need registers for addresses. None
/// of the kernels that the tests assemble spills.
pub fn min_resident_blocks(l: &LaunchContext, fused: &FusedGroup, strided: bool) -> u32 {
    let sizes = fused.items.iter().map(|it| l.g.ty(it.node).elem.size());
    match (l.facts.cost, sizes.sum::<usize>()) {
        (0..=10, 0..=4) if !strided => 4,
        (0..=20, 0..=8) if !strided => 2,
        _ => 1,
    }
}

/// Returns the maximum span for elements of these layouts.
fn max_span(l: &LaunchContext, layout: ThreadLayout) -> u32 {
    if words(l, l.facts.accesses.pointwise(), layout) > 1 { 8 } else { MAX_SPAN }
}

/// Returns the pairs of tiles for whose results shared memory has room, at most [`MAX_SPAN`].
fn span_with_room(reductions: &[Reduction]) -> u32 {
    let bytes: usize = each_accumulator(reductions).map(|r| r.ty.size()).sum();
    let of_pair = bytes as u32 * (THREADS / WARP);
    // a flag lies behind them
    ((STATIC_SHARED - COUNTER_BYTES) / of_pair.max(1)).clamp(1, MAX_SPAN)
}

/// Returns the code and the grid.
pub fn main(
    l: &mut Lower,
    fused: &FusedGroup,
    scalars: &[u32],
    layout: ThreadLayout,
) -> Result<(Vec<Stmt>, Grid)> {
    l.k.kernel.min_resident_blocks = min_resident_blocks(l.launch, fused, layout.strided);
    let items = stored(l.launch, fused);
    let n = l.launch.count();
    let reductions = Reduction::all(l.launch, fused);
    let mut out = Vec::new();
    let room = span_with_room(&reductions);
    // powers of two: a group of tiles has a whole number of blocks
    let max_span = max_span(l.launch, layout).min(1 << room.ilog2());
    let entries = room * (THREADS / WARP);
    let ThreadOfReduction { block, warp, side } = begin(l, &reductions, entries, &mut out);
    let (column, count) = (block.column.clone(), block.count.clone());

    let affordable = MAX_UNROLLED / i64::from(l.launch.facts.cost.max(1));
    let words_in_flight = if layout.strided { STRIDED_WORDS_IN_FLIGHT } else { WORDS_IN_FLIGHT };
    let batch = (words_in_flight / words(l.launch, l.launch.facts.accesses.pointwise(), layout))
        .min(affordable)
        .clamp(1, ROWS);
    let (var, k) = l.launch.g.fresh_var(Ty::I64);
    let roots = elements_of(l, &items, &reductions, k);
    let count_node = l.launch.count_node();
    let divided = DividedNumber::find(l, &roots, k, count_node);
    let walk = Walk::new(l, divided.as_ref(), COLUMNS, &mut out);
    let matrix = divided.as_ref().filter(|divided| !layout.strided && divided.has_rows_of(TILE));
    let matrix = matrix.map(|divided| MatrixTile { divided, in_bounds: in_bounds(l, &roots, var) });
    let tile = Tile {
        items: &items,
        reductions: &reductions,
        batch: 1 << batch.ilog2(),
        is_straight: affordable >= ROWS && reductions.iter().any(Reduction::is_counted),
        column: &column,
        n: n.clone(),
        walk,
        matrix,
    };
    let s = l.k.reg("s", Ty::I32);
    let mut body = Vec::new();
    let t = block.tile(Expr::Reg(s), side.clone());
    let t = bind(l, "t", t, &mut body);
    let mut work = Vec::new();
    let base = bind(l, "base", t.clone().times(Expr::int(TILE)), &mut work);
    if !layout.strided {
        let next = Expr::binary(BinaryOp::Lt, Expr::Reg(s), Expr::Place(Gpu::Span).minus(int32(1)));
        let first = block.tile(Expr::Reg(s).plus(int32(1)), side).times(Expr::int(TILE));
        tile.prefetch(l, (next, first), &mut work);
    }
    let accs: Vec<Reg> = reductions.iter().flat_map(|r| variables(l, r, &mut work)).collect();
    let full = tile.full(l, &base, &accs)?;
    let partial = tile.partial(l, &base, &accs)?;
    let is_full = Expr::binary(BinaryOp::Le, base.clone().plus(Expr::int(TILE)), n.clone());
    work.push(Stmt::If(is_full, full, partial));
    let width = bind(l, "width", n.clone().minus(base), &mut work);
    let at = Expr::Reg(s).times(int32((THREADS / WARP) as i32)).plus(warp);
    let at = bind(l, "at", at, &mut work);
    let of_reductions = by_reduction(&reductions, &accs).zip(by_reduction(&reductions, &block.shared));
    for ((r, accs), (_, shared)) in of_reductions {
        // the columns of those that count their elements are joined already
        let values = match r.is_counted() {
            true => read(accs),
            false => {
                let width = width_of(l, r, &width);
                column.join_warp(l, r, read(accs), width.as_ref(), &mut work)?
            }
        };
        work.push(of_warp(&column, shared, &at, values));
    }
    body.push(Stmt::If(Expr::binary(BinaryOp::Lt, t, count.clone()), work, vec![]));
    let mut all = vec![Stmt::Seq(s, int32(0), Expr::Place(Gpu::Span), body), Stmt::Barrier];
    results(l, &reductions, &block, &n, &mut all)?;
    levels::complete(l, &reductions, scalars, block, all, &mut out)?;
    Ok((out, Grid::Tiles { min_span: 1, max_span }))
}

/// Returns the statement by which a warp's first lane stores the value of each accumulator at a place of shared
/// memory.
fn of_warp(column: &Column, shared: &[Mem], at: &Expr, values: Vec<Expr>) -> Stmt {
    let store = shared.iter().zip(values).map(|(m, e)| Stmt::Store(*m, at.clone(), e)).collect();
    Stmt::If(levels::is_zero(&column.lane), store, vec![])
}

/// Returns what is computed for element `k`: values to store, and operands of reductions.
fn elements_of(l: &mut Lower, items: &[&Item], reductions: &[Reduction], k: NodeId) -> Vec<NodeId> {
    let mut roots: Vec<NodeId> = items.iter().map(|it| element(&mut l.launch.g, it.node, k)).collect();
    for r in reductions {
        roots.extend(r.first(l.launch, k));
    }
    roots
}

/// If some reads of the elements `roots`, whose number is `var`, are tested, returns the condition, which the host
/// computes, that all of them are in bounds.
fn in_bounds(l: &mut Lower, roots: &[NodeId], var: Var) -> Option<Expr> {
    let count = l.launch.count_node();
    let all = Range::below(l.launch, var, count);
    let condition = in_bounds::of(l.launch, roots, &[all])?.condition;
    l.launch.is_host(condition).then(|| l.launch.host(condition))
}

/// What a thread of a reduction first computes about its place.
pub struct ThreadOfReduction {
    pub block: ReductionBlock,
    /// The warp in the block (i32).
    pub warp: Expr,
    /// The team in the block (i32).
    pub side: Expr,
}

/// Computes the place of a thread, and declares shared memory with `entries` values for each accumulator.
pub fn begin(
    l: &mut Lower,
    reductions: &[Reduction],
    entries: u32,
    out: &mut Vec<Stmt>,
) -> ThreadOfReduction {
    let n = l.launch.count();
    let column = Column::new(l, out);
    let warp = bind(l, "warp", warp_number(), out);
    let side = Expr::binary(BinaryOp::Shr, thread(), int32(COLUMNS.trailing_zeros() as i32));
    let side = bind(l, "side", side, out);
    let count = bind(l, "tiles", tiles(n), out);
    let shared: Vec<Mem> = each_accumulator(reductions).map(|r| l.k.share("warps", r.ty, entries)).collect();
    // the blocks of a group take its pairs of tiles by turns, so that together they read memory in order
    let per_block = Expr::Place(Gpu::Span).times(int32(TEAMS as i32));
    let blocks_per_group = Expr::binary(BinaryOp::Div, int32(TILE as i32), per_block);
    let blocks_per_group = bind(l, "apart", blocks_per_group, out);
    let group = Expr::binary(BinaryOp::Div, Expr::Place(Gpu::Block), blocks_per_group.clone());
    let group = bind(l, "group", group, out);
    let index_in_group = Expr::Place(Gpu::Block).minus(group.clone().times(blocks_per_group.clone()));
    let index_in_group = bind(l, "place", index_in_group, out);
    let base = bind(l, "origin", to_i64(group.clone()).times(Expr::int(TILE)), out);
    let group = to_i64(group);
    let total = |r: Accumulator| {
        let total = l.k.reg("total", r.ty);
        out.push(Stmt::Var(total, Expr::Lit(Lit::zero(r.ty))));
        total
    };
    let totals = each_accumulator(reductions).map(total).collect();
    let block =
        ReductionBlock { column, count, group, base, index_in_group, blocks_per_group, shared, totals };
    ThreadOfReduction { block, warp, side }
}

/// Lets thread k join the warps' values of the block's tile k, and keep the result.
fn results(
    l: &mut Lower,
    reductions: &[Reduction],
    block: &ReductionBlock,
    n: &Expr,
    out: &mut Vec<Stmt>,
) -> Result<()> {
    let mut body = Vec::new();
    let step = Expr::binary(BinaryOp::Shr, thread(), int32(TEAMS.trailing_zeros() as i32));
    let side = Expr::binary(BinaryOp::And, thread(), int32(TEAMS as i32 - 1));
    let t = bind(l, "mine", block.tile(step, side), out);
    let width = bind(l, "width", n.clone().minus(t.clone().times(Expr::int(TILE))), &mut body);
    let first = bind(l, "first", thread().times(int32(WARPS as i32)), &mut body);
    let mut values = Vec::new();
    for (r, shared) in by_reduction(reductions, &block.shared) {
        let width = width_of(l, r, &width);
        values.append(&mut join_warps(l, r, shared, &first, width.as_ref(), &mut body)?);
    }
    body.push(block.keep(reductions, &t, values));
    let in_block = Expr::Place(Gpu::Span).times(int32(TEAMS as i32));
    let mine = Expr::binary(BinaryOp::Lt, thread(), in_block);
    let is_present = Expr::binary(BinaryOp::Lt, t, block.count.clone());
    out.push(Stmt::If(Expr::binary(BinaryOp::And, mine, is_present), body, vec![]));
    Ok(())
}
