//! The four programs of *Simplified usage of parallel graphics hardware for vector calculus with expression
//! templates* (WSCG 2011, communication papers), section 4, figures 3 to 6.

use arraygpu::prelude::*;

/// Figure 3, test 1.
pub const ADD_DOC: &str = "b + c, element by element.";
/// Figure 4, test 2.
pub const AXPBY_DOC: &str = "0.12 b + 7.54 c, element by element.";
/// Figure 5, test 3.
pub const EXPR3_DOC: &str = "(b - (a + 3.75 c) + c - 0.24 b) / 27.51 + a - 0.25 b, element by element.";
/// Figure 6, test 4.
pub const NORMALISE_DOC: &str = "a divided by its Euclidean norm.";

/// a = b + c
pub fn add(b: VExp<f32>, c: VExp<f32>) -> VExp<f32> {
    b + c
}

/// a = 0.12 b + 7.54 c
pub fn axpby(b: VExp<f32>, c: VExp<f32>) -> VExp<f32> {
    0.12 * b + 7.54 * c
}

/// a = (b - (a + 3.75 c) + c - 0.24 b) / 27.51 + a - 0.25 b
pub fn expr3(a: VExp<f32>, b: VExp<f32>, c: VExp<f32>) -> VExp<f32> {
    (b - (a + 3.75 * c) + c - 0.24 * b) / 27.51 + a - 0.25 * b
}

/// a = a / |a|: a reduction and a map, since the second needs the whole of the first.
pub fn normalise(a: VExp<f32>) -> VExp<f32> {
    let norm = a.dot(a).sqrt();
    a.map(|x| x / norm)
}
