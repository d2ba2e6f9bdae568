//! The error function.
//!
//! |x| < 1: x + x p(x^2). Above: 1 - 2^p(|x|), with the power of two by a short polynomial (its error counts by erfc(1) = 0.16 at most). Unlike a polynomial
//! for erfc or a root of it, this keeps the noise of rounding relative to erfc, and so the tail monotone. The form is Juffa's (CUDA's erff);
//! polynomials: `derive/erf.sollya`.

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
    -1.62807524204254150390625,
    -0.917237699031829833984375,
    -0.15174289047718048095703125,
    3.29481028020381927490234375e-2,
    -4.614882171154022216796875e-3,
    3.058979636989533901214599609375e-4,
];
/// (2^x - 1) / x.
const POWER_32: [f64; 6] = [
    0.693147182464599609375,
    0.240226447582244873046875,
    5.5503584444522857666015625e-2,
    9.618829004466533660888671875e-3,
    1.339146983809769153594970703125e-3,
    1.524332328699529170989990234375e-4,
];

/// The error function, 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x.
#[inline(always)]
pub fn erf<R: Real>(x: R) -> R {
    let (t, one) = (x.abs(), x.lit(1.0));
    let small = horner(x * x, &SMALL_32).mul_add(t, t);
    let large = one_less_power(t, horner(t, &LARGE_32));
    let large = R::select(x.lit(3.92).lt(t), one, large);
    R::select(t.lt(x.lit(0.97)), small, large).with_sign_of(x)
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
