//! The cost of one evaluation of an element's function, in operations: a simple operation counts 1, a division 8, an
//! elementary function 20 or 40, arithmetic of indices nothing.

use crate::core::linear::is_i64;
use crate::core::{Graph, NodeId, Op};
use crate::scalar::BinaryOp;

/// The cost of a nested reduction or loop, whose length is not known: more than that of any storing.
pub const NESTED: f64 = 1000.0;

/// Returns the number of operations of one evaluation of a function's body, and whether the body reads arrays. Not
/// counted are the operations of the arrays that it reads, arithmetic of indices, and what is computed once for the
/// call.
pub fn of_body(g: &Graph, body: NodeId) -> (f64, bool) {
    let of_node = |n: NodeId| match g.op(n) {
        op if op.is_loop() => NESTED,
        Op::Unary(op, _) if op.is_elementary() => 20.0,
        Op::Binary(op, ..) if op.is_elementary() => 40.0,
        Op::Binary(_, a, _) if is_i64(g, *a) => 0.0,
        Op::Binary(BinaryOp::Div | BinaryOp::Rem, ..) => 8.0,
        Op::Unary(..) | Op::Binary(..) | Op::MulAdd(..) | Op::Select(..) => 1.0,
        _ => 0.0,
    };
    let is_read = |n: &NodeId| g.op(*n).is_reduction() || matches!(g.op(*n), Op::At(..) | Op::Elem(..));
    let each_time = g.reachable_until([body], |n| g.is_closed(n));
    let reads = each_time.iter().any(is_read);
    (each_time.into_iter().map(of_node).sum(), reads)
}

/// Returns whether evaluating a function's body may leave an error record, apart from those of the
/// arrays that it reads and of nodes that are computed once for the call.
pub fn records(g: &Graph, body: NodeId) -> bool {
    let is_apart = |n: NodeId| g.is_closed(n) && !g.ty(n).is_scalar() || g.node(n).once;
    g.reachable_until([body], is_apart).into_iter().any(|n| g.op(n).may_record(g))
}
