//! Reductions into bins of as many parts as there are at most, and scatters, on CPUs, whatever threads there are.

#[path = "common/mod.rs"]
mod runtime;

use arraygpu::prelude::*;
use arraygpu_capi::abi::AgpuStatus;
use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::driver::{Targets, compile_for};
use runtime::{Layout, context, load_blocks, load_highest};

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

/// Destinations that are made of floats: those beyond 32 bits, infinities and NaN are where the interpreter has them.
#[test]
fn destinations_made_of_floats() {
    let counted = |x: VExp<f32>, n: SExp<i64>| {
        let at = x.map(|x| (x * 0.5).floor().cast::<i64>());
        (at.ignored().histogram(n), x.scatter_reduce(n, at.ignored(), 7f32, |a, b| a.max(b)))
    };
    let package = Package::new("t").function("f", ["x", "n"], ["counts", "most"], counted);
    let c = compile_for("t", package.functions().unwrap(), Targets { cpu: true, cuda: false }).unwrap();
    let powers = [31, 32, 33, 63, 64, 65].map(|e| 2f32.powi(e));
    let edges = powers.into_iter().chain([f32::INFINITY, f32::NAN, 0.5, 0.0]);
    let edges: Vec<f32> = edges.flat_map(|x| [x, -x, x.next_down(), -x.next_down()]).collect();
    for count in [0, 1, 40, 255, 256, 600] {
        let small = (0..count).map(|i| (i * 7919 % 50) as f32 - 9.5);
        let x: Vec<f32> = edges.iter().copied().chain(small).collect();
        let args = [Value::Vector(x.iter().map(|x| x.lit()).collect()), Value::Scalar(19i64.lit())];
        let wanted = interp::run(&c.functions[0].source, &args).unwrap();
        for loaded in [load_highest(&c), load_blocks(&c)] {
            for layout in Layout::ALL {
                let called = loaded.call(0, context(1), &args, &[vec![19], vec![19]], layout);
                assert!(matches!(called.status, AgpuStatus::AgpuOk), "{}", called.message);
                assert_eq!(called.results, wanted.results, "{count} elements, {layout:?}");
            }
        }
    }
}

/// Of the elements with one destination the last one stays, whatever is made of it, and whether one thread goes
/// through the elements in order or several keep the last of their part. A destination outside leaves a record.
#[test]
fn last_of_each_destination() {
    let updated = |table: VExp<f32>, at: VExp<i64>, x: VExp<f32>| {
        let new = x.map(|x| x * 2.0).scatter(table.len(), at, f32::NAN);
        table.zip_with(new, |old, new| cond(new.eq(new), new, old))
    };
    let plain = |x: VExp<f32>, at: VExp<i64>, n: SExp<i64>| x.scatter(n, at.ignored(), -1.0);
    let package = Package::new("t").function("f", ["table", "at", "x"], ["r"], updated).function(
        "g",
        ["x", "at", "n"],
        ["r"],
        plain,
    );
    let c = compile_for("t", package.functions().unwrap(), Targets { cpu: true, cuda: false }).unwrap();
    let plan = c.emit("plan").unwrap();
    assert_eq!(plan.matches("_scatter over").count(), 2, "{plan}");
    let longs = |v: Vec<i64>| Value::Vector(v.into_iter().map(|x| x.lit()).collect());
    let floats = |v: Vec<f32>| Value::Vector(v.into_iter().map(|x| x.lit()).collect());
    for (n, size) in [(0, 5), (3, 0), (1, 1), (300, 40), (5000, 300), (9000, 20_000)] {
        let x = floats((0..n).map(|i| i as f32 + 0.5).collect());
        let table = floats((0..size).map(|i| -i as f32).collect());
        let inside = longs((0..n).map(|i| i * i * 31 % size.max(1)).collect());
        let outside = longs((0..n).map(|i| i * 31 % (size + 2) - 1).collect());
        let calls = [
            (0, [table.clone(), inside, x.clone()]),
            (0, [table, outside.clone(), x.clone()]),
            (1, [x, outside, Value::Scalar(size.lit())]),
        ];
        for (function, args) in calls {
            let wanted = interp::run(&c.functions[function].source, &args).unwrap();
            for loaded in [load_highest(&c), load_blocks(&c)] {
                for (threads, layout) in [1, 3].into_iter().flat_map(|t| Layout::ALL.map(|l| (t, l))) {
                    let called = loaded.call(function, context(threads), &args, &[vec![size]], layout);
                    let what = format!("{n} in {size}, {threads} threads, {layout:?}: {}", called.message);
                    let is_recorded = matches!(called.status, AgpuStatus::AgpuErrorRecord);
                    assert_eq!(is_recorded, wanted.recorded, "{what}");
                    assert!(is_recorded || matches!(called.status, AgpuStatus::AgpuOk), "{what}");
                    assert!(is_recorded || called.results == wanted.results, "{what}");
                }
            }
        }
    }
}
