//! Shifts and bitwise operators take integers.
use arraygpu_dsl::prelude::*;

fn f(x: SExp<f32>) -> SExp<f32> {
    x << 2.0
}

fn g(x: SExp<f32>, y: SExp<f32>) -> SExp<f32> {
    x & y
}

fn main() {
    let _ = (f, g);
}
