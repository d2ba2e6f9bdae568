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

/// What the C++ header says of [`jacobi_steps`].
pub const STEPS_DOC: &str = "k Jacobi steps inside of m, whose border is kept.";

/// A solver's loop: what is inside moves, the border stays.
pub fn jacobi_steps(m: MExp<f32>, k: SExp<i64>) -> MExp<f32> {
    m.iterate(k, |m| m.with_block(1, 1, jacobi(m)))
}

/// What the C++ header says of [`waves`].
pub const WAVES_DOC: &str = "k steps of a wave on a string whose ends are held: u where it is, before where it was a step ago; speed2 is the square of the Courant number. The ends need an element between them.";

/// The wave equation by leapfrog: two states, of which each step changes both.
pub fn waves(u: VExp<f32>, before: VExp<f32>, speed2: SExp<f32>, k: SExp<i64>) -> (VExp<f32>, VExp<f32>) {
    iterate(k, (u, before), |(u, before)| {
        let n = u.len();
        let inside = |x: VExp<f32>| x.slice(1, n - 1);
        let bend = u.slice(0, n - 2) - 2 * inside(u) + u.slice(2, n);
        (u.with_slice(1, 2 * inside(u) - inside(before) + speed2 * bend), u)
    })
}
