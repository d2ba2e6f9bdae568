//! An unsigned number has no sign.
use arraygpu_dsl::prelude::*;

fn f(k: SExp<u32>) -> SExp<u32> {
    k.abs()
}

fn main() {
    let _ = f;
}
