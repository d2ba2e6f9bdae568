//! Index spaces: the elements of an array in row-major order.

use super::linear::Linear;
use super::simplify::simplify;
use super::{Graph, NodeId, Op};
use crate::scalar::{BinaryOp, Lit};

/// The indices of element `k` in row-major order.
pub fn indices(g: &mut Graph, k: NodeId, extents: &[NodeId]) -> Vec<NodeId> {
    let (mut rest, mut out) = (k, Vec::new());
    // an array that has elements has no extent of 0: max(n, 1) tells later passes that the division
    // leaves no error record
    let one = g.lit(Lit::i64(1));
    for n in extents[1..].iter().rev() {
        let n = simplify(g, Op::Binary(BinaryOp::Max, *n, one));
        out.push(simplify(g, Op::Binary(BinaryOp::Rem, rest, n)));
        rest = simplify(g, Op::Binary(BinaryOp::Div, rest, n));
    }
    out.push(rest);
    out.reverse();
    out
}

/// Returns x of `max(x, 1)`, and any other node itself.
pub fn without_bound(g: &Graph, n: NodeId) -> NodeId {
    match *g.op(n) {
        Op::Binary(BinaryOp::Max, x, one) if g.as_lit(one) == Some(Lit::i64(1)) => x,
        _ => n,
    }
}

/// Returns the extent of a stored array: a loop may have a negative number of iterations.
pub fn length(g: &mut Graph, n: NodeId) -> NodeId {
    if Linear::of(g, n).at_least(g, 0) {
        return n;
    }
    let zero = g.lit(Lit::i64(0));
    simplify(g, Op::Binary(BinaryOp::Max, n, zero))
}

/// Makes an index space empty if one of the extents around it is 0, because its element may read
/// what exists only where these loops have iterations. Returns `None` if such an extent depends on an
/// element.
pub fn only_inside(
    g: &mut Graph,
    mut extents: Vec<NodeId>,
    element: NodeId,
    around: &[NodeId],
) -> Option<Vec<NodeId>> {
    if around.is_empty() || !relies_on_loops(g, element) {
        return Some(extents);
    }
    let zero = g.lit(Lit::i64(0));
    for n in around {
        if !g.is_closed(*n) {
            return None;
        }
        let some = simplify(g, Op::Binary(BinaryOp::Gt, *n, zero));
        extents[0] = simplify(g, Op::Select(some, extents[0], zero));
    }
    Some(extents)
}

/// Returns whether an element has plain reads at clamps, quotients or remainders of indices, or at
/// those that depend on no loop: they are in bounds because the loops around them are not empty (`core/guarded.rs`).
fn relies_on_loops(g: &Graph, element: NodeId) -> bool {
    use BinaryOp::{Div, Max, Min, Rem};
    let is_bounded = |n: NodeId| matches!(g.op(n), Op::Binary(Max | Min | Div | Rem, ..));
    let relies =
        |i: NodeId| g.is_closed(i) || g.reachable_until([i], |n| g.is_closed(n)).into_iter().any(is_bounded);
    g.reachable_until([element], |n| g.is_closed(n)).into_iter().any(|n| match g.op(n) {
        Op::Elem(_, index) => index.iter().any(|i| relies(*i)),
        _ => false,
    })
}
