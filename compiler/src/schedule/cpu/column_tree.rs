//! Joins the columns of a tile by the fixed tree (semantics 5.1).

use crate::core::COLUMNS;
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::lower::{Lower, Surroundings};
use crate::schedule::reduction::Reduction;

/// Emits the join of 128 columns: 64 pairs of neighbours, then 32, .. 1. Each level has its own
/// array, so that each loop vectorises. An operator with loops of its own would not vectorise; its
/// code is emitted once, for a general loop.
pub fn tree_of(
    l: &mut Lower,
    r: &Reduction,
    place: &Surroundings,
    columns: Mem,
    out: &mut Vec<Stmt>,
) -> Result<Expr> {
    if r.joins_by_loops(l.launch) {
        return short_tree_of(l, r, place, columns, Expr::int(COLUMNS), out);
    }
    let (mut from, mut width) = (columns, COLUMNS / 2);
    while width > 0 {
        let to = l.k.local("joined", r.ty, width as u32, out);
        let k = l.k.reg("k", Ty::I64);
        let mut body = Vec::new();
        let value = pair(l, r, place, from, &Expr::Reg(k), &mut body)?;
        body.push(Stmt::Store(to, Expr::Reg(k), value));
        out.push(Stmt::For(k, Expr::int(0), Expr::int(width), body));
        (from, width) = (to, width / 2);
    }
    Ok(Expr::load(from, Expr::int(0)))
}

/// Emits f(m[2k], m[2k + 1]) and returns its value.
pub fn pair(
    l: &mut Lower,
    r: &Reduction,
    place: &Surroundings,
    m: Mem,
    k: &Expr,
    body: &mut Vec<Stmt>,
) -> Result<Expr> {
    let (_, a) = l.launch.g.fresh_var(r.ty);
    let (_, b) = l.launch.g.fresh_var(r.ty);
    let even = k.clone().times(Expr::int(2));
    let low = l.k.reg("low", r.ty);
    let high = l.k.reg("high", r.ty);
    body.push(Stmt::Let(low, Expr::load(m, even.clone()), Default::default()));
    body.push(Stmt::Let(high, Expr::load(m, even.plus(Expr::int(1))), Default::default()));
    let join = r.join(l.launch, a, b);
    let mut vars = place.vars.to_vec();
    vars.extend([(a, Expr::Reg(low)), (b, Expr::Reg(high))]);
    Ok(l.region(&vars, &[join], place.at, body)?.remove(0))
}

/// Emits the join of the first `width` columns, in place and in order. A last column without a
/// neighbour goes to the next level as it is.
pub fn short_tree_of(
    l: &mut Lower,
    r: &Reduction,
    place: &Surroundings,
    m: Mem,
    width: Expr,
    out: &mut Vec<Stmt>,
) -> Result<Expr> {
    let w = l.k.reg("w", Ty::I64);
    let half = l.k.reg("half", Ty::I64);
    let k = l.k.reg("k", Ty::I64);
    out.push(Stmt::Var(w, width));
    let shr = |e: Expr| Expr::binary(BinaryOp::Shr, e, Expr::int(1));
    let mut pairs = Vec::new();
    let value = pair(l, r, place, m, &Expr::Reg(k), &mut pairs)?;
    pairs.push(Stmt::Store(m, Expr::Reg(k), value));
    let odd = Expr::binary(BinaryOp::And, Expr::Reg(w), Expr::int(1));
    let odd = Expr::binary(BinaryOp::Ne, odd, Expr::int(0));
    let last = Expr::load(m, Expr::Reg(w).minus(Expr::int(1)));
    let body = vec![
        Stmt::Let(half, shr(Expr::Reg(w)), Default::default()),
        Stmt::Seq(k, Expr::int(0), Expr::Reg(half), pairs),
        Stmt::If(odd, vec![Stmt::Store(m, Expr::Reg(half), last)], vec![]),
        Stmt::Assign(w, shr(Expr::Reg(w).plus(Expr::int(1)))),
    ];
    out.push(Stmt::While(Expr::binary(BinaryOp::Gt, Expr::Reg(w), Expr::int(1)), body));
    Ok(Expr::load(m, Expr::int(0)))
}
