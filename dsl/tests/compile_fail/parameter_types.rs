//! Parameters are expressions; what the generator knows is captured.
use arraygpu_dsl::prelude::*;

fn scaled(x: VExp<f32>, factor: f32) -> VExp<f32> {
    x * factor
}

fn main() {
    let _ = Package::new("p").function("f", ["x", "factor"], "result", scaled);
    let _ = Package::new("p").function("g", ["x"], "result", 42);
}
