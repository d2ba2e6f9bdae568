//! Ranges of integers, as far as types and operations determine them.

use super::{BinaryOp, Lit, Ty};

/// The least and the greatest value that an integer may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The least value.
    pub least: i64,
    /// The greatest value.
    pub most: i64,
}

impl Range {
    /// Returns the range from the least to the greatest value.
    pub fn new(least: i64, most: i64) -> Range {
        Range { least, most }
    }

    /// Returns all values of an integer type; for 64-bit types, those of i64.
    pub fn of(ty: Ty) -> Range {
        match (ty, 8 * ty.size() as u32) {
            (Ty::Bool, _) => Range::new(0, 1),
            (_, 64) => Range::new(i64::MIN, i64::MAX),
            (ty, bits) if ty.is_signed() => Range::new(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            (_, bits) => Range::new(0, (1 << bits) - 1),
        }
    }

    /// Whether all values are values of the type.
    pub fn fits(self, ty: Ty) -> bool {
        let all = Range::of(ty);
        all.least <= self.least && self.most <= all.most
    }

    /// Returns the range if all its values are values of the type; else the operation wraps, and
    /// its result is any value of the type.
    pub fn wrapped(self, ty: Ty) -> Range {
        if self.fits(ty) { self } else { Range::of(ty) }
    }

    /// Returns the least range that has the values of both.
    pub fn union(self, other: Range) -> Range {
        Range::new(self.least.min(other.least), self.most.max(other.most))
    }

    /// Returns the values that are in both ranges.
    pub fn intersection(self, other: Range) -> Range {
        Range::new(self.least.max(other.least), self.most.min(other.most))
    }

    /// Returns whether a comparison holds for all values, or for none of them.
    pub fn compare(self, op: BinaryOp, other: Range) -> Option<bool> {
        let is_less = |a: Range, b: Range| match () {
            _ if a.most < b.least => Some(true),
            _ if a.least >= b.most => Some(false),
            _ => None,
        };
        match op {
            BinaryOp::Lt => is_less(self, other),
            BinaryOp::Gt => is_less(other, self),
            BinaryOp::Ge => is_less(self, other).map(|holds| !holds),
            BinaryOp::Le => is_less(other, self).map(|holds| !holds),
            _ => None,
        }
    }

    /// Returns the range of an operation on values of these ranges, before it wraps. `None` if
    /// nothing is known.
    pub fn binary(op: BinaryOp, a: Range, b: Range) -> Option<Range> {
        use BinaryOp::{Add, And, Div, Max, Min, Mul, Or, Rem, Shl, Shr, Sub, Xor};
        let constant = (b.least == b.most).then_some(b.most);
        let corners = |f: fn(i64, i64) -> Option<i64>| {
            let all = [f(a.least, b.least)?, f(a.least, b.most)?, f(a.most, b.least)?, f(a.most, b.most)?];
            Some(Range::new(*all.iter().min()?, *all.iter().max()?))
        };
        let positive = a.least >= 0 && b.least >= 0;
        match op {
            Add => Some(Range::new(a.least.checked_add(b.least)?, a.most.checked_add(b.most)?)),
            Sub => Some(Range::new(a.least.checked_sub(b.most)?, a.most.checked_sub(b.least)?)),
            Mul => corners(i64::checked_mul),
            Min => Some(Range::new(a.least.min(b.least), a.most.min(b.most))),
            Max => Some(Range::new(a.least.max(b.least), a.most.max(b.most))),
            And if positive => Some(Range::new(0, a.most.min(b.most))),
            Or | Xor if positive => Some(Range::new(0, all_bits_of(a.most.max(b.most)))),
            Div if a.least >= 0 => constant.filter(|d| *d > 0).map(|d| Range::new(a.least / d, a.most / d)),
            Rem if a.least >= 0 => constant.filter(|d| *d > 0).map(|d| Range::new(0, a.most.min(d - 1))),
            Shr => constant.filter(|n| (0..63).contains(n)).map(|n| Range::new(a.least >> n, a.most >> n)),
            Shl => {
                let factor = constant.filter(|n| (0..32).contains(n)).map(|n| 1 << n)?;
                Range::binary(Mul, a, Range::new(factor, factor))
            }
            _ => None,
        }
    }
}

impl From<Lit> for Range {
    fn from(l: Lit) -> Range {
        l.as_int().map_or(Range::of(l.ty), |x| Range::new(x, x))
    }
}

/// Returns the least number 2^k - 1 that is at least `n`.
fn all_bits_of(n: i64) -> i64 {
    (1_i64 << (64 - n.leading_zeros())).wrapping_sub(1)
}
