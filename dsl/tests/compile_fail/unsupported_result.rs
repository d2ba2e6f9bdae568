//! A function returns expressions.
use arraygpu_dsl::prelude::*;

fn main() {
    let _ = Package::new("p").function("f", ["x"], "result", |x: VExp<f32>| Some(x));
    let _ = Package::new("p").function("g", ["x"], "result", |_: VExp<f32>| 1.0f32);
}
