//! Loops of one element (`Op::Loop`, semantics 5.16).
//!
//! ```text
//! %s = loop 0 (%i: i64, %x: f32, %k: i64) by %n from 1f32, 0i64 { %c = lt %x, 4f32  ..  %t = tuple %c, %next, %more  yield %t }
//! ```
//!
//! A loop has as many values as states, and behind them the number of its steps. They are nodes of their own
//! with the same operands.

use super::{Graph, Lambda, NodeId, Op};

/// Returns another value of a loop.
pub fn value(op: &Op, of: u32) -> Op {
    let mut op = op.clone();
    if let Op::Loop { which, .. } = &mut op {
        *which = of;
    }
    op
}

/// Returns the first value of a loop, which stands for all of them.
pub fn first(g: &mut Graph, n: NodeId) -> NodeId {
    let op = value(g.op(n), 0);
    g.add(op)
}

/// Returns the condition and the next states of a step.
pub fn parts(g: &Graph, body: NodeId) -> (NodeId, Vec<NodeId>) {
    let Op::Tuple(parts) = g.op(body) else { unreachable!("verified: a tuple") };
    (parts[0], parts[1..].to_vec())
}

/// Whether a loop ends by its number of steps alone.
pub fn is_counted(g: &Graph, step: &Lambda) -> bool {
    g.as_lit(parts(g, step.body).0).is_some_and(crate::scalar::Lit::as_bool)
}
