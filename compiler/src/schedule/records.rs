//! When a place that may leave an error record does: on which path its value is needed (semantics section 6).
//!
//! The arms of a `select` are needed only on its side; a value needed in several places is needed if any of them is. Kernels compute all values without
//! branches, so each recording place gets the condition under which the program would have computed it.

use crate::core::{Graph, NodeId, Op};
use crate::passes::simplify::simplify;
use crate::scalar::{BinaryOp, Lit, UnaryOp};
use rustc_hash::FxHashMap as HashMap;

/// The condition of each node in the region of `roots` that may leave a record. The conditions are new nodes of the graph.
pub fn conditions(g: &mut Graph, roots: &[NodeId]) -> HashMap<NodeId, NodeId> {
    let order = g.reachable(roots.iter().copied());
    if !order.iter().any(|n| g.op(*n).may_record(g)) {
        return HashMap::default();
    }
    let always = g.lit(Lit::bool(true));
    let mut needed: HashMap<NodeId, NodeId> = roots.iter().map(|r| (*r, always)).collect();
    for &n in order.iter().rev() {
        let Some(&here) = needed.get(&n) else { continue };
        let mut need = |g: &mut Graph, child: NodeId, when: NodeId| {
            let before = needed.get(&child).copied();
            let when = before.map_or(when, |b| simplify(g, Op::Binary(BinaryOp::Or, b, when)));
            needed.insert(child, when);
        };
        match g.op(n).clone() {
            Op::Select(c, a, b) => {
                need(g, c, here);
                let then = simplify(g, Op::Binary(BinaryOp::And, here, c));
                need(g, a, then);
                let not = simplify(g, Op::Unary(UnaryOp::Not, c));
                let otherwise = simplify(g, Op::Binary(BinaryOp::And, here, not));
                need(g, b, otherwise);
            }
            op => {
                for child in op.operands() {
                    need(g, child, here);
                }
            }
        }
    }
    // inside of a nested operation there are conditions of its own
    needed.retain(|n, _| g.op(*n).may_record(g) || g.op(*n).is_pass());
    needed
}
