//! Padded arrays: a `generate` that reads the array at an index which is inside whatever the index
//! is, so no read leaves a record.
//!
//! With j = i - before and n elements, by boundary:
//!
//! ```text
//! clamp     min(max(j, 0), n - 1)
//! mirror    m = max(j, -1 - j);  min(m, 2n - 1 - m)               margins are at most n
//! wrap      j + n below 0, j - n from n on                        margins are at most n
//! constant  as clamp, selected where 0 <= j < n
//! ```

use super::Builder;
use crate::Result;
use crate::core::linear::{add, sub};
use crate::core::simplify::simplify;
use crate::core::{Graph, NodeId, Op};
use crate::scalar::{BinaryOp, Lit, Ty};

/// What lies beyond the edges of an array.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Boundary<T> {
    /// The element at the edge: `a a | a b c | c c`.
    Clamp,
    /// The array mirrored at the edge, whose element is repeated: `b a | a b c | c b`.
    Mirror,
    /// The array again: `b c | a b c | a b`.
    Wrap,
    /// A value: `0 0 | a b c | 0 0`.
    Constant(T),
}

impl Builder {
    /// The array with so many elements more before and after those of an axis.
    pub fn pad(
        &mut self,
        src: NodeId,
        axis: u8,
        margins: [NodeId; 2],
        boundary: &Boundary<NodeId>,
    ) -> Result<NodeId> {
        self.margins(src, axis, margins, boundary)?;
        let [before, after] = margins;
        let (axis, mut extents) = (usize::from(axis), self.extents[&src].clone());
        let n = extents[axis];
        let g = &mut self.function.graph;
        extents[axis] = add(g, n, before);
        extents[axis] = add(g, extents[axis], after);
        let lambda = g.lambda(&vec![Ty::I64; extents.len()], |g, index| {
            let mut index = index.to_vec();
            let j = sub(g, index[axis], before);
            index[axis] = inside(g, j, n, boundary);
            let value = g.add(Op::Elem(src, index));
            let Boundary::Constant(constant) = boundary else { return value };
            let within = within(g, j, n);
            g.add(Op::Select(within, value, *constant))
        });
        self.node(Op::Generate(extents, lambda))
    }
}

/// 0 <= j < n
pub(super) fn within(g: &mut Graph, j: NodeId, n: NodeId) -> NodeId {
    let zero = g.lit(Lit::i64(0));
    let above = g.add(Op::Binary(BinaryOp::Ge, j, zero));
    let below = g.add(Op::Binary(BinaryOp::Lt, j, n));
    g.add(Op::Binary(BinaryOp::And, above, below))
}

/// j, or the nearest index of n elements.
pub(super) fn clamped(g: &mut Graph, j: NodeId, n: NodeId) -> NodeId {
    let [zero, one] = [0, 1].map(|k| g.lit(Lit::i64(k)));
    let last = sub(g, n, one);
    let low = simplify(g, Op::Binary(BinaryOp::Max, j, zero));
    simplify(g, Op::Binary(BinaryOp::Min, low, last))
}

/// The index of the element that stands at `j`, which may be outside by the margins.
fn inside(g: &mut Graph, j: NodeId, n: NodeId, boundary: &Boundary<NodeId>) -> NodeId {
    let [zero, one] = [0, 1].map(|k| g.lit(Lit::i64(k)));
    let last = sub(g, n, one);
    let binary = |g: &mut Graph, op, a, b| simplify(g, Op::Binary(op, a, b));
    match boundary {
        Boundary::Clamp | Boundary::Constant(_) => clamped(g, j, n),
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
