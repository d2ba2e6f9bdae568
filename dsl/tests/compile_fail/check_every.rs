//! `iterate_while` has no states before `check_every`.
use arraygpu_dsl::prelude::*;

fn first(x: VExp<f32>) -> VExp<f32> {
    iterate_while(9, x, |x| x.max().gt(1.0), |x| x * 0.5).0
}

fn parts(x: VExp<f32>) -> VExp<f32> {
    let (x, _) = iterate_while(9, x, |x| x.max().gt(1.0), |x| x * 0.5);
    x
}

fn sum(x: VExp<f32>) -> SExp<f32> {
    iterate_while(9, x, |x| x.max().gt(1.0), |x| x * 0.5).sum()
}

fn main() {
    let _ = (first, parts, sum);
}
