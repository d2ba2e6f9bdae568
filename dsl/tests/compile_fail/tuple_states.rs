//! A state of several numbers is a tuple's.
use arraygpu_dsl::prelude::*;

fn f(x: VExp<f32>, y: VExp<f32>) {
    let _ = x.fold((0.0f32, 0i64), |(sum, n), a| (sum + a, n + 1));
    let _ = x.reduce((0.0f32, 0.0f32), |a: SExp<f32>, b: SExp<f32>| a + b);
    let _ = (x, y).reduce(0.0, |a, _| a);
    let _ = (x,).fold((x, 0i64), |s, _| s);
}

fn main() {
    let _ = f;
}
