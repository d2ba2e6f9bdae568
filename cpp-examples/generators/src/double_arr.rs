//! In-place updates: Larsen (2011), appendix B.2. The function knows nothing of views; the caller gives one as output.

use arraygpu::prelude::*;

/// What the C++ header says.
pub const DOC: &str = "Each element doubled (the paper's doubleArr squares; its text says double).";

/// `doubleArr`.
pub fn double_arr(xs: VExp<f32>) -> VExp<f32> {
    xs.map(|x| x + x)
}
