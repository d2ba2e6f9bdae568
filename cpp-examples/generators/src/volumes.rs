//! Stencils of volumes, as in solvers of heat and wave equations in three dimensions.

use arraygpu::prelude::*;

/// What the C++ header says of [`laplace3d`].
pub const LAPLACE3D_DOC: &str =
    "The six neighbours of each element, less six times itself; beyond a face is its last element.";

/// The sum of the six neighbours of each element.
fn around(u: TExp<f32>) -> TExp<f32> {
    let w = u.padded([1, 1], [1, 1], [1, 1], Boundary::Clamp).windows3(3, 3, 3);
    (w[0][1][1] + w[2][1][1]) + (w[1][0][1] + w[1][2][1]) + (w[1][1][0] + w[1][1][2])
}

/// As large as the volume.
pub fn laplace3d(u: TExp<f32>) -> TExp<f32> {
    around(u) - 6.0 * u
}

/// What the C++ header says of [`laplace3d_inside`].
pub const LAPLACE3D_INSIDE_DOC: &str = "The six neighbours of each element inside, less six times itself: two planes, rows and columns less than u.";

/// Of what lies inside.
pub fn laplace3d_inside(u: TExp<f32>) -> TExp<f32> {
    let w = u.windows3(3, 3, 3);
    let sum = (w[0][1][1] + w[2][1][1]) + (w[1][0][1] + w[1][2][1]) + (w[1][1][0] + w[1][1][2]);
    sum - 6.0 * w[1][1][1]
}

/// What the C++ header says of [`laplace27`].
pub const LAPLACE27_DOC: &str =
    "A weighted sum of the 27 elements around each element; beyond a face is its last element.";

/// The weights of a Laplace operator that is isotropic to fourth order: of a corner, an edge, a face and the middle.
fn weights27() -> [[[f32; 3]; 3]; 3] {
    let weight = |away: i32| [-128.0 / 30.0, 14.0 / 30.0, 3.0 / 30.0, 1.0 / 30.0][away as usize];
    let one = |k: usize| (k as i32 - 1).abs();
    let row = |p: usize, r: usize| std::array::from_fn(|c| weight(one(p) + one(r) + one(c)));
    std::array::from_fn(|p| std::array::from_fn(|r| row(p, r)))
}

/// As large as the volume.
pub fn laplace27(u: TExp<f32>) -> TExp<f32> {
    u.padded([1, 1], [1, 1], [1, 1], Boundary::Clamp).weighted_sum3(&weights27())
}
