//! European options after Black and Scholes, *The Pricing of Options and Corporate Liabilities* (1973): Larsen (2011), figure 3, after
//! the CUDA SDK's example. Larsen's section 8 regrets that a function could give only one of the two prices; here both come from one pass.

use arraygpu::prelude::*;
use std::f32::consts::SQRT_2;

/// What the C++ header says.
pub const DOC: &str = "Prices of European call and put options, both in one pass (Black and Scholes 1973).";

/// The normal distribution function at d and at -d, of d / sqrt 2.
type Normal = fn(SExp<f32>) -> (SExp<f32>, SExp<f32>);

/// From one error function: a price needs both.
fn by_erf(e: SExp<f32>) -> (SExp<f32>, SExp<f32>) {
    let erf = e.erf();
    (erf.mul_add(0.5, 0.5), erf.mul_add(-0.5, 0.5))
}

/// Without cancellation for large |d|.
fn by_erfc(e: SExp<f32>) -> (SExp<f32>, SExp<f32>) {
    (0.5 * (-e).erfc(), 0.5 * e.erfc())
}

/// The prices of one option. Where the CUDA compiler would contract, `mul_add` says so.
fn prices([s, x, t, rate, volatility]: [SExp<f32>; 5], normal: Normal) -> (SExp<f32>, SExp<f32>) {
    // sqrt 2 times the standard deviation: the error functions want d / sqrt 2
    let spread = (volatility * SQRT_2) * t.sqrt();
    let drift = rate + 0.5 * volatility * volatility;
    let e1 = drift.mul_add(t, (s / x).log()) / spread;
    let e2 = spread.mul_add(-0.5, e1);
    let discounted = x * (-rate * t).exp();
    let ((n1, m1), (n2, m2)) = (normal(e1), normal(e2));
    (s.mul_add(n1, -(discounted * n2)), discounted.mul_add(m2, -(s * m1)))
}

/// Price, strike and time to expiry of each option; one rate and one volatility for all of them.
pub fn black_scholes(
    price: VExp<f32>,
    strike: VExp<f32>,
    years: VExp<f32>,
    rate: SExp<f32>,
    volatility: SExp<f32>,
) -> (VExp<f32>, VExp<f32>) {
    price.zip3(strike, years, |s, x, t| prices([s, x, t, rate, volatility], by_erf))
}

/// The same by `erfc`: the prices of options far out of the money keep their relative accuracy.
pub fn black_scholes_tails(
    price: VExp<f32>,
    strike: VExp<f32>,
    years: VExp<f32>,
    rate: SExp<f32>,
    volatility: SExp<f32>,
) -> (VExp<f32>, VExp<f32>) {
    price.zip3(strike, years, |s, x, t| prices([s, x, t, rate, volatility], by_erfc))
}
