//! Makes the simplest node for a scalar operation: constant folding and algebra that keep every bit
//! (semantics section 2), and lengths of array expressions. Compiler passes and the schedule both
//! make their nodes with these functions.
//!
//! The algebra of scalars is in `core/rules`. Each rule keeps the bits for all operands, NaN
//! payloads aside (semantics 2.4), and leaves no new error record.

use super::length::Length;
use super::linear::{self, Linear, is_i64};
use super::records::loses_record;
use super::{Graph, NodeId, Op, rules};
use crate::scalar::{BinaryOp, Lit, UnaryOp, eval_binary, eval_cast, eval_mul_add, eval_unary};

/// Returns the simplest node for the operation, whose operands are already simplified.
pub fn simplify(g: &mut Graph, op: Op) -> NodeId {
    let found = match op {
        Op::Unary(..) | Op::Binary(..) | Op::MulAdd(..) | Op::Select(..) | Op::Cast(..) => scalar(g, &op),
        Op::Len(x, axis) => Some(extent(g, x, axis)),
        Op::Reverse(x, axis) => match g.op(x) {
            // reverse(reverse x) = x
            Op::Reverse(y, a) if *a == axis => Some(*y),
            _ => None,
        },
        Op::Permute(x, ref axes) if axes.is_sorted() => Some(x),
        Op::Slice { src, axis, start, stop, stride } => {
            // the whole of x, forwards, is x
            let zero = g.as_lit(start).is_some_and(|l| l.bits == 0);
            let one = g.as_lit(stride).is_some_and(|l| l.bits == 1);
            (zero && one && extent(g, src, axis) == stop).then_some(src)
        }
        // a stored array is not stored again
        Op::Materialize(x) => g.is_stored(x).then_some(x),
        _ => None,
    };
    found.unwrap_or_else(|| g.add(op))
}

/// Simplifies a scalar operation: constants to their value, i64 sums to a normal form, and the rest
/// by the rules.
fn scalar(g: &mut Graph, op: &Op) -> Option<NodeId> {
    let lit = |n: NodeId| g.as_lit(n);
    let value = match *op {
        // the bits of a NaN are not folded, because they may differ between devices
        Op::Unary(o, a) => lit(a).filter(|l| o != UnaryOp::ToBits || !l.is_nan()).map(|l| eval_unary(o, l)),
        // a division by zero is kept, because it leaves an error record
        Op::Binary(o, a, b) => match (lit(a), lit(b)) {
            (Some(x), Some(y)) => match eval_binary(o, x, y) {
                (value, None) => Some(value),
                _ => return None,
            },
            _ => None,
        },
        Op::MulAdd(a, b, c) => match (lit(a), lit(b), lit(c)) {
            (Some(x), Some(y), Some(z)) => Some(eval_mul_add(x, y, z)),
            _ => None,
        },
        Op::Cast(ty, a) => lit(a).map(|l| eval_cast(ty, l)),
        _ => None,
    };
    if let Some(value) = value {
        return Some(g.lit(value));
    }
    if let Op::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, a, _) = *op
        && is_i64(g, a)
    {
        return normal(g, op);
    }
    let simpler = rules::apply(g, op, simplify);
    match *op {
        Op::Unary(UnaryOp::Neg, a) if simpler.is_none() && is_i64(g, a) => normal(g, op),
        _ => simpler,
    }
}

/// Returns the normal form of wrapping i64 sums and products by constants, unless an error record may be lost with a
/// term that cancels out. The form must differ from the operation itself, or simplification would not terminate.
fn normal(g: &mut Graph, op: &Op) -> Option<NodeId> {
    let n = g.add(op.clone());
    let (form, dropped) = Linear::with_dropped(g, n);
    let loses = dropped.into_iter().any(|n| loses_record(g, n));
    (!loses).then(|| form.node(g))
}

/// Returns all extents of an array expression, outermost first.
pub fn extents(g: &mut Graph, x: NodeId) -> Vec<NodeId> {
    (0..g.ty(x).rank).map(|axis| extent(g, x, axis)).collect()
}

/// The number of arrays through which a length is followed again each time, instead of being kept.
const NEAR: usize = 8;

/// Returns the length of an array expression along an axis, in normal form.
pub fn extent(g: &mut Graph, x: NodeId, axis: u8) -> NodeId {
    let (mut at, mut path) = ((x, axis), Vec::new());
    let n = loop {
        if let Some(n) = g.kept_length(at.0, at.1) {
            break n;
        }
        match Length::of(g.op(at.0), at.1) {
            Length::Of(x, axis) => path.push(std::mem::replace(&mut at, (x, axis))),
            Length::Is(n) => break n,
            Length::Span { start, stop, stride } => break span(g, (start, stop), stride),
            Length::Own => break g.add(Op::Len(at.0, at.1)),
        }
    };
    if path.len() > NEAR {
        path.into_iter().for_each(|(x, axis)| g.keep_length(x, axis, n));
    }
    n
}

/// Returns the number of indices from `start` to below `stop` by steps of `stride`.
fn span(g: &mut Graph, (start, stop): (NodeId, NodeId), stride: NodeId) -> NodeId {
    let span = linear::sub(g, stop, start);
    if g.as_lit(stride).is_some_and(|l| l.bits == 1) {
        return span;
    }
    // ceil(span / stride) for span >= 0, without overflow: 0 or (span - 1) / stride + 1
    let one = g.lit(Lit::i64(1));
    let zero = g.lit(Lit::i64(0));
    let divisor = simplify(g, Op::Binary(BinaryOp::Max, stride, one));
    let last = linear::sub(g, span, one);
    let quotient = simplify(g, Op::Binary(BinaryOp::Div, last, divisor));
    let count = linear::add(g, quotient, one);
    let some = simplify(g, Op::Binary(BinaryOp::Gt, span, zero));
    simplify(g, Op::Select(some, count, zero))
}

/// Returns the simplest node for an operation whose operands are final. Operands that commute are
/// put in order.
pub fn settle(g: &mut Graph, op: Op) -> NodeId {
    let op = match op {
        Op::Binary(o, a, b) if o.is_commutative() && is_after(g, a, b) => Op::Binary(o, b, a),
        Op::MulAdd(a, b, c) if is_after(g, a, b) => Op::MulAdd(b, a, c),
        op => op,
    };
    simplify(g, op)
}

/// Returns whether operands that commute are out of order. Constants go last, and the others are
/// ordered by node. Variables of finished lambdas are canonical, so equal operands of different
/// lambdas are one node and get the same order.
fn is_after(g: &Graph, a: NodeId, b: NodeId) -> bool {
    (g.as_lit(a).is_some(), a) > (g.as_lit(b).is_some(), b)
}
