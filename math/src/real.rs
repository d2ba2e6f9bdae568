//! What the functions are written in.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

/// A floating-point number: f32, f64, or the compiler's term for one. Every operation rounds once, to nearest, ties to even.
pub trait Real:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// The unsigned integer of the same width.
    type Bits: Bits<Real = Self, Flag = Self::Flag>;
    /// The result of a comparison.
    type Flag: Flag;
    /// f64?
    const DOUBLE: bool;

    /// The constant `x`, rounded to this type. (`self` only says where.)
    fn lit(self, x: f64) -> Self;
    /// `self * b + c`, rounded once.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// Square root, correctly rounded.
    fn sqrt(self) -> Self;
    /// Without the sign.
    fn abs(self) -> Self;
    /// To an integer, towards zero.
    fn trunc(self) -> Self;
    /// To an integer, towards minus infinity.
    fn floor(self) -> Self;
    /// To the nearest integer, ties to even.
    fn round_ties_even(self) -> Self;
    /// The exact remainder with the sign of `self`, C's `fmod`. Slow: a loop.
    fn rem_slow(self, y: Self) -> Self;
    /// The bits; of a NaN any NaN's.
    fn bits(self) -> Self::Bits;
    /// Comparisons are IEEE's: false with a NaN, but for `ne`.
    fn lt(self, y: Self) -> Self::Flag;
    /// See [`Real::lt`].
    fn le(self, y: Self) -> Self::Flag;
    /// See [`Real::lt`].
    fn eq(self, y: Self) -> Self::Flag;
    /// See [`Real::lt`].
    fn ne(self, y: Self) -> Self::Flag;
    /// `a` where the flag holds, else `b`.
    fn select(c: Self::Flag, a: Self, b: Self) -> Self;

    /// See [`Real::lt`].
    fn gt(self, y: Self) -> Self::Flag {
        y.lt(self)
    }
    /// See [`Real::lt`].
    fn ge(self, y: Self) -> Self::Flag {
        y.le(self)
    }
    /// Whether it is a NaN.
    fn is_nan(self) -> Self::Flag {
        self.ne(self)
    }
    /// Bits of the mantissa without the leading one.
    const MANTISSA: u32 = if Self::DOUBLE { 52 } else { 23 };
    /// The exponent field of 1.
    const BIAS: u64 = if Self::DOUBLE { 1023 } else { 127 };
    /// The sign bit.
    const SIGN: u64 = if Self::DOUBLE { 1 << 63 } else { 1 << 31 };
    /// The bits of infinity: all of the exponent field.
    const EXPONENT: u64 = if Self::DOUBLE { 0x7ff << 52 } else { 0xff << 23 };
    /// 1.5 times 2 to the mantissa: adding it rounds to an integer, which then stands in the low bits.
    const MAGIC: f64 = if Self::DOUBLE { 6_755_399_441_055_744.0 } else { 12_582_912.0 };

    /// The value for this type of two.
    fn pick<T>(single: T, double: T) -> T {
        if Self::DOUBLE { double } else { single }
    }
    /// With the sign of `sign` (not a NaN: its sign means nothing).
    fn with_sign_of(self, sign: Self) -> Self {
        let b = self.bits();
        ((b & b.lit(Self::SIGN - 1)) | (sign.bits() & b.lit(Self::SIGN))).real()
    }
    /// The sign changed where `sign`, a word, has its sign bit set.
    fn flip_sign(self, sign: Self::Bits) -> Self {
        (self.bits() ^ (sign & sign.lit(Self::SIGN))).real()
    }
}

/// An unsigned integer as wide as its [`Real`]; it wraps.
pub trait Bits:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
{
    /// The number of these bits.
    type Real: Real<Bits = Self, Flag = Self::Flag>;
    /// The result of a comparison.
    type Flag: Flag;

    /// A constant.
    fn lit(self, x: u64) -> Self;
    /// To the left by a constant below the width.
    fn shl(self, k: u32) -> Self;
    /// To the right by a constant below the width; zeros come in.
    fn shr(self, k: u32) -> Self;
    /// Equal.
    fn eq(self, y: Self) -> Self::Flag;
    /// Less, unsigned.
    fn lt(self, y: Self) -> Self::Flag;
    /// `a` where the flag holds, else `b`.
    fn select(c: Self::Flag, a: Self, b: Self) -> Self;
    /// The number that has these bits.
    fn real(self) -> Self::Real;
}

/// A truth value.
pub trait Flag: Copy + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self> {
    /// The same condition, with the promise that it rarely holds: code that only a `select` over it needs may be skipped by a branch.
    fn unlikely(self) -> Self;
}
