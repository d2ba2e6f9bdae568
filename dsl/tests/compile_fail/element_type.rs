//! Element types are a list; `usize` is not among them.
use arraygpu_dsl::prelude::*;

fn f(x: SExp<f32>) -> SExp<usize> {
    x.cast::<usize>()
}

fn main() {
    let _ = f;
}
