//! Polynomials.

use crate::Real;

/// Returns `c[0] + x (c[1] + x (c[2] + ..))` by multiply-add, with the fewest operations.
#[inline(always)]
pub fn horner<R: Real>(x: R, c: &[f64]) -> R {
    let (last, rest) = c.split_last().expect("a polynomial has coefficients");
    rest.iter().rev().fold(x.lit(*last), |sum, c| sum.mul_add(x, x.lit(*c)))
}

/// Like [`horner`], but with the coefficients `c` if the flag holds, else `d`: one evaluation
/// serves two intervals.
#[inline(always)]
pub fn horner_of_two<R: Real>(x: R, flag: R::Flag, c: &[f64], d: &[f64]) -> R {
    assert_eq!(c.len(), d.len(), "both polynomials have one degree");
    let at = |i: usize| R::select(flag, x.lit(c[i]), x.lit(d[i]));
    (0..c.len() - 1).rev().fold(at(c.len() - 1), |sum, i| sum.mul_add(x, at(i)))
}

/// Evaluates the polynomial with half the depth, by its even and odd parts in `x * x`. It is used
/// for long polynomials on the critical path of a result.
#[inline(always)]
pub fn even_odd<R: Real>(x: R, c: &[f64]) -> R {
    let of = |from: usize| c.iter().skip(from).step_by(2).copied();
    let square = x * x;
    let half = |from: usize| {
        let mut down = of(from).rev();
        let last = x.lit(down.next().expect("a polynomial of degree one or more"));
        down.fold(last, |sum, c| sum.mul_add(square, x.lit(c)))
    };
    half(1).mul_add(x, half(0))
}
