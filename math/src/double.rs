//! Double-word arithmetic: a number as an unevaluated sum `hi + lo` with `|lo| <= ulp(hi) / 2`. (Dekker 1971, Knuth; with fused multiply-add as in Joldes,
//! Muller, Popescu, "Tight and rigorous error bounds for basic building blocks of double-word arithmetic", 2017.)

use crate::Real;

/// `hi + lo`.
#[derive(Clone, Copy, Debug)]
pub struct Double<R> {
    /// The sum, rounded.
    pub hi: R,
    /// What that left.
    pub lo: R,
}

/// `a + b` exactly, if `|a| >= |b|` or a is 0.
#[inline(always)]
pub fn quick_two_sum<R: Real>(a: R, b: R) -> Double<R> {
    let hi = a + b;
    Double { hi, lo: b - (hi - a) }
}

/// `a + b` exactly.
#[inline(always)]
pub fn two_sum<R: Real>(a: R, b: R) -> Double<R> {
    let hi = a + b;
    let from_b = hi - a;
    Double { hi, lo: (a - (hi - from_b)) + (b - from_b) }
}

/// `a * b` exactly, unless it underflows.
#[inline(always)]
pub fn two_product<R: Real>(a: R, b: R) -> Double<R> {
    let hi = a * b;
    Double { hi, lo: a.mul_add(b, -hi) }
}

impl<R: Real> Double<R> {
    /// `self + b`; relative error about 2 u^2 (u: half an ulp of 1).
    #[inline(always)]
    pub fn plus(self, b: R) -> Self {
        let s = two_sum(self.hi, b);
        quick_two_sum(s.hi, s.lo + self.lo)
    }

    /// `self + b`, good where the signs agree or the sizes differ.
    #[inline(always)]
    pub fn plus_double(self, b: Self) -> Self {
        let s = two_sum(self.hi, b.hi);
        quick_two_sum(s.hi, s.lo + (self.lo + b.lo))
    }

    /// `self * b`; relative error about 2 u^2.
    #[inline(always)]
    pub fn times(self, b: R) -> Self {
        let p = two_product(self.hi, b);
        quick_two_sum(p.hi, self.lo.mul_add(b, p.lo))
    }

    /// `self * b`; relative error about 5 u^2.
    #[inline(always)]
    pub fn times_double(self, b: Self) -> Self {
        let p = two_product(self.hi, b.hi);
        let lo = self.hi.mul_add(b.lo, self.lo * b.hi);
        quick_two_sum(p.hi, p.lo + lo)
    }

    /// Rounded to one number.
    #[inline(always)]
    pub fn sum(self) -> R {
        self.hi + self.lo
    }
}

/// `a / b` for finite quotients; relative error about 2 u^2.
#[inline(always)]
pub fn quotient<R: Real>(a: R, b: R) -> Double<R> {
    let hi = a / b;
    Double { hi, lo: (-hi).mul_add(b, a) / b }
}
