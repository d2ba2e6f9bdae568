//! The identity of a reduction's operator.

use crate::core::{Graph, NodeId, Op, Var};
use crate::scalar::{BinaryOp, Lit, Ty};

/// Returns the identity of a reduction's operator, exact in every bit (-0 for sums of floats): the value of each
/// accumulator of a column that has no elements. Returns `None` if the operator has no such value, or if the node is
/// no reduction.
pub fn of(g: &Graph, node: NodeId) -> Option<Lit> {
    let ty = g.ty(node).elem;
    let op = match g.op(node) {
        // no elements, and what is joined with them stays as it is
        Op::SquaredDeviations { .. } => return Some(Lit::zero(ty)),
        // nor have tuples without elements any values; an operator that depends on the element around it is
        // left to strategies that know that element wherever they join
        Op::Reduce { init, join, .. } if matches!(g.op(*init), Op::Tuple(_)) => {
            let is_own = |v: &Var| join.params.iter().any(|p| p.0 == *v);
            return g.node(join.body).free.iter().all(is_own).then(|| Lit::zero(ty));
        }
        Op::Dot { .. } => BinaryOp::Add,
        Op::Reduce { join, .. } => {
            let is = |n: NodeId, i: usize| matches!(g.op(n), Op::Var(v, _) if *v == join.params[i].0);
            let op = commutative(g, join.body, is)?;
            op.precise().unwrap_or(op)
        }
        _ => return None,
    };
    let zero = Lit::zero(ty);
    Some(match op {
        BinaryOp::Add => Lit::no_sum(ty),
        BinaryOp::Or | BinaryOp::Xor => zero,
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
