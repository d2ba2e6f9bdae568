//! Reductions of narrow elements to integers. Their order is free, because sums, products, minima
//! and bit operations of integers are associative and commutative: so a thread takes 16 neighbouring
//! elements of a tile by vector loads, and folds all tiles of its block before it joins others.
//!
//! ```text
//! a team's tile of 2048 bytes:   thread 0: x[0 ..+ 16]   thread 1: x[16 ..+ 16]   ..   thread 127: x[2032 ..+ 16]
//! ```
//!
//! Several tiles are loaded before the first is folded. The fixed tree (`reduce.rs`) loads one element by each
//! access; if elements are bytes, that is a sixteenth of what a thread can have in flight. The grid and the upper
//! levels are those of the tree: the block keeps its result as that of its first tile, and the identity as the
//! results of the others. Arrays must be aligned to 16 bytes; others are reduced by the tree.

use super::elements::Elements;
use super::expressions::{int32, thread, to_i64};
use super::levels::{self, ReductionBlock, TEAMS, THREADS};
use super::reduce::{ThreadOfReduction, begin, min_resident_blocks};
use super::tree::{WARPS, join, join_warps, variables};
use crate::core::{COLUMNS, NodeId, TILE};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Reg, Stmt, WARP};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::lower::{LaunchContext, Lower, bind};
use crate::schedule::element::nested_loop::read;
use crate::schedule::element::reduction::{Reduction, by_reduction};
use crate::schedule::groups::{FusedGroup, is_store};

/// The neighbouring elements of a thread in a tile.
const EACH: i64 = TILE / COLUMNS;
/// Bytes that a thread has in flight.
const BYTES_IN_FLIGHT: i64 = 64;
/// The maximum number of tiles that are loaded together.
const MAX_BATCH: i64 = 4;
/// The maximum number of operations of a thread's unrolled body.
const MAX_UNROLLED: i64 = 1024;
/// The maximum number of tiles that a team takes.
pub const MAX_SPAN: u32 = 32;

/// Returns how many tiles are loaded together, a power of two. `None` if the fixed tree is as fast, or if nothing
/// else is right.
pub fn batch(l: &LaunchContext, fused: &FusedGroup) -> Option<u32> {
    if l.facts.may_record || l.facts.nested || fused.items.iter().any(|it| is_store(&l.g, it)) {
        return None;
    }
    let sizes = l.facts.accesses.pointwise().map(|x| l.g.ty(*x).elem.size() as i64);
    let (narrowest, bytes) = sizes.fold((4, 0), |(least, sum), size| (size.min(least), sum + size));
    let is_free = |it| {
        let r = Reduction::nested(l, it);
        !r.types[0].is_float() && !r.is_counted() && r.has_identity(l)
    };
    if narrowest == 4 || !fused.items.iter().all(|it| is_free(it.node)) {
        return None;
    }
    let affordable = MAX_UNROLLED / (i64::from(l.facts.cost.max(1)) * EACH);
    let wanted = (BYTES_IN_FLIGHT / (EACH * bytes)).clamp(1, MAX_BATCH).min(affordable);
    (wanted > 0).then(|| 1 << wanted.ilog2())
}

/// What the code that reduces some tiles needs.
struct Tiles<'a> {
    reductions: &'a [Reduction],
    /// The accumulators of this thread.
    accs: &'a [Reg],
    column: Expr,
    n: Expr,
}

pub fn main(l: &mut Lower, fused: &FusedGroup, scalars: &[u32], batch: u32) -> Result<Vec<Stmt>> {
    l.k.kernel.min_resident_blocks = min_resident_blocks(l.launch, fused, false);
    let reductions = Reduction::all(l.launch, fused);
    let mut out = Vec::new();
    let ThreadOfReduction { block, warp, side } = begin(l, &reductions, THREADS / WARP, &mut out);
    let mut all = Vec::new();
    let accs: Vec<Reg> = reductions.iter().flat_map(|r| variables(l, r, &mut all)).collect();
    let n = l.launch.count();
    let tiles =
        Tiles { reductions: &reductions, accs: &accs, column: to_i64(block.column.column.clone()), n };
    let (turn, mut body) = (l.k.reg("turn", Ty::I32), Vec::new());
    let first = bind(l, "first", Expr::Reg(turn).times(int32(batch as i32)), &mut body);
    let bases: Vec<Expr> = (0..batch as i32)
        .map(|k| {
            let t = block.tile(first.clone().plus(int32(k)), side.clone());
            bind(l, "base", t.times(Expr::int(TILE)), &mut body)
        })
        .collect();
    let full = tiles.full(l, &bases)?;
    let partial = tiles.one_by_one(l, &block, (&first, batch), &side)?;
    // the last tile has the highest indices, so the test of it holds for all
    body.push(Stmt::If(tiles.is_full(&bases[bases.len() - 1]), full, partial));
    let turns = Expr::binary(BinaryOp::Shr, Expr::Place(Gpu::Span), int32(batch.trailing_zeros() as i32));
    all.push(Stmt::Seq(turn, int32(0), turns, body));
    for ((r, accs), (_, shared)) in
        by_reduction(&reductions, &accs).zip(by_reduction(&reductions, &block.shared))
    {
        let values = block.column.join_warp(l, r, read(accs), None, &mut all)?;
        let store = shared.iter().zip(values).map(|(m, e)| Stmt::Store(*m, warp.clone(), e)).collect();
        all.push(Stmt::If(levels::is_zero(&block.column.lane), store, vec![]));
    }
    all.push(Stmt::Barrier);
    results(l, &reductions, &block, &mut all)?;
    levels::complete(l, &reductions, scalars, block, all, &mut out)?;
    Ok(out)
}

impl Tiles<'_> {
    /// Whether the tile that begins at `base` is full.
    fn is_full(&self, base: &Expr) -> Expr {
        Expr::binary(BinaryOp::Le, base.clone().plus(Expr::int(TILE)), self.n.clone())
    }

    /// Folds this thread's elements of full tiles.
    fn full(&self, l: &mut Lower, bases: &[Expr]) -> Result<Vec<Stmt>> {
        let mut out = vec![Stmt::Note("full tiles: 16 neighbours of each".into())];
        let mut each = Vec::new();
        for base in bases {
            let first = base.clone().plus(self.column.clone().times(Expr::int(EACH)));
            let first = bind(l, "mine", first, &mut out);
            each.push(Elements::new(l, first, vec![0], EACH));
        }
        for elements in &each {
            elements.load(l, &[], &mut out);
        }
        for elements in &each {
            self.fold(l, elements, &mut out)?;
        }
        l.scope.loaded = None;
        Ok(out)
    }

    /// Folds elements, in order.
    fn fold(&self, l: &mut Lower, elements: &Elements, out: &mut Vec<Stmt>) -> Result<()> {
        let mut vars = Vec::new();
        let mut folded: Vec<Vec<NodeId>> = by_reduction(self.reductions, self.accs)
            .map(|(r, own)| r.nodes(l.launch, &read(own), &mut vars))
            .collect();
        let last = elements.indices.len() - 1;
        let step = |l: &mut Lower, j: usize, i: NodeId| {
            for (r, own) in self.reductions.iter().zip(&mut folded) {
                *own = r.step(l.launch, own, i);
            }
            if j == last { folded.concat() } else { vec![] }
        };
        let values = elements.values(l, &vars, step, out)?.pop().unwrap_or_default();
        let values: Vec<Expr> = values.into_iter().map(|e| bind(l, "acc", e, out)).collect();
        out.extend(self.accs.iter().zip(values).map(|(acc, e)| Stmt::Assign(*acc, e)));
        Ok(())
    }

    /// Folds tiles of which some are not full, one after another; the last, partial one element by element.
    fn one_by_one(
        &self,
        l: &mut Lower,
        block: &ReductionBlock,
        (first, batch): (&Expr, u32),
        side: &Expr,
    ) -> Result<Vec<Stmt>> {
        let (k, mut body) = (l.k.reg("k", Ty::I32), Vec::new());
        let t = block.tile(first.clone().plus(Expr::Reg(k)), side.clone());
        let base = bind(l, "base", t.times(Expr::int(TILE)), &mut body);
        let full = self.full(l, std::slice::from_ref(&base))?;
        let mut partial = vec![Stmt::Note("the last tile".into())];
        let row = l.k.reg("row", Ty::I64);
        let mut of_row = Vec::new();
        let at = base.clone().plus(self.column.clone()).plus(Expr::Reg(row).times(Expr::int(COLUMNS)));
        let at = bind(l, "at", at, &mut of_row);
        let mut inside = Vec::new();
        let element = Elements::new(l, at.clone(), vec![0], 1);
        self.fold(l, &element, &mut inside)?;
        l.scope.loaded = None;
        of_row.push(Stmt::If(Expr::binary(BinaryOp::Lt, at, self.n.clone()), inside, vec![]));
        let rounded_up = self.n.clone().minus(base.clone()).plus(Expr::int(COLUMNS - 1));
        let rows = Expr::binary(BinaryOp::Shr, rounded_up, Expr::int(COLUMNS.trailing_zeros().into()));
        partial.push(Stmt::Seq(row, Expr::int(0), rows, of_row));
        body.push(Stmt::If(self.is_full(&base), full, partial));
        Ok(vec![Stmt::Seq(k, int32(0), int32(batch as i32), body)])
    }
}

/// Thread 0 joins the warps, and keeps the block's result as that of its first tile; thread k
/// keeps the identity as that of tile k.
fn results(
    l: &mut Lower,
    reductions: &[Reduction],
    block: &ReductionBlock,
    out: &mut Vec<Stmt>,
) -> Result<()> {
    let team = Expr::binary(BinaryOp::Shr, thread(), int32(TEAMS.trailing_zeros() as i32));
    let side = Expr::binary(BinaryOp::And, thread(), int32(TEAMS as i32 - 1));
    let t = bind(l, "result", block.tile(team, side), out);
    let (mut body, mut values) = (Vec::new(), Vec::new());
    for (r, shared) in by_reduction(reductions, &block.shared) {
        let value = variables(l, r, &mut body);
        let mut total = Vec::new();
        let low = join_warps(l, r, shared, &int32(0), None, &mut total)?;
        let high = join_warps(l, r, shared, &int32(WARPS as i32), None, &mut total)?;
        let joined = join(l, r, &low, &high, &mut total)?;
        total.extend(value.iter().zip(joined).map(|(value, e)| Stmt::Assign(*value, e)));
        body.push(Stmt::If(levels::is_zero(&thread()), total, vec![]));
        values.append(&mut read(&value));
    }
    body.push(block.keep(reductions, &t, values));
    let in_block = Expr::Place(Gpu::Span).times(int32(TEAMS as i32));
    let mine = Expr::binary(BinaryOp::Lt, thread(), in_block);
    let is_present = Expr::binary(BinaryOp::Lt, t, block.count.clone());
    out.push(Stmt::If(Expr::binary(BinaryOp::And, mine, is_present), body, vec![]));
    Ok(())
}
