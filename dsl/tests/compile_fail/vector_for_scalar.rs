//! A vector does not stand where a scalar is expected.
use arraygpu_dsl::prelude::*;

fn f(x: SExp<f32>, v: VExp<f32>) -> SExp<f32> {
    x.max(v)
}

fn g(x: VExp<f32>, i: VExp<i64>) -> SExp<f32> {
    x.at(i)
}

fn main() {
    let _ = (f, g);
}
