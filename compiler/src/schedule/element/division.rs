//! Divisions and square roots of f32 on GPUs without a branch: approximate and refine.
//!
//! In PTX, `div.rn` and `sqrt.rn` are a test and a call. In a kernel that has a slow path anyway, the fast path
//! refines the hardware's approximation; `scalar/near.rs` says for which operands the result is correctly rounded. A
//! test for all other operands is added to the conditions under which the slow path runs. The slow path divides any
//! operands, without a branch as well.
//!
//! Measured on an H200 with Black-Scholes by a polynomial, which has four quotients and a root for each element: the
//! kernel takes 0.486 ms instead of 0.519 ms with `div.rn` and `sqrt.rn`, and the driver compiles it in 48 ms instead
//! of 63 ms.

use super::lower::Lower;
use crate::core::{Graph, NodeId, Op, Type};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp, near};
use crate::schedule::boundary::rebuilt::rebuilt;

/// Returns `roots` for the fast path: each f32 division and square root becomes the refined
/// approximation, guarded by an unlikely `select` that takes the exact operation for other
/// operands.
pub fn fast_path(l: &mut Lower, roots: &[NodeId]) -> Vec<NodeId> {
    let memo = rebuilt(&mut l.launch.g, roots, Default::default(), &mut |g, op| {
        let (near, outside) = match *op {
            Op::Binary(_, x, _) | Op::Unary(_, x) if !is_single(g, x) => return None,
            Op::Binary(BinaryOp::Div, a, b) => {
                (Op::Binary(BinaryOp::DivNear, a, b), outside_of_division(g, a, b)?)
            }
            Op::Unary(UnaryOp::Sqrt, x) => (Op::Unary(UnaryOp::SqrtNear, x), outside_of_root(g, x)),
            _ => return None,
        };
        let [near, exact] = [near, op.clone()].map(|op| g.add(op));
        let unlikely = g.add(Op::Unary(UnaryOp::Unlikely, outside));
        Some(g.add(Op::Select(unlikely, exact, near)))
    });
    roots.iter().map(|n| memo.get(n).copied().unwrap_or(*n)).collect()
}

/// Returns the expansion of a division or square root that is right for any operands, for the slow
/// path. Returns `None` for all other operations.
pub fn full_range(g: &mut Graph, op: &Op) -> Option<NodeId> {
    match *op {
        Op::Binary(BinaryOp::Div, a, b) if is_single(g, a) => {
            Some(g.add(Op::Binary(BinaryOp::DivWide, a, b)))
        }
        Op::Unary(UnaryOp::Sqrt, x) if is_single(g, x) => Some(root_of_any(g, x)),
        _ => None,
    }
}

fn is_single(g: &Graph, x: NodeId) -> bool {
    g.ty(x) == Type::scalar(Ty::F32)
}

/// Returns the condition that an operand of `a / b` is outside the range of the approximation.
/// Returns `None` if a constant operand is outside, because then the condition always holds.
fn outside_of_division(g: &mut Graph, a: NodeId, b: NodeId) -> Option<NodeId> {
    let [above, below] = [g.as_lit(a).map(Lit::as_f32), g.as_lit(b).map(Lit::as_f32)];
    if !near::division(above.unwrap_or(1.0), below.unwrap_or(1.0)) {
        return None;
    }
    let mut outside = Vec::new();
    if below.is_none() {
        let [low, high] = outside_of(g, b, near::DIVISION);
        outside.extend([low, high]);
    }
    if above.is_none() {
        let [low, high] = outside_of(g, a, near::DIVISION);
        let bits = g.add(Op::Unary(UnaryOp::ToBits, a));
        let zero = g.lit(Lit::u32(0));
        let not_zero = g.add(Op::Binary(BinaryOp::Ne, bits, zero));
        outside.extend([g.add(Op::Binary(BinaryOp::And, low, not_zero)), high]);
    }
    let any = outside.into_iter().reduce(|a, b| g.add(Op::Binary(BinaryOp::Or, a, b)));
    Some(any.unwrap_or_else(|| g.lit(Lit::bool(false))))
}

/// Returns two conditions: |x| is below the lower bound, and |x| is above the upper bound.
fn outside_of(g: &mut Graph, x: NodeId, [least, most]: [f32; 2]) -> [NodeId; 2] {
    let size = g.add(Op::Unary(UnaryOp::Abs, x));
    let [least, most] = [least, most].map(|x| g.lit(Lit::f32(x)));
    [g.add(Op::Binary(BinaryOp::Lt, size, least)), g.add(Op::Binary(BinaryOp::Gt, size, most))]
}

fn outside_of_root(g: &mut Graph, x: NodeId) -> NodeId {
    let [least, most, zero] = [near::SQRT[0], near::SQRT[1], 0.0].map(|x| g.lit(Lit::f32(x)));
    let low = g.add(Op::Binary(BinaryOp::Lt, x, least));
    let not_zero = g.add(Op::Binary(BinaryOp::Ne, x, zero));
    let low = g.add(Op::Binary(BinaryOp::And, low, not_zero));
    let high = g.add(Op::Binary(BinaryOp::Gt, x, most));
    g.add(Op::Binary(BinaryOp::Or, low, high))
}

/// Returns the square root of any number, without a branch. A number below the range of the
/// approximation is multiplied by 2^64 first, and its root by 2^-32 afterwards.
fn root_of_any(g: &mut Graph, x: NodeId) -> NodeId {
    let [least, most, zero] = [near::SQRT[0], near::SQRT[1], 0.0].map(|x| g.lit(Lit::f32(x)));
    let [up, down, nan] = [2f32.powi(64), 2f32.powi(-32), f32::NAN].map(|x| g.lit(Lit::f32(x).canonical()));
    let small = g.add(Op::Binary(BinaryOp::Lt, x, least));
    let scaled = g.add(Op::Binary(BinaryOp::Mul, x, up));
    let of = g.add(Op::Select(small, scaled, x));
    let root = g.add(Op::Unary(UnaryOp::SqrtNear, of));
    let back = g.add(Op::Binary(BinaryOp::Mul, root, down));
    let root = g.add(Op::Select(small, back, root));
    let infinite = g.add(Op::Binary(BinaryOp::Gt, x, most));
    let root = g.add(Op::Select(infinite, x, root));
    let negative = g.add(Op::Binary(BinaryOp::Lt, x, zero));
    g.add(Op::Select(negative, nan, root))
}
