//! European options after Black and Scholes, *The Pricing of Options and Corporate Liabilities* (1973): Larsen (2011), figure 3, after
//! the CUDA SDK's example. Larsen's section 8 regrets that a function could give only one of the two prices; here both come from one pass.

use arraygpu::prelude::*;
use std::f32::consts::FRAC_1_SQRT_2;

/// What the C++ header says.
pub const DOC: &str = "Prices of European call and put options, both in one pass (Black and Scholes 1973).";

/// The normal distribution function, through erfc: no cancellation for large negative d.
fn normal_cdf(d: SExp<f32>) -> SExp<f32> {
    0.5 * (-FRAC_1_SQRT_2 * d).erfc()
}

/// Price, strike and time to expiry of each option; one rate and one volatility for all of them.
pub fn black_scholes(
    price: VExp<f32>,
    strike: VExp<f32>,
    years: VExp<f32>,
    rate: SExp<f32>,
    volatility: SExp<f32>,
) -> (VExp<f32>, VExp<f32>) {
    price.zip3(strike, years, |s, x, t| {
        let spread = volatility * t.sqrt();
        let d1 = ((s / x).log() + (rate + 0.5 * volatility * volatility) * t) / spread;
        let d2 = d1 - spread;
        let discounted = x * (-rate * t).exp();
        let call = s * normal_cdf(d1) - discounted * normal_cdf(d2);
        let put = discounted * normal_cdf(-d2) - s * normal_cdf(-d1);
        (call, put)
    })
}
