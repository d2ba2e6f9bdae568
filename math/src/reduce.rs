//! Reduction of an angle: x = n pi/2 + r with |r| slightly above pi/4 at most and r = hi + lo, correct for every finite x >= 0.
//!
//! Ordinary x by Cody and Waite ("Software Manual for the Elementary Functions", 1980) with pi/2 in three words of full length: with a fused multiply-add the
//! first step is exact, as its result lies on the grid of the first word's last place; the second is made exact by splitting its product on a grid as coarse.
//! Huge x by Payne and Hanek ("Radian reduction for trigonometric functions", 1983), in floating point: 2/pi is a row of digits to the base 2^24 (f64: 2^53),
//! of which the five that matter are found by comparisons of x, one for each bit of their place; the digits before those give multiples of 4.

use crate::double::{Double, quick_two_sum, two_product, two_sum};
use crate::{Flag, Real};

const HALF_PI_32: [f64; 3] = [1.5707963705062866, -4.371138828673793e-8, -1.7151245100058819e-15];
const HALF_PI_64: [f64; 3] = [std::f64::consts::FRAC_PI_2, 6.123233995736766e-17, -1.4973849048591698e-33];

/// 2/pi: digit i counts 2^(-24 (i + 1)). As many as the greatest f32 needs.
const DIGITS_32: [f64; 9] =
    [10680707.0, 7228996.0, 1387004.0, 2578385.0, 16069853.0, 12639074.0, 9804092.0, 4427841.0, 16666979.0];
/// The same by 2^-53.
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
/// The digits that matter for one x.
const USED: usize = 5;

/// An angle's place in its quadrant.
#[derive(Clone, Copy)]
pub struct Reduced<R: Real> {
    /// n: the two lowest bits count.
    pub quadrant: R::Bits,
    /// `hi + lo`, `|lo| <= 2^-25` (f64: `2^-54`) or half an ulp of hi.
    pub r: Double<R>,
}

/// x >= 0 (or NaN) by multiples of pi/2. Infinity gives NaN.
#[inline(always)]
pub fn by_half_pi<R: Real>(x: R) -> Reduced<R> {
    // f32: n is off by up to x 2^-24.5, which widens the interval of r; and below 52516.434 no r is so small that only the rounded lo holds it
    let huge = x.ge(x.lit(R::pick(50000.0, 2f64.powi(40)))).unlikely();
    let (rare, usual) = (payne_hanek(x), cody_waite(x));
    let r = Double { hi: R::select(huge, rare.1.hi, usual.1.hi), lo: R::select(huge, rare.1.lo, usual.1.lo) };
    Reduced { quadrant: R::select(huge, rare.0, usual.0).bits(), r }
}

/// n + MAGIC, and r. All of r but its last rounding is exact: hi is a multiple of 2^-24 (f64: 2^-53) below 1.
#[inline(always)]
fn cody_waite<R: Real>(x: R) -> (R, Double<R>) {
    let part = R::pick(HALF_PI_32, HALF_PI_64);
    let magic = x.lit(R::MAGIC);
    let shifted = x.mul_add(x.lit(std::f64::consts::FRAC_2_PI), magic);
    let n = shifted - magic;
    let first = (-n).mul_add(x.lit(part[0]), x);
    // n part[1] as a multiple of that grid and a rest: 0.75 has its last place there
    let grid = x.lit(0.75);
    let coarse = n.mul_add(x.lit(part[1]), grid) - grid;
    let fine = n.mul_add(x.lit(part[1]), -coarse);
    (shifted, Double { hi: first - coarse, lo: (-n).mul_add(x.lit(part[2]), -fine) })
}

/// n + MAGIC (modulo 4), and r, for x of 2^15 or more.
#[inline(always)]
fn payne_hanek<R: Real>(x: R) -> (R, Double<R>) {
    let width = R::MANTISSA as i32 + 1;
    let (x, digits) = matching_digits(x, width);
    let product = |i: usize| two_product(x * x.lit(2f64.powi(-width * (i as i32 + 1))), digits[i]);
    let (p, last) = ([product(0), product(1), product(2), product(3)], product(4).hi);
    let modulo_4 = |t: R| (t * t.lit(0.25)).round_ties_even().mul_add(t.lit(-4.0), t);
    // the sum of all in three words; each row's terms are below a few units, a few 2^-23, a few 2^-46 (f64: 2^-52, 2^-104)
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

/// `(y, d)`: x 2/pi is, but for multiples of 4, `y (d[0] 2^-width + d[1] 2^(-2 width) + ..)`, and y is below `2^(2 width + 1)`.
#[inline(always)]
fn matching_digits<R: Real>(x: R, width: i32) -> (R, [R; USED]) {
    let known: &[f64] = R::pick(&DIGITS_32, &DIGITS_64);
    let mut digits = [x.lit(0.0); DIGITS_64.len()];
    for (digit, d) in digits.iter_mut().zip(known) {
        *digit = x.lit(*d);
    }
    let mut x = x;
    for places in [16, 8, 4, 2, 1] {
        // x is a multiple of 4 2^(width places): that many digits give multiples of 4
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
