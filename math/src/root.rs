//! Roots: cbrt, 1 / sqrt, hypot. Each function computes a value with an error of about an ulp and
//! then corrects it by the error that a multiply-add finds.

use crate::poly::horner;
use crate::{Bits, Flag, Real};

/// Coefficients of c^(-1/3) near 1 (`derive/root.sollya`).
const INVERSE_CBRT: [f64; 4] =
    [1.7317060232162476, -1.304690957069397, 0.7475857734680176, -0.1746029257774353];

/// Returns the cube root. The error is at most 0.501 ulp for f32 (over all inputs) and 0.501 ulp
/// for f64 (measured).
///
/// The bits of x^(-1/3) are about a constant minus a third of the bits of x, to 4 %. A polynomial
/// in c = x y^3 improves this to 2^-19 (f64: and a Newton step to 2^-36). Then d = x y^2 is near
/// the root, and (x - d^3) / (3 d^2) is the difference to it. No division is needed.
#[inline(always)]
pub fn cbrt<R: Real>(x: R) -> R {
    let size = x.abs();
    // The scale keeps x - d^3 below from being subnormal.
    let (least, up) = R::pick((-70, 72), (-900, 162));
    let small = size.lt(x.lit(power(least)));
    let rare = (!(size.ge(x.lit(power(least))) & size.lt(x.lit(f64::INFINITY)))).unlikely();
    let one = x.lit(1.0);
    let scaled = R::select(rare, R::select(small, size * x.lit(power(up)), size), size);
    let y = inverse_cbrt_guess(scaled);
    let y = y * horner(scaled * y * (y * y), &INVERSE_CBRT);
    let third = x.lit(1.0 / 3.0);
    let y = if R::DOUBLE {
        let rest = (scaled * (y * y)).mul_add(-y, one);
        (y * rest).mul_add(third, y)
    } else {
        y
    };
    let square = y * y;
    let d = scaled * square;
    let d2 = d * d;
    let d2_lo = d.mul_add(d, -d2);
    let rest = (-d2_lo).mul_add(d, (-d2).mul_add(d, scaled));
    let root = rest.mul_add(square * third, d);
    let unscaled = root * R::select(small, x.lit(power(-up / 3)), one);
    // This handles infinity and NaN.
    let at_the_ends = R::select(size.lt(x.lit(f64::INFINITY)), unscaled, size);
    R::select(rare, at_the_ends, root).with_sign_of(x)
}

/// Returns x^(-1/3) to 4 %, for normal x > 0. Its bits except the lowest are computed as an integer
/// between 2 to the number of mantissa bits and twice that, where multiply-add also rounds to an
/// integer.
#[inline(always)]
fn inverse_cbrt_guess<R: Real>(x: R) -> R {
    let (drop, constant) = R::pick((9, 13_958_053.0), (12, 7_504_458_541_680_855.0));
    let whole = (x.bits().shr(drop) | x.lit((1u64 << R::MANTISSA) as f64).bits()).real();
    whole.mul_add(x.lit(-1.0 / 3.0), x.lit(constant)).bits().shl(drop).real()
}

/// Returns 1 / sqrt(x), which is -infinity for -0. The error is at most 0.501 ulp for f32 (over all
/// inputs) and 0.501 ulp for f64 (measured).
#[inline(always)]
pub fn rsqrt<R: Real>(x: R) -> R {
    let r = x.lit(1.0) / x.sqrt();
    // The correction is computed from 1 - x r^2.
    let root = x * r;
    let root_lo = x.mul_add(r, -root);
    let rest = (-root_lo).mul_add(r, (-root).mul_add(r, x.lit(1.0)));
    let better = (r * x.lit(0.5)).mul_add(rest, r);
    // For 0 and infinity r is right, and the correction is NaN.
    R::select(better.is_nan(), r, better)
}

/// Returns sqrt(x^2 + y^2), without intermediate overflow or underflow. The result is infinity if x
/// or y is infinite. The error is at most 0.77 ulp for f32 and 0.77 ulp for f64 (measured). The
/// largest errors are those of subnormal results, which are rounded twice.
///
/// The correction is that of Borges ("An improved algorithm for hypot(a,b)", 2019): fused
/// multiply-adds compute h^2 - a^2 - b^2, which is divided by 2 h. It is less than an ulp, so a
/// quotient with an error of 12 % suffices: the bits of 1 / h are about a constant minus the bits
/// of h.
#[inline(always)]
pub fn hypot<R: Real>(x: R, y: R) -> R {
    let (x, y) = (x.abs(), y.abs());
    let swap = x.lt(y);
    let (a, b) = (R::select(swap, y, x), R::select(swap, x, y));
    let (high, low) = R::pick((62, -40), (500, -450));
    let (down, up) = R::pick((-66, 100), (-600, 700));
    let (huge, tiny) = (a.gt(a.lit(power(high))), a.lt(a.lit(power(low))));
    let rare = (!(a.ge(a.lit(power(low))) & a.le(a.lit(power(high))))).unlikely();
    let by_size = |at_huge, at_tiny| {
        R::select(huge, x.lit(power(at_huge)), R::select(tiny, x.lit(power(at_tiny)), x.lit(1.0)))
    };
    let (factor, back) = (by_size(down, up), by_size(-down, -up));
    let (a, b) = (R::select(rare, a * factor, a), R::select(rare, b * factor, b));
    let a2 = a * a;
    let h = b.mul_add(b, a2).sqrt();
    let h2 = h * h;
    let rest = (-b).mul_add(b, h2 - a2) + (h.mul_add(h, -h2) - a.mul_add(a, -a2));
    let bits = h.bits();
    let half_inverse = (bits.lit(R::pick(0x7e73_11c3, 0x7fce_6238_22fc_16e6)) - bits).real();
    let root = (-rest).mul_add(half_inverse, h);
    let infinity = x.lit(f64::INFINITY);
    R::select(rare, R::select(x.eq(infinity) | y.eq(infinity), infinity, root * back), root)
}

/// Returns 2^k.
fn power(k: i32) -> f64 {
    f64::from_bits(((1023 + k) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::{cbrt, hypot, rsqrt};

    #[test]
    fn special_values() {
        for x in [0.0f32, -0.0, f32::INFINITY, f32::NEG_INFINITY] {
            assert_eq!(cbrt(x).to_bits(), x.to_bits());
            assert_eq!(cbrt(f64::from(x)).to_bits(), f64::from(x).to_bits());
        }
        assert!(cbrt(f32::NAN).is_nan() && cbrt(f64::NAN).is_nan());
        assert_eq!((rsqrt(0.0f32), rsqrt(-0.0f64)), (f32::INFINITY, f64::NEG_INFINITY));
        assert_eq!((rsqrt(f32::INFINITY), rsqrt(f64::INFINITY)), (0.0, 0.0));
        assert!(rsqrt(-1.0f32).is_nan() && rsqrt(f64::NAN).is_nan());
        for (x, y) in [(f64::INFINITY, f64::NAN), (f64::NAN, f64::NEG_INFINITY), (f64::INFINITY, 0.0)] {
            assert_eq!((hypot(x, y), hypot(x as f32, y as f32)), (f64::INFINITY, f32::INFINITY));
        }
        assert!(hypot(f32::NAN, 0.0).is_nan() && hypot(0.0, f64::NAN).is_nan());
        assert_eq!((hypot(-0.0f32, -0.0).to_bits(), hypot(-0.0f64, 0.0).to_bits()), (0, 0));
    }

    #[test]
    fn exact_values() {
        for i in -1000..=1000 {
            let x = f64::from(i);
            assert_eq!((cbrt(x * x * x), hypot(3.0 * x, 4.0 * x)), (x, 5.0 * x.abs()));
        }
        assert_eq!((cbrt(f32::from_bits(4)), rsqrt(f32::from_bits(2))), (2f32.powi(-49), 2f32.powi(74)));
        assert_eq!((hypot(f32::MAX, 0.0), hypot(f32::MAX, f32::MAX)), (f32::MAX, f32::INFINITY));
        assert_eq!(hypot(3.0 * f64::from_bits(1), 4.0 * f64::from_bits(1)), 5.0 * f64::from_bits(1));
    }
}
