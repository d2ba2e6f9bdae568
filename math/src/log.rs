//! Logarithms.
//!
//! x = 2^k m by integer operations on the bits, m between 2/3 and 4/3 (f32) or sqrt(1/2) and sqrt(2) (f64); f = m - 1 is exact. log(1 + f) is f and a small
//! [`tail`]: f32: f^2 q(f), a minimax q; f64: by s = f / (2 + f), whose series has half the terms (as fdlibm's log). Then k ln2 + f is summed exactly, so
//! that the result is rounded about once (f32's ln spares that and rounds twice). The functions are monotone: in f64 because the errors of the small parts
//! are far below the distance of the exact values of neighbours, in f32 checked for all inputs. Polynomials and constants: `derive/log.sollya`.

use crate::double::{Double, quick_two_sum};
use crate::poly::horner;
use crate::{Bits, Real};

const TAIL_64: [f64; 7] = [
    0.66666666666666696272613990004174411296844482421875,
    0.399999999998998212458189982498879544436931610107421875,
    0.285714286259417971081120413145981729030609130859375,
    0.2222221113367857936449212274965248070657253265380859375,
    0.181828894317431821736619212970254011452198028564453125,
    0.1533170749321693671074484655036940239369869232177734375,
    0.1461665100033745223750969444154179655015468597412109375,
];

/// What belongs to a base.
struct Base {
    /// The logarithm of 2 in two parts, the first so short that its product with an exponent is exact.
    of_two: (f64, f64),
    /// 1 / ln(base) in two parts; none for e.
    per_e: Option<(f64, f64)>,
    /// f32: (log(1 + f) - f) / f^2, in this base.
    tail: &'static [f64],
}

/// The base e.
fn natural<R: Real>() -> Base {
    let single = (0.693145751953125, 1.428606765330187045e-6);
    let double = (0.69314718055989033018704503774642944, 5.49792301870837115520e-14);
    let tail = &[
        -0.5,
        0.333332717418670654296875,
        -0.249999105930328369140625,
        0.20007298886775970458984375,
        -0.16675151884555816650390625,
        0.1405462920665740966796875,
        -0.122601814568042755126953125,
        0.13754443824291229248046875,
        -0.12556113302707672119140625,
    ];
    Base { of_two: R::pick(single, double), per_e: None, tail }
}

/// The base 2.
fn binary<R: Real>() -> Base {
    let single = (1.44269502162933349609375, 1.925963033500011079e-8);
    let double = (1.442695040888963387004650940070860088, 2.035527374093103311e-17);
    let tail = &[
        -0.721347510814666748046875,
        0.4808983504772186279296875,
        -0.360673248767852783203125,
        0.2885372340679168701171875,
        -0.2405545413494110107421875,
        0.2062362730503082275390625,
        -0.17701141536235809326171875,
        0.15676696598529815673828125,
        -0.1808197200298309326171875,
        0.1667301952838897705078125,
    ];
    Base { of_two: (1.0, 0.0), per_e: Some(R::pick(single, double)), tail }
}

/// The base 10.
fn decimal<R: Real>() -> Base {
    let of_single = (0.30103302001953125, -3.024355464731343091e-6);
    let of_double = (0.3010299956639528318191878497600555, 2.836339455104496416e-14);
    let single = (0.4342944920063018798828125, -1.010304995219257762e-8);
    let double = (0.43429448190325181666793241674895399, 1.098319650216765073e-17);
    let tail = &[
        -0.21714724600315093994140625,
        0.144764840602874755859375,
        -0.10857249796390533447265625,
        8.6856938898563385009765625e-2,
        -7.2445809841156005859375e-2,
        6.21288977563381195068359375e-2,
        -5.29031269252300262451171875e-2,
        4.6647362411022186279296875e-2,
        -5.59700429439544677734375e-2,
        5.2361309528350830078125e-2,
    ];
    Base { of_two: R::pick(of_single, of_double), per_e: Some(R::pick(single, double)), tail }
}

/// ln(x). f32: 0.95 ulp (all inputs); f64: 0.74 ulp (measured).
#[inline(always)]
pub fn log<R: Real>(x: R) -> R {
    logarithm(x, &natural::<R>())
}

/// log to base 2; of a power of two exact. f32: 0.82 ulp (all inputs); f64: 0.94 ulp (measured).
#[inline(always)]
pub fn log2<R: Real>(x: R) -> R {
    logarithm(x, &binary::<R>())
}

/// log to base 10; of a power of ten exact. f32: 0.95 ulp (all inputs); f64: 0.84 ulp (measured).
#[inline(always)]
pub fn log10<R: Real>(x: R) -> R {
    logarithm(x, &decimal::<R>())
}

/// ln(1 + x). f32: 0.99 ulp (all inputs); f64: 0.76 ulp (measured).
#[inline(always)]
pub fn log1p<R: Real>(x: R) -> R {
    let one = x.lit(1.0);
    let u = one + x;
    let shifted = shift(u);
    let k = exponent(x, shifted) - x.lit(whole::<R>());
    // 2^-k, of which 2^(2 - k) is no subnormal number: 1 + x = 2^k (1 + f)
    let field = shifted & shifted.lit(R::EXPONENT);
    let power = (shifted.lit(R::SIGN) - field).real() * x.lit(0.25);
    let less = power - one;
    let f = x.mul_add(power, less);
    let rest = x.mul_add(power, less - f);
    // log(1 + f + rest) is log(1 + f) + rest / (1 + f)
    let rest = (-rest).mul_add(f, rest);
    let r = assemble(k, f, Some(rest), &natural::<R>());
    let r = R::select(x.eq(x.lit(0.0)), x, r);
    special(u, r)
}

#[inline(always)]
fn logarithm<R: Real>(x: R, base: &Base) -> R {
    let least = x.lit(R::pick(f64::from(f32::MIN_POSITIVE), f64::MIN_POSITIVE));
    let small = x.lt(least);
    let (power, digits) = R::pick((33_554_432.0, 25.0), (18_014_398_509_481_984.0, 54.0));
    let y = R::select(small, x * x.lit(power), x);
    let shifted = shift(y);
    let offset = x.lit(whole::<R>());
    let k = exponent(x, shifted) - R::select(small, offset + x.lit(digits), offset);
    let f = mantissa(shifted) - x.lit(1.0);
    special(x, assemble(k, f, None, base))
}

/// The bits of the least m: 2/3, sqrt(1/2).
fn low<R: Real>() -> u64 {
    R::pick(0x3f2a_aaab, 0x3fe6_a09e_667f_3bcd)
}

/// The bits of x with the exponent field one more from the greatest m times a power of two on: the exponent field is k + bias where x = 2^k m.
#[inline(always)]
pub(crate) fn shift<R: Real>(x: R) -> R::Bits {
    let b = x.bits();
    b + b.lit((R::BIAS << R::MANTISSA) - low::<R>())
}

/// The m of [`shift`].
#[inline(always)]
pub(crate) fn mantissa<B: Bits>(shifted: B) -> B::Real {
    ((shifted & shifted.lit((1 << B::Real::MANTISSA) - 1)) + shifted.lit(low::<B::Real>())).real()
}

/// 2 to the number of digits, and the bias: what [`exponent`] has too much.
pub(crate) fn whole<R: Real>() -> f64 {
    (1u64 << R::MANTISSA) as f64 + R::BIAS as f64
}

/// The k of [`shift`], plus [`whole`]: the field becomes the mantissa of a number that has no places behind the point.
#[inline(always)]
pub(crate) fn exponent<R: Real>(x: R, shifted: R::Bits) -> R {
    (shifted.shr(R::MANTISSA) | x.lit((1u64 << R::MANTISSA) as f64).bits()).real()
}

/// The logarithm of 2^k (1 + f + rest), rest below an ulp of f.
#[inline(always)]
fn assemble<R: Real>(k: R, f: R, rest: Option<R>, base: &Base) -> R {
    if !R::DOUBLE && base.per_e.is_none() && rest.is_none() {
        // nearly as good, and three operations less
        let r = (f * f).mul_add(horner(f, base.tail), f);
        return k.mul_add(f.lit(std::f64::consts::LN_2), r);
    }
    // in this base, f is main + error
    let (main, error) = match base.per_e {
        None => (f, rest),
        Some((scale, scale_lo)) => {
            let main = f * f.lit(scale);
            let error = f.mul_add(f.lit(scale), -main);
            (main, Some(f.mul_add(f.lit(scale_lo), error)))
        }
    };
    // k hi is exact, and more than main or 0
    let (hi, lo) = base.of_two;
    let sum = if hi == 1.0 {
        quick_two_sum(k, main)
    } else {
        let sum = k.mul_add(f.lit(hi), main);
        Double { hi: sum, lo: main - k.mul_add(f.lit(-hi), sum) }
    };
    let small = error.map_or(sum.lo, |e| sum.lo + e);
    let small = if lo == 0.0 { small } else { k.mul_add(f.lit(lo), small) };
    sum.hi + tail(f, small, base)
}

/// log(1 + f) - f in the base, + small.
#[inline(always)]
fn tail<R: Real>(f: R, small: R, base: &Base) -> R {
    if !R::DOUBLE {
        let square = f * f;
        return match base.per_e {
            None => square.mul_add(horner(f, base.tail), small),
            // the square rounded into the sum: 1/8 lies just above log10(4/3), whose ulp is small
            Some(_) => {
                (f * f.lit(base.tail[0])).mul_add(f, (square * f).mul_add(horner(f, &base.tail[1..]), small))
            }
        };
    }
    let s = f / (f + f.lit(2.0));
    let z = s * s;
    // f - f^2 / 2 + s (f^2 / 2 + z r(z)) is log(1 + f) = 2 s + s z r(z)
    let half = f * f.lit(0.5);
    let rest = z.mul_add(horner(z, &TAIL_64), half * f);
    match base.per_e {
        None => (-half).mul_add(f, s.mul_add(rest, small)),
        Some((scale, _)) => (-half).mul_add(f, s * rest).mul_add(f.lit(scale), small),
    }
}

/// `r`, and what belongs to 0, negative numbers, infinity, NaN.
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
