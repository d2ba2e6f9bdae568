//! The closure of `map_rows` gives a scalar.
use arraygpu_dsl::prelude::*;

fn f(m: MExp<f32>) -> VExp<f32> {
    let _ = m.map_rows(|r| r * 2.0);
    m.map_rows(|r| r.sum())
}

fn main() {
    let _ = f;
}
