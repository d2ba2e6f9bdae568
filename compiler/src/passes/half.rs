//! Computes f16 and bf16 in f32: casts to f32, the operation, and a cast back (semantics 2.9).
//!
//! ```text
//! %2: f16 = mul_add %0, %1, %0  ->  %3 = cast f32 %0  %4 = cast f32 %1  %5 = mul_add %3, %4, %3  %2 = cast f16 %5
//! ```
//!
//! After this pass halves are only moved, selected, and cast from and to f32; the backends support
//! no other operation on them. The rounding points are those of the author's program, because the
//! pass runs after fusion, and no later pass removes a pair of casts.
//!
//! A cast from a wider type must round once. The nearest f32 of a number could be a tie that the
//! number itself is not. Therefore the number is first rounded to f32 *to odd*: it is truncated,
//! and the last bit is set if that lost anything. (S. Boldo, G. Melquiond: Emulation of FMA and
//! correctly rounded sums, 2008.)

use crate::core::simplify::simplify;
use crate::core::{Function, Graph, NodeId, Op, rewrite::rewrite_scalars};
use crate::error::Result;
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    let halves = |n: NodeId| f.graph.ty(n).elem.is_half();
    if !(0..f.graph.len() as u32).any(|i| halves(NodeId(i))) {
        return Ok(f);
    }
    Ok(rewrite_scalars(&f, true, &mut |g, op, _| rule(g, op)))
}

fn rule(g: &mut Graph, op: Op) -> NodeId {
    let ty = match op {
        Op::Unary(_, a) | Op::Binary(_, a, _) | Op::MulAdd(a, _, _) => g.ty(a).elem,
        Op::Cast(to, a) => return cast(g, to, a),
        op => return g.add(op),
    };
    if !ty.is_half() {
        return g.add(op);
    }
    let operands: Vec<NodeId> = op.operands().map(|n| convert(g, Ty::F32, n)).collect();
    let result = simplify(g, op.with(&operands, None));
    // a comparison's bool is not cast
    if g.ty(result).elem == Ty::F32 { convert(g, ty, result) } else { result }
}

/// Casts a value; the cast is folded if possible.
fn convert(g: &mut Graph, to: Ty, n: NodeId) -> NodeId {
    simplify(g, Op::Cast(to, n))
}

fn cast(g: &mut Graph, to: Ty, n: NodeId) -> NodeId {
    let from = g.ty(n).elem;
    if from == to || !from.is_half() && !to.is_half() {
        return g.add(Op::Cast(to, n));
    }
    let single = match from {
        Ty::F32 => n,
        // f32 holds the value exactly, or the value exceeds 2^24 and is infinity in f16 after
        // rounding, too
        from if from.is_half() || from.size() < 4 || from.is_int() && to == Ty::F16 => convert(g, Ty::F32, n),
        Ty::I64 | Ty::U64 => {
            let double = double_of_long(g, n);
            odd(g, double)
        }
        _ => {
            let double = convert(g, Ty::F64, n);
            odd(g, double)
        }
    };
    convert(g, to, single)
}

/// Rounds an f64 to f32, to odd.
fn odd(g: &mut Graph, x: NodeId) -> NodeId {
    let mut make = |op| simplify(g, op);
    let nearest = make(Op::Cast(Ty::F32, x));
    let back = make(Op::Cast(Ty::F64, nearest));
    let [there, here] = [back, x].map(|n| make(Op::Unary(UnaryOp::Abs, n)));
    let above = make(Op::Binary(BinaryOp::Gt, there, here));
    let lost = make(Op::Binary(BinaryOp::Ne, back, x));
    let [above, lost] = [above, lost].map(|flag| make(Op::Cast(Ty::U32, flag)));
    let bits = make(Op::Unary(UnaryOp::ToBits, nearest));
    let cut = make(Op::Binary(BinaryOp::Sub, bits, above));
    let odd = make(Op::Binary(BinaryOp::Or, cut, lost));
    make(Op::Unary(UnaryOp::FromBits, odd))
}

/// Converts an integer of 64 bits to f64, either exactly or so that it stays on the same side of
/// every tie of bf16. From 2^40 on these ties are multiples of 2^32, so it only matters whether the
/// low 16 bits are zero.
fn double_of_long(g: &mut Graph, x: NodeId) -> NodeId {
    const SMALL: u64 = 1 << 40;
    let ty = g.ty(x).elem;
    let mut lit = |bits: u64| g.lit(Lit { ty, bits });
    let [low_bits, high_bits, trace, zero] = [0xffff, !0xffff, 0x8000, 0].map(&mut lit);
    let (least, span) =
        (if ty == Ty::I64 { SMALL } else { 0 }, if ty == Ty::I64 { 2 * SMALL } else { SMALL });
    let least = g.lit(Lit { ty, bits: least });
    let span = g.lit(Lit::u64(span));
    let mut make = |op| simplify(g, op);
    let low = make(Op::Binary(BinaryOp::And, x, low_bits));
    let high = make(Op::Binary(BinaryOp::And, x, high_bits));
    let some = make(Op::Binary(BinaryOp::Ne, low, zero));
    let trace = make(Op::Select(some, trace, zero));
    let large = make(Op::Binary(BinaryOp::Or, high, trace));
    let shifted = make(Op::Binary(BinaryOp::Add, x, least));
    let shifted = make(Op::Cast(Ty::U64, shifted));
    let small = make(Op::Binary(BinaryOp::Lt, shifted, span));
    let near = make(Op::Select(small, x, large));
    make(Op::Cast(Ty::F64, near))
}
