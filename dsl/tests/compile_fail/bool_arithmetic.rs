//! Bools have logic, no arithmetic and no order.
use arraygpu_dsl::prelude::*;

fn f(a: SExp<bool>, b: SExp<bool>) -> SExp<bool> {
    a + b
}

fn g(a: SExp<bool>, b: SExp<bool>) -> SExp<bool> {
    a.lt(b)
}

fn h(v: VExp<bool>) -> SExp<bool> {
    v.sum()
}

fn main() {
    let _ = (f, g, h);
}
