//! Mean, standard deviation and z-scores: scalars and a vector from one function. Any statistics textbook; the
//! two-pass variance, which does not cancel.

use arraygpu::prelude::*;

/// What the C++ header says.
pub const DOC: &str = "Mean and standard deviation (of the population) of x, and x shifted and scaled to mean 0 and deviation 1.";

/// Three steps: mean, variance about it, scores.
pub fn standardise(x: VExp<f32>) -> (SExp<f32>, SExp<f32>, VExp<f32>) {
    let n = x.len().cast::<f32>();
    let mean = x.sum() / n;
    let deviation = (x.map(|x| slet(x - mean, |d| d * d)).sum() / n).sqrt();
    (mean, deviation, x.map(|x| (x - mean) / deviation))
}
