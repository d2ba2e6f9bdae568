//! The forward difference: Larsen (2011), section 5, the archetypal stencil.

use arraygpu::prelude::*;

/// What the C++ header says.
pub const DOC: &str = "Forward difference: result[i] = xs[i + 1] - xs[i], one element shorter than xs.";

/// Two slices of one vector, one shifted against the other.
pub fn forward_difference(xs: VExp<f32>) -> VExp<f32> {
    let n = xs.len();
    xs.slice(1, n) - xs.slice(0, n - 1)
}
