//! The inverse functions: arc tangent (of one number and of two), arc sine, arc cosine.
//!
//! For |t| <= 1/2, atan(t) = t + t^3 p(t^2). An angle beyond that in the first octant is pi/4 +
//! atan((n - d) / (n + d)), and one in the second octant is pi/2 minus its mirror image. For |t| <=
//! 1/2, asin(t) = t + t^3 p(t^2), and beyond it is pi/2 - 2 asin(sqrt((1 - t) / 2))
//! (`derive/arc.sollya`). The rounding error of a quotient or a root is carried along as a second
//! word (except for the root of f64, because the bound allows its half an ulp), and so is the
//! second word of pi/4; the last addition rounds.

use crate::double::quick_two_sum;
use crate::poly::{even_odd, horner};
use crate::{Bits, Real};

const ATAN_32: [f64; 5] = [
    -0.3333323299884796,
    0.19994185864925385,
    -0.14174582064151764,
    0.10158165544271469,
    -0.05129775404930115,
];
const ATAN_64: [f64; 12] = [
    -0.3333333333333298,
    0.19999999999903123,
    -0.1428571427638746,
    0.11111110659708877,
    -0.09090896246524784,
    0.07692073939411088,
    -0.0666381087746825,
    0.05858300584703023,
    -0.05122012812093896,
    0.041865229896009645,
    -0.027435234447097223,
    0.010117037552570752,
];
const ASIN_32: [f64; 5] =
    [0.16666752099990845, 0.0749531015753746, 0.045469019562006, 0.024185502901673317, 0.04215701296925545];
const ASIN_64: [f64; 12] = [
    0.16666666666665408,
    0.07500000000337102,
    0.04464285682827013,
    0.030381959138981125,
    0.022371758008737835,
    0.01735970531637236,
    0.013885230602039715,
    0.012169240344520724,
    0.006527862707984047,
    0.019528546896388492,
    -0.016224660166076297,
    0.03191252891780875,
];

/// pi/4 in two words. The first word ends with two zero bits.
const EIGHTH_32: [f64; 2] = [0.7853982448577881, -8.146034247147327e-8];
const EIGHTH_64: [f64; 2] = [std::f64::consts::FRAC_PI_4, 3.061616997868383e-17];

/// The value of a function as t + cube p + rest, before the terms are added.
struct Parts<R> {
    t: R,
    cube: R,
    p: R,
    rest: R,
}

/// Returns `count pi/4 + factor (the value)`. The count is 0 to 4, and the factor is plus or minus
/// a power of two; the first term is 0 or the larger one. The small terms are added first, so that
/// only two roundings matter.
#[inline(always)]
fn eighths_and<R: Real>(count: R, factor: R, r: Parts<R>) -> R {
    let eighth = R::pick(EIGHTH_32, EIGHTH_64);
    let (base, t) = (count * count.lit(eighth[0]), factor * r.t);
    let sum = base + t;
    let lost = count.mul_add(count.lit(eighth[1]), (base - sum) + t);
    sum + (factor * r.cube).mul_add(r.p, factor.mul_add(r.rest, lost))
}

/// Returns `count pi/4 + factor atan(n / d)` for 0 <= n <= d, where n + d is finite and d is not 0.
#[inline(always)]
fn octant<R: Real>(count: R, factor: R, n: R, d: R) -> R {
    // The difference is exact, and the rounding error of the sum is carried along.
    let beyond = d.lt(n + n);
    let sum = quick_two_sum(d, n);
    let (u, v) = (R::select(beyond, n - d, n), R::select(beyond, sum.hi, d));
    let below = R::select(beyond, sum.lo, n.lit(0.0));
    let reciprocal = n.lit(1.0) / v;
    let t = u * reciprocal;
    let rest = (-t).mul_add(below, (-t).mul_add(v, u)) * reciprocal;
    let square = t * t;
    let p = if R::DOUBLE { even_odd(square, &ATAN_64) } else { horner(square, &ATAN_32) };
    // The rest has the factor 1 / (1 + t^2), which is approximated as well as is needed.
    let slope = square.mul_add(t.lit(-0.8125), t.lit(1.0));
    let count = R::select(beyond, count + factor, count);
    eighths_and(count, factor, Parts { t, cube: t * square, p, rest: rest * slope })
}

/// Returns atan x. The error is at most 0.75 ulp for f32 and 0.77 ulp for f64 (measured).
#[inline(always)]
pub fn atan<R: Real>(x: R) -> R {
    let (zero, one) = (x.lit(0.0), x.lit(1.0));
    // From this argument on the result is pi/2. An infinite argument would have no rest.
    let end = x.lit(R::pick(2f64.powi(30), 2f64.powi(60)));
    let a = x.abs();
    let a = R::select(a.gt(end), end, a);
    let steep = a.gt(one);
    let (n, d) = (R::select(steep, one, a), R::select(steep, a, one));
    let (count, factor) = (R::select(steep, x.lit(2.0), zero), R::select(steep, -one, one));
    octant(count, factor, n, d).flip_sign(x.bits())
}

/// Returns the angle of the point (x, y), like `atan2(y, x)` of C. The error is at most 0.75 ulp
/// for f32 and 0.77 ulp for f64 (measured).
#[inline(always)]
pub fn atan2<R: Real>(y: R, x: R) -> R {
    let (zero, one, infinity) = (x.lit(0.0), x.lit(1.0), x.lit(f64::INFINITY));
    let (a, b) = (y.abs(), x.abs());
    let steep = a.gt(b);
    let (n, d) = (R::select(steep, b, a), R::select(steep, a, b));
    // The scale keeps the rest of the quotient from underflow and n + d from overflow.
    let (up, down) = (x.lit(R::pick(2f64.powi(64), 2f64.powi(600))), x.lit(0.25));
    let scale = R::select(d.lt(x.lit(1024.0)), up, down);
    // Two infinities are treated as equal numbers, a single one like any number over 0, and two
    // zeros like 0 over 1. A NaN is kept.
    let endless = d.eq(infinity);
    let n = R::select(n.eq(infinity), one, R::select(endless, n * zero, n * scale));
    let d = R::select(endless | d.eq(zero), one, d * scale);
    // For x < 0 the result is pi minus the angle of (-x, y).
    let minus = x.bits() & x.bits().lit(R::SIGN);
    let left = R::select(minus.eq(minus.lit(0)), zero, x.lit(4.0));
    let count = R::select(steep, x.lit(2.0), left);
    let factor = R::select(steep, -one, one).flip_sign(minus);
    octant(count, factor, n, d).flip_sign(y.bits())
}

/// Returns the difference between the exact root of `square` and `root`, with a relative error of a
/// few percent.
#[inline(always)]
fn root_rest<R: Real>(root: R, square: R) -> R {
    // This is 1 / (2 root): the bits of the square are halved and negated, exponent and mantissa
    // together.
    let unit = (1u64 << R::MANTISSA) as f64;
    let bits = square.bits();
    let slope = (bits.lit((unit * (1.5 * (R::BIAS as f64 - 0.045) - 1.0)) as u64) - bits.shr(1)).real();
    (-root).mul_add(root, square) * slope
}

/// Returns, for a = |x|, whether a > 1/2, and asin(sqrt((1 - a) / 2)) if so, else asin(a).
#[inline(always)]
fn arc_sine<R: Real>(a: R) -> (R::Flag, Parts<R>) {
    let half = a.lit(0.5);
    let steep = a.gt(half);
    let square = R::select(steep, a.mul_add(-half, half), a * a);
    let root = square.sqrt();
    let t = R::select(steep, root, a);
    let p = if R::DOUBLE { even_odd(square, &ASIN_64) } else { horner(square, &ASIN_32) };
    let rest = if R::DOUBLE { a.lit(0.0) } else { R::select(steep, root_rest(root, square), a.lit(0.0)) };
    (steep, Parts { t, cube: t * square, p, rest })
}

/// Returns asin x. The error is at most 0.69 ulp for f32 and 1.25 ulp for f64 (measured).
#[inline(always)]
pub fn asin<R: Real>(x: R) -> R {
    let (steep, r) = arc_sine(x.abs());
    let count = R::select(steep, x.lit(2.0), x.lit(0.0));
    let factor = R::select(steep, x.lit(-2.0), x.lit(1.0));
    eighths_and(count, factor, r).flip_sign(x.bits())
}

/// Returns acos x. The error is at most 0.69 ulp for f32 and 1.25 ulp for f64 (measured).
#[inline(always)]
pub fn acos<R: Real>(x: R) -> R {
    let (steep, r) = arc_sine(x.abs());
    let (zero, two) = (x.lit(0.0), x.lit(2.0));
    let count = R::select(steep, R::select(x.lt(zero), x.lit(4.0), zero), two);
    let factor = R::select(steep, two, x.lit(-1.0)).flip_sign(x.bits());
    eighths_and(count, factor, r)
}

#[cfg(test)]
mod tests {
    use super::{acos, asin, atan, atan2};
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

    #[test]
    fn special_values() {
        assert_eq!((atan(f64::INFINITY), atan(f64::NEG_INFINITY)), (FRAC_PI_2, -FRAC_PI_2));
        assert_eq!((atan(f32::INFINITY), atan(f32::MAX)), (FRAC_PI_2 as f32, FRAC_PI_2 as f32));
        for f in [atan::<f32>, asin] {
            assert_eq!((f(0.0).to_bits(), f(-0.0).to_bits()), (0, 1 << 31));
            assert_eq!(f(f32::from_bits(1)), f32::from_bits(1));
        }
        assert!(atan(f32::NAN).is_nan() && asin(f32::NAN).is_nan() && acos(f32::NAN).is_nan());
        assert!(asin(1.0000001f32).is_nan() && acos(-1.0000001f32).is_nan() && acos(f64::INFINITY).is_nan());
        assert_eq!((asin(1.0f64), asin(-1.0f64)), (FRAC_PI_2, -FRAC_PI_2));
        assert_eq!((acos(1.0f64).to_bits(), acos(-1.0f64), acos(-0.0f64)), (0, PI, FRAC_PI_2));
    }

    #[test]
    fn quadrants() {
        let infinity = f64::INFINITY;
        let rows = [
            (0.0, 0.0, 0.0),
            (0.0, -0.0, PI),
            (0.0, 1.0, 0.0),
            (0.0, -1.0, PI),
            (1.0, 0.0, FRAC_PI_2),
            (1.0, -0.0, FRAC_PI_2),
            (1.0, infinity, 0.0),
            (1.0, -infinity, PI),
            (infinity, 1.0, FRAC_PI_2),
            (infinity, -1.0, FRAC_PI_2),
            (infinity, infinity, FRAC_PI_4),
            (infinity, -infinity, 3.0 * FRAC_PI_4),
            (5e-324, -5e-324, 3.0 * FRAC_PI_4),
            (5e-324, 5e-324, FRAC_PI_4),
            (5e-324, infinity, 0.0),
            (f64::MAX, 5e-324, FRAC_PI_2),
            (5e-324, f64::MAX, 0.0),
        ];
        for (y, x, angle) in rows {
            assert_eq!(atan2(y, x).to_bits(), f64::to_bits(angle), "{y} {x}");
            assert_eq!(atan2(-y, x).to_bits(), f64::to_bits(-angle), "-{y} {x}");
            let (y, x) = (y as f32, x as f32);
            assert_eq!(atan2(y, x).to_bits(), (f64::from(y).atan2(f64::from(x)) as f32).to_bits(), "{y} {x}");
        }
        for (y, x) in
            [(f64::NAN, 1.0), (1.0, f64::NAN), (f64::NAN, infinity), (infinity, f64::NAN), (f64::NAN, 0.0)]
        {
            assert!(atan2(y, x).is_nan(), "{y} {x}");
        }
    }
}
