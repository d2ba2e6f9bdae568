//! Reduction of an angle: x = n pi/2 + r, where r = hi + lo and |r| is at most slightly above pi/4.
//! It is correct for every finite x >= 0.
//!
//! Ordinary x are reduced by the method of Cody and Waite ("Software Manual for the Elementary
//! Functions", 1980) with pi/2 in three words of full length. With a fused multiply-add the first
//! step is exact, because its result lies on the grid of the first word's last place; the second
//! one is made exact by splitting its product on an equally coarse grid. Huge x are reduced by the
//! method of Payne and Hanek ("Radian reduction for trigonometric functions", 1983), in floating
//! point: 2/pi is a sequence of digits to the base 2^24 (f64: 2^53). The five digits that matter
//! are found by comparisons of x, one for each bit of their position; the digits before them give
//! multiples of 4.

use crate::double::{Double, quick_two_sum, two_product, two_sum};
use crate::{Flag, Real};

const HALF_PI_32: [f64; 3] = [1.5707963705062866, -4.371138828673793e-8, -1.7151245100058819e-15];
const HALF_PI_64: [f64; 3] = [std::f64::consts::FRAC_PI_2, 6.123233995736766e-17, -1.4973849048591698e-33];

/// The digits of 2/pi: digit i counts 2^(-24 (i + 1)). There are as many as the greatest f32 needs.
const DIGITS_32: [f64; 9] =
    [10680707.0, 7228996.0, 1387004.0, 2578385.0, 16069853.0, 12639074.0, 9804092.0, 4427841.0, 16666979.0];
/// The digits of 2/pi: digit i counts 2^(-53 (i + 1)). There are as many as the greatest f64 needs.
const DIGITS_64: [f64; 23] = [
    5734161139222658.0,
    5814151408469972.0,
    7440259586542284.0,
    5563773718881558.0,
    2066796102992750.0,
    2563573915284664.0,
    55291115753100.0,
    5098427330010289.0,
    1465545334474430.0,
    5835026907506289.0,
    6776677510095004.0,
    7069188010357663.0,
    2595984518904818.0,
    2831001892290551.0,
    4552804911380620.0,
    3195225570766134.0,
    4461702110328553.0,
    8190251822055336.0,
    6397593724909042.0,
    8751785341853560.0,
    5811081437509311.0,
    3456741467624832.0,
    7180050975382879.0,
];
/// Number of digits that matter for one x.
const USED: usize = 5;

/// The quadrant of an angle and its position in it.
#[derive(Clone, Copy)]
pub struct Reduced<R: Real> {
    /// The number n, of which only the two lowest bits are meaningful.
    pub quadrant: R::Bits,
    /// The remainder `hi + lo`, where `|lo|` is at most 2^-25 (f64: 2^-54) or half an ulp of hi.
    pub r: Double<R>,
}

/// Reduces x, which is not negative or is NaN, by multiples of pi/2. Infinity gives NaN.
#[inline(always)]
pub fn by_half_pi<R: Real>(x: R) -> Reduced<R> {
    // For f32, n is off by up to x 2^-24.5, which widens the interval of r. Below 52516.434 no r is
    // so small that only the rounded lo represents it.
    let huge = x.ge(x.lit(R::pick(50000.0, 2f64.powi(40)))).unlikely();
    let (rare, usual) = (payne_hanek(x), cody_waite(x));
    let r = Double { hi: R::select(huge, rare.1.hi, usual.1.hi), lo: R::select(huge, rare.1.lo, usual.1.lo) };
    Reduced { quadrant: R::select(huge, rare.0, usual.0).bits(), r }
}

/// Returns n + MAGIC, and r. r is exact except for its last rounding: hi is a multiple of 2^-24
/// (f64: 2^-53) below 1.
#[inline(always)]
fn cody_waite<R: Real>(x: R) -> (R, Double<R>) {
    let part = R::pick(HALF_PI_32, HALF_PI_64);
    let magic = x.lit(R::MAGIC);
    let shifted = x.mul_add(x.lit(std::f64::consts::FRAC_2_PI), magic);
    let n = shifted - magic;
    let first = (-n).mul_add(x.lit(part[0]), x);
    // n part[1] is split into a multiple of that grid and a rest: the last place of 0.75 is the
    // grid.
    let grid = x.lit(0.75);
    let coarse = n.mul_add(x.lit(part[1]), grid) - grid;
    let fine = n.mul_add(x.lit(part[1]), -coarse);
    (shifted, Double { hi: first - coarse, lo: (-n).mul_add(x.lit(part[2]), -fine) })
}

/// Returns n + MAGIC (modulo 4), and r, for x of 2^15 or more.
#[inline(always)]
fn payne_hanek<R: Real>(x: R) -> (R, Double<R>) {
    let width = R::MANTISSA as i32 + 1;
    let (x, digits) = matching_digits(x, width);
    let product = |i: usize| two_product(x * x.lit(2f64.powi(-width * (i as i32 + 1))), digits[i]);
    let (p, last) = ([product(0), product(1), product(2), product(3)], product(4).hi);
    let modulo_4 = |t: R| (t * t.lit(0.25)).round_ties_even().mul_add(t.lit(-4.0), t);
    // The products are summed in three words. The terms of each row are below a few units, a few
    // 2^-23, and a few 2^-46 (f64: 2^-52, 2^-104).
    let zero = x.lit(0.0);
    let (mut high, mut middle, mut low) = (modulo_4(p[0].hi), zero, p[3].lo + last);
    for t in [modulo_4(p[0].lo), modulo_4(p[1].hi), p[1].lo, p[2].hi] {
        let sum = two_sum(high, t);
        let rest = two_sum(middle, sum.lo);
        (high, middle, low) = (sum.hi, rest.hi, low + rest.lo);
    }
    for t in [p[2].lo, p[3].hi] {
        let rest = two_sum(middle, t);
        (middle, low) = (rest.hi, low + rest.lo);
    }
    let n = high.round_ties_even();
    let fraction = two_sum(high - n, middle);
    let fraction = quick_two_sum(fraction.hi, fraction.lo + low);
    let half_pi = R::pick(HALF_PI_32, HALF_PI_64);
    let half_pi = Double { hi: x.lit(half_pi[0]), lo: x.lit(half_pi[1]) };
    (n + x.lit(R::MAGIC), fraction.times_double(half_pi))
}

/// Returns `(y, d)`, for which x 2/pi is, up to multiples of 4,
/// `y (d[0] 2^-width + d[1] 2^(-2 width) + ..)`, and y is below `2^(2 width + 1)`.
#[inline(always)]
fn matching_digits<R: Real>(x: R, width: i32) -> (R, [R; USED]) {
    let known: &[f64] = R::pick(&DIGITS_32, &DIGITS_64);
    let mut digits = [x.lit(0.0); DIGITS_64.len()];
    for (digit, d) in digits.iter_mut().zip(known) {
        *digit = x.lit(*d);
    }
    let mut x = x;
    for places in [16, 8, 4, 2, 1] {
        // An x of at least 2^least is a multiple of 4 2^(width places), so as many digits as `places`
        // says give multiples of 4.
        let least = width * (places as i32 + 1) + 1;
        if least > R::BIAS as i32 {
            continue;
        }
        let far = x.ge(x.lit(2f64.powi(least)));
        x = R::select(far, x * x.lit(2f64.powi(-width * places as i32)), x);
        for i in 0..known.len().min(USED - 1 + places) {
            if i + places < known.len() {
                digits[i] = R::select(far, digits[i + places], digits[i]);
            }
        }
    }
    (x, std::array::from_fn(|i| digits[i]))
}
