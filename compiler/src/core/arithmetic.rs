//! Short forms for operations on scalars.

use super::simplify::simplify;
use super::{Graph, Lambda, NodeId, Op};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};

/// Returns the node of an operation on two values.
pub fn binary(g: &mut Graph, op: BinaryOp, a: NodeId, b: NodeId) -> NodeId {
    simplify(g, Op::Binary(op, a, b))
}

/// Returns the node of an operation on an i64 and a constant.
pub fn with_number(g: &mut Graph, op: BinaryOp, a: NodeId, n: i64) -> NodeId {
    let n = g.lit(Lit::i64(n));
    binary(g, op, a, n)
}

/// Returns the node of an operation on a number and the zero of its type.
pub fn with_zero(g: &mut Graph, op: BinaryOp, a: NodeId) -> NodeId {
    let zero = g.lit(Lit::zero(g.ty(a).elem));
    binary(g, op, a, zero)
}

/// Returns whether an operator is the sum of its two operands, which are integers.
pub fn is_sum(g: &Graph, join: &Lambda) -> bool {
    let is_param = |n: NodeId, k: usize| matches!(*g.op(n), Op::Var(v, _) if v == join.params[k].0);
    match *g.op(join.body) {
        Op::Binary(BinaryOp::Add, a, b) if join.params.len() == 2 && join.params[0].1.is_int() => {
            is_param(a, 0) && is_param(b, 1) || is_param(a, 1) && is_param(b, 0)
        }
        _ => false,
    }
}

/// Returns an i64 over a constant, rounded up; the i64 is the length of an array that has as many elements in memory,
/// or another number between 0 and 2^63 - n.
pub fn ceil_div(g: &mut Graph, a: NodeId, n: i64) -> NodeId {
    let up = with_number(g, BinaryOp::Add, a, n - 1);
    with_number(g, BinaryOp::Div, up, n)
}

/// Does what [`ceil_div`] does, for every i64 that is not negative. An extent of an array without elements may be any.
pub fn ceil_div_of_any(g: &mut Graph, a: NodeId, n: i64) -> NodeId {
    let (whole, rest) = (with_number(g, BinaryOp::Div, a, n), with_number(g, BinaryOp::Rem, a, n));
    let more = with_number(g, BinaryOp::Min, rest, 1);
    binary(g, BinaryOp::Add, whole, more)
}

/// Returns the node of a choice.
pub fn select(g: &mut Graph, condition: NodeId, a: NodeId, b: NodeId) -> NodeId {
    simplify(g, Op::Select(condition, a, b))
}

/// Returns the number of binary digits of an integer, or one more; for an integer that is not positive, 0.
pub fn binary_digits(g: &mut Graph, n: NodeId) -> NodeId {
    let n = with_number(g, BinaryOp::Max, n, 0);
    let n = simplify(g, Op::Cast(Ty::F64, n));
    let digits = simplify(g, Op::Unary(UnaryOp::FrexpExponent, n));
    simplify(g, Op::Cast(Ty::I64, digits))
}
