//! The error function, its complement, and the normal distribution.
//!
//! For |x| < 1 the error function is x + x p(x^2). Above, it is 1 - 2^p(|x|), where a short
//! polynomial suffices for the power of two, because its error is multiplied by at most erfc(1) =
//! 0.16. Unlike a polynomial for erfc or for a root of it, this form keeps the noise of rounding
//! relative to erfc, so that the tail is monotone. The form is Juffa's (erff of CUDA); the
//! polynomials are from `derive/erf.sollya` and, for f64, `derive/erf.py`.
//!
//! Away from 0, erfc and normcdf are e^(-x^2), with x^2 as a double word, times a fraction
//! 1 / (a t + b) that approximates the rest to some percent, times 1 + a polynomial in 1 / (t + c); see
//! [`tail`]. Near 0 they are computed like erf. The polynomials are from `derive/tail.sollya` and,
//! for f64, `derive/erf.py`.

use crate::exp;
use crate::poly::horner;
use crate::{Bits, Real};

/// Coefficients of erf(x) / x - 1, in x^2.
const SMALL_32: [f64; 7] = [
    0.128379166126251220703125,
    -0.3761262595653533935546875,
    0.112835831940174102783203125,
    -2.68536917865276336669921875e-2,
    5.1880744285881519317626953125e-3,
    -8.007889264263212680816650390625e-4,
    7.8461729572154581546783447265625e-5,
];
const SMALL_64: [f64; 12] = [
    0.12837916709551256,
    -0.3761263890318352,
    0.11283791670944184,
    -0.026866170643111226,
    0.005223977606116573,
    -0.0008548325929227223,
    0.00012055293574398284,
    -1.4924712255869537e-05,
    1.644713102415044e-06,
    -1.620630972606518e-07,
    1.3710963588728289e-08,
    -7.779438207878924e-10,
];
/// Coefficients of the binary logarithm of erfc(x), divided by x, from 0.96 to 3.93.
const LARGE_32: [f64; 6] = [
    -1.6280752420425415,
    -0.9172376394271851,
    -0.15174293518066406,
    0.032948099076747894,
    -0.004614883102476597,
    0.00030589793459512293,
];
/// Coefficients of the binary logarithm of erfc(x), divided by x, from 0.96 to 5.93.
const LARGE_64: [f64; 18] = [
    -1.6279069816274827,
    -0.9184485675857041,
    -0.148268301462002,
    0.027595011073417754,
    0.0002995201501505722,
    -0.002433438626973736,
    0.0008205207306981763,
    8.06127363394415e-06,
    -0.0001418243606602167,
    8.280506519582024e-05,
    -3.0104354091536665e-05,
    7.990486497572924e-06,
    -1.6063610968347142e-06,
    2.440871197865289e-07,
    -2.7293266740992284e-08,
    2.1233757394881913e-09,
    -1.0273890123261243e-10,
    2.3279607602389395e-12,
];
/// Coefficients of (2^x - 1) / x. The last digits of these and of [`LARGE_32`] were searched for a
/// monotone erf; with the coefficients of the script, erf falls at eight pairs of neighbours.
const POWER_32: [f64; 6] = [
    0.6931471824645996,
    0.24022644758224487,
    0.05550357699394226,
    0.009618828073143959,
    0.001339147100225091,
    0.00015243324742186815,
];

/// Returns the error function, 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x. It is
/// monotone. The error is at most 0.96 ulp for f32 (over all inputs) and 1.2 ulp for f64
/// (measured).
#[inline(always)]
pub fn erf<R: Real>(x: R) -> R {
    let t = x.abs();
    let small = horner(x * x, R::pick(&SMALL_32[..], &SMALL_64)).mul_add(t, t);
    let end = x.lit(R::pick(3.93, 5.93));
    let end = R::select(end.lt(t), end, t);
    let large = one_less_power(end, horner(end, R::pick(&LARGE_32[..], &LARGE_64)));
    // Both values are not negative here.
    R::select(t.lt(x.lit(0.97)), small, large).flip_sign(x.bits())
}

/// Returns 1 - 2^(x y), where the power is a normal number below 1, to about an ulp of the power.
#[inline(always)]
fn one_less_power<R: Real>(x: R, y: R) -> R {
    let (magic, one) = (x.lit(R::MAGIC), x.lit(1.0));
    let shifted = x.mul_add(y, magic);
    let f = x.mul_add(y, magic - shifted);
    // The power is s + s m.
    let s = (one.bits() + shifted.bits().shl(R::MANTISSA)).real();
    let m = horner(f, R::pick(&POWER_32[..], &exp::EXP2_64)) * f;
    (-s).mul_add(m, one - s)
}

/// Coefficients p of normcdf(x) = 0.5 + x p(x^2).
const NORMCDF_SMALL_32: [f64; 5] = [
    0.398942291736602783203125,
    -6.64905607700347900390625e-2,
    9.974176995456218719482421875e-3,
    -1.186233130283653736114501953125e-3,
    1.075153631973080337047576904296875e-4,
];

/// The constants for the tail of a distribution; see [`tail`].
struct Tail<'a> {
    slope: f64,
    offset: f64,
    shift: f64,
    scale: f64,
    p: &'a [f64],
}

const NORMCDF_32: Tail = Tail {
    slope: 2.375,
    offset: 1.5,
    shift: 5.0,
    scale: 8.0,
    p: &[
        4.80578057467937469482421875e-2,
        -6.4865015447139739990234375e-2,
        -0.23944200575351715087890625,
        0.516941010951995849609375,
        -0.622295856475830078125,
        0.522285759449005126953125,
        -0.310437619686126708984375,
        0.1174800097942352294921875,
        -1.3755190186202526092529296875e-2,
        -1.1590962298214435577392578125e-2,
        5.231686867773532867431640625e-3,
    ],
};
const NORMCDF_64: Tail = Tail {
    slope: 2.375,
    offset: 1.5,
    shift: 5.0,
    scale: 8.0,
    p: &[
        0.04805780456672371,
        -0.06486501934180589,
        -0.2394419012579134,
        0.5169412654071968,
        -0.6222984840087278,
        0.5222801376453581,
        -0.31040867972664066,
        0.11753804964293549,
        -0.01392673413302729,
        -0.011885245341567558,
        0.00584450835814133,
        0.0005881961231452213,
        -0.001138058012829588,
        3.381222549089796e-05,
        0.000218368633750996,
        -1.3284282592236158e-05,
        -4.868955049011361e-05,
        2.727918355085063e-06,
        1.4129397828372277e-05,
        -5.500677718073636e-06,
        5.122672220312877e-07,
    ],
};
const ERFC_32: Tail = Tail {
    slope: 1.625,
    offset: 0.75,
    shift: 2.5,
    scale: 4.0,
    p: &[
        2.505351416766643524169921875e-2,
        4.113017581403255462646484375e-3,
        -0.3663797080516815185546875,
        0.464929759502410888671875,
        -0.285304486751556396484375,
        6.3094206154346466064453125e-2,
        2.756389416754245758056640625e-2,
        -1.552212052047252655029296875e-2,
        -4.2614527046680450439453125e-3,
        3.86362266726791858673095703125e-3,
        -3.1567006953991949558258056640625e-4,
    ],
};
const ERFC_64: Tail = Tail {
    slope: 1.625,
    offset: 0.75,
    shift: 3.5,
    scale: 8.0,
    p: &[
        -0.012466265542153564,
        -0.0857249411356789,
        0.0017912055064964502,
        0.033337503637664176,
        -0.03604128572722392,
        0.024915269312077538,
        -0.012766468692684269,
        0.004827819214780433,
        -0.0011840943630843143,
        6.664159528113453e-05,
        8.011457811120402e-05,
        -2.9302469807253276e-05,
        -6.607574213836906e-07,
        3.2436535846428156e-06,
        -5.123309250267071e-07,
        -3.0699343698602316e-07,
        9.627640237929362e-08,
        3.213101532814323e-08,
        -1.1024585044577504e-08,
        -3.7655231703454045e-09,
        5.847109826839056e-11,
    ],
};

/// Returns e^(h + l) (1 + p(v)) / (slope t + offset) with v = 1 - scale / (t + shift). h is -t^2 or
/// half of it, and l is its rounding error.
///
/// The fraction alone approximates the tail to some percent, so the error of the polynomial hardly
/// matters. One division computes both reciprocals; the quotient is corrected by the rounding
/// errors of the power and of the denominator.
#[inline(always)]
fn tail<R: Real>(t: R, h: R, l: R, by: &Tail) -> R {
    let (one, magic) = (t.lit(1.0), t.lit(R::MAGIC));
    let d = t.mul_add(t.lit(by.slope), t.lit(by.offset));
    let d_lo = t.mul_add(t.lit(by.slope), t.lit(by.offset) - d);
    let b = t + t.lit(by.shift);
    let r = one / (d * b);
    let u = r * d;
    let error = (-u).mul_add(b, one) - u * (t - (b - t.lit(by.shift)));
    let scaled = u * t.lit(by.scale);
    let m = horner((-scaled).mul_add(error, one - scaled), by.p);
    // The power e^(h + l) is 2^n (hi + lo).
    let shifted = h.mul_add(t.lit(std::f64::consts::LOG2_E), magic);
    let n = shifted - magic;
    let (ln2_hi, ln2_lo) = exp::ln2::<R>();
    let exact = n.mul_add(t.lit(-ln2_hi), h);
    let low = n.mul_add(t.lit(-ln2_lo), l);
    let x = exact + low;
    let hi = one + x;
    let lo = (x * x).mul_add(exp::rest(x), (low - (x - exact)) + (x - (hi - one)));
    let lo = (hi + lo).mul_add(m, lo);
    let quotient = hi * (r * b);
    let left = (-quotient).mul_add(d, hi) + (-quotient).mul_add(d_lo, lo);
    // The value is scaled so that only the last multiplication may round.
    let bits = shifted.bits() - magic.bits();
    let s = (bits + bits.lit(R::BIAS + 100)).shl(R::MANTISSA).real();
    left.mul_add(r * b, quotient) * s * t.lit(0.5f64.powi(100))
}

/// Returns the cumulative function of the normal distribution, 0.5 erfc(-x / sqrt 2). The error is
/// at most 0.98 ulp for f32 (over all inputs) and 1.3 ulp for f64 (measured).
#[inline(always)]
pub fn normcdf<R: Real>(x: R) -> R {
    let end = x.lit(R::pick(14.3, 38.6));
    let t = x.abs();
    let t = R::select(end.lt(t), end, t);
    let half = t * t.lit(-0.5);
    let h = half * t;
    let tail = tail(t, h, half.mul_add(t, -h), R::pick(&NORMCDF_32, &NORMCDF_64));
    let large = R::select(x.lt(x.lit(0.0)), tail, x.lit(1.0) - tail);
    let small = if R::DOUBLE {
        let y = x * x.lit(std::f64::consts::FRAC_1_SQRT_2);
        horner(y * y, &SMALL_64).mul_add(y, y).mul_add(x.lit(0.5), x.lit(0.5))
    } else {
        horner(x * x, &NORMCDF_SMALL_32).mul_add(x, x.lit(0.5))
    };
    R::select(t.lt(x.lit(0.6744)), small, large)
}

/// Returns the complementary error function, 1 - erf(x). The error is at most 0.92 ulp for f32
/// (over all inputs) and 1.6 ulp for f64 (measured).
#[inline(always)]
pub fn erfc<R: Real>(x: R) -> R {
    let end = x.lit(R::pick(10.1, 27.3));
    let t = x.abs();
    let t = R::select(end.lt(t), end, t);
    let h = -(t * t);
    let tail = tail(t, h, (-t).mul_add(t, -h), R::pick(&ERFC_32, &ERFC_64));
    let large = R::select(x.lt(x.lit(0.0)), x.lit(2.0) - tail, tail);
    let small = x.lit(1.0) - horner(x * x, R::pick(&SMALL_32[..], &SMALL_64)).mul_add(x, x);
    R::select(t.lt(x.lit(0.475)), small, large)
}

#[cfg(test)]
mod tests {
    use super::{erf, erfc, normcdf};

    #[test]
    fn special_values() {
        let inf = f32::INFINITY;
        assert_eq!((erf(inf), erf(-inf), erfc(inf), erfc(-inf)), (1.0, -1.0, 0.0, 2.0));
        assert_eq!((normcdf(inf), normcdf(-inf), normcdf(0.0f32), normcdf(-0.0f64)), (1.0, 0.0, 0.5, 0.5));
        assert_eq!((erfc(0.0f32), erfc(-0.0f64)), (1.0, 1.0));
        assert_eq!(
            (erf(-0.0f32).to_bits(), erf(-0.0f64).to_bits()),
            ((-0.0f32).to_bits(), (-0.0f64).to_bits())
        );
        assert!(erf(f32::NAN).is_nan() && erfc(f32::NAN).is_nan() && normcdf(f32::NAN).is_nan());
        assert!(erf(f64::NAN).is_nan() && erfc(f64::NAN).is_nan() && normcdf(f64::NAN).is_nan());
    }

    #[test]
    fn tails_end_in_subnormals() {
        assert_eq!((erfc(10.05f32), erfc(10.06f32)), (f32::from_bits(1), 0.0));
        assert_eq!((normcdf(-14.16f32), normcdf(-14.18f32)), (f32::from_bits(1), 0.0));
        assert_eq!((erfc(27.22f64), erfc(27.23f64)), (f64::from_bits(1), 0.0));
        assert_eq!((normcdf(-38.48f64), normcdf(-38.49f64)), (f64::from_bits(1), 0.0));
    }
}
