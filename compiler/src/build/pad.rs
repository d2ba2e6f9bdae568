//! Pads arrays: a `generate` reads the array at an index that is always in range, so no read leaves
//! an error record.
//!
//! The index is computed from j = i - before and the number n of elements, depending on the
//! boundary:
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

/// The elements beyond the edges of an array.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Boundary<T> {
    /// The element at the edge is repeated: `a a | a b c | c c`.
    Clamp,
    /// The array is mirrored at the edge, and the element at the edge is repeated:
    /// `b a | a b c | c b`.
    Mirror,
    /// The array is repeated: `b c | a b c | a b`.
    Wrap,
    /// A value is repeated: `0 0 | a b c | 0 0`.
    Constant(T),
}

impl Builder {
    /// Extends an array along an axis by `before` and `after` elements.
    pub fn pad(
        &mut self,
        src: NodeId,
        axis: u8,
        margins: [NodeId; 2],
        boundary: &Boundary<NodeId>,
    ) -> Result<NodeId> {
        let margins = margins.map(|n| self.bound(n));
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

/// Adds the condition 0 <= j < n.
pub(super) fn within(g: &mut Graph, j: NodeId, n: NodeId) -> NodeId {
    let zero = g.lit(Lit::i64(0));
    let above = g.add(Op::Binary(BinaryOp::Ge, j, zero));
    let below = g.add(Op::Binary(BinaryOp::Lt, j, n));
    g.add(Op::Binary(BinaryOp::And, above, below))
}

/// Adds j, clamped to the indices of n elements.
pub(super) fn clamped(g: &mut Graph, j: NodeId, n: NodeId) -> NodeId {
    let [zero, one] = [0, 1].map(|k| g.lit(Lit::i64(k)));
    let last = sub(g, n, one);
    let low = simplify(g, Op::Binary(BinaryOp::Max, j, zero));
    simplify(g, Op::Binary(BinaryOp::Min, low, last))
}

/// Adds the index of the element that is read at `j`, which may be out of range by the margins.
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
