//! Padded arrays: a `generate` that reads the array at an index which is inside whatever the index is, so no read leaves a record.
//!
//! With j = i - before and n elements, by boundary:
//!
//! ```text
//! clamp     min(max(j, 0), n - 1)
//! mirror    m = max(j, -1 - j);  min(m, 2n - 1 - m)               margins are at most n
//! wrap      j + n below 0, j - n from n on                        margins are at most n
//! constant  as clamp, selected where 0 <= j < n
//! ```

use super::Lowering;
use crate::node::NodeRef;
use crate::stencil::Boundary;
use arraygpu_compiler::core::linear::{add, sub};
use arraygpu_compiler::core::{Graph, NodeId, Op};
use arraygpu_compiler::passes::simplify::simplify;
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty};

impl Lowering {
    /// The array with so many elements more before and after those of an axis.
    pub(super) fn padded(
        &mut self,
        src: NodeId,
        axis: u8,
        [before, after]: [NodeId; 2],
        boundary: &Boundary<NodeRef>,
    ) -> NodeId {
        let constant = match boundary {
            Boundary::Constant(c) => Some(self.id(c)),
            _ => None,
        };
        let (axis, mut extents) = (usize::from(axis), self.extents[&src].clone());
        let n = extents[axis];
        let g = &mut self.f.graph;
        extents[axis] = add(g, n, before);
        extents[axis] = add(g, extents[axis], after);
        let lambda = g.lambda(&vec![Ty::I64; extents.len()], |g, index| {
            let mut index = index.to_vec();
            let j = sub(g, index[axis], before);
            index[axis] = inside(g, j, n, boundary);
            let value = g.add(Op::Elem(src, index));
            let Some(constant) = constant else { return value };
            let zero = g.lit(Lit::i64(0));
            let above = g.add(Op::Binary(BinaryOp::Ge, j, zero));
            let below = g.add(Op::Binary(BinaryOp::Lt, j, n));
            let within = g.add(Op::Binary(BinaryOp::And, above, below));
            g.add(Op::Select(within, value, constant))
        });
        g.add(Op::Generate(extents, lambda))
    }
}

/// The index of the element that stands at `j`, which may be outside by the margins.
fn inside(g: &mut Graph, j: NodeId, n: NodeId, boundary: &Boundary<NodeRef>) -> NodeId {
    let [zero, one] = [0, 1].map(|k| g.lit(Lit::i64(k)));
    let last = sub(g, n, one);
    let binary = |g: &mut Graph, op, a, b| simplify(g, Op::Binary(op, a, b));
    match boundary {
        Boundary::Clamp | Boundary::Constant(_) => {
            let low = binary(g, BinaryOp::Max, j, zero);
            binary(g, BinaryOp::Min, low, last)
        }
        Boundary::Mirror => {
            let end = add(g, n, last);
            let minus_one = g.lit(Lit::i64(-1));
            let reflected = sub(g, minus_one, j);
            let low = binary(g, BinaryOp::Max, j, reflected);
            let reflected = sub(g, end, low);
            binary(g, BinaryOp::Min, low, reflected)
        }
        Boundary::Wrap => {
            let (low, high) = (add(g, j, n), sub(g, j, n));
            let below = binary(g, BinaryOp::Lt, j, zero);
            let above = binary(g, BinaryOp::Ge, j, n);
            let high = simplify(g, Op::Select(above, high, j));
            simplify(g, Op::Select(below, low, high))
        }
    }
}
