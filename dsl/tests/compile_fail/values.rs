//! Arguments of `eval` are values of the parameters.
use arraygpu_dsl::{eval, prelude::*};

fn f(x: VExp<f32>, a: SExp<f32>) -> VExp<f32> {
    x * a
}

fn main() {
    let _ = eval(f, (vec![1.0, 2.0], 3i64));
    let _ = eval(f, (vec![1.0f32, 2.0],));
    let _ = eval(f, vec![1.0f32, 2.0]);
}
