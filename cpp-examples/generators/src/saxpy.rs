//! SAXPY of BLAS level 1 (Lawson et al. 1979): the "map" benchmark of Larsen, *Simple Optimizations for an
//! Applicative Array Language for Graphics Processors* (2011), figure 3.

use arraygpu::prelude::*;

/// What the C++ header says.
pub const DOC: &str = "a times x, plus y, element by element.";

/// `a * x + y`, rounded twice as written.
pub fn saxpy(a: SExp<f32>, x: VExp<f32>, y: VExp<f32>) -> VExp<f32> {
    x.zip_with(y, |x, y| a * x + y)
}
