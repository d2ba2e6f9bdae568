//! Filters in generated C: what is kept, at the edges of the tiles of reductions and of scans, where everything is
//! kept, nothing, and something, whatever threads there are.

#[path = "common/mod.rs"]
mod runtime;

use arraygpu::prelude::*;
use arraygpu_capi::abi::AgpuStatus;
use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::{Compiled, Targets, compile_for};
use runtime::{Layout, context, load, shapes};

/// Around nothing, a tile of a reduction, and a tile of a scan; and many.
const LENGTHS: [usize; 9] = [0, 1, 2047, 2048, 2049, 8191, 8192, 8193, 100_000];

fn vector<T: Elem>(v: &[T]) -> Value {
    Value::Vector(v.iter().map(|x| x.lit()).collect())
}

/// The elements, and then a default up to the length.
fn filled<T: Elem>(kept: &[T], n: usize, default: T) -> Value {
    let all: Vec<T> = kept.iter().copied().chain(std::iter::repeat(default)).take(n).collect();
    vector(&all)
}

fn compiled(package: &Package) -> Compiled {
    compile_for("t", package.functions().unwrap(), Targets { cpu: true, cuda: false }).unwrap()
}

/// What is kept, and what is made of it.
type Kept = (VExp<i64>, VExp<i64>, VExp<i64>, VExp<i64>, SExp<i64>, SExp<i64>);

fn kept(x: VExp<i64>, bound: SExp<i64>) -> Kept {
    let kept = x.filter(|v| v.gt(bound));
    let sums = kept.scan(1, |a, b| a + b);
    let parts = x.partition(|v| v.gt(bound)).0;
    let sum = kept.reduce(0, |a, b| a + b);
    (kept.filled(-7), kept.indices().filled(-1), sums.filled(0), parts, kept.len(), sum)
}

fn wanted_of_kept(x: &[i64], bound: i64) -> Vec<Value> {
    let n = x.len();
    let (yes, no): (Vec<i64>, Vec<i64>) = x.iter().partition(|v| **v > bound);
    let indices: Vec<i64> = (0..n as i64).filter(|i| x[*i as usize] > bound).collect();
    let running = |sum: &mut i64, v: &i64| {
        *sum += v;
        Some(*sum)
    };
    let sums: Vec<i64> = yes.iter().scan(1, running).collect();
    let parts = [&yes[..], &no].concat();
    let vectors = [filled(&yes, n, -7), filled(&indices, n, -1), filled(&sums, n, 0), vector(&parts)];
    let numbers = [yes.len() as i64, yes.iter().sum()].map(|n| Value::Scalar(n.lit()));
    vectors.into_iter().chain(numbers).collect()
}

type Runs = (VExp<u8>, VExp<i64>, SExp<i64>, VExp<u8>, VExp<i64>);

fn runs(x: VExp<u8>, least: SExp<u8>) -> Runs {
    let (values, lengths) = x.run_lengths();
    let some = x.filter(|v| v.ge(least)).filter(|v| (v & 1u8).eq(0));
    let unique = some.map(|v| v / 16).unique();
    (values.filled(0), lengths.filled(0), values.len(), unique.filled(0), unique.indices().filled(-1))
}

fn wanted_of_runs(x: &[u8], least: u8) -> Vec<Value> {
    let n = x.len();
    let [mut all, mut some] = [const { Vec::<(u8, i64)>::new() }; 2];
    for (i, v) in (0..).zip(x.iter().copied()) {
        match all.last_mut() {
            Some(run) if run.0 == v => run.1 += 1,
            _ => all.push((v, 1)),
        }
        if v >= least && v & 1 == 0 && some.last().is_none_or(|last| last.0 != v / 16) {
            some.push((v / 16, i));
        }
    }
    let [(values, lengths), (unique, indices)] =
        [&all, &some].map(|of| of.iter().copied().unzip::<_, _, Vec<u8>, Vec<i64>>());
    let count = Value::Scalar((all.len() as i64).lit());
    vec![filled(&values, n, 0), filled(&lengths, n, 0), count, filled(&unique, n, 0), filled(&indices, n, -1)]
}

#[test]
fn what_is_kept_has_its_order_whatever_threads_there_are() {
    let package = Package::new("t")
        .function("kept", ["x", "bound"], ["kept", "indices", "sums", "parts", "count", "sum"], kept)
        .function("runs", ["x", "least"], ["values", "lengths", "count", "unique", "begins"], runs);
    let compiled = compiled(&package);
    for loaded in load(&compiled) {
        for n in LENGTHS {
            let x: Vec<i64> = (0..n as i64).map(|i| (i * 7919) % 1009 - 400).collect();
            let bytes: Vec<u8> = (0..n).map(|i| ((i * i / 3000) * 37 % 200) as u8).collect();
            // something, everything, nothing
            for (bound, least) in [(100i64, 90u8), (-401, 0), (700, 201)] {
                let calls = [
                    (0, [vector(&x), Value::Scalar(bound.lit())], wanted_of_kept(&x, bound)),
                    (1, [vector(&bytes), Value::Scalar(least.lit())], wanted_of_runs(&bytes, least)),
                ];
                for (function, args, wanted) in calls {
                    for threads in [1, 2, 7] {
                        let layouts = if n == 2049 { &Layout::ALL[..] } else { &[Layout::Contiguous] };
                        for layout in layouts {
                            let called =
                                loaded.call(function, context(threads), &args, &shapes(&wanted), *layout);
                            let what =
                                format!("{function}: {n} elements, {bound}, {threads} threads, {layout:?}");
                            assert!(
                                matches!(called.status, AgpuStatus::AgpuOk),
                                "{what}: {}",
                                called.message
                            );
                            assert!(called.results == wanted, "{what}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_number_that_is_not_kept_is_an_error_of_the_call() {
    let package = Package::new("t").function("f", ["x", "n"], "kept", |x: VExp<f32>, n: SExp<i64>| {
        x.filter(|v| v.gt(0.0)).with_len(n).map(|v| v * 2.0)
    });
    let compiled = compiled(&package);
    for loaded in load(&compiled) {
        for size in [0usize, 5, 2049, 20_000] {
            let x: Vec<f32> = (0..size).map(|i| (i % 3) as f32 - 1.0).collect();
            let kept: Vec<f32> = x.iter().filter(|v| **v > 0.0).map(|v| v * 2.0).collect();
            for threads in [1, 7] {
                let call = |n: usize| {
                    let args = [vector(&x), Value::Scalar((n as i64).lit())];
                    loaded.call(0, context(threads), &args, &[vec![n as i64]], Layout::Contiguous)
                };
                let called = call(kept.len());
                assert!(matches!(called.status, AgpuStatus::AgpuOk), "{size}: {}", called.message);
                assert!(called.results == [vector(&kept)], "{size} elements, {threads} threads");
                for n in [0, kept.len().saturating_sub(1), kept.len() + 1, size] {
                    if n <= size && n != kept.len() {
                        let called = call(n);
                        assert!(!matches!(called.status, AgpuStatus::AgpuOk), "{n} of {size} elements");
                        let said =
                            format!("the number of elements that are kept is {}, not {n} (", kept.len());
                        assert!(called.message.contains(&said), "{}", called.message);
                        assert!(called.message.contains("filters.rs"), "{}", called.message);
                    }
                }
                let message = call(size + 1).message;
                assert!(message.contains("with_len"), "{message}");
            }
        }
    }
}
