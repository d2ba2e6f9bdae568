//! The identity of an operator that joins two values.

use super::{Graph, Lambda, NodeId, Op};
use crate::scalar::{BinaryOp, Lit, Ty};

/// Returns the identity of an operator on two values of a type, exact in every bit (-0 for sums of floats), or `None`
/// if it is not known to have one.
pub fn of_operator(g: &Graph, join: &Lambda, ty: Ty) -> Option<Lit> {
    let is = |n: NodeId, i: usize| matches!(g.op(n), Op::Var(v, _) if *v == join.params[i].0);
    let op = commutative(g, join.body, is)?;
    of(op.precise().unwrap_or(op), ty)
}

/// Returns the identity of an operation.
pub fn of(op: BinaryOp, ty: Ty) -> Option<Lit> {
    Some(match op {
        BinaryOp::Add => Lit::no_sum(ty),
        BinaryOp::Or | BinaryOp::Xor => Lit::zero(ty),
        BinaryOp::Mul => Lit::one(ty),
        BinaryOp::Min => Lit::greatest(ty),
        BinaryOp::Max => Lit::least(ty),
        BinaryOp::And if ty == Ty::Bool => Lit::bool(true),
        _ => return None,
    })
}

/// Returns the commutative operator if `joined` is exactly that operator applied to the two values;
/// `is(n, 0)` and `is(n, 1)` recognise the first and the second value.
pub fn commutative(g: &Graph, joined: NodeId, is: impl Fn(NodeId, usize) -> bool) -> Option<BinaryOp> {
    match *g.op(joined) {
        Op::Binary(op, a, b) if op.is_commutative() && (is(a, 0) && is(b, 1) || is(a, 1) && is(b, 0)) => {
            Some(op)
        }
        _ => None,
    }
}
