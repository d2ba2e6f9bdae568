//! What is sorted by keys are vectors.
use arraygpu_dsl::prelude::*;

fn f(keys: VExp<i32>, x: VExp<f32>, m: MExp<f32>) {
    let _ = keys.sort_by_key((x, m));
    let _ = keys.sort_by_key(m);
}

fn main() {
    let _ = f;
}
