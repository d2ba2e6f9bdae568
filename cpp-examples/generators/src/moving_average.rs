//! Weighted moving averages. The weights are a Rust slice: the host language is the macro stage, as Haskell is in Larsen (2011), figure 2.
//! The benchmark there, and here, is the 15-point formula that J. Spencer published in 1904 for smoothing mortality tables; it
//! leaves every cubic polynomial unchanged (Kendall and Stuart, *The Advanced Theory of Statistics*, volume 3).

use arraygpu::prelude::*;

/// Spencer's weights, in 320ths.
const SPENCER_320THS: [f32; 15] = [-3., -6., -5., 3., 21., 46., 67., 74., 67., 46., 21., 3., -5., -6., -3.];

/// Spencer's weights: each a 320th, rounded to f32 once.
pub fn spencer() -> Vec<f32> {
    SPENCER_320THS.iter().map(|w| w / 320.).collect()
}

/// What the C++ header says of [`wmavg`].
pub const WMAVG_DOC: &str =
    "Spencer's 15-point moving average; the result is 14 shorter than xs, element i is centred on xs[i + 7].";

/// The average as figure 2 of the paper writes it: one slice of `xs` for each weight, added up. The slices are never stored.
pub fn wmavg(w: &[f32]) -> impl Fn(VExp<f32>) -> VExp<f32> + '_ {
    move |xs| {
        let n = xs.len() - (w.len() as i64 - 1);
        w.iter().zip(0..).map(|(&w, i)| w * xs.slice(i, n + i)).sum()
    }
}

/// What the C++ header says of [`average`].
pub const AVERAGE_DOC: &str =
    "Spencer's 15-point moving average by fused multiply-adds; the result is 14 shorter than xs.";

/// The same average by the built-in stencil: a chain of multiply-adds (`docs/semantics.md` 5.4), so other roundings and half the arithmetic.
pub fn average(w: &[f32]) -> impl Fn(VExp<f32>) -> VExp<f32> + '_ {
    move |xs| xs.weighted_sum(w)
}

/// What the C++ header says of [`average`] with [`triangle`] weights.
pub const TRIANGLE_DOC: &str = "Moving average with weights that rise to the middle and fall; the result is shorter than xs by one less than there are weights.";

/// `taps` weights that rise by equal steps to the middle and fall again; their sum is 1 but for rounding.
pub fn triangle(taps: usize) -> Vec<f32> {
    let middle = taps.div_ceil(2);
    let height = |i: usize| (i + 1).min(taps - i) as f32;
    (0..taps).map(|i| height(i) / (middle * (taps + 1 - middle)) as f32).collect()
}
