//! Helpers for the parts of reductions.

use crate::core::deviations::Moments;
use crate::core::simplify::simplify;
use crate::core::{Graph, Lambda, NodeId, Op, TILE, Var, tuples};
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Lit};
use crate::schedule::element::lower::{LaunchContext, Lower, bind};

/// Returns the accumulators of tuples after a further element: the element itself if it is the first.
pub(super) fn with_element(g: &mut Graph, join: &Lambda, acc: &[NodeId], elements: &[NodeId]) -> Vec<NodeId> {
    let joined = g.open(join, &[&acc[1..], elements].concat());
    let joined = tuples::components(g, joined).into_iter().zip(elements);
    let joined: Vec<NodeId> =
        joined.map(|(joined, first)| simplify(g, Op::Select(acc[0], joined, *first))).collect();
    let some = g.lit(Lit::bool(true));
    std::iter::once(some).chain(joined).collect()
}

/// Binds an expression to a register, unless it is a constant.
pub fn bound(l: &mut Lower, name: &'static str, e: Expr, out: &mut Vec<Stmt>) -> Expr {
    match e {
        Expr::Lit(_) => e,
        e => bind(l, name, e, out),
    }
}

pub(super) fn moments(values: &[NodeId]) -> Moments {
    std::array::from_fn(|i| values[i])
}

/// Whether computing `values` runs a nested reduction or fold again for each value of the variable
/// `of`.
pub fn have_loops(l: &mut LaunchContext, values: &[NodeId], of: Var) -> bool {
    let nodes = l.g.reachable(values.iter().copied());
    let loops = nodes.into_iter().filter(|n| l.g.op(*n).is_loop() && !l.g.is_closed(*n));
    let loops: Vec<NodeId> = loops.collect();
    // a loop that may leave an error record is not moved out of another loop
    loops.into_iter().any(|n| l.g.node(n).free.contains(&of) || l.may_record(n))
}

/// Returns the number of tiles of `n` elements, ceil(n / TILE).
pub fn tiles(n: Expr) -> Expr {
    Expr::binary(BinaryOp::Shr, n.plus(Expr::int(TILE - 1)), Expr::int(TILE.trailing_zeros().into()))
}
