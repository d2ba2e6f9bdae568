//! Keys: the integers by which elements of any type are sorted.

use super::simplify::simplify;
use super::{Graph, NodeId, Op};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};

/// Returns the type of the integers that stand for elements of a type.
pub fn key_type(ty: Ty) -> Ty {
    match ty {
        Ty::F64 => Ty::I64,
        ty if ty.is_float() => Ty::I32,
        ty => ty,
    }
}

/// Returns the type of the vector by whose digits elements of a type are sorted, if nobody needs their order: that of
/// the elements, if these take no more time than their keys ([`super::digits`]), and else that of the keys.
pub fn sorted_type(ty: Ty) -> Ty {
    if matches!(ty, Ty::F32 | Ty::F64) { ty } else { key_type(ty) }
}

/// Returns the key of a value: an integer, so that keys are ordered as values are. For a float it is made of its bits
/// as a signed integer; for negative floats all bits but the sign are inverted, because among these a greater
/// magnitude is less. A NaN has the greatest key.
pub fn key(g: &mut Graph, x: NodeId, ty: Ty) -> NodeId {
    let to = key_type(ty);
    if !ty.is_float() {
        return simplify(g, Op::Cast(to, x));
    }
    let wide = if to == Ty::I64 { Ty::F64 } else { Ty::F32 };
    let x = simplify(g, Op::Cast(wide, x));
    let bits = g.add(Op::Unary(UnaryOp::ToBits, x));
    let bits = g.add(Op::Cast(to, bits));
    let number = |g: &mut Graph, n: i64| g.lit(Lit { ty: to, bits: Lit::from_word(to, n as u64).bits });
    let zero = number(g, 0);
    let greatest = g.lit(Lit::greatest(to));
    let is_below = g.add(Op::Binary(BinaryOp::Lt, bits, zero));
    let reversed = g.add(Op::Binary(BinaryOp::Xor, bits, greatest));
    let ordered = g.add(Op::Select(is_below, reversed, bits));
    let is_number = g.add(Op::Binary(BinaryOp::Eq, x, x));
    g.add(Op::Select(is_number, ordered, greatest))
}

/// Returns the value of a key, the inverse of [`key`]. The key of NaNs gives one of them, which no result can tell
/// from another one (semantics 2.4).
pub fn value(g: &mut Graph, key: NodeId, ty: Ty) -> NodeId {
    let of = key_type(ty);
    if !ty.is_float() {
        return key;
    }
    let word = if of == Ty::I64 { Ty::U64 } else { Ty::U32 };
    let zero = g.lit(Lit::zero(of));
    let greatest = g.lit(Lit::greatest(of));
    let is_below = g.add(Op::Binary(BinaryOp::Lt, key, zero));
    let reversed = g.add(Op::Binary(BinaryOp::Xor, key, greatest));
    let bits = g.add(Op::Select(is_below, reversed, key));
    let bits = g.add(Op::Cast(word, bits));
    let value = g.add(Op::Unary(UnaryOp::FromBits, bits));
    simplify(g, Op::Cast(ty, value))
}

/// Returns the elements for sorted keys, or sorted elements: those of the sorted vector, or of the one that an
/// operation turns into it.
pub fn elements(g: &mut Graph, sorted: NodeId, ty: Ty, negation: Option<UnaryOp>) -> NodeId {
    let of = g.ty(sorted).elem;
    if of == ty && negation.is_none() {
        return sorted;
    }
    let lambda = g.lambda(&[of], |g, own| {
        let value = if of == ty { own[0] } else { value(g, own[0], ty) };
        negation.map_or(value, |op| simplify(g, Op::Unary(op, value)))
    });
    g.add(Op::Map(lambda, vec![sorted]))
}

/// If the ordered vector is the negation of `other`, returns the operation. It is its own inverse, so it also
/// turns ordered elements into elements of `other`.
pub fn negation(g: &Graph, ordered: NodeId, other: NodeId) -> Option<UnaryOp> {
    let Op::Map(lambda, srcs) = g.op(ordered) else { return None };
    let Op::Unary(op @ (UnaryOp::Neg | UnaryOp::Not), own) = *g.op(lambda.body) else { return None };
    let Op::Var(own, _) = *g.op(own) else { return None };
    let fits = g.ty(other).elem.is_float() == (op == UnaryOp::Neg);
    (fits && srcs[..] == [other] && own == lambda.params[0].0).then_some(op)
}
