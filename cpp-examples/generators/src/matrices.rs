//! What one does with matrices: sums and means by rows and by columns, products with vectors, other layouts; and one array of three dimensions.

use arraygpu::prelude::*;

/// What the C++ header says of [`row_sums`].
pub const ROW_SUMS_DOC: &str = "The sum of each row.";

/// One result a row.
pub fn row_sums(m: MExp<f32>) -> VExp<f32> {
    m.sum_rows()
}

/// What the C++ header says of [`col_sums`].
pub const COL_SUMS_DOC: &str = "The sum of each column.";

/// One result a column.
pub fn col_sums(m: MExp<f32>) -> VExp<f32> {
    m.sum_cols()
}

/// What the C++ header says of [`means`].
pub const MEANS_DOC: &str = "The mean of each row and the mean of each column.";

/// For rows without elements they are 0 / 0, which is NaN.
pub fn means(m: MExp<f32>) -> (VExp<f32>, VExp<f32>) {
    let rows = m.sum_rows() / m.cols().cast::<f32>();
    let cols = m.map_cols(|col| col.sum() / col.len().cast::<f32>());
    (rows, cols)
}

/// What the C++ header says of [`matvec`].
pub const MATVEC_DOC: &str = "The product of a matrix and a vector: the dot product of each row with v.";

/// SGEMV without its scalars.
pub fn matvec(m: MExp<f32>, v: VExp<f32>) -> VExp<f32> {
    m.map_rows(|row| row.dot(v))
}

/// What the C++ header says of [`matmul`].
pub const MATMUL_DOC: &str = "The product of two matrices.";

/// SGEMM without its scalars; a row or a column are matrices, too.
pub fn matmul(a: MExp<f32>, b: MExp<f32>) -> MExp<f32> {
    a.matmul(b)
}

/// What the C++ header says of [`outer`].
pub const OUTER_DOC: &str = "The outer product: result[i, j] = x[i] * y[j].";

/// By indices; `x.outer(y, |x, y| x * y)` is the same.
pub fn outer(x: VExp<f32>, y: VExp<f32>) -> MExp<f32> {
    generate2(x.len(), y.len(), |i, j| x.at(i) * y.at(j))
}

/// What the C++ header says of [`transpose`].
pub const TRANSPOSE_DOC: &str = "The matrix whose rows are the columns of m.";

/// Stored anew; a view of the other layout costs nothing (`gpu_matrix_view::transpose`).
pub fn transpose(m: MExp<f32>) -> MExp<f32> {
    m.transpose()
}

/// What the C++ header says of [`scaled`].
pub const SCALED_DOC: &str = "a * m, element by element.";

/// For any parts of matrices as input and output.
pub fn scaled(a: SExp<f32>, m: MExp<f32>) -> MExp<f32> {
    a * m
}

/// What the C++ header says of [`plane_means`].
pub const PLANES_DOC: &str = "Of each plane of t its mean, and the mean over all planes, element by element.";

/// Frames of a film: how bright each is, and the average picture.
pub fn plane_means(t: TExp<f32>) -> (VExp<f32>, MExp<f32>) {
    let brightness = t.map_planes(|plane| plane.sum() / (plane.rows() * plane.cols()).cast::<f32>());
    let planes = t.planes().cast::<f32>();
    // the planes become the last axis: what map_rows reduces
    let picture = t.permute([1, 2, 0]).map_rows(|through| through.sum() / planes);
    (brightness, picture)
}
