//! Results are named by strings.
use arraygpu_dsl::prelude::*;

fn main() {
    let _ = Package::new("p").function("f", ["x"], ("lo", "hi"), |x: VExp<f32>| (x.min(), x.max()));
}
