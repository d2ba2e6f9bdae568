//! Element types do not convert by themselves.
use arraygpu_dsl::prelude::*;

fn f(x: SExp<f32>, k: SExp<i32>) -> SExp<f32> {
    x * k
}

fn g(x: VExp<f32>, y: VExp<f64>) -> VExp<f32> {
    x + y
}

fn main() {
    let _ = (f, g);
}
