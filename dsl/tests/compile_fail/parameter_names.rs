//! One name for each parameter.
use arraygpu_dsl::prelude::*;

fn add(x: SExp<f32>, y: SExp<f32>) -> SExp<f32> {
    x + y
}

fn main() {
    let _ = Package::new("p").function("f", ["x"], "result", add);
    let _ = Package::new("p").function("g", ["x", "y", "z"], "result", |x: SExp<f32>, y: SExp<f32>| x + y);
}
