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

/// Returns the extent of a stored array: a loop may have a negative number of iterations.
pub fn length(g: &mut Graph, n: NodeId) -> NodeId {
    if Linear::of(g, n).at_least(g, 0) {
        return n;
    }
    let zero = g.lit(Lit::i64(0));
    simplify(g, Op::Binary(BinaryOp::Max, n, zero))
}
