//! Scalars that follow from reductions and folds, for every target: the code that runs once at the
//! end of a fused group.

use super::element::canonical;
use super::lower::{Lower, Surroundings};
use super::reduction::Reduction;
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::plan;

/// Emits the join of the initial value with the reduced value `v`, the last accumulator, and returns
/// the result: f(init, v) if `some` (the sequence has at least one element), else init (semantics
/// 5.1, step 5). A nested reduction's initial value is computed from the known values in `place`.
pub fn join_initial(
    l: &mut Lower,
    r: &Reduction,
    place: &Surroundings,
    some: Expr,
    v: Expr,
    out: &mut Vec<Stmt>,
) -> Result<Expr> {
    let start = l.region(place.vars, &[r.init(l.launch)], place.at, out)?.remove(0);
    let value = l.k.reg("reduced", r.ty);
    out.push(Stmt::Var(value, start));
    let (_, a) = l.launch.g.fresh_var(r.ty);
    let (_, b) = l.launch.g.fresh_var(r.ty);
    let join = r.join_initial(l.launch, a, b);
    let mut body = Vec::new();
    let joined = l.region(&[(a, Expr::Reg(value)), (b, v)], &[join], place.at, &mut body)?.remove(0);
    body.push(Stmt::Assign(value, joined));
    out.push(Stmt::If(some, body, vec![]));
    Ok(Expr::Reg(value))
}

/// Emits the stores of the `known` reductions and folds that other fused groups need, and of the
/// scalar results `scalars`, which follow from them.
pub fn store(l: &mut Lower, known: &[(NodeId, Expr)], scalars: &[u32], out: &mut Vec<Stmt>) -> Result<()> {
    for (node, value) in known {
        if let Some(place) = l.launch.crossing(*node) {
            let slot = l.launch.slot_out(place, l.launch.g.ty(*node).elem);
            out.push(Stmt::StoreSlot(slot, value.clone()));
        }
    }
    let roots: Vec<NodeId> = scalars.iter().map(|i| l.launch.result(*i)).collect();
    let values = l.region(known, &roots, &Expr::int(0), out)?;
    for (i, e) in scalars.iter().zip(values) {
        let ty = l.launch.g.ty(l.launch.result(*i)).elem;
        let slot = l.launch.slot_out(plan::Place::Result(*i), ty);
        let e = canonical(e, ty, &mut l.k.kernel, out);
        out.push(Stmt::StoreSlot(slot, e));
    }
    Ok(())
}
