//! Double-word arithmetic: a number is an unevaluated sum `hi + lo` with `|lo| <= ulp(hi) / 2`. The
//! algorithms are by Dekker (1971) and Knuth; those with fused multiply-add are in Joldes, Muller,
//! Popescu, "Tight and rigorous error bounds for basic building blocks of double-word arithmetic",
//! 2017.

use crate::Real;

/// The number `hi + lo`.
#[derive(Clone, Copy, Debug)]
pub struct Double<R> {
    /// The rounded number.
    pub hi: R,
    /// The rounding error of `hi`.
    pub lo: R,
}

/// Returns `a + b` exactly, if `|a| >= |b|` or a is 0.
#[inline(always)]
pub fn quick_two_sum<R: Real>(a: R, b: R) -> Double<R> {
    let hi = a + b;
    Double { hi, lo: b - (hi - a) }
}

/// Returns `a + b` exactly.
#[inline(always)]
pub fn two_sum<R: Real>(a: R, b: R) -> Double<R> {
    let hi = a + b;
    let from_b = hi - a;
    Double { hi, lo: (a - (hi - from_b)) + (b - from_b) }
}

/// Returns `a * b` exactly, unless it underflows.
#[inline(always)]
pub fn two_product<R: Real>(a: R, b: R) -> Double<R> {
    let hi = a * b;
    Double { hi, lo: a.mul_add(b, -hi) }
}

impl<R: Real> Double<R> {
    /// Returns `self + b`, with a relative error of about 2 u^2 (u is half an ulp of 1).
    #[inline(always)]
    pub fn plus(self, b: R) -> Self {
        let s = two_sum(self.hi, b);
        quick_two_sum(s.hi, s.lo + self.lo)
    }

    /// Returns `self + b`, accurately if the signs are equal or the magnitudes differ.
    #[inline(always)]
    pub fn plus_double(self, b: Self) -> Self {
        let s = two_sum(self.hi, b.hi);
        quick_two_sum(s.hi, s.lo + (self.lo + b.lo))
    }

    /// Returns `self * b`, with a relative error of about 2 u^2.
    #[inline(always)]
    pub fn times(self, b: R) -> Self {
        let p = two_product(self.hi, b);
        quick_two_sum(p.hi, self.lo.mul_add(b, p.lo))
    }

    /// Returns `self * b`, with a relative error of about 5 u^2.
    #[inline(always)]
    pub fn times_double(self, b: Self) -> Self {
        let p = two_product(self.hi, b.hi);
        let lo = self.hi.mul_add(b.lo, self.lo * b.hi);
        quick_two_sum(p.hi, p.lo + lo)
    }

    /// Returns the number, rounded to one word.
    #[inline(always)]
    pub fn sum(self) -> R {
        self.hi + self.lo
    }
}

/// Returns `a / b` for finite quotients, with a relative error of about 2 u^2.
#[inline(always)]
pub fn quotient<R: Real>(a: R, b: R) -> Double<R> {
    let hi = a / b;
    Double { hi, lo: (-hi).mul_add(b, a) / b }
}
