//! The identity of a reduction.

pub use crate::core::identity::commutative;
use crate::core::identity::{self, of_operator};
use crate::core::{Graph, NodeId, Op, Var};
use crate::scalar::{BinaryOp, Lit};

/// Returns the identity of a reduction's operator, exact in every bit: the value of each accumulator of a column that
/// has no elements. Returns `None` if the operator has no such value, or if the node is not a reduction.
pub fn of(g: &Graph, node: NodeId) -> Option<Lit> {
    let ty = g.ty(node).elem;
    match g.op(node) {
        // if a value is joined with no elements, it stays as it is
        Op::SquaredDeviations { .. } => Some(Lit::zero(ty)),
        // nor have tuples without elements any values; an operator that depends on the element around it is
        // left to strategies that know that element wherever they join
        Op::Reduce { init, join, .. } if matches!(g.op(*init), Op::Tuple(_)) => {
            let is_own = |v: &Var| join.params.iter().any(|p| p.0 == *v);
            g.node(join.body).free.iter().all(is_own).then(|| Lit::zero(ty))
        }
        Op::Dot { .. } => identity::of(BinaryOp::Add, ty),
        Op::Reduce { join, .. } => of_operator(g, join, ty),
        _ => None,
    }
}
