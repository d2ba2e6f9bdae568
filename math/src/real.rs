//! The operations in which the functions are written.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

/// A floating-point number: f32, f64, or a term of the compiler for one. Every operation rounds
/// once, to nearest, ties to even.
pub trait Real:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// The unsigned integer of the same width.
    type Bits: Bits<Real = Self, Flag = Self::Flag>;
    /// The result of a comparison.
    type Flag: Flag;
    /// Whether the type is f64.
    const DOUBLE: bool;

    /// Returns the constant `x`, rounded to this type. `self` only identifies the graph of a term.
    fn lit(self, x: f64) -> Self;
    /// Returns `self * b + c`, rounded once.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// Returns the correctly rounded square root.
    fn sqrt(self) -> Self;
    /// Returns the number without its sign.
    fn abs(self) -> Self;
    /// Rounds to an integer towards zero.
    fn trunc(self) -> Self;
    /// Rounds to an integer towards minus infinity.
    fn floor(self) -> Self;
    /// Rounds to the nearest integer, ties to even.
    fn round_ties_even(self) -> Self;
    /// Returns the exact remainder with the sign of `self`, like `fmod` of C. It is slow, because
    /// it needs a loop.
    fn rem_slow(self, y: Self) -> Self;
    /// Returns the bits; those of a NaN may be the bits of any NaN.
    fn bits(self) -> Self::Bits;
    /// Compares as IEEE 754 defines: all comparisons with a NaN are false, except `ne`.
    fn lt(self, y: Self) -> Self::Flag;
    /// See [`Real::lt`].
    fn le(self, y: Self) -> Self::Flag;
    /// See [`Real::lt`].
    fn eq(self, y: Self) -> Self::Flag;
    /// See [`Real::lt`].
    fn ne(self, y: Self) -> Self::Flag;
    /// Returns `a` if the flag holds, else `b`.
    fn select(c: Self::Flag, a: Self, b: Self) -> Self;

    /// See [`Real::lt`].
    fn gt(self, y: Self) -> Self::Flag {
        y.lt(self)
    }
    /// See [`Real::lt`].
    fn ge(self, y: Self) -> Self::Flag {
        y.le(self)
    }
    /// Whether the number is a NaN.
    fn is_nan(self) -> Self::Flag {
        self.ne(self)
    }
    /// Number of mantissa bits without the leading one.
    const MANTISSA: u32 = if Self::DOUBLE { 52 } else { 23 };
    /// The exponent field of the number 1.
    const BIAS: u64 = if Self::DOUBLE { 1023 } else { 127 };
    /// The sign bit.
    const SIGN: u64 = if Self::DOUBLE { 1 << 63 } else { 1 << 31 };
    /// The bits of infinity: all of the exponent field.
    const EXPONENT: u64 = if Self::DOUBLE { 0x7ff << 52 } else { 0xff << 23 };
    /// 1.5 times 2 to the number of mantissa bits. Adding it rounds to an integer, which is then in
    /// the low bits.
    const MAGIC: f64 = if Self::DOUBLE { 6_755_399_441_055_744.0 } else { 12_582_912.0 };

    /// Returns the one of two values that belongs to this type.
    fn pick<T>(single: T, double: T) -> T {
        if Self::DOUBLE { double } else { single }
    }
    /// Returns the number with the sign of `sign`, which is not a NaN, because the sign of a NaN
    /// means nothing.
    fn with_sign_of(self, sign: Self) -> Self {
        let b = self.bits();
        ((b & b.lit(Self::SIGN - 1)) | (sign.bits() & b.lit(Self::SIGN))).real()
    }
    /// Changes the sign if the sign bit of the word `sign` is set.
    fn flip_sign(self, sign: Self::Bits) -> Self {
        (self.bits() ^ (sign & sign.lit(Self::SIGN))).real()
    }
}

/// An unsigned integer as wide as its [`Real`], whose operations wrap.
pub trait Bits:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
{
    /// The floating-point type with these bits.
    type Real: Real<Bits = Self, Flag = Self::Flag>;
    /// The result of a comparison.
    type Flag: Flag;

    /// Returns a constant.
    fn lit(self, x: u64) -> Self;
    /// Shifts to the left by a constant below the width.
    fn shl(self, k: u32) -> Self;
    /// Shifts to the right by a constant below the width, filling with zeros.
    fn shr(self, k: u32) -> Self;
    /// Compares for equality.
    fn eq(self, y: Self) -> Self::Flag;
    /// Whether the integer is less than `y`, unsigned.
    fn lt(self, y: Self) -> Self::Flag;
    /// Returns `a` if the flag holds, else `b`.
    fn select(c: Self::Flag, a: Self, b: Self) -> Self;
    /// Returns the number that has these bits.
    fn real(self) -> Self::Real;
}

/// A truth value.
pub trait Flag: Copy + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self> {
    /// Returns the same condition, with the promise that it rarely holds: code that only a `select`
    /// on it needs may be skipped by a branch.
    fn unlikely(self) -> Self;
}
