//! Filters of images: weighted sums over a square of neighbours, as in any text on image processing.

use arraygpu::prelude::*;

/// What the C++ header says of [`box3`].
pub const BOX_DOC: &str = "Mean of each 3 x 3 square: two rows and two columns less than m.";

/// The mean of nine neighbours, by a chain of multiply-adds.
pub fn box3(m: MExp<f32>) -> MExp<f32> {
    m.weighted_sum2(&[[1.0 / 9.0; 3]; 3])
}

/// What the C++ header says of [`gaussian3`].
pub const GAUSSIAN_DOC: &str =
    "Smoothing by the 3 x 3 binomial weights (1 2 1) x (1 2 1) / 16; beyond an edge is the image mirrored.";

/// As large as the image.
pub fn gaussian3(m: MExp<f32>) -> MExp<f32> {
    let row = |w: f32| [w / 16.0, w / 8.0, w / 16.0];
    m.padded([1, 1], [1, 1], Boundary::Mirror).weighted_sum2(&[row(1.0), row(2.0), row(1.0)])
}

/// Weights for a square of `k` by `k`, all different: nothing can be saved by adding first.
pub fn square_weights(k: usize) -> Vec<Vec<f32>> {
    let middle = k as i32 / 2;
    let weight = |r: usize, c: usize| 0.02 + 0.01 * ((c as i32 - middle) + 3 * (r as i32 - middle)) as f32;
    (0..k).map(|r| (0..k).map(|c| weight(r, c)).collect()).collect()
}

/// A sum over a `k` by `k` square with such weights.
pub fn square(k: usize) -> impl Fn(MExp<f32>) -> MExp<f32> {
    move |m| m.weighted_sum2(&square_weights(k))
}
