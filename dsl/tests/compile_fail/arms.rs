//! Both arms of a choice have the same type.
use arraygpu_dsl::prelude::*;

fn f(a: SExp<f32>, n: SExp<i64>, x: VExp<f32>) {
    let _ = if_else(a.gt(0.0), || a, || n);
    let _ = if_else(a.gt(0.0), || (a, n), || (a, a));
    let _ = if_else(a.gt(0.0), || x, || x);
}

fn main() {
    let _ = f;
}
