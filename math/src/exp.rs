//! The exponential function.
//!
//! x = n ln2 + r with |r| <= ln2 / 2 (n by adding [`Real::MAGIC`], r by Cody and Waite's two-part ln2), exp(r) = 1 + r + r^2 q(r) with a minimax q
//! (`derive/exp.sollya`), then two multiplications by powers of two, of which only the second can round: subnormal results are rounded once.

use crate::double::quick_two_sum;
use crate::poly::horner;
use crate::{Bits, Real};

const LN2_HI_32: f64 = 0.693145751953125;
const LN2_LO_32: f64 = 1.428606765330187045e-6;
const LN2_HI_64: f64 = 0.693147180559890330187;
const LN2_LO_64: f64 = 5.497923018708371155e-14;

const EXP_32: [f64; 5] =
    [0.5, 0.16666577756404877, 4.1666708886623383e-2, 8.3630988374352455e-3, 1.39107659924775362e-3];
const EXP_64: [f64; 11] = [
    0.5,
    0.16666666666666671292595935938152,
    4.1666666666666643537020320309e-2,
    8.3333333333258995909830e-3,
    1.38888888889050375260e-3,
    1.98412698753967607504e-4,
    2.48015872719067724267e-5,
    2.75572548402492589997e-6,
    2.75573268660384758737e-7,
    2.51054054297581193276e-8,
    2.08964908769484408356e-9,
];

/// e^x. f32: 0.84 ulp (all inputs); f64: 0.76 ulp (measured); monotone.
#[inline(always)]
pub fn exp<R: Real>(x: R) -> R {
    // beyond these the result is 0 or infinity, which the last multiplication gives; a NaN stays
    let (low, high) = R::pick((-104.0, 89.0), (-746.0, 710.0));
    let x = R::select(x.lt(x.lit(low)), x.lit(low), x);
    let x = R::select(x.gt(x.lit(high)), x.lit(high), x);
    let magic = x.lit(R::MAGIC);
    let shifted = x.mul_add(x.lit(std::f64::consts::LOG2_E), magic);
    let n = shifted - magic;
    let (hi, lo) = ln2::<R>();
    let exact = n.mul_add(x.lit(-hi), x);
    let r = n.mul_add(x.lit(-lo), exact);
    let q = self::rest(r);
    let one = quick_two_sum(x.lit(1.0), r);
    let p = if R::DOUBLE {
        // what rounding r left; n hi has few bits, so the first difference is exact
        let rest = n.mul_add(x.lit(-lo), exact - r);
        one.hi + (one.lo + (r * r).mul_add(q, rest))
    } else {
        one.hi + (r * r).mul_add(q, one.lo)
    };
    scale(p, shifted)
}

/// ln 2 in two parts, of which the first leaves bits free for a product with n.
pub fn ln2<R: Real>() -> (f64, f64) {
    R::pick((LN2_HI_32, LN2_LO_32), (LN2_HI_64, LN2_LO_64))
}

/// (e^r - 1 - r) / r^2 for |r| <= ln2 / 2.
#[inline(always)]
pub fn rest<R: Real>(r: R) -> R {
    if R::DOUBLE { horner(r, &EXP_64) } else { horner(r, &EXP_32) }
}

/// `p * 2^n`, rounded once, for p near 1 and n within twice the exponents' range; n stands in the low bits of `shifted`, which is n + MAGIC.
#[inline(always)]
pub fn scale<R: Real>(p: R, shifted: R) -> R {
    let n = shifted.bits() - p.lit(R::MAGIC).bits();
    // halves of n + an even bias, so that nothing is negative: n / 2 and the rest
    let bias = 2 * R::BIAS;
    let biased = n + n.lit(bias);
    let half = biased.shr(1);
    let power = |e: R::Bits| e.shl(R::MANTISSA).real();
    p * power(half) * power(biased - half)
}

#[cfg(test)]
mod tests {
    use super::exp;

    #[test]
    fn special_values() {
        assert_eq!(exp(f32::INFINITY), f32::INFINITY);
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
        assert_eq!(exp(-0.0f32), 1.0);
        assert!(exp(f32::NAN).is_nan() && exp(f64::NAN).is_nan());
        assert_eq!((exp(88.73f32), exp(709.79f64)), (f32::INFINITY, f64::INFINITY));
        assert_eq!((exp(-103.97f32), exp(-745.13f64)), (f32::from_bits(1), f64::from_bits(1)));
        assert_eq!((exp(-103.98f32), exp(-745.14f64)), (0.0, 0.0));
    }
}
