//! Reductions into bins (semantics 5.21): each element has a destination, and each destination joins its elements.
//!
//! ```text
//! %y[k] = init joined with all x[i] where at[i] is k
//!   ->
//! %bins = materialize (bins add of %parts, %n over %x at %at)   the partial results of each part, from the identity
//! %y = generate %n (%k) { reduce (+) from %init over the parts (%p) { %bins[%p, %k] } }
//! ```
//!
//! The order of an operator must be free, in itself or by the author's permission, because each part of the elements
//! has bins of its own, and whichever thread comes first joins first. How elements are cut into parts depends on the
//! numbers of elements and bins alone, so that what is stored does not depend on the device. A block or a thread has
//! one part ([`crate::schedule::facts::bins`]). The bins of all parts together are at most a sixteenth of the
//! elements, or else those of one part.
//!
//! Bins are integers of 32 or 64 bits, because these are what processors can join to memory by atomic operations.
//! Shorter integers, and truth values, are joined as 32 bits, whose low bits are the same. For their extremes, which
//! are one of the operands, floats are joined as integers of the same order: -0 below +0, and a NaN at the end at
//! which it stays (semantics 2.2). Sums of floats are joined as they are, if the author allows any order (semantics
//! 8).

use super::arithmetic::{binary, ceil_div, with_number};
use super::simplify::{extent, simplify};
use super::{Graph, NodeId, Op};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp, eval_unary};

/// Parts are cut at multiples of this number of elements.
pub const CUT: i64 = 4096;
/// The maximum number of parts.
const MOST: i64 = 1024;
/// The minimum number of elements of a part, for each of its bins and in all.
const FOR_BIN: i64 = 16;
const FEWEST: i64 = CUT;

/// Whether the elements of a type may be joined by an operator in any order.
pub fn is_exact(op: BinaryOp, ty: Ty) -> bool {
    use BinaryOp::{Add, And, Max, Min, Or, Xor};
    match op {
        Min | Max => ty != Ty::Bool,
        Add => ty.is_int(),
        And | Or | Xor => ty.is_int() || ty == Ty::Bool,
        _ => false,
    }
}

/// Whether elements of a type may be joined by an operator if the author allows any order: sums of floats, whose bits
/// depend on it.
pub fn is_unordered(op: BinaryOp, ty: Ty) -> bool {
    op == BinaryOp::Add && matches!(ty, Ty::F32 | Ty::F64)
}

/// Whether bins may have a type, with elements that are joined by an operator.
pub fn is_joined(op: BinaryOp, ty: Ty) -> bool {
    match ty {
        Ty::I32 | Ty::I64 | Ty::U32 | Ty::U64 => is_exact(op, ty),
        _ => is_unordered(op, ty),
    }
}

/// Returns the value of a bin without elements.
pub fn identity(op: BinaryOp, ty: Ty) -> Lit {
    match op {
        BinaryOp::Min => Lit::greatest(ty),
        BinaryOp::Max => Lit::least(ty),
        BinaryOp::And => eval_unary(UnaryOp::Not, Lit::zero(ty)),
        // its join with any number is that number, -0 included
        BinaryOp::Add if ty.is_float() => Lit::float(ty, -0.0),
        _ => Lit::zero(ty),
    }
}

/// Returns the number of elements of each part but the last, if `count` elements are cut into `parts` parts.
pub fn part(count: i64, parts: i64) -> i64 {
    let cuts = count.max(0).div_euclid(CUT) + i64::from(count.max(0) % CUT != 0);
    let parts = parts.max(1);
    (cuts / parts + i64::from(cuts % parts != 0)).saturating_mul(CUT)
}

/// Returns the same for nodes.
pub fn part_of(g: &mut Graph, count: NodeId, parts: NodeId) -> NodeId {
    let cuts = ceil_div(g, count, CUT);
    let parts = with_number(g, BinaryOp::Max, parts, 1);
    let last = with_number(g, BinaryOp::Sub, parts, 1);
    let up = binary(g, BinaryOp::Add, cuts, last);
    let each = binary(g, BinaryOp::Div, up, parts);
    with_number(g, BinaryOp::Mul, each, CUT)
}

/// A reduction into bins.
pub struct Bins {
    /// The operator, whose order is free.
    pub op: BinaryOp,
    /// The number of bins.
    pub count: NodeId,
    /// The destination of each element, i64; an element with none of the bins is left out.
    pub at: NodeId,
    /// The elements.
    pub src: NodeId,
    /// The value with which each bin begins.
    pub init: NodeId,
}

impl Bins {
    /// Returns the partial results of parts, which are not stored yet.
    pub fn of_parts(&self, g: &mut Graph) -> NodeId {
        let op = self.parts_as_op(g);
        g.add(op)
    }

    /// Returns the same as an operation that has not been added to a graph.
    pub fn parts_as_op(&self, g: &mut Graph) -> Op {
        let (op, ty) = (self.op, g.ty(self.src).elem);
        let to_word = g.lambda(&[ty], |g, x| as_word(g, op, x[0]));
        let src = if word(op, ty) == ty { self.src } else { g.add(Op::Map(to_word, vec![self.src])) };
        let parts = self.parts(g);
        Op::Bins { op, parts, count: self.count, at: self.at, src }
    }

    /// Returns the vector of the reductions, which joins the partial results of each bin.
    pub fn joined(&self, g: &mut Graph, of_parts: NodeId) -> Op {
        let (op, ty) = (self.op, g.ty(self.src).elem);
        let word = word(op, ty);
        let bins = g.add(Op::Materialize(of_parts));
        let init = as_word(g, op, self.init);
        let lambda = g.lambda(&[Ty::I64], |g, k| {
            let column = g.add(Op::Pick { src: bins, axis: 1, index: k[0] });
            let join = g.lambda(&[word; 2], |g, v| g.add(Op::Binary(op, v[0], v[1])));
            let all = g.add(Op::Reduce { join, init, src: column, which: 0 });
            of_word(g, all, ty, op)
        });
        Op::Generate(vec![self.count], lambda)
    }

    /// Returns the number of parts.
    fn parts(&self, g: &mut Graph) -> NodeId {
        let count = extent(g, self.at, 0);
        let fewest = with_number(g, BinaryOp::Mul, self.count, FOR_BIN);
        let fewest = with_number(g, BinaryOp::Max, fewest, FEWEST);
        let parts = binary(g, BinaryOp::Div, count, fewest);
        let parts = with_number(g, BinaryOp::Max, parts, 1);
        with_number(g, BinaryOp::Min, parts, MOST)
    }
}

/// Returns the type in which elements are joined.
fn word(op: BinaryOp, ty: Ty) -> Ty {
    match ty {
        ty if is_unordered(op, ty) => ty,
        Ty::F64 => Ty::I64,
        ty if ty.is_float() => Ty::I32,
        Ty::I32 | Ty::I64 | Ty::U32 | Ty::U64 => ty,
        Ty::I8 | Ty::I16 => Ty::I32,
        _ => Ty::U32,
    }
}

/// Returns the float type whose bits a word holds.
fn float(word: Ty) -> Ty {
    if word == Ty::I64 { Ty::F64 } else { Ty::F32 }
}

/// Returns the element in the form in which it is joined.
fn as_word(g: &mut Graph, op: BinaryOp, x: NodeId) -> NodeId {
    let ty = g.ty(x).elem;
    let word = word(op, ty);
    if !ty.is_float() || word == ty {
        return simplify(g, Op::Cast(word, x));
    }
    let x = simplify(g, Op::Cast(float(word), x));
    let bits = g.add(Op::Unary(UnaryOp::ToBits, x));
    let bits = g.add(Op::Cast(word, bits));
    let ordered = mirrored(g, bits);
    let is_number = g.add(Op::Binary(BinaryOp::Eq, x, x));
    let end = g.lit(if op == BinaryOp::Min { Lit::least(word) } else { Lit::greatest(word) });
    g.add(Op::Select(is_number, ordered, end))
}

/// Returns the element whose joined form is given.
fn of_word(g: &mut Graph, x: NodeId, ty: Ty, op: BinaryOp) -> NodeId {
    if !ty.is_float() || g.ty(x).elem == ty {
        return simplify(g, Op::Cast(ty, x));
    }
    let word = g.ty(x).elem;
    let float = float(word);
    let end = g.lit(if op == BinaryOp::Min { Lit::least(word) } else { Lit::greatest(word) });
    let bits = mirrored(g, x);
    let unsigned = if word == Ty::I64 { Ty::U64 } else { Ty::U32 };
    let bits = g.add(Op::Cast(unsigned, bits));
    let number = g.add(Op::Unary(UnaryOp::FromBits, bits));
    let nan = g.lit(Lit::float(float, f64::NAN).canonical());
    let is_nan = g.add(Op::Binary(BinaryOp::Eq, x, end));
    let value = g.add(Op::Select(is_nan, nan, number));
    simplify(g, Op::Cast(ty, value))
}

/// Reverses the order of the bits of negative floats, which are negative integers. Applied twice, it changes nothing.
fn mirrored(g: &mut Graph, bits: NodeId) -> NodeId {
    let word = g.ty(bits).elem;
    let (zero, greatest) = (g.lit(Lit::zero(word)), g.lit(Lit::greatest(word)));
    let is_below = g.add(Op::Binary(BinaryOp::Lt, bits, zero));
    let reversed = g.add(Op::Binary(BinaryOp::Xor, bits, greatest));
    g.add(Op::Select(is_below, reversed, bits))
}
