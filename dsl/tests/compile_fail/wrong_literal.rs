//! A literal has the type of what it stands beside; floats do not stand beside integers.
use arraygpu_dsl::prelude::*;

fn f(k: SExp<i32>) -> SExp<i32> {
    k * 2.5
}

fn g(x: SExp<f32>) -> SExp<f32> {
    let weights = [0.5f64];
    x * weights[0]
}

fn h(x: VExp<f32>, n: usize) -> VExp<f32> {
    x.slice(0, n)
}

fn main() {
    let _ = (f, g, h);
}
