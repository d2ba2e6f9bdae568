//! SDOT of BLAS level 1 (Lawson et al. 1979): the "reduce" benchmark of Larsen (2011), figure 3.

use arraygpu::prelude::*;

/// What the C++ header says.
pub const DOC: &str = "Dot product of two vectors of one length.";

/// The order of the additions, and where fused multiply-adds stand, is `docs/semantics.md` 5.3.
pub fn sdot(x: VExp<f32>, y: VExp<f32>) -> SExp<f32> {
    x.dot(y)
}
