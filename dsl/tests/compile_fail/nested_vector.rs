//! Vectors do not nest.
use arraygpu_dsl::prelude::*;

fn f(x: VExp<f32>, y: VExp<f32>) -> SExp<f32> {
    let _ = x.map(|a| y.map(|b| a * b));
    x.sum()
}

fn main() {
    let _ = f;
}
