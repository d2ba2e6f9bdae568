//! The error function.
//!
//! |x| < 1: x + x p(x^2). Above: 1 - 2^p(|x|), with the power of two by a short polynomial (its error counts by erfc(1) = 0.16 at most). Unlike a polynomial
//! for erfc or a root of it, this keeps the noise of rounding relative to erfc, and so the tail monotone. The form is Juffa's (CUDA's erff);
//! polynomials: `derive/erf.sollya`.

use crate::exp;
use crate::poly::horner;
use crate::{Bits, Real};

/// erf(x) / x - 1, in x^2.
const SMALL_32: [f64; 7] = [
    0.128379166126251220703125,
    -0.3761262595653533935546875,
    0.112835831940174102783203125,
    -2.68536917865276336669921875e-2,
    5.1880744285881519317626953125e-3,
    -8.007889264263212680816650390625e-4,
    7.8461729572154581546783447265625e-5,
];
/// The binary logarithm of erfc(x), divided by x, from 0.96 to 3.93.
const LARGE_32: [f64; 6] = [
    -1.6280752420425415,
    -0.9172376394271851,
    -0.15174293518066406,
    0.032948099076747894,
    -0.004614883102476597,
    0.00030589793459512293,
];
/// (2^x - 1) / x. The last places of these and of [`LARGE_32`] were searched for a monotone erf; the script's have eight pairs that fall.
const POWER_32: [f64; 6] = [
    0.6931471824645996,
    0.24022644758224487,
    0.05550357699394226,
    0.009618828073143959,
    0.001339147100225091,
    0.00015243324742186815,
];

/// The error function, 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x. f32: 0.96 ulp (all inputs), monotone.
#[inline(always)]
pub fn erf<R: Real>(x: R) -> R {
    let t = x.abs();
    let small = horner(x * x, &SMALL_32).mul_add(t, t);
    let end = R::select(x.lit(3.93).lt(t), x.lit(3.93), t);
    let large = one_less_power(end, horner(end, &LARGE_32));
    // not negative yet
    R::select(t.lt(x.lit(0.97)), small, large).flip_sign(x.bits())
}

/// 1 - 2^(x y), where the power is a normal number below 1; to about 2^-25 of the power.
#[inline(always)]
fn one_less_power<R: Real>(x: R, y: R) -> R {
    let (magic, one) = (x.lit(R::MAGIC), x.lit(1.0));
    let shifted = x.mul_add(y, magic);
    let f = x.mul_add(y, magic - shifted);
    // the power is s + s m
    let s = (one.bits() + shifted.bits().shl(R::MANTISSA)).real();
    let m = horner(f, &POWER_32) * f;
    (-s).mul_add(m, one - s)
}

/// normcdf(x) = 0.5 + x p(x^2).
const NORMCDF_SMALL_32: [f64; 5] = [
    0.398942291736602783203125,
    -6.64905607700347900390625e-2,
    9.974176995456218719482421875e-3,
    -1.186233130283653736114501953125e-3,
    1.075153631973080337047576904296875e-4,
];

/// What the tail of a distribution is computed with; see [`tail`].
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

/// e^(h + l) (1 + p(v)) / (slope t + offset) with v = 1 - scale / (t + shift). h is -t^2 or half of that, l what its rounding left.
///
/// The fraction alone is within some percent of the tail, so what the polynomial gets wrong hardly counts. One division makes both reciprocals; the quotient is
/// corrected with what the power and the denominator left behind their first words.
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
    // e^(h + l) = 2^n (hi + lo)
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
    // scaled so that only the last multiplication may round
    let bits = shifted.bits() - magic.bits();
    let s = (bits + bits.lit(R::BIAS + 100)).shl(R::MANTISSA).real();
    left.mul_add(r * b, quotient) * s * t.lit(0.5f64.powi(100))
}

/// The normal distribution's cumulative function.
#[inline(always)]
pub fn normcdf<R: Real>(x: R) -> R {
    let end = x.lit(R::pick(14.3, 38.6));
    let t = x.abs();
    let t = R::select(end.lt(t), end, t);
    let half = t * t.lit(-0.5);
    let h = half * t;
    let tail = tail(t, h, half.mul_add(t, -h), &NORMCDF_32);
    let large = R::select(x.lt(x.lit(0.0)), tail, x.lit(1.0) - tail);
    let small = horner(x * x, &NORMCDF_SMALL_32).mul_add(x, x.lit(0.5));
    R::select(t.lt(x.lit(0.6744)), small, large)
}

/// The complementary error function, 1 - erf(x).
#[inline(always)]
pub fn erfc<R: Real>(x: R) -> R {
    let end = x.lit(R::pick(10.1, 27.3));
    let t = x.abs();
    let t = R::select(end.lt(t), end, t);
    let h = -(t * t);
    let tail = tail(t, h, (-t).mul_add(t, -h), &ERFC_32);
    let large = R::select(x.lt(x.lit(0.0)), x.lit(2.0) - tail, tail);
    let small = x.lit(1.0) - horner(x * x, &SMALL_32).mul_add(x, x);
    R::select(t.lt(x.lit(0.475)), small, large)
}
