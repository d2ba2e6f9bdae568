//! Constant folding and algebra that keep every bit (semantics section 2), and lengths of array expressions.
//!
//! ```text
//! %1 = add %x, -0f32          ->   %x
//! %2 = div %x, 4f32           ->   mul %x, 0.25f32          (exact; never for 3f32)
//! %3 = len (map .. over %y)   ->   len %y
//! %4 = add (sub %n, 14i64), 2i64   ->   sub %n, 12i64
//! ```
//!
//! Law of the rules: same bits for all operands, NaN payloads aside (semantics 2.4), and no new record.

use crate::core::linear::{self, Linear, is_i64};
use crate::core::{Function, Graph, NodeId, Op, rewrite::rewrite_scalars};
use crate::error::Result;
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp, eval_binary, eval_cast, eval_mul_add, eval_unary};

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    Ok(rewrite_scalars(&f, true, &mut |g, op, _| simplify(g, op)))
}

/// The simplest node that means the operation. Its operands are simple already.
pub fn simplify(g: &mut Graph, op: Op) -> NodeId {
    let found = match op {
        Op::Unary(o, a) => unary(g, o, a),
        Op::Binary(o, a, b) => binary(g, o, a, b),
        Op::MulAdd(a, b, c) => mul_add(g, a, b, c),
        Op::Select(c, a, b) => select(g, c, a, b),
        Op::Cast(ty, a) => cast(g, ty, a),
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
        // a stored array stored again
        Op::Materialize(x) => g.is_stored(x).then_some(x),
        _ => None,
    };
    found.unwrap_or_else(|| g.add(op))
}

fn unary(g: &mut Graph, o: UnaryOp, a: NodeId) -> Option<NodeId> {
    if let Some(l) = g.as_lit(a) {
        // the bits of a NaN are whatever they are where they are asked for
        return (o != UnaryOp::ToBits || !l.is_nan()).then(|| g.lit(eval_unary(o, l)));
    }
    match (o, g.op(a)) {
        // -(-x) = x, !!x = x
        (UnaryOp::Neg, Op::Unary(UnaryOp::Neg, x)) | (UnaryOp::Not, Op::Unary(UnaryOp::Not, x)) => Some(*x),
        (UnaryOp::ToBits, Op::Unary(UnaryOp::FromBits, x)) => Some(*x),
        (UnaryOp::FromBits, Op::Unary(UnaryOp::ToBits, x)) => Some(*x),
        // |-x| = |x|, ||x|| = |x|   (integers wrap alike: |-MIN| = |MIN| = MIN)
        (UnaryOp::Abs, &Op::Unary(UnaryOp::Neg | UnaryOp::Abs, x)) => Some(g.add(Op::Unary(UnaryOp::Abs, x))),
        // rounding what is rounded
        (
            UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Trunc | UnaryOp::Round | UnaryOp::RoundTiesEven,
            Op::Unary(
                UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Trunc | UnaryOp::Round | UnaryOp::RoundTiesEven,
                _,
            ),
        ) => Some(a),
        (UnaryOp::Neg, _) if is_i64(g, a) => normal(g, Op::Unary(o, a)),
        _ => None,
    }
}

fn binary(g: &mut Graph, o: BinaryOp, a: NodeId, b: NodeId) -> Option<NodeId> {
    let ty = g.ty(a).elem;
    if let (Some(x), Some(y)) = (g.as_lit(a), g.as_lit(b)) {
        let (value, fault) = eval_binary(o, x, y);
        // a division by zero keeps its record
        return fault.is_none().then(|| g.lit(value));
    }
    if matches!(o, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul) && is_i64(g, a) {
        return normal(g, Op::Binary(o, a, b));
    }
    if ty.is_float() { float_binary(g, o, a, b, ty) } else { int_binary(g, o, a, b, ty) }
}

/// Wrapping i64 sums and products by constants, in normal form. The form must be another node than the operation
/// itself, or the rules would not end.
fn normal(g: &mut Graph, op: Op) -> Option<NodeId> {
    let n = g.add(op);
    Some(Linear::of(g, n).node(g))
}

fn float_binary(g: &mut Graph, o: BinaryOp, a: NodeId, b: NodeId, ty: Ty) -> Option<NodeId> {
    use BinaryOp::{Add, Div, Max, Min, Mul, Sub};
    let is_neg = |n: NodeId| matches!(g.op(n), Op::Unary(UnaryOp::Neg, _));
    if a != b && !is_neg(b) && g.as_lit(a).is_none() && g.as_lit(b).is_none() {
        return None;
    }
    let is = |g: &Graph, n: NodeId, l: Lit| g.as_lit(n) == Some(l);
    let zero = Lit::zero(ty);
    let minus_zero = eval_unary(UnaryOp::Neg, zero);
    let one = Lit::one(ty);
    let minus_one = eval_unary(UnaryOp::Neg, one);
    match o {
        // x + -0 = -0 + x = x   (x + 0 is not x at x = -0)
        Add if is(g, b, minus_zero) => Some(a),
        Add if is(g, a, minus_zero) => Some(b),
        // x - 0 = x
        Sub if is(g, b, zero) => Some(a),
        // x * 1 = 1 * x = x / 1 = x
        Mul | Div if is(g, b, one) => Some(a),
        Mul if is(g, a, one) => Some(b),
        // x * -1 = -1 * x = x / -1 = -x
        Mul | Div if is(g, b, minus_one) => Some(g.add(Op::Unary(UnaryOp::Neg, a))),
        Mul if is(g, a, minus_one) => Some(g.add(Op::Unary(UnaryOp::Neg, b))),
        // x + -y = x - y,  x - -y = x + y
        Add | Sub => match *g.op(b) {
            Op::Unary(UnaryOp::Neg, y) => Some(g.add(Op::Binary(if o == Add { Sub } else { Add }, a, y))),
            _ => None,
        },
        // x / c = x * (1 / c) when 1 / c is exact: both round the same real number
        Div => {
            let c = g.as_lit(b).filter(|c| exact_reciprocal(*c))?;
            let r = g.lit(eval_binary(Div, one, c).0);
            Some(g.add(Op::Binary(Mul, a, r)))
        }
        // min(x, x) = max(x, x) = x
        Min | Max if a == b => Some(a),
        _ => None,
    }
}

/// A power of two whose reciprocal is one as well.
fn exact_reciprocal(c: Lit) -> bool {
    let (mantissa, exponent, bias) = match c.ty {
        Ty::F32 => (c.bits & 0x7f_ffff, (c.bits >> 23 & 0xff) as i32, 127),
        Ty::F16 => (c.bits & 0x3ff, (c.bits >> 10 & 0x1f) as i32, 15),
        Ty::Bf16 => (c.bits & 0x7f, (c.bits >> 7 & 0xff) as i32, 127),
        _ => (c.bits & 0xf_ffff_ffff_ffff, (c.bits >> 52 & 0x7ff) as i32, 1023),
    };
    mantissa == 0 && (1..=2 * bias - 1).contains(&exponent)
}

fn int_binary(g: &mut Graph, o: BinaryOp, a: NodeId, b: NodeId, ty: Ty) -> Option<NodeId> {
    use BinaryOp::{Add, And, Div, Eq, Ge, Gt, Le, Lt, Max, Min, Mul, Ne, Or, Shl, Shr, Sub, Xor};
    let zero = |g: &Graph, n: NodeId| g.as_lit(n).is_some_and(|l| l.bits == 0);
    let one = |g: &Graph, n: NodeId| g.as_lit(n) == Some(Lit::one(ty));
    let all = |g: &Graph, n: NodeId| {
        ty == Ty::Bool && one(g, n) || g.as_lit(n) == Some(eval_unary(UnaryOp::Not, Lit::zero(ty)))
    };
    match o {
        // x + 0 = 0 + x = x - 0 = x | 0 = x ^ 0 = x << 0 = x >> 0 = x
        Add | Sub | Or | Xor | Shl | Shr if zero(g, b) => Some(a),
        Add | Or | Xor if zero(g, a) => Some(b),
        // x * 1 = 1 * x = x / 1 = x
        Mul | Div if ty != Ty::Bool && one(g, b) => Some(a),
        Mul if one(g, a) => Some(b),
        // x & 0 = 0, x & all = x, x | all = all
        And if zero(g, a) || all(g, b) => Some(a),
        And if zero(g, b) || all(g, a) => Some(b),
        Or if all(g, a) => Some(a),
        Or if all(g, b) => Some(b),
        // f(x, x)
        And | Or | Min | Max if a == b => Some(a),
        Xor | Sub if a == b => Some(g.lit(Lit::zero(ty))),
        Eq | Le | Ge if a == b => Some(g.lit(Lit::bool(true))),
        Ne | Lt | Gt if a == b => Some(g.lit(Lit::bool(false))),
        _ => None,
    }
}

fn mul_add(g: &mut Graph, a: NodeId, b: NodeId, c: NodeId) -> Option<NodeId> {
    let ty = g.ty(a).elem;
    if let (Some(x), Some(y), Some(z)) = (g.as_lit(a), g.as_lit(b), g.as_lit(c)) {
        return Some(g.lit(eval_mul_add(x, y, z)));
    }
    if !ty.is_float() {
        // integers wrap: fused or not is the same
        let product = simplify(g, Op::Binary(BinaryOp::Mul, a, b));
        return Some(simplify(g, Op::Binary(BinaryOp::Add, product, c)));
    }
    let one = Lit::one(ty);
    let minus_zero = eval_unary(UnaryOp::Neg, Lit::zero(ty));
    // fma(1, b, c) = b + c,  fma(a, 1, c) = a + c,  fma(a, b, -0) = a * b
    if g.as_lit(a) == Some(one) {
        Some(simplify(g, Op::Binary(BinaryOp::Add, b, c)))
    } else if g.as_lit(b) == Some(one) {
        Some(simplify(g, Op::Binary(BinaryOp::Add, a, c)))
    } else if g.as_lit(c) == Some(minus_zero) {
        Some(simplify(g, Op::Binary(BinaryOp::Mul, a, b)))
    } else {
        None
    }
}

fn select(g: &mut Graph, c: NodeId, a: NodeId, b: NodeId) -> Option<NodeId> {
    if let Some(l) = g.as_lit(c) {
        return Some(if l.as_bool() { a } else { b });
    }
    if a == b {
        return Some(a);
    }
    match *g.op(c) {
        // select(!c, a, b) = select(c, b, a)
        Op::Unary(UnaryOp::Not, x) => Some(g.add(Op::Select(x, b, a))),
        _ => None,
    }
}

fn cast(g: &mut Graph, ty: Ty, a: NodeId) -> Option<NodeId> {
    if let Some(l) = g.as_lit(a) {
        return Some(g.lit(eval_cast(ty, l)));
    }
    (g.ty(a).elem == ty).then_some(a)
}

/// All extents of an array expression, outermost first.
pub fn extents(g: &mut Graph, x: NodeId) -> Vec<NodeId> {
    (0..g.ty(x).rank).map(|axis| extent(g, x, axis)).collect()
}

/// The length of an array expression along an axis, in normal form.
pub fn extent(g: &mut Graph, x: NodeId, axis: u8) -> NodeId {
    match g.op(x).clone() {
        Op::Map(_, srcs) => extent(g, srcs[0], axis),
        Op::Reverse(y, _) | Op::Materialize(y) => extent(g, y, axis),
        Op::Iterate { which, args, .. } => extent(g, args[which as usize], axis),
        Op::Generate(extents, _) => extents[axis as usize],
        Op::Iota(n) | Op::Fill(n, _) => n,
        Op::Permute(y, axes) => extent(g, y, axes[axis as usize]),
        Op::Pick { src, axis: a, .. } => extent(g, src, axis + u8::from(axis >= a)),
        Op::Spread { axis: a, n, .. } if a == axis => n,
        Op::Spread { src, axis: a, .. } => extent(g, src, axis - u8::from(axis > a)),
        Op::Slice { src, axis: a, .. } if a != axis => extent(g, src, axis),
        Op::Slice { start, stop, stride, .. } => {
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
        _ => g.add(Op::Len(x, axis)),
    }
}
