//! Logarithms.
//!
//! x = 2^k m by integer operations on the bits, with m between 2/3 and 4/3 (f32) or between
//! sqrt(1/2) and sqrt(2) (f64); f = m - 1 is exact. log(1 + f) is f plus a small [`tail`]. For f32
//! the tail is f^2 q(f) with a minimax polynomial q; for f64 it uses s = f / (2 + f), whose series
//! has half the terms (as in the log of fdlibm). Then k ln2 + f is summed exactly, so that the
//! result is rounded about once (the ln of f32 saves this and rounds twice). The functions are
//! monotone: in f64 because the errors of the small parts are far below the distance between the
//! exact values of neighbours, in f32 by a check of all inputs. The polynomials and constants are
//! from `derive/log.sollya`.

use crate::double::{Double, quick_two_sum};
use crate::poly::horner;
use crate::{Bits, Flag, Real};

const TAIL_64: [f64; 7] = [
    0.666666666666667,
    0.3999999999989982,
    0.28571428625941797,
    0.2222221113367858,
    0.18182889431743182,
    0.15331707493216937,
    0.14616651000337452,
];

/// The constants of a base.
struct Base {
    /// The logarithm of 2 in two parts. The first one is so short that its product with an exponent
    /// is exact.
    of_two: (f64, f64),
    /// 1 / ln(base) in two parts, unless the base is e.
    per_e: Option<(f64, f64)>,
    /// For f32, the coefficients of (log(1 + f) - f) / f^2 in this base.
    tail: &'static [f64],
}

/// Returns the constants of base e.
fn natural<R: Real>() -> Base {
    let single = (0.693145751953125, 1.428606765330187e-6);
    let double = (0.6931471805598903, 5.497923018708371e-14);
    let tail = &[
        -0.5,
        0.33333271741867065,
        -0.24999910593032837,
        0.2000729888677597,
        -0.16675151884555817,
        0.1405462920665741,
        -0.12260181456804276,
        0.1375444382429123,
        -0.12556113302707672,
    ];
    Base { of_two: R::pick(single, double), per_e: None, tail }
}

/// Returns the constants of base 2.
fn binary<R: Real>() -> Base {
    let single = (1.4426950216293335, 1.925963033500011e-8);
    let double = (std::f64::consts::LOG2_E, 2.0355273740931033e-17);
    let tail = &[
        -0.7213475108146667,
        0.48089835047721863,
        -0.3606732487678528,
        0.28853723406791687,
        -0.240554541349411,
        0.20623627305030823,
        -0.1770114153623581,
        0.15676696598529816,
        -0.18081972002983093,
        0.16673019528388977,
    ];
    Base { of_two: (1.0, 0.0), per_e: Some(R::pick(single, double)), tail }
}

/// Returns the constants of base 10.
fn decimal<R: Real>() -> Base {
    let of_single = (0.30103302001953125, -3.024355464731343e-6);
    let of_double = (0.30102999566395283, 2.8363394551044964e-14);
    let single = (0.4342944920063019, -1.0103049952192578e-8);
    let double = (std::f64::consts::LOG10_E, 1.098319650216765e-17);
    let tail = &[
        -0.21714724600315094,
        0.14476484060287476,
        -0.10857249796390533,
        0.08685693889856339,
        -0.072445809841156,
        0.06212889775633812,
        -0.052903126925230026,
        0.046647362411022186,
        -0.05597004294395447,
        0.05236130952835083,
    ];
    Base { of_two: R::pick(of_single, of_double), per_e: Some(R::pick(single, double)), tail }
}

/// Returns ln(x). The error is at most 0.95 ulp for f32 (over all inputs) and 0.78 ulp for f64
/// (measured).
#[inline(always)]
pub fn log<R: Real>(x: R) -> R {
    logarithm(x, &natural::<R>())
}

/// Returns the logarithm to base 2, which is exact for powers of two. The error is at most 0.82 ulp
/// for f32 (over all inputs) and 0.86 ulp for f64 (measured).
#[inline(always)]
pub fn log2<R: Real>(x: R) -> R {
    logarithm(x, &binary::<R>())
}

/// Returns the logarithm to base 10, which is exact for powers of ten. The error is at most 0.95
/// ulp for f32 (over all inputs) and 0.79 ulp for f64 (measured).
#[inline(always)]
pub fn log10<R: Real>(x: R) -> R {
    logarithm(x, &decimal::<R>())
}

/// Returns ln(1 + x). The error is at most 0.99 ulp for f32 (over all inputs) and 0.76 ulp for f64
/// (measured).
#[inline(always)]
pub fn log1p<R: Real>(x: R) -> R {
    let one = x.lit(1.0);
    let u = one + x;
    let shifted = shift(u, low::<R>());
    let k = exponent(x, shifted) - x.lit(whole::<R>());
    // The scale is 2^-k, so that 1 + x = 2^k (1 + f). It is built from 2^(2 - k), which is not
    // subnormal.
    let field = shifted & shifted.lit(R::EXPONENT);
    let power = (shifted.lit(R::SIGN) - field).real() * x.lit(0.25);
    let less = power - one;
    let f = x.mul_add(power, less);
    let rest = x.mul_add(power, less - f);
    // log(1 + f + rest) is log(1 + f) + rest / (1 + f).
    let rest = (-rest).mul_add(f, rest);
    let r = assemble(k, f, Some(rest), &natural::<R>());
    // The result for 0 keeps its sign.
    let r = r.with_sign_of(x);
    let usual = u.gt(x.lit(0.0)) & u.lt(x.lit(f64::INFINITY));
    R::select((!usual).unlikely(), special(u, r), r)
}

#[inline(always)]
fn logarithm<R: Real>(x: R, base: &Base) -> R {
    let rare = (!is_normal(x)).unlikely();
    let (k, m) = split(x, low::<R>(), rare);
    let r = assemble(k, m - x.lit(1.0), None, base);
    R::select(rare, special(x, r), r)
}

/// Whether x is positive, finite and not subnormal.
#[inline(always)]
pub(crate) fn is_normal<R: Real>(x: R) -> R::Flag {
    x.ge(least(x)) & x.lt(x.lit(f64::INFINITY))
}

#[inline(always)]
fn least<R: Real>(x: R) -> R {
    x.lit(R::pick(f64::from(f32::MIN_POSITIVE), f64::MIN_POSITIVE))
}

/// Returns the bits of the least m, which is 2/3 or sqrt(1/2).
fn low<R: Real>() -> u64 {
    R::pick(0x3f2a_aaab, 0x3fe6_a09e_667f_3bcd)
}

/// Returns k and m with x = 2^k m, where m lies between the number with the bits `low` and twice
/// that number. x is positive and finite; `rare` says whether it may be subnormal.
#[inline(always)]
pub(crate) fn split<R: Real>(x: R, low: u64, rare: R::Flag) -> (R, R) {
    let small = x.lt(least(x));
    let (power, digits) = R::pick((33_554_432.0, 25.0), (18_014_398_509_481_984.0, 54.0));
    let y = R::select(rare, R::select(small, x * x.lit(power), x), x);
    let shifted = shift(y, low);
    let offset = x.lit(whole::<R>());
    let k = exponent(x, shifted) - R::select(rare, R::select(small, offset + x.lit(digits), offset), offset);
    let m = (shifted & shifted.lit((1 << R::MANTISSA) - 1)) + shifted.lit(low);
    (k, m.real())
}

/// Returns the bits of x as if mantissas began at that of `low`: the exponent field is k + bias.
#[inline(always)]
fn shift<R: Real>(x: R, low: u64) -> R::Bits {
    let b = x.bits();
    b + b.lit((R::BIAS << R::MANTISSA) - low)
}

/// Returns the constant that [`exponent`] adds to k: 2 to the number of mantissa bits, and the
/// bias.
fn whole<R: Real>() -> f64 {
    (1u64 << R::MANTISSA) as f64 + R::BIAS as f64
}

/// Returns the exponent field of [`shift`] as the mantissa of a number that has no fraction bits.
#[inline(always)]
fn exponent<R: Real>(x: R, shifted: R::Bits) -> R {
    (shifted.shr(R::MANTISSA) | x.lit((1u64 << R::MANTISSA) as f64).bits()).real()
}

/// Returns the logarithm of 2^k (1 + f + rest), where rest is below an ulp of f.
#[inline(always)]
fn assemble<R: Real>(k: R, f: R, rest: Option<R>, base: &Base) -> R {
    if !R::DOUBLE && base.per_e.is_none() && rest.is_none() {
        // This is nearly as accurate and takes three operations less.
        let r = (f * f).mul_add(horner(f, base.tail), f);
        return k.mul_add(f.lit(std::f64::consts::LN_2), r);
    }
    // In this base, f is main + error.
    let (main, error) = match base.per_e {
        None => (f, rest),
        Some((scale, scale_lo)) => {
            let main = f * f.lit(scale);
            let error = f.mul_add(f.lit(scale), -main);
            (main, Some(f.mul_add(f.lit(scale_lo), error)))
        }
    };
    // k hi is exact, and it is 0 or larger than main.
    let (hi, lo) = base.of_two;
    let sum = if hi == 1.0 {
        quick_two_sum(k, main)
    } else {
        let sum = k.mul_add(f.lit(hi), main);
        Double { hi: sum, lo: main - k.mul_add(f.lit(-hi), sum) }
    };
    let small = error.map_or(sum.lo, |e| sum.lo + e);
    let small = if lo == 0.0 { small } else { k.mul_add(f.lit(lo), small) };
    sum.hi + tail(f, Double { hi: main, lo: error.unwrap_or(f.lit(0.0)) }, small, base)
}

/// Returns log(1 + f) - f in the base, plus `small`; `main` is f in the base.
#[inline(always)]
fn tail<R: Real>(f: R, main: Double<R>, small: R, base: &Base) -> R {
    if !R::DOUBLE {
        let square = f * f;
        return match base.per_e {
            None => square.mul_add(horner(f, base.tail), small),
            // The square is rounded into the sum, because 1/8 lies just above log10(4/3), whose ulp
            // is small.
            Some(_) => {
                (f * f.lit(base.tail[0])).mul_add(f, (square * f).mul_add(horner(f, &base.tail[1..]), small))
            }
        };
    }
    let s = f / (f + f.lit(2.0));
    let z = s * s;
    // f - f^2 / 2 + s (f^2 / 2 + z r(z)) is log(1 + f) = 2 s + s z r(z).
    let half = f * f.lit(0.5);
    let rest = z.mul_add(horner(z, &TAIL_64), half * f);
    match base.per_e {
        None => (-half).mul_add(f, s.mul_add(rest, small)),
        // f^2 / 2 in the base is half of f times main.
        Some((scale, _)) => {
            (-half).mul_add(main.hi, (s * f.lit(scale)).mul_add(rest, (-half).mul_add(main.lo, small)))
        }
    }
}

/// Returns `r`, or the special results for 0, negative numbers, infinity and NaN.
#[inline(always)]
fn special<R: Real>(x: R, r: R) -> R {
    let zero = x.lit(0.0);
    let infinity = x.lit(f64::INFINITY);
    let pole = R::select(x.eq(zero), -infinity, x.lit(f64::NAN));
    R::select(x.gt(zero), R::select(x.lt(infinity), r, x), pole)
}

#[cfg(test)]
mod tests {
    use super::{log, log1p, log2, log10};

    #[test]
    fn special_values() {
        for f in [log::<f32>, log2, log10] {
            assert_eq!((f(0.0), f(-0.0), f(1.0)), (f32::NEG_INFINITY, f32::NEG_INFINITY, 0.0));
            assert!(f(1.0).is_sign_positive() && f(f32::NAN).is_nan() && f(-1e-45).is_nan());
            assert_eq!(f(f32::INFINITY), f32::INFINITY);
        }
        for f in [log::<f64>, log2, log10] {
            assert_eq!((f(0.0), f(-0.0), f(1.0)), (f64::NEG_INFINITY, f64::NEG_INFINITY, 0.0));
            assert!(f(1.0).is_sign_positive() && f(f64::NAN).is_nan() && f(f64::NEG_INFINITY).is_nan());
            assert_eq!(f(f64::INFINITY), f64::INFINITY);
        }
        assert_eq!((log1p(-1.0f32), log1p(f64::INFINITY)), (f32::NEG_INFINITY, f64::INFINITY));
        assert!(log1p(-1.1f32).is_nan() && log1p(f64::NAN).is_nan() && log1p(-0.0f64).is_sign_negative());
    }

    #[test]
    fn whole_results_are_exact() {
        for k in -149..128 {
            assert_eq!(log2(2f64.powi(k) as f32), k as f32);
        }
        for k in -1074..1024 {
            let power = f64::from_bits(if k < -1022 { 1 << (k + 1074) } else { ((k + 1023) as u64) << 52 });
            assert_eq!(log2(power), f64::from(k));
        }
        for k in 0..23i8 {
            assert_eq!(log10(format!("1e{k}").parse::<f64>().unwrap()), f64::from(k));
        }
    }
}
