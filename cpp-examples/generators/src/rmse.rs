//! Root mean square error: Larsen (2011), figure 2. Subtraction, square and sum become one pass, without a temporary vector.

use arraygpu::prelude::*;

/// What the C++ header says.
pub const DOC: &str = "Root mean square error of two vectors of one length.";

/// Of vectors of nothing it is 0 / 0: NaN.
pub fn rmse(x: VExp<f32>, y: VExp<f32>) -> SExp<f32> {
    let squares = x.zip_with(y, |a, b| slet(a - b, |d| d * d));
    (squares.sum() / x.len().cast::<f32>()).sqrt()
}
