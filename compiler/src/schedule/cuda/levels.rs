//! The upper levels of the tree, in the same launch (semantics 5.1, step 4): the last warp of a group of 2048 tiles reduces the group's results,
//! the last group's warp the groups', and computes the scalars that follow.
//!
//! Warps count themselves in with one arrival each, so nobody waits: the counter of its group, then one for all groups. Joining all tiles' results in one
//! last block instead costs 10 us at 2^26 elements (DESIGN, section 8).

use super::tree::{Values, tile_of};
use super::{bind, int32, tiles, wide};
use crate::core::{NodeId, TILE};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::lower::Lower;
use crate::schedule::reduction::Reduction;
use crate::schedule::scalars as values;

/// Who this warp is.
pub struct Warp {
    /// The lane (i32).
    pub lane: Expr,
    /// How many tiles there are.
    pub count: Expr,
    /// The first tile of this warp.
    pub begin: Expr,
}

/// `lane == 0`
pub fn first(lane: &Expr) -> Expr {
    Expr::binary(BinaryOp::Eq, lane.clone(), int32(0))
}

/// The whole kernel around `work`, which leaves the results of this warp's tiles in the scratch arrays.
pub fn complete(
    l: &mut Lower,
    reductions: &[Reduction],
    scalars: &[u32],
    w: Warp,
    work: Stmt,
    out: &mut Vec<Stmt>,
) -> Result<()> {
    let done = l.k.reg("done", Ty::Bool);
    let none = Expr::binary(BinaryOp::Eq, w.count.clone(), Expr::int(0));
    let leader = Expr::binary(BinaryOp::Eq, w.begin.clone(), Expr::int(0));
    out.push(Stmt::Var(done, Expr::binary(BinaryOp::And, none, leader)));
    let results: Vec<_> = reductions.iter().map(|r| l.k.reg("total", r.ty)).collect();
    out.extend(results.iter().zip(reductions).map(|(v, r)| Stmt::Var(*v, Expr::Lit(Lit::zero(r.ty)))));

    let mut body = vec![work];
    let group = Expr::binary(BinaryOp::Shr, w.begin.clone(), Expr::int(TILE.trailing_zeros().into()));
    let group = bind(l, "group", group, &mut body);
    let groups = bind(l, "groups", tiles(w.count.clone()), &mut body);
    let base = bind(l, "base", group.clone().times(Expr::int(TILE)), &mut body);
    let end = bind(l, "end", base.clone().plus(Expr::int(TILE)).min(w.count.clone()), &mut body);
    let span = Expr::Place(Gpu::Span);
    let members = Expr::Cast(Ty::I32, Box::new(end.clone().minus(base.clone())));
    let up = members.plus(span.clone()).minus(int32(1));
    let warps = wide(Expr::binary(BinaryOp::Div, up, span));
    let last = arrive(l, &w.lane, group.clone(), warps, &mut body);

    let mut complete = Vec::new();
    let mut sums = Vec::new();
    for r in reductions {
        let tiles = Values { memory: r.scratch, base: &base, end: &end, batch: 8 };
        sums.push(tile_of(l, r, &w.lane, &tiles, &mut complete)?);
    }
    let mut only: Vec<Stmt> = results.iter().zip(&sums).map(|(v, e)| Stmt::Assign(*v, e.clone())).collect();
    only.push(Stmt::Assign(done, Expr::Lit(Lit::bool(true))));
    let mut several = Vec::new();
    // the groups' results lie behind the tiles'
    let up = Expr::binary(BinaryOp::And, w.count.clone().plus(Expr::int(3)), Expr::int(!3));
    let behind = bind(l, "behind", up, &mut several);
    let at = behind.clone().plus(group);
    let store = reductions.iter().zip(sums).map(|(r, e)| Stmt::Store(r.scratch, at.clone(), e));
    several.push(Stmt::If(first(&w.lane), store.collect(), vec![]));
    let last_group = arrive(l, &w.lane, groups.clone(), groups.clone(), &mut several);
    let mut top = levels(l, reductions, &w.lane, &behind, &groups, &results)?;
    top.push(Stmt::Assign(done, Expr::Lit(Lit::bool(true))));
    several.push(Stmt::If(last_group, top, vec![]));
    let one = Expr::binary(BinaryOp::Eq, groups, Expr::int(1));
    complete.push(Stmt::If(one, only, several));
    body.push(Stmt::If(last, complete, vec![]));
    let some = Expr::binary(BinaryOp::Lt, w.begin, w.count.clone());
    out.push(Stmt::If(some, body, vec![]));

    l.in_finish = true;
    let mut end = Vec::new();
    let mut known: Vec<(NodeId, Expr)> = Vec::new();
    for (r, v) in reductions.iter().zip(results) {
        let some = Expr::binary(BinaryOp::Gt, w.count.clone(), Expr::int(0));
        known.push((r.node, values::join_initial(l, r, some, Expr::Reg(v), &mut end)?));
    }
    values::store(l, &known, scalars, &mut end)?;
    let mine = Expr::binary(BinaryOp::And, Expr::Reg(done), first(&w.lane));
    out.push(Stmt::If(mine, end, vec![]));
    Ok(())
}

/// Lane 0 arrives for the warp; whether it was the last one, known to all lanes.
fn arrive(l: &mut Lower, lane: &Expr, counter: Expr, of: Expr, out: &mut Vec<Stmt>) -> Expr {
    let (last, here) = (l.k.reg("last", Ty::Bool), l.k.reg("here", Ty::Bool));
    out.push(Stmt::Var(last, Expr::Lit(Lit::bool(false))));
    let arrival = vec![Stmt::Arrive(here, counter, of), Stmt::Assign(last, Expr::Reg(here))];
    out.push(Stmt::If(first(lane), arrival, vec![]));
    bind(l, "complete", Expr::Broadcast(Box::new(Expr::Reg(last))), out)
}

/// `m` values from `behind` on, level by level, in place: tile t's result replaces value t, which no later tile reads. One level is enough up to 2^33
/// elements. Lane 0 has the results then.
fn levels(
    l: &mut Lower,
    reductions: &[Reduction],
    lane: &Expr,
    behind: &Expr,
    m: &Expr,
    results: &[Reg],
) -> Result<Vec<Stmt>> {
    let left = l.k.reg("left", Ty::I64);
    let t = l.k.reg("t", Ty::I64);
    let mut level = Vec::new();
    let up = bind(l, "up", tiles(Expr::Reg(left)), &mut level);
    let mut tile = Vec::new();
    let base = bind(l, "base", behind.clone().plus(Expr::Reg(t).times(Expr::int(TILE))), &mut tile);
    let end = base.clone().plus(Expr::int(TILE)).min(behind.clone().plus(Expr::Reg(left)));
    let end = bind(l, "end", end, &mut tile);
    let mut sums = Vec::new();
    for r in reductions {
        // few values in practice: 16 at 2^26 elements
        let groups = Values { memory: r.scratch, base: &base, end: &end, batch: 1 };
        sums.push(tile_of(l, r, lane, &groups, &mut tile)?);
    }
    let at = behind.clone().plus(Expr::Reg(t));
    let store = |(r, e): (&Reduction, Expr)| Stmt::Store(r.scratch, at.clone(), e);
    tile.extend(results.iter().zip(&sums).map(|(v, e)| Stmt::Assign(*v, e.clone())));
    tile.push(Stmt::If(first(lane), reductions.iter().zip(sums).map(store).collect(), vec![]));
    level.push(Stmt::Seq(t, Expr::int(0), up.clone(), tile));
    // a broadcast: lane 0's stores are seen by all lanes
    level.push(Stmt::Assign(left, Expr::Broadcast(Box::new(up))));
    let more = Expr::binary(BinaryOp::Gt, Expr::Reg(left), Expr::int(1));
    Ok(vec![Stmt::Var(left, m.clone()), Stmt::While(more, level)])
}
