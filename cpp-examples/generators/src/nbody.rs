//! All-pairs N-body accelerations: L. Nyland, M. Harris, J. Prins, *Fast N-Body Simulation with CUDA* (GPU Gems 3, chapter 31), here as nested
//! operations, which Larsen (2011), section 7, wishes for: a vector of sums, each over all bodies.

use arraygpu::prelude::*;

/// What the C++ header says.
pub const DOC: &str = "Acceleration of each body by all bodies, with softening: the sum of mass * d / (|d|^2 + epsilon2)^(3/2).";

/// How the pulls of all bodies are added.
type Sum = fn(VExp<f32>) -> SExp<f32>;

type Vectors = (VExp<f32>, VExp<f32>, VExp<f32>);

/// 20 operations a pair as such benchmarks count: the pull of body j on body i.
fn pull(
    [dx, dy, dz]: [SExp<f32>; 3],
    mass: SExp<f32>,
    epsilon2: SExp<f32>,
) -> (SExp<f32>, SExp<f32>, SExp<f32>) {
    let r = dx.mul_add(dx, dy.mul_add(dy, dz.mul_add(dz, epsilon2))).rsqrt();
    let s = mass * r * r * r;
    (s * dx, s * dy, s * dz)
}

fn accelerations_by(sum: Sum, [x, y, z, mass]: [VExp<f32>; 4], epsilon2: SExp<f32>) -> Vectors {
    x.zip3(y, z, |xi, yi, zi| {
        let pulls = x.zip4(y, z, mass, |xj, yj, zj, m| pull([xj - xi, yj - yi, zj - zi], m, epsilon2));
        (sum(pulls.0), sum(pulls.1), sum(pulls.2))
    })
}

/// The three sums of each body in the fixed order of reductions.
pub fn accelerations(
    x: VExp<f32>,
    y: VExp<f32>,
    z: VExp<f32>,
    mass: VExp<f32>,
    epsilon2: SExp<f32>,
) -> Vectors {
    accelerations_by(VExp::sum, [x, y, z, mass], epsilon2)
}

/// The same from the first body to the last, as a plain loop adds.
pub fn accelerations_in_order(
    x: VExp<f32>,
    y: VExp<f32>,
    z: VExp<f32>,
    mass: VExp<f32>,
    epsilon2: SExp<f32>,
) -> Vectors {
    accelerations_by(VExp::sum_in_order, [x, y, z, mass], epsilon2)
}
