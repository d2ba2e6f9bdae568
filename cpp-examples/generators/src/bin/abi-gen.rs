//! What the packages in `tests/abi` are made of: one for each version of the C ABI, kept as its compiler wrote it, so
//! that newer libraries show that they run it. A new version gets another one, of which `lib/libabi.so` stays:
//! `cargo run -p arraygpu-examples --bin abi-gen -- --out DIR --level v2`

use arraygpu::prelude::*;

fn main() -> arraygpu::Result<()> {
    Package::new("abi")
        .function("saxpy", ["a", "x", "y"], "result", |a: SExp<f32>, x: VExp<f32>, y: VExp<f32>| a * x + y)
        .function("dot", ["x", "y"], "result", |x: VExp<f32>, y: VExp<f32>| x.dot(y))
        .function("turned", ["m"], "result", |m: MExp<f64>| m.transpose())
        .function("halved", ["x", "n"], "result", |x: VExp<f64>, n: SExp<i64>| x.iterate(n, |x| x * 0.5))
        .function("picked", ["x", "at"], "result", |x: VExp<i32>, at: VExp<i64>| x.gather(at))
        .function("power", ["x", "n"], "result", |x: SExp<i64>, n: SExp<i64>| {
            fill(stage(n), x).reduce(1, |a, b| a * b)
        })
        .run()
}
