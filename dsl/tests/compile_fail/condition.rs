//! A condition is a bool expression, made by .lt(..), .eq(..) and the like.
use arraygpu_dsl::prelude::*;

fn f(x: SExp<f32>) -> SExp<f32> {
    cond(x, x, 0.0)
}

fn g(x: SExp<f32>) -> SExp<f32> {
    if x > 0.0 { x } else { -x }
}

fn main() {
    let _ = (f, g);
}
