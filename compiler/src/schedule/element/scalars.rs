//! Scalars that follow from reductions and folds, for every target: the code that runs once at the
//! end of a fused group.

use super::canonical;
use super::lower::{Lower, Surroundings};
use super::nested_loop::{assign, read};
use super::reduction::Reduction;
use crate::core::{NodeId, tuples};
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::plan;

/// Emits the join of the initial values with the `totals` of all elements, and returns the value of
/// each of the reduction's nodes: f(init, v) if `some` (the sequence has at least one element), else
/// init (semantics 5.1, step 5). A nested reduction's initial value is computed from the known values
/// in `place`.
pub fn join_initial(
    l: &mut Lower,
    r: &Reduction,
    place: &Surroundings,
    some: Expr,
    totals: Vec<Expr>,
    out: &mut Vec<Stmt>,
) -> Result<Vec<(NodeId, Expr)>> {
    let start = l.region(place.vars, &r.init(l.launch), place.at, out)?;
    let (mut vars, mut inits, mut of_totals, mut values) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for ((start, total), ty) in start.into_iter().zip(totals).zip(r.totals(&r.types)) {
        let value = l.k.reg("reduced", ty);
        out.push(Stmt::Var(value, start));
        let [a, b] = [(); 2].map(|()| l.launch.g.fresh_var(ty).1);
        vars.extend([(a, Expr::Reg(value)), (b, total)]);
        inits.push(a);
        of_totals.push(b);
        values.push(value);
    }
    let values: Vec<Reg> = r.nodes.iter().map(|n| values[tuples::which(&l.launch.g, *n)]).collect();
    let join = r.join_initial(l.launch, &inits, &of_totals);
    let mut body = Vec::new();
    let joined = l.region(&vars, &join, place.at, &mut body)?;
    assign(l, &values, joined, &mut body);
    out.push(Stmt::If(some, body, vec![]));
    Ok(r.nodes.iter().copied().zip(read(&values)).collect())
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
