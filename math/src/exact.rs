//! Functions whose result is exact or is rounded once: fmod, copysign, ldexp and the two halves of
//! frexp.

use crate::{Bits, Flag, Real};

/// Returns the exact remainder of x / y towards zero, with the sign of x, like `fmod` of C.
///
/// If the type holds the integer part of the quotient with a bit to spare, this part is that of the
/// rounded quotient or one less, and both remainders are representable. All other arguments, from
/// numbers of very different size to y = 0, take the slow path.
#[inline(always)]
pub fn fmod<R: Real>(x: R, y: R) -> R {
    let (a, b) = (x.abs(), y.abs());
    let q = a / b;
    let far = q.ge(x.lit(2f64.powi(R::MANTISSA as i32))).unlikely();
    let r = (-q.trunc()).mul_add(b, a);
    let r = R::select(r.lt(x.lit(0.0)), r + b, r);
    // An infinite y has no product.
    let r = R::select(a.lt(b), a, r);
    R::select(far, a.rem_slow(b), r).with_sign_of(x)
}

/// Returns |x| with the sign of `sign`; a NaN counts as positive.
#[inline(always)]
pub fn copysign<R: Real>(x: R, sign: R) -> R {
    x.with_sign_of(R::select(sign.is_nan(), x.lit(0.0), sign))
}

/// Returns x 2^n, rounded once, for any integer n.
///
/// n is divided among three powers. The largest one is multiplied last, because only then a
/// subnormal result may be rounded, unless it is 0 anyway.
#[inline(always)]
pub fn ldexp<R: Real>(x: R, n: R) -> R {
    let (low, high) = (x.lit(1.0 - R::BIAS as f64), x.lit(R::BIAS as f64));
    let share = |n: R| {
        let n = R::select(n.lt(low), low, n);
        R::select(n.gt(high), high, n)
    };
    let magic = x.lit(R::MAGIC);
    let power = |n: R| {
        let bits = (n + magic).bits();
        (bits - magic.bits() + bits.lit(R::BIAS)).shl(R::MANTISSA).real()
    };
    let last = share(n);
    let rest = n - last;
    let middle = share(rest);
    let first = share(rest - middle);
    let scaled = x * power(first) * power(middle) * power(last);
    R::select(n.is_nan(), n, scaled)
}

/// Returns x scaled to a normal number, the exponent of the scale, and whether x is neither 0 nor
/// infinite nor NaN.
#[inline(always)]
fn normal<R: Real>(x: R) -> (R, R, R::Flag) {
    let a = x.abs();
    let digits = R::MANTISSA as i32 + 1;
    let tiny = a.lt(x.lit(2f64.powi(1 - R::BIAS as i32)));
    let ordinary = a.gt(x.lit(0.0)) & a.lt(x.lit(f64::INFINITY));
    let scaled = R::select(tiny, x * x.lit(2f64.powi(digits)), x);
    (scaled, R::select(tiny, x.lit(digits.into()), x.lit(0.0)), ordinary)
}

/// Returns m of x = m 2^e with 1/2 <= |m| < 1; for 0, infinity and NaN it is x.
#[inline(always)]
pub fn frexp_mantissa<R: Real>(x: R) -> R {
    let (y, _, ordinary) = normal(x);
    let bits = y.bits();
    let m = (bits & bits.lit(!R::EXPONENT)) | bits.lit((R::BIAS - 1) << R::MANTISSA);
    R::select(ordinary, m.real(), x)
}

/// Returns e of x = m 2^e with 1/2 <= |m| < 1; for 0, infinity and NaN it is 0.
#[inline(always)]
pub fn frexp_exponent<R: Real>(x: R) -> R {
    let (y, up, ordinary) = normal(x);
    let field = (y.abs().bits().shr(R::MANTISSA) | x.lit(R::MAGIC).bits()).real();
    let e = field - x.lit(R::MAGIC + R::BIAS as f64 - 1.0) - up;
    R::select(ordinary, e, x.lit(0.0))
}

#[cfg(test)]
mod tests {
    use super::{copysign, fmod, frexp_exponent, frexp_mantissa, ldexp};

    /// Returns numbers of all sizes: corner cases, then random bits.
    fn numbers() -> Vec<f64> {
        let mut x = 1u64;
        let random = std::iter::repeat_with(|| {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            f64::from_bits(x ^ x >> 29)
        });
        let corners =
            [0.0, 5e-324, 2.225073858507201e-308, f64::MIN_POSITIVE, 0.1, 0.3, 1.0, 3.0, 4503599627370497.0];
        let ends = [9007199254740993.0, f64::MAX, f64::INFINITY, f64::NAN];
        let signs = corners.iter().chain(&ends).flat_map(|x| [*x, -x]);
        signs.chain(random.take(2000)).collect()
    }

    fn same(a: f64, b: f64) -> bool {
        a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
    }

    #[test]
    fn fmod_is_exact() {
        for x in numbers() {
            for y in numbers() {
                // Random bits are rarely near each other.
                let near = x * (y.to_bits() % 1000) as f64 / 64.0;
                for (x, y) in [(x, y), (near, x)] {
                    assert!(same(fmod(x, y), x % y), "{x:e} {y:e}");
                    let (x, y) = (x as f32, y as f32);
                    assert!(same(fmod(x, y).into(), (x % y).into()), "{x:e} {y:e}");
                }
            }
        }
        assert_eq!(fmod(-3.0f32, 1.5).to_bits(), 1 << 31);
        // 0.1 is slightly more than a tenth, yet the quotient rounds to 10.
        assert_eq!((1.0 / 0.1, fmod(1.0f64, 0.1)), (10.0, 0.09999999999999995));
    }

    #[test]
    fn copysign_takes_a_nan_as_positive() {
        assert_eq!((copysign(-1.0f32, f32::NAN), copysign(-1.0, -f32::NAN)), (1.0, 1.0));
        assert_eq!((copysign(1.0f64, -0.0), copysign(-f64::INFINITY, 5.0)), (-1.0, f64::INFINITY));
        assert!(copysign(f64::NAN, -1.0).is_nan());
    }

    #[test]
    fn ldexp_rounds_once() {
        for x in numbers() {
            let x = x as f32;
            for n in -300..300 {
                // The product is exact in f64 for every f32 that ldexp does not reduce to 0 or
                // infinity anyway.
                let exact = f64::from(x) * 2f64.powi(n);
                assert!(same(ldexp(x, n as f32).into(), (exact as f32).into()), "{x:e} {n}");
            }
            let (zero, end) = (x * 0.0, x * f32::INFINITY);
            let end = if x == 0.0 { x } else { end };
            assert!(
                same(ldexp(x, 1e30).into(), end.into()) && same(ldexp(x, f32::INFINITY).into(), end.into()),
                "{x:e}"
            );
            let none = if x.is_infinite() { x } else { zero };
            assert!(same(ldexp(x, -1e30).into(), none.into()) && ldexp(x, f32::NAN).is_nan(), "{x:e}");
        }
        // The cases are half an ulp of the smallest number, slightly more, and a number that would
        // be rounded up by two roundings.
        assert_eq!((ldexp(1.0f64, -1075.0), ldexp(1.0000000000000002f64, -1075.0)), (0.0, 5e-324));
        assert_eq!(ldexp(1.4999999999999998f64, -1074.0), 5e-324);
        assert_eq!((ldexp(5e-324, 2097.0), ldexp(f64::MAX, -2098.0)), (2f64.powi(1023), 5e-324));
    }

    #[test]
    fn frexp_gives_back() {
        for x in numbers() {
            let (m, e) = (frexp_mantissa(x), frexp_exponent(x));
            assert!(same(ldexp(m, e), x), "{x:e} {m:e} {e}");
            if x == 0.0 || !x.is_finite() {
                assert_eq!(e, 0.0);
            } else {
                assert!((0.5..1.0).contains(&m.abs()), "{x:e} {m:e}");
            }
        }
        assert_eq!((frexp_mantissa(f32::from_bits(1)), frexp_exponent(f32::from_bits(1))), (0.5, -148.0));
        assert_eq!((frexp_mantissa(-3.0f32), frexp_exponent(-3.0f32)), (-0.75, 2.0));
    }
}
