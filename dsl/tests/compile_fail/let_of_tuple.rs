//! `slet` names one scalar.
use arraygpu_dsl::prelude::*;

fn f(a: SExp<f32>, b: SExp<f32>, x: VExp<f32>) {
    let _ = slet((a, b), |(a, b)| a * b);
    let _ = slet(x, |x| x.sum());
}

fn main() {
    let _ = f;
}
