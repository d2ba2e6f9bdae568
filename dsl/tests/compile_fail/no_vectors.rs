//! What a filter keeps, a tuple of arrays and a matrix are no vectors; words of other languages have names here.
use arraygpu_dsl::prelude::*;

fn f(x: VExp<f32>, y: VExp<f32>, i: VExp<u32>, m: MExp<f32>) {
    let kept = x.filter(|a| a.gt(0.0));
    let _ = kept.sort();
    let _ = kept.count();
    let _ = (x, y).map(|(a, b): (SExp<f32>, SExp<f32>)| a * b);
    let _ = (x, y).scatter_reduce(9, i, (0.0, 0.0), |_, _| ());
    let _ = x.scatter_reduce(9, i, 0.0, |a, b| a + b);
    let _ = m.sort_rows();
    let _ = m.histogram(256);
    let _ = m.flatten();
    let _ = x.clamp(0.0, 1.0);
    let _ = x.cumsum();
    let _ = x.map(|a| a.powi(2));
}

fn main() {
    let _ = f;
}
