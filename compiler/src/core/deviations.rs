//! The arithmetic of `squared_deviations` (semantics 5.12) as nodes: one pass over a sequence that
//! merges counts, means and sums of squared deviations (Welford 1962; Chan, Golub and LeVeque 1983).
//!
//! Counts are numbers of the elements' type. Where they are constants, so are the factors that depend on them: the
//! code of a full tile has no division.

use super::arithmetic::binary;
use super::simplify::simplify;
use super::{Graph, NodeId, Op};
use crate::scalar::{BinaryOp, Lit};

/// The moments of some values: their number, their mean, and the sum of their squared deviations from it.
pub type Moments = [NodeId; 3];

/// Number of values in [`Moments`].
pub const MOMENTS: usize = 3;

/// Returns the moments of one value.
pub fn first(g: &mut Graph, x: NodeId) -> Moments {
    let ty = g.ty(x).elem;
    let (one, zero) = (g.lit(Lit::one(ty)), g.lit(Lit::zero(ty)));
    // this is 0 for all numbers, and NaN for infinities
    let nothing = binary(g, BinaryOp::Sub, x, x);
    [one, x, simplify(g, Op::MulAdd(x, nothing, zero))]
}

/// A number of values, and its reciprocal.
#[derive(Clone, Copy)]
pub struct Count {
    /// The number without the last value.
    pub before: NodeId,
    /// The number.
    pub count: NodeId,
    /// Its reciprocal.
    pub part: NodeId,
}

/// Returns the count after a further value.
pub fn count_after(g: &mut Graph, count: NodeId) -> Count {
    let one = g.lit(Lit::one(g.ty(count).elem));
    let before = count;
    let count = binary(g, BinaryOp::Add, before, one);
    Count { before, count, part: binary(g, BinaryOp::Div, one, count) }
}

/// Returns the moments after a further value. `after` is the count that includes it.
pub fn step(g: &mut Graph, [_, mean, sum]: Moments, after: Count, x: NodeId) -> Moments {
    let d = binary(g, BinaryOp::Sub, x, mean);
    let next = simplify(g, Op::MulAdd(d, after.part, mean));
    let rest = binary(g, BinaryOp::Sub, x, next);
    [after.count, next, simplify(g, Op::MulAdd(d, rest, sum))]
}

/// Returns the moments of the values of both; `b` may have no values.
pub fn join(g: &mut Graph, a: Moments, b: Moments) -> Moments {
    let [count, mean, sum] = join_present(g, a, b);
    let none = g.lit(Lit::zero(g.ty(count).elem));
    let is_absent = binary(g, BinaryOp::Eq, b[0], none);
    [count, simplify(g, Op::Select(is_absent, a[1], mean)), simplify(g, Op::Select(is_absent, a[2], sum))]
}

/// Returns the moments of the values of both, each of which has some.
pub fn join_present(g: &mut Graph, a: Moments, b: Moments) -> Moments {
    let count = binary(g, BinaryOp::Add, a[0], b[0]);
    let weight = binary(g, BinaryOp::Div, b[0], count);
    let d = binary(g, BinaryOp::Sub, b[1], a[1]);
    let mean = simplify(g, Op::MulAdd(d, weight, a[1]));
    let scale = binary(g, BinaryOp::Mul, a[0], weight);
    let scaled = binary(g, BinaryOp::Mul, d, scale);
    let sum = binary(g, BinaryOp::Add, a[2], b[2]);
    [count, mean, simplify(g, Op::MulAdd(d, scaled, sum))]
}
