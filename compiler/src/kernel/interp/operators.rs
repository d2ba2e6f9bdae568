//! Operators on the values of all lanes. Those on indices, conditions and f32 are dispatched once for the warp: one
//! dispatch for each lane took half of the simulation's time. They compute inactive lanes, too, whose values are
//! meaningless.

use super::lanes::{Bits, Lanes, lanes};
use crate::kernel::WARP;
use crate::scalar::{
    BinaryOp, Lit, Ty, UnaryOp, eval_binary, eval_cast, eval_known_binary, eval_known_cast, eval_known_unary,
    eval_mul_add, eval_unary,
};

/// Writes the value of each lane of `mask`, computed from its bits.
fn each(out: &mut Bits, mask: u32, mut f: impl FnMut(usize) -> Lit) {
    if mask == u32::MAX {
        out.iter_mut().enumerate().for_each(|(l, out)| *out = f(l).bits);
    } else {
        lanes(mask).for_each(|l| out[l] = f(l).bits);
    }
}

/// Returns `op a` in the lanes of `mask`.
pub(super) fn unary(out: &mut Lanes, op: UnaryOp, a: &Lanes, mask: u32) {
    macro_rules! frequent {
        ($($ty:ident: $($op:ident)*;)*) => {
            match (a.ty, op) {
                $($((Ty::$ty, UnaryOp::$op) => {
                    for (out, a) in out.bits.iter_mut().zip(&a.bits) {
                        *out = eval_known_unary(UnaryOp::$op, Lit { ty: Ty::$ty, bits: *a }).bits;
                    }
                })*)*
                _ => each(&mut out.bits, mask, |l| eval_unary(op, a.at(l))),
            }
        };
    }
    frequent! {
        F32: Neg Abs ToBits SqrtNear;
        F64: Neg;
        I32: Neg Not;
        U32: Not FromBits;
        Bool: Not Unlikely;
    }
    out.ty = op.result(a.ty);
}

/// Returns `a op b` in the lanes of `mask`.
pub(super) fn binary(out: &mut Lanes, op: BinaryOp, a: &Lanes, b: &Lanes, mask: u32) {
    macro_rules! frequent {
        ($($ty:ident: $($op:ident)*;)*) => {
            match (a.ty, op) {
                $($((Ty::$ty, BinaryOp::$op) => {
                    let lit = |bits| Lit { ty: Ty::$ty, bits };
                    for l in 0..WARP as usize {
                        out.bits[l] = eval_known_binary(BinaryOp::$op, lit(a.bits[l]), lit(b.bits[l])).0.bits;
                    }
                })*)*
                _ => each(&mut out.bits, mask, |l| eval_binary(op, a.at(l), b.at(l)).0),
            }
        };
    }
    frequent! {
        I32: Add Sub Mul Min Max And Or Xor Shl Shr Eq Ne Lt Le Gt Ge;
        I64: Add Sub Mul Min Max And Or Xor Shl Shr Eq Ne Lt Le Gt Ge;
        U32: Add Sub Mul And Or Xor Shl Shr Eq Ne Lt Le Gt Ge;
        Bool: And Or Xor Eq Ne;
        F32: Add Sub Mul Div DivNear Min Max Eq Ne Lt Le Gt Ge;
        F64: Add Sub Mul Div Eq Ne Lt Le Gt Ge;
    }
    out.ty = op.result(a.ty);
}

/// Returns `a * b + c` in the lanes of `mask`.
pub(super) fn mul_add(out: &mut Lanes, [a, b, c]: [&Lanes; 3], mask: u32) {
    macro_rules! frequent {
        ($($ty:ident)*) => {
            match a.ty {
                $(Ty::$ty => {
                    let lit = |bits| Lit { ty: Ty::$ty, bits };
                    for l in 0..WARP as usize {
                        out.bits[l] = eval_mul_add(lit(a.bits[l]), lit(b.bits[l]), lit(c.bits[l])).bits;
                    }
                })*
                _ => each(&mut out.bits, mask, |l| eval_mul_add(a.at(l), b.at(l), c.at(l))),
            }
        };
    }
    frequent! { F32 F64 I32 I64 }
    out.ty = a.ty;
}

/// Returns `a as to` in the lanes of `mask`.
pub(super) fn cast(out: &mut Lanes, to: Ty, a: &Lanes, mask: u32) {
    macro_rules! frequent {
        ($($from:ident: $($to:ident)*;)*) => {
            match (a.ty, to) {
                $($((Ty::$from, Ty::$to) => {
                    for l in 0..WARP as usize {
                        out.bits[l] = eval_known_cast(Ty::$to, Lit { ty: Ty::$from, bits: a.bits[l] }).bits;
                    }
                })*)*
                _ => each(&mut out.bits, mask, |l| eval_cast(to, a.at(l))),
            }
        };
    }
    frequent! {
        I32: I64 U32 U64 F32 F64;
        U32: I32 I64 U64 F32;
        I64: I32 U32 U64 F32 F64;
        U64: I32 U32 I64;
        F32: F64 I32;
        F64: F32;
        U8: I32 U32 F32;
        Bool: I32 U32 I64;
    }
    out.ty = to;
}

/// Returns the value of `a` where `c` is true, else that of `b`.
pub(super) fn select(out: &mut Lanes, c: &Lanes, a: &Lanes, b: &Lanes) {
    for l in 0..WARP as usize {
        out.bits[l] = if c.bits[l] != 0 { a.bits[l] } else { b.bits[l] };
    }
    out.ty = a.ty;
}

/// Returns the element of a word that has this number, or the only one. An f32 is rounded to tf32 by dropping its low
/// bits.
pub(super) fn element(ty: Ty, word: u64, number: usize) -> f32 {
    let bits = if ty.size() == 2 { word >> (16 * (number % 2)) & 0xffff } else { word & !0x1fff };
    eval_cast(Ty::F32, Lit { ty, bits }).as_f32()
}
