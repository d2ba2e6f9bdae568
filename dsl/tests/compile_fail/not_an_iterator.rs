//! Arrays are no iterators; the names of iterators say what to write.
use arraygpu_dsl::prelude::*;

fn f(x: VExp<f32>, y: VExp<f32>, m: MExp<f32>) {
    let _ = m.scan(0.0, |a: SExp<f32>, b: SExp<f32>| a + b);
    let _ = x.zip(y);
    let _ = m.filter(|a: SExp<f32>| a.gt(0.0));
    let _ = x.enumerate();
    let _ = x.rev();
    let _ = (x, m).reduce((0.0, 0.0), |a, _| a);
    let _ = (x, 1.0f32).fold(0.0f32, |a, _| a);
}

fn main() {
    let _ = f;
}
