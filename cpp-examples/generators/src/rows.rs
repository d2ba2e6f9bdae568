//! Functions of rows that need a row several times: softmax, layer normalisation, division by the sum.

use arraygpu::prelude::*;

/// What the C++ header says.
pub const SOFTMAX_DOC: &str = "Each row's exponentials of x minus the row's maximum, divided by their sum.";

/// Two reductions of a row, and the row again.
pub fn softmax<T: Float>(x: MExp<T>) -> MExp<T> {
    let n = x.cols();
    let e = (x - x.map_rows(|row| row.max()).broadcast_cols(n)).exp();
    e / e.sum_rows().broadcast_cols(n)
}

/// What the C++ header says.
pub const LAYER_NORM_DOC: &str =
    "Each row shifted to mean 0 and scaled to variance 1, with 1e-5 added to the variance.";

/// The mean, the variance about it, and the row again.
pub fn layer_norm(x: MExp<f32>) -> MExp<f32> {
    let n = x.cols();
    let count = n.cast::<f32>();
    let d = x - (x.sum_rows() / count).broadcast_cols(n);
    let variance = d.map_rows(|row| row.dot(row)) / count;
    d * (variance + 1e-5).rsqrt().broadcast_cols(n)
}

/// What the C++ header says.
pub const SHARES_DOC: &str = "Each row divided by its sum.";

/// One reduction of a row, and the row again.
pub fn shares(x: MExp<f32>) -> MExp<f32> {
    x / x.sum_rows().broadcast_cols(x.cols())
}

/// What the C++ header says.
pub const SOFTMAX_COLS_DOC: &str =
    "Each column's exponentials of x minus the column's maximum, divided by their sum.";
/// What the C++ header says.
pub const NORMALISE_COLS_DOC: &str = "Each column divided by its norm.";
/// What the C++ header says.
pub const STANDARDISE_COLS_DOC: &str =
    "Each column shifted to mean 0 and scaled to variance 1, with 1e-5 added to the variance.";

/// The mean and the variance of each column in one pass, and the column again.
pub fn standardise_cols(x: MExp<f32>) -> MExp<f32> {
    let n = x.rows();
    let d = x - (x.sum_cols() / n.cast::<f32>()).broadcast_rows(n);
    d * (x.variance_cols(0) + 1e-5).rsqrt().broadcast_rows(n)
}

/// What the C++ header says.
pub const DEVIATION_DOC: &str = "The standard deviation of all elements, as one number.";

/// The mean, then the squares about it. The result is a vector of one element, so that it stays on the device.
pub fn deviation(x: VExp<f32>) -> VExp<f32> {
    let n = x.len().cast::<f32>();
    let d = x - x.sum() / n;
    let deviation = (d.dot(d) / n).sqrt();
    generate(1, |_| deviation)
}

/// What the C++ header says.
pub const EXPONENTIALS_DOC: &str = "The exponentials of a matrix, and their sum in each row.";

/// A matrix is stored and reduced.
pub fn exponentials(x: MExp<f32>) -> (MExp<f32>, VExp<f32>) {
    let e = x.exp();
    (e, e.sum_rows())
}

/// What the C++ header says.
pub const UNIT_DOC: &str = "A vector divided by its norm.";

/// A vector is reduced and read again.
pub fn unit(x: VExp<f32>) -> VExp<f32> {
    x / x.dot(x).sqrt()
}

/// What the C++ header says.
pub const STD_DOC: &str = "The standard deviation of a vector, in one pass.";

/// The word for it. The result is a vector of one element, so that it stays on the device.
pub fn std(x: VExp<f32>) -> VExp<f32> {
    let s = x.std(0);
    generate(1, |_| s)
}

/// What the C++ header says.
pub const STD_ROWS_DOC: &str = "The standard deviation of each row.";
/// What the C++ header says.
pub const STD_COLS_DOC: &str = "The standard deviation of each column.";

/// What the C++ header says.
pub const ATAX_DOC: &str = "The product of the transpose of a with the product of a and x.";

/// Each row is needed twice: for its product with x, and for the sum of the rows times these products.
pub fn atax(a: MExp<f32>, x: VExp<f32>) -> VExp<f32> {
    let t = a.map_rows(|row| row.dot(x));
    a.transpose().map_rows(|column| column.dot(t))
}

/// What the C++ header says.
pub const RANK2_MATVEC_DOC: &str = "b, which is a plus the outer products of u1 and v1 and of u2 and v2; and b times (its transpose times y, plus z).";

/// A matrix is stored and its columns are reduced; then its rows are.
pub fn rank2_matvec(
    a: MExp<f32>,
    u1: VExp<f32>,
    v1: VExp<f32>,
    u2: VExp<f32>,
    v2: VExp<f32>,
    y: VExp<f32>,
    z: VExp<f32>,
) -> (MExp<f32>, VExp<f32>) {
    let b = a + u1.outer(v1, |p, q| p * q) + u2.outer(v2, |p, q| p * q);
    let x = b.transpose().map_rows(|column| column.dot(y)) + z;
    (b, b.map_rows(|row| row.dot(x)))
}
