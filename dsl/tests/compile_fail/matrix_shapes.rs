//! Shapes do not adapt by themselves: a vector becomes a matrix by a broadcast, a matrix a vector by its rows.
use arraygpu_dsl::prelude::*;

fn broadcast(m: MExp<f32>, v: VExp<f32>) -> MExp<f32> {
    m + v
}

fn reverse(m: MExp<f32>, v: VExp<f32>) -> MExp<f32> {
    v.powf(m).broadcast_rows(2)
}

fn vector_wanted(m: MExp<f32>, v: VExp<f32>) -> SExp<f32> {
    v.dot(m)
}

fn scalar_wanted(m: MExp<f32>, x: SExp<f32>) -> SExp<f32> {
    x.max(m)
}

fn main() {
    let _ = (broadcast, reverse, vector_wanted, scalar_wanted);
}
