//! expm1 and the hyperbolic functions, by x = n ln2 + r.
//!
//! - expm1 = (2^n - 1) + 2^n r + 2^n (e^r - 1 - r). The first two terms are added exactly, so that
//!   the cancellation at n = 1 and -1 does no harm.
//! - tanh(x) = expm1(2x) / (expm1(2x) + 2), both as double words, with the quotient corrected once;
//!   this needs no second polynomial for small x.
//! - With A, B = (2^n -+ 2^-n) / 2, sinh(x) = A cosh(r) + B sinh(r) and cosh(x) = B cosh(r) + A
//!   sinh(r). This needs no division and has no cancellation, and for n = 0 it is the odd series
//!   itself.
//!
//! The polynomials are from `derive/exp.sollya` and `derive/hyperbolic.sollya`.

use crate::Real;
use crate::double::{Double, quick_two_sum, two_sum};
use crate::exp::{self, Reduced};
use crate::poly::horner;

/// Coefficients of (cosh(r) - 1) / r^2, in r^2.
const COSH_32: [f64; 3] = [0.5, 4.16665114462375640869140625e-2, 1.3930504210293292999267578125e-3];
/// Coefficients of (sinh(r) - r) / r^3, in r^2.
const SINH_32: [f64; 3] =
    [0.16666667163372039794921875, 8.3331502974033355712890625e-3, 1.9998018979094922542572021484375e-4];
/// Coefficients of (cosh(r) - 1) / r^2, in r^2.
const COSH_64: [f64; 6] = [
    0.5,
    4.166666666666667129259593593815225176513195037841796875e-2,
    1.38888888888821630286651842567380299442447721958160400390625e-3,
    2.4801587330000750730892022932749796382267959415912628173828125e-5,
    2.7557268939731746546821446360031604427831553039140999317169189453125e-7,
    2.09163617327920629432087370916208690641013845379347912967205047607421875e-9,
];
/// Coefficients of (sinh(r) - r) / r^3, in r^2.
const SINH_64: [f64; 6] = [
    0.1666666666666666574148081281236954964697360992431640625,
    8.33333333333487365213176900624603149481117725372314453125e-3,
    1.984126983408727291045836604865826302557252347469329833984375e-4,
    2.75573328993933845521935137312663499642440001480281352996826171875e-6,
    2.504070772499888719551399372809097343406392610631883144378662109375e-8,
    1.95260448651162581459250218752512172348811958499936736188828945159912109375e-10,
];

/// Returns e^x - 1 times `scale`, a power of two, if 2^n scale is a normal number.
#[inline(always)]
fn scaled_expm1<R: Real>(x: R, scale: f64) -> Double<R> {
    let Reduced { shifted, r, rest } = exp::reduce(x);
    let square = r * r;
    let one = x.lit(scale);
    let power = exp::power(one, shifted);
    // This is 2^n - 1, with its rounding error, because n may be large.
    let a = power - one;
    let a_lo = (power - a) - one;
    let sum = quick_two_sum(a, power * r);
    let lo = sum.lo + a_lo;
    if R::DOUBLE {
        // This is r^2 / 2 as a double word; rounded to one word it would add a quarter of an ulp.
        let half = x.lit(0.5);
        let tail = (square * r).mul_add(exp::rest_of_rest(r), r.mul_add(r, -square).mul_add(half, rest));
        let sum = quick_two_sum(sum.hi, power * (square * half));
        Double { hi: sum.hi, lo: power.mul_add(tail, sum.lo + lo) }
    } else {
        Double { hi: sum.hi, lo: power.mul_add(square.mul_add(exp::rest(r), rest), lo) }
    }
}

/// Returns x, but at most `end`; a NaN is kept.
#[inline(always)]
fn at_most<R: Real>(x: R, end: f64) -> R {
    R::select(x.lit(end).lt(x), x.lit(end), x)
}

/// Returns e^x - 1. The error is at most 0.89 ulp for f32 (over all inputs) and 0.81 ulp for f64
/// (measured).
#[inline(always)]
pub fn expm1<R: Real>(x: R) -> R {
    let low = x.lit(R::pick(-18.0, -38.0));
    let within = at_most(R::select(x.lt(low), low, x), R::pick(89.0, 710.0));
    // The result is computed halved, because 2^n alone may overflow.
    let y = scaled_expm1(within, 0.5).sum() * x.lit(2.0);
    // This includes zeros and subnormal numbers, whose half is not exact.
    R::select(x.abs().lt(x.lit(R::pick(0.5f64.powi(25), 0.5f64.powi(54)))), x, y)
}

/// Returns the hyperbolic tangent. The error is at most 0.77 ulp for f32 (over all inputs) and 0.71
/// ulp for f64 (measured).
#[inline(always)]
pub fn tanh<R: Real>(x: R) -> R {
    let t = at_most(x.abs(), R::pick(10.0, 20.0));
    let e = scaled_expm1(t + t, 1.0);
    let e = quick_two_sum(e.hi, e.lo);
    let Double { hi: d, lo: d_lo } = two_sum(e.hi, x.lit(2.0));
    let inverse = x.lit(1.0) / d;
    let quotient = e.hi * inverse;
    let left = (-quotient).mul_add(d, e.hi) + (-quotient).mul_add(d_lo + e.lo, e.lo);
    left.mul_add(inverse, quotient).with_sign_of(x)
}

/// The parts of sinh and cosh of t >= 0, for t up to slightly more than the largest argument with a
/// finite result. They contain 2^n / 4 in place of 2^n.
struct Parts<R> {
    /// The number (2^n - 2^-n) / 4, with its rounding error.
    a: Double<R>,
    /// The number (2^n + 2^-n) / 4, with its rounding error.
    b: Double<R>,
    r: R,
    /// The number cosh(r) - 1.
    cosh: R,
    /// The number sinh(r) - r.
    sinh: R,
}

#[inline(always)]
fn parts<R: Real>(t: R) -> Parts<R> {
    let Reduced { shifted, r, rest } = exp::reduce(t);
    let quarter = t.lit(0.25);
    let up = exp::power(quarter, shifted);
    // The power is replaced by 0 where it is negligible, because the exponent may not have room for
    // it.
    let down = R::select(t.lt(t.lit(40.0)), exp::inverse_power(quarter, shifted), t.lit(0.0));
    let (a, b) = (up - down, up + down);
    let z = r * r;
    let (cosh, sinh) = if R::DOUBLE {
        (horner(z, &COSH_64), horner(z, &SINH_64))
    } else {
        (horner(z, &COSH_32), horner(z, &SINH_32))
    };
    Parts {
        a: Double { hi: a, lo: (up - a) - down },
        b: Double { hi: b, lo: (up - b) + down },
        r,
        cosh: z * cosh,
        sinh: (z * r).mul_add(sinh, rest),
    }
}

/// Returns twice a + b r + a (cosh r - 1) + b (sinh r - r).
#[inline(always)]
fn combined<R: Real>(a: Double<R>, b: R, p: &Parts<R>) -> R {
    let product = b * p.r;
    let sum = quick_two_sum(a.hi, product);
    let product_lo = b.mul_add(p.r, -product);
    let lo = a.hi.mul_add(p.cosh, b.mul_add(p.sinh, sum.lo + (product_lo + a.lo)));
    (sum.hi + lo) * p.r.lit(2.0)
}

/// Returns the hyperbolic sine. The error is at most 0.94 ulp for f32 (over all inputs) and 0.84
/// ulp for f64 (measured).
#[inline(always)]
pub fn sinh<R: Real>(x: R) -> R {
    let t = x.abs();
    let p = parts(at_most(t, R::pick(89.6, 710.6)));
    let y = combined(p.a, p.b.hi, &p);
    // This includes zeros and subnormal numbers.
    R::select(t.lt(x.lit(R::pick(0.5f64.powi(13), 0.5f64.powi(28)))), t, y).with_sign_of(x)
}

/// Returns the hyperbolic cosine. The error is at most 0.75 ulp for f32 (over all inputs) and 0.89
/// ulp for f64 (measured).
#[inline(always)]
pub fn cosh<R: Real>(x: R) -> R {
    let p = parts(at_most(x.abs(), R::pick(89.6, 710.6)));
    combined(p.b, p.a.hi, &p)
}

#[cfg(test)]
mod tests {
    use super::{cosh, expm1, sinh, tanh};

    #[test]
    fn special_values() {
        let inf = f32::INFINITY;
        assert_eq!((expm1(inf), expm1(-inf)), (inf, -1.0));
        assert_eq!((sinh(inf), sinh(-inf), cosh(inf), cosh(-inf)), (inf, -inf, inf, inf));
        assert_eq!((tanh(inf), tanh(-inf)), (1.0, -1.0));
        assert_eq!((cosh(-0.0f32), cosh(0.0f64)), (1.0, 1.0));
        for f in [expm1, sinh, tanh] {
            assert_eq!(f(-0.0f32).to_bits(), (-0.0f32).to_bits());
            assert_eq!(f(0.0f32).to_bits(), 0);
            assert_eq!(f(f32::from_bits(3)), f32::from_bits(3));
        }
        for f in [expm1, sinh, tanh, cosh] {
            assert!(f(f64::NAN).is_nan());
        }
        for f in [expm1, sinh, tanh] {
            assert_eq!(f(-0.0f64).to_bits(), (-0.0f64).to_bits());
            assert_eq!(f(f64::from_bits(3)), f64::from_bits(3));
        }
        // These are the last arguments with finite results.
        assert!(expm1(88.722f32) < inf && sinh(89.415f32) < inf && cosh(710.4758f64) < f64::INFINITY);
        assert!(expm1(88.723f32) == inf && sinh(89.416f32) == inf && cosh(710.4759f64) == f64::INFINITY);
    }
}
