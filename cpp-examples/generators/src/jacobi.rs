//! Jacobi's iteration for Poisson's equation in two dimensions: Larsen (2011), section 8, the stencil of figure 5.

use arraygpu::prelude::*;

/// What the C++ header says of [`jacobi`].
pub const DOC: &str = "One Jacobi step where all four neighbours are: two rows and two columns less than m; result[i, j] is centred on m[i + 1, j + 1].";

/// The mean of the four neighbours, of slices shifted against each other.
pub fn jacobi(m: MExp<f32>) -> MExp<f32> {
    let (rows, cols) = (m.rows(), m.cols());
    let north = m.slice(0, rows - 2, 1, cols - 1);
    let south = m.slice(2, rows, 1, cols - 1);
    let west = m.slice(1, rows - 1, 0, cols - 2);
    let east = m.slice(1, rows - 1, 2, cols);
    0.25 * ((west + east) + (north + south))
}

/// What the C++ header says of [`jacobi_clamped`].
pub const CLAMPED_DOC: &str = "One Jacobi step of all of m; beyond an edge is the element at the edge.";

/// The same with the edges: m grows by a margin on each side, the step takes it away again.
pub fn jacobi_clamped(m: MExp<f32>) -> MExp<f32> {
    jacobi(m.padded([1, 1], [1, 1], Boundary::Clamp))
}
