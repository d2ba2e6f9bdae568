//! The cost of an element, in operations.

use crate::core::{Graph, NodeId, Op};
use crate::scalar::BinaryOp;
use rustc_hash::FxHashSet as HashSet;

/// The least cost of a nested reduction.
const NESTED: f64 = 1000.0;

/// Returns the operations of one evaluation of a function's body, without those of the arrays that
/// it reads, and without what is computed once for the call.
pub fn of_body(g: &Graph, body: NodeId) -> f64 {
    let (mut seen, mut stack, mut cost) = (HashSet::default(), vec![body], 0.0);
    while let Some(n) = stack.pop() {
        if g.is_closed(n) || !seen.insert(n) {
            continue;
        }
        let op = g.op(n);
        cost += match op {
            op if op.is_reduction() => NESTED,
            Op::Unary(op, _) if op.is_elementary() => 20.0,
            Op::Binary(op, ..) if op.is_elementary() => 40.0,
            Op::Binary(BinaryOp::Div | BinaryOp::Rem, ..) => 8.0,
            Op::Unary(..) | Op::Binary(..) | Op::MulAdd(..) | Op::Select(..) => 1.0,
            _ => 0.0,
        };
        stack.extend(op.operands().chain(op.lambda().map(|l| l.body)));
    }
    cost
}

/// Returns whether evaluating a function's body reads arrays.
pub fn reads(g: &Graph, body: NodeId) -> bool {
    let (mut seen, mut stack) = (HashSet::default(), vec![body]);
    while let Some(n) = stack.pop() {
        if g.is_closed(n) || !seen.insert(n) {
            continue;
        }
        let op = g.op(n);
        if op.is_reduction() || matches!(op, Op::At(..) | Op::Elem(..)) {
            return true;
        }
        stack.extend(op.operands().chain(op.lambda().map(|l| l.body)));
    }
    false
}
