//! Elements are read by `at`.
use arraygpu_dsl::prelude::*;

fn f(x: VExp<f32>, m: MExp<f32>, i: SExp<i64>) {
    let _ = x[0] + 1.0;
    let _ = x[i];
    let _ = m[0][1];
}

fn main() {
    let _ = f;
}
