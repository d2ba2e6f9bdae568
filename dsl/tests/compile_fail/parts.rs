//! A part for each axis, and margins that are numbers.
use arraygpu_dsl::prelude::*;

fn f(x: VExp<f32>, m: MExp<f32>, i: usize) {
    let _ = m.sliced(s![1..]);
    let _ = x.sliced(s![.., 1]);
    let _ = x.sliced(s![i..]);
    let _ = x.padded(1.5, 1, Boundary::Clamp);
    let _ = m.padded(1, 1, Boundary::Clamp);
}

fn main() {
    let _ = f;
}
