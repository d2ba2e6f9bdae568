//! European options after Black and Scholes, *The Pricing of Options and Corporate Liabilities* (1973): Larsen (2011), figure 3, after
//! the CUDA SDK's example. Larsen's section 8 regrets that a function could give only one of the two prices; here both come from one pass.

use arraygpu::prelude::*;
use std::f32::consts::FRAC_1_SQRT_2;

/// What the C++ header says.
pub const DOC: &str = "Prices of European call and put options, both in one pass (Black and Scholes 1973).";

/// The normal distribution function at d and at -d, from one error function: a price needs both.
fn by_erf(d: SExp<f32>) -> (SExp<f32>, SExp<f32>) {
    let half = 0.5 * (FRAC_1_SQRT_2 * d).erf();
    (0.5 + half, 0.5 - half)
}

/// The same without cancellation for large |d|.
fn by_normcdf(d: SExp<f32>) -> (SExp<f32>, SExp<f32>) {
    (d.normcdf(), (-d).normcdf())
}

/// The prices of one option.
fn prices(
    [s, x, t, rate, volatility]: [SExp<f32>; 5],
    normal: fn(SExp<f32>) -> (SExp<f32>, SExp<f32>),
) -> (SExp<f32>, SExp<f32>) {
    let spread = volatility * t.sqrt();
    let d1 = ((s / x).log() + (rate + 0.5 * volatility * volatility) * t) / spread;
    let d2 = d1 - spread;
    let discounted = x * (-rate * t).exp();
    let ((n1, m1), (n2, m2)) = (normal(d1), normal(d2));
    (s * n1 - discounted * n2, discounted * m2 - s * m1)
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

/// The same by `normcdf`: the prices of options far out of the money keep their relative accuracy.
pub fn black_scholes_tails(
    price: VExp<f32>,
    strike: VExp<f32>,
    years: VExp<f32>,
    rate: SExp<f32>,
    volatility: SExp<f32>,
) -> (VExp<f32>, VExp<f32>) {
    price.zip3(strike, years, |s, x, t| prices([s, x, t, rate, volatility], by_normcdf))
}
