//! More states, results and components than a tuple has.
use arraygpu_dsl::prelude::*;

fn main() {
    let of_17 = |x: SExp<f32>| (x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x);
    let states = |x: SExp<f32>| loop_for(3, of_17(x), |_, s| s);
    let iterated = |x: VExp<f32>, k: SExp<i64>| iterate(k, (x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x), |s| s);
    let of_13 = |x: VExp<f32>| (x, x, x, x, x, x, x, x, x, x, x, x, x).fold(lit(0.0f32), |s, _| s);
    let results = |x: VExp<f32>| (x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x);
    let _ = Package::new("p").function("f", ["x"], ["a", "b"], results);
}
