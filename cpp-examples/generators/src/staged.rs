//! Staged values: M. Haidl, M. Steuer, T. Humernbrum, S. Gorlatch, *Multi-Stage Programming for GPUs in Modern C++ using PACXX* (2016), whose examples are a reduction and
//! N-body; and a convolution whose radius is an argument. Each function beside itself without `stage`: same bits, another kernel.

use crate::{nbody, total};
use arraygpu::prelude::*;

/// What the C++ header says.
pub const TOTAL_DOC: &str = "Sum of the elements; compiled for the length that it is called with.";
/// What the C++ header says.
pub const ACCELERATIONS_DOC: &str =
    "Acceleration of each body by all bodies; compiled for the number of bodies that it is called with.";
/// What the C++ header says.
pub const CONVOLUTION_DOC: &str = "Average of the 2 radius + 1 neighbours, weighted by a Gaussian.";
/// What the C++ header says.
pub const STAGED_CONVOLUTION_DOC: &str = "Average of the 2 radius + 1 neighbours, weighted by a Gaussian; compiled for the radius that it is called with.";

/// All of a vector, as many elements as its staged length says.
fn whole(x: VExp<f32>) -> VExp<f32> {
    x.slice(0, stage(x.len()))
}

/// The paper's first example: its block's size and whether the length is a power of 2 are staged. Here tiles are fixed, only the length is left.
pub fn total_staged(x: VExp<f32>) -> SExp<f32> {
    total::total(whole(x))
}

/// The paper's second example.
pub fn accelerations_staged(
    x: VExp<f32>,
    y: VExp<f32>,
    z: VExp<f32>,
    mass: VExp<f32>,
    epsilon2: SExp<f32>,
) -> (VExp<f32>, VExp<f32>, VExp<f32>) {
    nbody::accelerations(whole(x), whole(y), whole(z), whole(mass), epsilon2)
}

/// A window of any radius, whose weights follow from it.
pub fn convolution(x: VExp<f32>, radius: SExp<i64>) -> VExp<f32> {
    let (taps, deviation) = (2 * radius + 1, radius.cast::<f32>() * 0.5 + 0.5);
    let weight = |k: SExp<i64>| slet((k - radius).cast::<f32>() / deviation, |d| (d * d * -0.5).exp());
    let sum = generate(taps, weight).sum();
    generate(x.len() - 2 * radius, |i| generate(taps, |k| weight(k) * x.at(i + k)).sum() / sum)
}

/// The same, whose taps and weights are constants.
pub fn convolution_staged(x: VExp<f32>, radius: SExp<i64>) -> VExp<f32> {
    convolution(x, stage(radius))
}
