//! Sine, cosine, tangent.
//!
//! The argument is reduced to hi + lo in a quadrant ([`crate::reduce`]); there sin = hi + (lo cos +
//! hi^3 p(hi^2)) and cos = 1 - hi^2 / 2 + (hi^4 q(hi^2) - hi lo), with the rounding error of 1 -
//! hi^2 / 2 carried along (`derive/trig.sollya`). Both are always computed, because that costs no
//! more than selecting coefficients, and so sine and cosine of one argument share everything. They
//! work on |x|, so that the sign of zero is that of x.

use crate::double::{Double, quick_two_sum};
use crate::poly::horner;
use crate::reduce::{Reduced, by_half_pi};
use crate::{Bits, Real};

const SIN_32: [f64; 3] = [-0.16666653752326965, 0.008332113735377789, -0.00019509410776663572];
const COS_32: [f64; 3] = [0.04166664555668831, -0.0013887303648516536, 2.443119592498988e-5];
const SIN_64: [f64; 6] = [
    -0.1666666666666663,
    0.008333333333321917,
    -0.00019841269829456147,
    2.7557313581148617e-6,
    -2.505074211914809e-8,
    1.589593036728996e-10,
];
const COS_64: [f64; 6] = [
    0.041666666666666595,
    -0.0013888888888873342,
    2.4801587289001127e-5,
    -2.7557314216400976e-7,
    2.0875705257398488e-9,
    -1.1358739424890074e-11,
];

/// Returns sin and cos of r, each as hi + lo with |lo| well below |hi|, not normalised.
#[inline(always)]
fn sine_and_cosine<R: Real>(r: Double<R>) -> (Double<R>, Double<R>) {
    let Double { hi, lo } = r;
    let one = hi.lit(1.0);
    let square = hi * hi;
    let (p, q) = if R::DOUBLE {
        (horner(square, &SIN_64), horner(square, &COS_64))
    } else {
        (horner(square, &SIN_32), horner(square, &COS_32))
    };
    let half = hi * hi.lit(-0.5);
    let near_cos = hi.mul_add(half, one);
    let lost = hi.mul_add(half, one - near_cos);
    let sine = Double { hi, lo: (hi * square).mul_add(p, lo * near_cos) };
    let cosine = Double { hi: near_cos, lo: (square * square).mul_add(q, (-hi).mul_add(lo, lost)) };
    (sine, cosine)
}

/// Whether n is even.
#[inline(always)]
fn even<R: Real>(n: R::Bits) -> R::Flag {
    (n & n.lit(1)).eq(n.lit(0))
}

/// Returns a word with the second bit of n as its sign.
#[inline(always)]
fn second_bit<R: Real>(n: R::Bits) -> R::Bits {
    n.shl(R::pick(30, 62))
}

/// Returns the sine of a reduced angle.
#[inline(always)]
fn sine<R: Real>(angle: Reduced<R>) -> R {
    let (s, c) = sine_and_cosine(angle.r);
    R::select(even::<R>(angle.quadrant), s.sum(), c.sum()).flip_sign(second_bit::<R>(angle.quadrant))
}

/// Returns the cosine of a reduced angle.
#[inline(always)]
fn cosine<R: Real>(angle: Reduced<R>) -> R {
    let (s, c) = sine_and_cosine(angle.r);
    let n = angle.quadrant;
    R::select(even::<R>(n), c.sum(), s.sum()).flip_sign(second_bit::<R>(n + n.lit(1)))
}

/// Returns sin x. The error is at most 0.75 ulp for f32 and 0.74 ulp for f64 (measured).
#[inline(always)]
pub fn sin<R: Real>(x: R) -> R {
    sine(by_half_pi(x.abs())).flip_sign(x.bits())
}

/// Returns cos x. The error is at most 0.75 ulp for f32 and 0.74 ulp for f64 (measured).
#[inline(always)]
pub fn cos<R: Real>(x: R) -> R {
    cosine(by_half_pi(x.abs()))
}

/// Returns tan x, the quotient of sine and cosine as double words. The error is at most 0.91 ulp
/// for f32 (over all inputs) and 0.86 ulp for f64 (measured).
#[inline(always)]
pub fn tan<R: Real>(x: R) -> R {
    let angle = by_half_pi(x.abs());
    let (s, c) = sine_and_cosine(angle.r);
    let (s, c) = (quick_two_sum(s.hi, s.lo), quick_two_sum(c.hi, c.lo));
    let even = even::<R>(angle.quadrant);
    let either = |a: Double<R>, b: Double<R>| Double {
        hi: R::select(even, a.hi, b.hi),
        lo: R::select(even, a.lo, b.lo),
    };
    let (a, b) = (either(s, c), either(c, s));
    let reciprocal = a.hi.lit(1.0) / b.hi;
    let q = a.hi * reciprocal;
    let rest = (-q).mul_add(b.lo, (-q).mul_add(b.hi, a.hi) + a.lo);
    rest.mul_add(reciprocal, q).flip_sign(x.bits() ^ angle.quadrant.shl(R::pick(31, 63)))
}

const PI_32: [f64; 2] = [3.1415927410125732, -8.742277657347586e-8];
const PI_64: [f64; 2] = [std::f64::consts::PI, 1.2246467991473532e-16];

/// Reduces `x pi` for x >= 0, exactly except for the product by pi.
#[inline(always)]
fn by_half_turns<R: Real>(x: R) -> Reduced<R> {
    let turns = (x * x.lit(0.5)).round_ties_even();
    let x = turns.mul_add(x.lit(-2.0), x);
    let magic = x.lit(R::MAGIC);
    let shifted = x.mul_add(x.lit(2.0), magic);
    let r = (shifted - magic).mul_add(x.lit(-0.5), x);
    let pi = R::pick(PI_32, PI_64);
    let hi = r * x.lit(pi[0]);
    let lo = r.mul_add(x.lit(pi[1]), r.mul_add(x.lit(pi[0]), -hi));
    Reduced { quadrant: shifted.bits(), r: Double { hi, lo } }
}

/// Returns sin(x pi), which for an integer is the zero with the integer's sign. The error is at
/// most 1.00 ulp for f32 and 1.00 ulp for f64 (measured).
#[inline(always)]
pub fn sinpi<R: Real>(x: R) -> R {
    // Adding 0 makes zeros positive.
    (sine(by_half_turns(x.abs())) + x.lit(0.0)).flip_sign(x.bits())
}

/// Returns cos(x pi), which is +0 midway between integers. The error is at most 0.74 ulp for f32
/// and 0.74 ulp for f64 (measured).
#[inline(always)]
pub fn cospi<R: Real>(x: R) -> R {
    cosine(by_half_turns(x.abs())) + x.lit(0.0)
}

#[cfg(test)]
mod tests {
    use super::{cos, cospi, sin, sinpi, tan};

    #[test]
    fn special_values() {
        for f in [sin::<f32>, cos, tan, sinpi, cospi] {
            assert!([f32::INFINITY, f32::NEG_INFINITY, f32::NAN].iter().all(|x| f(*x).is_nan()));
        }
        for f in [sin::<f64>, cos, tan, sinpi, cospi] {
            assert!([f64::INFINITY, f64::NEG_INFINITY, f64::NAN].iter().all(|x| f(*x).is_nan()));
        }
        for f in [sin::<f32>, tan, sinpi] {
            assert_eq!((f(0.0).to_bits(), f(-0.0).to_bits()), (0, 1 << 31));
        }
        for f in [sin::<f32>, tan] {
            assert_eq!(f(f32::from_bits(1)), f32::from_bits(1));
        }
        assert_eq!((cos(-0.0f32), cospi(-0.0f64)), (1.0, 1.0));
    }

    #[test]
    fn half_turns() {
        for n in [1.0f32, 2.0, 3.0, 8388609.0, f32::MAX] {
            assert_eq!((sinpi(n).to_bits(), sinpi(-n).to_bits()), (0, 1 << 31), "sinpi {n}");
        }
        for n in [0.5f64, 1.5, 2.5, 4503599627370495.5] {
            assert_eq!((cospi(n).to_bits(), cospi(-n).to_bits()), (0, 0), "cospi {n}");
        }
        assert_eq!((cospi(8388609.0f32), cospi(8388610.0f32), cospi(f32::MAX)), (-1.0, 1.0, 1.0));
        assert_eq!((sinpi(0.5f64), sinpi(1.5f64), sinpi(-2.5f64)), (1.0, -1.0, -1.0));
    }

    #[test]
    fn hard_arguments() {
        // These are numbers near multiples of pi/2 and the greatest numbers, with values by MPFR.
        assert_eq!(sin(f64::MAX), 0.004961954789184062);
        assert_eq!(cos(f64::MAX), -0.9999876894265599);
        assert_eq!(sin(f32::MAX), -0.5218765);
        assert_eq!(cos(f32::MAX), 0.853021);
        // This argument has the smallest rest below 2^17; as a single f32 that rest would be off by
        // half an ulp.
        assert_eq!(tan(52516.434f32), -61647228.0);
        // The argument 6381956970095103 2^797 is the f64 nearest to a multiple of pi/2.
        assert_eq!(cos(6381956970095103.0 * 2f64.powi(797)), -4.687165924254628e-19);
    }
}
