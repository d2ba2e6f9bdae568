//! Expands elementary functions (`arraygpu-math`) to nodes.

use super::simplify::settle;
use super::term::{Maker, Term};
use super::{Graph, NodeId, Op};
use crate::scalar::{Ty, elementary};
use std::cell::RefCell;

/// Returns the node that computes an elementary function, or `None` for any other operation.
pub fn expand(graph: &mut Graph, op: &Op) -> Option<NodeId> {
    let double = op.operands().any(|n| graph.ty(n).elem == Ty::F64);
    let maker = RefCell::new(Maker { graph, add: settle });
    macro_rules! term {
        ($f:ty) => {{
            let of = |n: NodeId| Term::<$f>::new(&maker, n);
            match *op {
                Op::Unary(op, a) => elementary::unary(op, of(a)),
                Op::Binary(op, a, b) => elementary::binary(op, of(a), of(b)),
                _ => None,
            }
            .map(|t| t.node)
        }};
    }
    if double { term!(f64) } else { term!(f32) }
}
