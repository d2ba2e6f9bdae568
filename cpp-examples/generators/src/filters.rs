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

/// 17 binomial-like weights whose sum is about 1, all different, as [`square_weights`].
fn weights17() -> [f32; 17] {
    std::array::from_fn(|k| 0.02 + 0.005 * k as f32 - 0.0001 * (k * k) as f32)
}

/// The weighted sums along rows, then along columns, of what lies inside.
fn rows_then_columns(x: MExp<f32>) -> (MExp<f32>, MExp<f32>) {
    let weights = weights17();
    let along_rows = x.weighted_sum2(&[weights]);
    (along_rows, along_rows.weighted_sum2(&weights.map(|w| [w])))
}

/// What the C++ header says of [`separable17`].
pub const SEPARABLE_DOC: &str =
    "Weighted sums of 17 elements along rows, then of 17 along columns: 16 rows and columns less than x.";

/// A separable filter of what lies inside.
pub fn separable17(x: MExp<f32>) -> MExp<f32> {
    rows_then_columns(x).1
}

/// What the C++ header says of [`separable17_two`].
pub const SEPARABLE_TWO_DOC: &str = "The same, with the sums along rows as a result of their own.";

/// Two launches, because what is between them is a result.
pub fn separable17_two(x: MExp<f32>) -> (MExp<f32>, MExp<f32>) {
    rows_then_columns(x)
}

/// What the C++ header says of [`separable17_clamped`].
pub const SEPARABLE_CLAMPED_DOC: &str =
    "Weighted sums of 17 elements along rows, then of 17 along columns; beyond an edge is its last element.";

/// As large as the image.
pub fn separable17_clamped(x: MExp<f32>) -> MExp<f32> {
    let weights = weights17();
    let along_rows = x.padded([0, 0], [8, 8], Boundary::Clamp).weighted_sum2(&[weights]);
    along_rows.padded([8, 8], [0, 0], Boundary::Clamp).weighted_sum2(&weights.map(|w| [w]))
}

/// What the C++ header says of [`unsharp17`].
pub const UNSHARP_DOC: &str =
    "The image plus half of its difference from the separable filter of 17 by 17 elements.";

/// An unsharp mask: the last stage reads the image, too.
pub fn unsharp17(x: MExp<f32>) -> MExp<f32> {
    (x - separable17_clamped(x)) * 0.5 + x
}
