//! There are seven element types.
use arraygpu_dsl::prelude::*;

fn f(x: SExp<f32>) -> SExp<u16> {
    x.cast::<u16>()
}

fn main() {
    let _ = f;
}
