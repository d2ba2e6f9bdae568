//! The error function.
//!
//! |x| < 1: x + x p(x^2). Above: 1 - p(|x| - 1)^2, where p is the root of erfc; no exponential, and squaring costs little because the root's error counts by
//! 2 p, which is small. Polynomials: `derive/erf.sollya`, minimax with these weights.

use crate::Real;
use crate::poly::horner;

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
/// The root of erfc, in x - 1, to x = 3.94.
const ROOT_32: [f64; 12] = [
    0.3966096341609954833984375,
    -0.52332007884979248046875,
    0.1780681610107421875,
    6.04779459536075592041015625e-2,
    -4.72333468496799468994140625e-2,
    -2.58174329064786434173583984375e-3,
    7.630924694240093231201171875e-3,
    -4.026897368021309375762939453125e-4,
    -1.31109473295509815216064453125e-3,
    5.421948735602200031280517578125e-4,
    -9.19848098419606685638427734375e-5,
    6.0438424043240956962108612060546875e-6,
];

/// The error function, 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x.
#[inline(always)]
pub fn erf<R: Real>(x: R) -> R {
    let (t, one) = (x.abs(), x.lit(1.0));
    let small = horner(x * x, &SMALL_32).mul_add(t, t);
    let magic = x.lit(384.0);
    let coarse = R::select(t.lt(x.lit(2.95)), t, (t + magic) - magic);
    let root = horner(coarse - one, &ROOT_32);
    let large = (-root).mul_add(root, one);
    let large = R::select(x.lit(3.91).lt(t), one, large);
    R::select(t.lt(x.lit(0.97)), small, large).with_sign_of(x)
}
