//! Index spaces: the elements of an array in row-major order.

use super::equations::Equations;
use super::guarded::reads_in_bounds;
use super::linear::Linear;
use super::simplify::simplify;
use super::{Graph, NodeId, Op, Var};
use crate::scalar::{BinaryOp, Lit};

/// The indices of element `k` in row-major order.
pub fn indices(g: &mut Graph, k: NodeId, extents: &[NodeId]) -> Vec<NodeId> {
    let (mut rest, mut out) = (k, Vec::new());
    // an array that has elements has no extent of 0: max(n, 1) tells later passes that the division leaves no error
    // record
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

/// Whether a node reads an array that [`only_inside`] may have made empty. If the loops around the read have no
/// iterations, the element does not exist.
pub fn exists_inside_only(g: &Graph, n: NodeId) -> bool {
    let is_empty = |x: NodeId| match g.op(x) {
        Op::Generate(extents, _) => {
            matches!(*g.op(extents[0]), Op::Select(_, _, none) if g.as_lit(none) == Some(Lit::i64(0)))
        }
        _ => false,
    };
    let is_such = |n: NodeId| match g.op(n) {
        Op::Elem(x, _) => matches!(*g.op(*x), Op::Materialize(x) if is_empty(x)),
        _ => false,
    };
    g.reachable_until([n], |n| g.is_stored(n)).into_iter().any(is_such)
}

/// The loops around a value that becomes an element of a stored array.
#[derive(Clone, Copy)]
pub struct Loops<'a> {
    /// The variables of the array's index space, each with the extent of its loop.
    pub kept: &'a [(Var, NodeId)],
    /// The extents of the other loops.
    pub dropped: &'a [NodeId],
}

/// Makes an index space empty if a dropped loop has no iterations, because the element may read what exists only if
/// it has some. Returns `None` if the extent of such a loop depends on an element.
pub fn only_inside(
    g: &mut Graph,
    mut extents: Vec<NodeId>,
    element: NodeId,
    loops: Loops,
    rules: &Equations,
) -> Option<Vec<NodeId>> {
    if loops.dropped.is_empty() || reads_in_bounds(g, element, loops.kept, rules) {
        return Some(extents);
    }
    let zero = g.lit(Lit::i64(0));
    for n in loops.dropped {
        if !g.is_closed(*n) {
            return None;
        }
        let some = simplify(g, Op::Binary(BinaryOp::Gt, *n, zero));
        extents[0] = simplify(g, Op::Select(some, extents[0], zero));
    }
    Some(extents)
}
