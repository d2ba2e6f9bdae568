//! The exponential function.
//!
//! x = n ln2 + r with |r| <= ln2 / 2, where n is found by adding [`Real::MAGIC`] and r by the
//! two-part ln2 of Cody and Waite. exp(r) = 1 + r + r^2 q(r) with a minimax polynomial q
//! (`derive/exp.sollya`), and then n is added to the exponent. If the result could be too small or
//! too large for that, it is instead multiplied by two powers of two, of which only the second can
//! round: subnormal results are rounded once.

use crate::double::quick_two_sum;
use crate::poly::horner;
use crate::{Bits, Flag, Real};

const LN2_HI_32: f64 = 0.693145751953125;
const LN2_LO_32: f64 = 1.428606765330187045e-6;
const LN2_HI_64: f64 = 0.693147180559890330187;
const LN2_LO_64: f64 = 5.497923018708371155e-14;

const EXP_32: [f64; 5] =
    [0.5, 0.16666577756404877, 4.1666708886623383e-2, 8.3630988374352455e-3, 1.39107659924775362e-3];
/// Coefficients with one degree more, for results that need more than the precision of f32: the
/// error of the other polynomial is 2^-26.6.
const REST_32: [f64; 6] = [
    0.5,
    0.16666667163372039794921875,
    4.16665114462375640869140625e-2,
    8.333199657499790191650390625e-3,
    1.39305018819868564605712890625e-3,
    1.99510468519292771816253662109375e-4,
];
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

/// Coefficients of (2^x - 1) / x.
const EXP2_32: [f64; 6] = [
    0.693147182464599609375,
    0.24022649228572845458984375,
    5.55036626756191253662109375e-2,
    9.6183232963085174560546875e-3,
    1.338789355941116809844970703125e-3,
    1.537671196274459362030029296875e-4,
];
pub(crate) const EXP2_64: [f64; 12] = [
    0.69314718055994528622676398299518041312694549560546875,
    0.240226506959100694071906900717294774949550628662109375,
    5.5504108664823477437000320833249134011566638946533203125e-2,
    9.61812910762988200474854494359533418901264667510986328125e-3,
    1.33335581459906077524124601296762193669565021991729736328125e-3,
    1.540353039028254425978070596414681858732365071773529052734375e-4,
    1.52527342227319723483129620955622840483556501567363739013671875e-5,
    1.32154896059226080026120613009066317999895545653998851776123046875e-6,
    1.017790431709871378745298491248771899364555792999453842639923095703125e-7,
    7.0537849167796804230920579455166308235902761225588619709014892578125e-9,
    4.47807425662567621146751936208533877159521097155447932891547679901123046875e-10,
    2.73409573512198986845304177267375572539520600656715032528154551982879638671875e-11,
];

/// Returns e^x. It is monotone. The error is at most 0.87 ulp for f32 (over all inputs) and 0.78
/// ulp for f64 (measured).
#[inline(always)]
pub fn exp<R: Real>(x: R) -> R {
    let rare = (!x.abs().lt(x.lit(R::pick(87.0, 708.0)))).unlikely();
    let x = clamp(x, R::pick((-104.0, -176.0, 89.0), (-746.0, -1418.0, 710.0)), rare);
    let by = reduce(x);
    let r = by.r;
    let one = quick_two_sum(x.lit(1.0), r);
    let p = if R::DOUBLE {
        one.hi + (one.lo + (r * r).mul_add(horner(r, &EXP_64), by.rest))
    } else {
        one.hi + (r * r).mul_add(horner(r, &EXP_32), one.lo)
    };
    R::select(rare, scale(p, by.shifted), power(p, by.shifted))
}

/// Returns x, clamped to the limits if `rare` holds; beyond them the result is 0 or infinity, which
/// [`scale`] returns. A NaN is kept. What is below `low` becomes `zero`, for which both factors of
/// [`scale`] are 0: a product that underflows takes some CPUs a hundred times as long.
#[inline(always)]
fn clamp<R: Real>(x: R, (low, zero, high): (f64, f64, f64), rare: R::Flag) -> R {
    let above = R::select(x.lt(x.lit(low)), x.lit(zero), x);
    R::select(rare, R::select(above.gt(x.lit(high)), x.lit(high), above), x)
}

/// Returns 2^x; the reduction is exact. The error is at most 0.90 ulp for f32 (over all inputs) and
/// 0.88 ulp for f64 (measured).
#[inline(always)]
pub fn exp2<R: Real>(x: R) -> R {
    let rare = (!x.abs().lt(x.lit(R::pick(126.0, 1022.0)))).unlikely();
    let x = clamp(x, R::pick((-151.0, -254.0, 129.0), (-1076.0, -2046.0, 1025.0)), rare);
    let shifted = x + x.lit(R::MAGIC);
    let r = x - (shifted - x.lit(R::MAGIC));
    let p = if R::DOUBLE { horner(r, &EXP2_64) } else { horner(r, &EXP2_32) };
    let p = p.mul_add(r, x.lit(1.0));
    R::select(rare, scale(p, shifted), power(p, shifted))
}

/// The reduced argument: x = n ln2 + r + rest with |r| <= ln2 / 2.
pub struct Reduced<R> {
    /// The number n + [`Real::MAGIC`].
    pub shifted: R,
    /// The remainder of x, rounded.
    pub r: R,
    /// The rounding error of `r`.
    pub rest: R,
}

/// Reduces x to [`Reduced`].
#[inline(always)]
pub fn reduce<R: Real>(x: R) -> Reduced<R> {
    let magic = x.lit(R::MAGIC);
    let shifted = x.mul_add(x.lit(std::f64::consts::LOG2_E), magic);
    let n = shifted - magic;
    let (hi, lo) = ln2::<R>();
    // n hi has few bits, so this difference is exact.
    let exact = n.mul_add(x.lit(-hi), x);
    let r = n.mul_add(x.lit(-lo), exact);
    Reduced { shifted, r, rest: n.mul_add(x.lit(-lo), exact - r) }
}

/// Returns `p * 2^n`, if that and p are normal numbers.
#[inline(always)]
pub fn power<R: Real>(p: R, shifted: R) -> R {
    (p.bits() + shifted.bits().shl(R::MANTISSA)).real()
}

/// Returns `one * 2^-n`, if that is a normal number; `one` is a power of two.
#[inline(always)]
pub fn inverse_power<R: Real>(one: R, shifted: R) -> R {
    (one.bits() - shifted.bits().shl(R::MANTISSA)).real()
}

/// Returns ln 2 in two parts. The first one has zero bits at the end, so that its product with n is
/// exact.
pub fn ln2<R: Real>() -> (f64, f64) {
    R::pick((LN2_HI_32, LN2_LO_32), (LN2_HI_64, LN2_LO_64))
}

/// Returns (e^r - 1 - r) / r^2 for |r| <= ln2 / 2.
#[inline(always)]
pub fn rest<R: Real>(r: R) -> R {
    if R::DOUBLE { horner(r, &EXP_64) } else { horner(r, &REST_32) }
}

/// Returns (e^r - 1 - r - r^2 / 2) / r^3 for |r| <= ln2 / 2.
#[inline(always)]
pub fn rest_of_rest<R: Real>(r: R) -> R {
    if R::DOUBLE { horner(r, &EXP_64[1..]) } else { horner(r, &REST_32[1..]) }
}

/// Returns `p * 2^n`, rounded once, for p near 1 and n within twice the range of exponents. n is in
/// the low bits of `shifted`, which is n + MAGIC.
#[inline(always)]
pub fn scale<R: Real>(p: R, shifted: R) -> R {
    let n = shifted.bits() - p.lit(R::MAGIC).bits();
    // n plus an even bias is halved, so that no number is negative: one factor has n / 2, the other
    // one the rest.
    let bias = 2 * R::BIAS;
    let biased = n + n.lit(bias);
    let half = biased.shr(1);
    let power = |e: R::Bits| e.shl(R::MANTISSA).real();
    p * power(half) * power(biased - half)
}

#[cfg(test)]
mod tests {
    use super::{exp, exp2};

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

    #[test]
    fn powers_of_two_are_exact() {
        for n in -149..128 {
            let x = n as f32;
            assert_eq!(f64::from(exp2(x)), 2f64.powi(n));
            assert_eq!(exp2(f64::from(x)), 2f64.powi(n));
        }
        assert_eq!((exp2(f32::INFINITY), exp2(f32::NEG_INFINITY)), (f32::INFINITY, 0.0));
        assert_eq!((exp2(128.0f32), exp2(-150.0f32)), (f32::INFINITY, 0.0));
        assert_eq!(
            (exp2(1024.0f64), exp2(-1075.0f64), exp2(-1074.0f64)),
            (f64::INFINITY, 0.0, f64::from_bits(1))
        );
        assert!(exp2(f32::NAN).is_nan() && exp2(f64::NAN).is_nan());
    }
}
