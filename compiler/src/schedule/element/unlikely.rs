//! Unlikely arms: a `select` whose condition is marked `unlikely` ([`super::slow_path`] lowers it).

use crate::core::{Graph, NodeId, Op};
use crate::scalar::UnaryOp;

/// Returns the condition, the unlikely arm and the likely arm of a node that is an unlikely
/// `select`.
pub fn arms(g: &Graph, n: NodeId) -> Option<(NodeId, NodeId, NodeId)> {
    let Op::Select(c, a, b) = *g.op(n) else { return None };
    match *g.op(c) {
        Op::Unary(UnaryOp::Unlikely, condition) => Some((condition, a, b)),
        _ => None,
    }
}

/// Whether a value is an unlikely condition, which depends on the element.
pub fn is_unlikely(g: &Graph, n: NodeId) -> bool {
    !g.is_closed(n) && matches!(g.op(n), Op::Unary(UnaryOp::Unlikely, _))
}
