//! Root mean square error: Larsen (2011), figure 2. Subtraction, square and sum become one pass, without a temporary vector.

use arraygpu::prelude::*;

/// What the C++ header says of [`rmse`].
pub const DOC: &str = "Root mean square error of two vectors of one length.";

/// For empty vectors it is 0 / 0, which is NaN.
pub fn rmse(x: VExp<f32>, y: VExp<f32>) -> SExp<f32> {
    let squares = x.zip_with(y, |a, b| slet(a - b, |d| d * d));
    (squares.sum() / x.len().cast::<f32>()).sqrt()
}

/// What the C++ header says of [`rmse_unfused`].
pub const UNFUSED_DOC: &str =
    "The same with differences and squares stored: what fusion saves (Larsen 2011, figure 4).";

/// Three passes and two temporary vectors, as the paper's programs were compiled without fusion.
pub fn rmse_unfused(x: VExp<f32>, y: VExp<f32>) -> SExp<f32> {
    let differences = (x - y).materialize();
    let squares = differences.map(|d| d * d).materialize();
    (squares.sum() / x.len().cast::<f32>()).sqrt()
}
