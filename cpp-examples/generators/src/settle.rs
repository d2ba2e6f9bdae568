//! Iterations that a condition ends: what `bench/torch_settle.py` times.

use crate::jacobi::jacobi;
use arraygpu::prelude::*;

/// What the C++ header says of [`scaled_until`].
pub const SCALED_DOC: &str =
    "x times the factor, until the greatest element is below 1, and the number of steps.";

/// A step and a check of few operations: the time of a check.
pub fn scaled_until(x: VExp<f32>, factor: SExp<f32>, every: u32) -> (VExp<f32>, VExp<i64>) {
    let (x, steps) = iterate_while(1 << 20, x, |x| x.max().ge(1.0), |x| factor * x).check_every(every);
    (x, fill(lit(1i64), steps))
}

/// What the C++ header says of [`jacobi_until`].
pub const JACOBI_DOC: &str = "Jacobi steps inside of m, whose border is kept, until the last one changes no element by more than eps, and their number; every eighth is checked.";

/// A solver that stops by itself: the steps between two checks are several in a launch.
pub fn jacobi_until(m: MExp<f32>, eps: SExp<f32>) -> (MExp<f32>, VExp<i64>) {
    let step = |m: MExp<f32>| m.with_block(1, 1, jacobi(m));
    let changes = |m: &MExp<f32>| (step(*m) - *m).abs().max().gt(eps);
    let (m, steps) = iterate_while(1 << 20, m, changes, step).check_every(8);
    (m, fill(lit(1i64), steps))
}
