//! Reductions into bins of as many parts as there are at most, on CPUs, whatever threads there are.

#[path = "common/mod.rs"]
mod runtime;

use arraygpu::prelude::*;
use arraygpu_capi::abi::AgpuStatus;
use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::{Targets, compile_for};
use runtime::{Layout, context, load_highest};

fn groups(x: VExp<i32>, i: VExp<i64>, n: SExp<i64>) -> (VExp<i64>, VExp<i32>, VExp<i32>) {
    let i = i.ignored();
    (i.histogram(n), x.scatter_reduce(n, i, 1, |a, b| a + b), x.scatter(n, i, -1))
}

#[test]
fn bins_are_those_of_a_loop() {
    let package = Package::new("t").function("f", ["x", "i", "n"], ["counts", "sums", "last"], groups);
    let compiled =
        compile_for("t", package.functions().unwrap(), Targets { cpu: true, cuda: false }).unwrap();
    let loaded = load_highest(&compiled);
    for (n, bins) in
        [(0, 3), (1, 0), (257, 256), (5000, 300), (1_000_000, 10), (1_000_000, 70_000), (5_000_000, 256)]
    {
        let x: Vec<i32> = (0..n as u32).map(|i| i.wrapping_mul(2_654_435_761) as i32 >> 3).collect();
        let i: Vec<i64> = (0..n as i64).map(|i| i * 7919 % (bins + 2) - 1).collect();
        let (mut counts, mut sums, mut last) =
            (vec![0i64; bins as usize], vec![1i32; bins as usize], vec![-1i32; bins as usize]);
        for (x, i) in x.iter().zip(&i).filter(|(_, i)| (0..bins).contains(*i)) {
            let k = *i as usize;
            counts[k] += 1;
            sums[k] = sums[k].wrapping_add(*x);
            last[k] = *x;
        }
        let vector = |v: &[i32]| Value::Vector(v.iter().map(|x| x.lit()).collect());
        let longs = |v: &[i64]| Value::Vector(v.iter().map(|x| x.lit()).collect());
        let wanted = [longs(&counts), vector(&sums), vector(&last)];
        let args = [vector(&x), longs(&i), Value::Scalar(bins.lit())];
        for threads in [1, 2, 7] {
            let shapes = [vec![bins], vec![bins], vec![bins]];
            let layouts = if n == 5000 { &Layout::ALL[..] } else { &[Layout::Contiguous] };
            for layout in layouts {
                let called = loaded.call(0, context(threads), &args, &shapes, *layout);
                assert!(matches!(called.status, AgpuStatus::AgpuOk), "{n}: {}", called.message);
                assert!(called.results == wanted, "{n} elements, {bins} bins, {threads} threads, {layout:?}");
            }
        }
    }
}
