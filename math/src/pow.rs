//! Powers.
//!
//! log2 of |x| is computed as a double word and multiplied by y, and 2 is raised to the product,
//! with its low word as a correction. For the logarithm x = 2^k m. With c = 1 or about sqrt(2),
//! whichever is nearer to m, log2(m / c) is a series in s = (m - c) / (m + c), |s| < 0.0865, where
//! all terms but the first one matter so little that one word suffices in f32; f64 keeps the second
//! coefficient in two words. c is chosen so that its logarithm has few digits, which makes a table
//! unnecessary. The constants are from `derive/pow.sollya`.

use crate::double::{Double, quick_two_sum, two_product};
use crate::exp::scale;
use crate::log::{is_normal, split};
use crate::poly::{even_odd, horner};
use crate::{Flag, Real};

const LOG2_32: [f64; 3] = [0.9617967009544373, 0.5770663619041443, 0.4159771203994751];
/// The first coefficient is in two parts.
const LOG2_64: [f64; 8] = [
    0.9617966939259756,
    5.060866135368811e-17,
    0.577078016355585,
    0.41219858311193797,
    0.32059889733797375,
    0.26230843039738794,
    0.2219061721019701,
    0.1968807369846634,
];
const EXP2_32: [f64; 6] = [
    0.6931471824645996,
    0.24022649228572845,
    0.055503662675619125,
    0.009618323296308517,
    0.001338789938017726,
    0.0001537673088023439,
];
const EXP2_64: [f64; 11] = [
    std::f64::consts::LN_2,
    0.24022650695910097,
    0.05550410866482322,
    0.009618129107607334,
    0.001333355814608941,
    0.0001540353044117229,
    1.5252734103995678e-5,
    1.321544286354445e-6,
    1.0177960667934807e-7,
    7.072540073845678e-9,
    4.46884548730924e-10,
];

/// Returns x^y as in C99 F.9.4.4. The error is at most 0.87 ulp for f32 and 0.81 ulp for f64
/// (measured).
///
/// Negative numbers are ordinary data; zeros, subnormal numbers, infinities and NaN are handled
/// apart.
#[inline(always)]
pub fn pow<R: Real>(x: R, y: R) -> R {
    let (zero, infinity) = (x.lit(0.0), x.lit(f64::INFINITY));
    let size = x.abs();
    // Infinite y are even integers.
    let half = y * y.lit(0.5);
    let whole = y.trunc().eq(y);
    let odd = whole & half.trunc().ne(half);
    let signed = |r: R| R::select(odd, r.flip_sign(x.bits()), r);
    let rare = (!(is_normal(size) & y.abs().lt(infinity))).unlikely();
    let power = signed(power_of_size(size, y, rare));
    let power = R::select(x.lt(zero) & !whole, x.lit(f64::NAN), power);
    let finite = size.lt(infinity) & y.abs().lt(infinity) & (size.gt(zero) | y.ne(zero));
    R::select(rare, R::select(finite, power, nan_or_one(x, y, signed(at_the_ends(size, y)))), power)
}

/// Returns the limit of |x|^y if x, y or both are infinite.
#[inline(always)]
fn at_the_ends<R: Real>(size: R, y: R) -> R {
    let (zero, one) = (y.lit(0.0), y.lit(1.0));
    let grows = (size.gt(one) & y.gt(zero)) | (size.lt(one) & y.lt(zero));
    R::select(grows, y.lit(f64::INFINITY), R::select(size.eq(one), one, zero))
}

/// Returns NaN if x or y is NaN, except for 1^y and x^0.
#[inline(always)]
fn nan_or_one<R: Real>(x: R, y: R, limit: R) -> R {
    let one = x.lit(1.0);
    let limit = R::select(x.is_nan() | y.is_nan(), x.lit(f64::NAN), limit);
    R::select(x.eq(one) | y.eq(x.lit(0.0)), one, limit)
}

/// Returns x^y for finite x >= 0 and finite y that are not both 0; `rare` says whether x may not be
/// a normal number.
#[inline(always)]
fn power_of_size<R: Real>(x: R, y: R, rare: R::Flag) -> R {
    let l = log2_double(x, rare);
    let pole = R::select(x.eq(x.lit(0.0)), x.lit(f64::NEG_INFINITY), l.hi);
    let z = two_product(R::select(rare, pole, l.hi), y);
    let r = exp2_double(Double { hi: z.hi, lo: l.lo.mul_add(y, z.lo) });
    // Here the parts of z may be infinite or far outside the range of exp2.
    let (low, high) = R::pick((-151.0, 129.0), (-1076.0, 1025.0));
    let r = R::select(z.hi.gt(x.lit(high)), x.lit(f64::INFINITY), r);
    R::select(z.hi.lt(x.lit(low)), x.lit(0.0), r)
}

/// Returns log2(x) for finite x > 0; `rare` says whether x may be subnormal. `lo` may be as large
/// as an ulp of `hi`.
#[inline(always)]
fn log2_double<R: Real>(x: R, rare: R::Flag) -> Double<R> {
    // m is between 2^(-1/4) and 2^(3/4), with the cut at 2^(1/4).
    let (k, m) = split(x, R::pick(0x3f57_44fd, 0x3fea_e89f_995a_d3ad), rare);
    let upper = m.ge(x.lit(1.189_207_115_002_721));
    let (center, log2_center) =
        R::pick((1.414363145828247, 0.500152587890625), (1.414213574028638, 0.500000011890279));
    let one = x.lit(1.0);
    let c = R::select(upper, x.lit(center), one);
    let k = k + R::select(upper, x.lit(log2_center), x.lit(0.0));
    let s = ratio(m - c, quick_two_sum(c, m));
    let (a, a_lo) =
        R::pick((2.885390043258667, 3.851926067e-8), (2.8853900817779268, 4.0710547481862066e-17));
    let z = s.hi * s.hi;
    let z_lo = s.hi.mul_add(s.hi, -z);
    let (p, p_lo) = if R::DOUBLE {
        let p = quick_two_sum(x.lit(LOG2_64[0]), z * even_odd(z, &LOG2_64[2..]));
        (p.hi, Some(p.lo + x.lit(LOG2_64[1])))
    } else {
        (horner(z, &LOG2_32), None)
    };
    // The terms are z p, then s a + s z p. s.lo is multiplied by the derivative, which is a (1 + z)
    // approximately.
    let u = z * p;
    let u_lo = z_lo.mul_add(p, z.mul_add(p, -u));
    let u_lo = p_lo.map_or(u_lo, |p_lo| z.mul_add(p_lo, u_lo));
    let first = s.hi * x.lit(a);
    let first_lo = s.hi.mul_add(x.lit(a), -first);
    let lo = s.hi.mul_add(u_lo, s.hi.mul_add(x.lit(a_lo), s.lo.mul_add(z, s.lo).mul_add(x.lit(a), first_lo)));
    let sum = s.hi.mul_add(u, first);
    let lo = s.hi.mul_add(u, first - sum) + lo;
    let whole = quick_two_sum(k, sum);
    Double { hi: whole.hi, lo: whole.lo + lo }
}

/// Returns a / b, with one division.
#[inline(always)]
fn ratio<R: Real>(a: R, b: Double<R>) -> Double<R> {
    let inverse = b.hi.lit(1.0) / b.hi;
    let hi = a * inverse;
    let left = (-hi).mul_add(b.lo, (-hi).mul_add(b.hi, a));
    Double { hi, lo: left * inverse }
}

/// Returns 2^z for z within twice the range of exponents.
#[inline(always)]
fn exp2_double<R: Real>(z: Double<R>) -> R {
    let magic = z.hi.lit(R::MAGIC);
    let shifted = z.hi + magic;
    let exact = z.hi - (shifted - magic);
    let r = exact + z.lo;
    let rest = z.lo - (r - exact);
    // 1 + r c + r^2 q(r) is summed so that only the last addition rounds noticeably.
    let (c, q) = if R::DOUBLE {
        (EXP2_64[0], even_odd(r, &EXP2_64[1..]))
    } else {
        (EXP2_32[0], horner(r, &EXP2_32[1..]))
    };
    let first = r * r.lit(c);
    let small = rest.mul_add(r.lit(c), r.mul_add(r.lit(c), -first));
    let one = quick_two_sum(r.lit(1.0), first);
    let p = one.hi + (one.lo + (r * r).mul_add(q, small));
    scale(p, shifted)
}

#[cfg(test)]
mod tests {
    use super::pow;

    /// The `pow` of the system follows Annex F: where its result is 0, 1, infinity or NaN, the bits
    /// must agree; elsewhere the values must be near.
    #[test]
    fn special_values() {
        let near_one = [f64::from(1.0f32.next_up()), f64::from(1.0f32.next_down())];
        let sizes = [
            0.0,
            1e-40,
            1e-3,
            0.5,
            1.0,
            1.5,
            2.0,
            3.0,
            4.5,
            65535.0,
            16_777_215.0,
            1e30,
            f64::INFINITY,
            f64::NAN,
        ];
        let values = || sizes.iter().chain(&near_one).flat_map(|v| [*v, -v]);
        for (x, y) in values().flat_map(|x| values().map(move |y| (x, y))) {
            let (got, want) = (pow(x, y), x.powf(y));
            assert!(same(got, want, 1e-15), "f64 {x}^{y}: {got}, not {want}");
            let (got, want) = (pow(x as f32, y as f32), (x as f32).powf(y as f32));
            assert!(same(got.into(), want.into(), 1e-6), "f32 {x}^{y}: {got}, not {want}");
        }
    }

    fn same(got: f64, want: f64, tolerance: f64) -> bool {
        if want.is_nan() {
            return got.is_nan();
        }
        let exact = [0.0, 1.0, f64::INFINITY].contains(&want.abs());
        if exact {
            got.to_bits() == want.to_bits()
        } else {
            (got / want - 1.0).abs() < tolerance || want.abs() < 1e-37 && (got - want).abs() < 1e-44
        }
    }
}
