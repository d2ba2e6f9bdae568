//! A closure gives expressions, not Rust numbers.
use arraygpu_dsl::prelude::*;

fn f(x: VExp<f32>) -> SExp<f32> {
    let _ = x.map(|_| 1.0f32);
    x.sum()
}

fn main() {
    let _ = f;
}
