//! Float functions take floats.
use arraygpu_dsl::prelude::*;

fn f(k: SExp<i32>) -> SExp<i32> {
    k.sqrt()
}

fn g(v: VExp<i64>) -> VExp<i64> {
    v.exp()
}

fn main() {
    let _ = (f, g);
}
