//! Elements with more sums than a thread's stack has room for, for many rows at once, on CPUs.

#[path = "common/mod.rs"]
mod runtime;

use arraygpu::prelude::*;
use arraygpu_capi::abi::AgpuStatus;
use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::{Targets, compile_for};
use runtime::{Layout, context, load_highest};

fn distances(m: MExp<f64>) -> VExp<f64> {
    m.map_rows(|r| {
        let sums = (0..64).map(|k| r.map(move |x| (x - f64::from(k)).abs()).sum());
        sums.reduce(|a, b| a + b).expect("some sums")
    })
}

#[test]
fn rows_with_many_sums() {
    let package = Package::new("t").function("f", ["m"], ["r"], distances);
    let targets = Targets { cpu: true, cuda: false };
    let loaded = load_highest(&compile_for("t", package.functions().unwrap(), targets).unwrap());
    let (rows, cols) = (600i64, 100i64);
    let element = |i: i64, j: i64| ((i + j) % 64) as f64;
    let elements = (0..rows).flat_map(|i| (0..cols).map(move |j| element(i, j).lit())).collect();
    let args = [Value::Array(vec![rows, cols], elements)];
    let of_row = |i: i64| -> f64 {
        (0..cols).flat_map(|j| (0..64).map(move |k| (element(i, j) - f64::from(k)).abs())).sum()
    };
    let wanted = Value::Vector((0..rows).map(|i| of_row(i).lit()).collect());
    for threads in [1, 3] {
        let called = loaded.call(0, context(threads), &args, &[vec![rows]], Layout::Contiguous);
        assert!(matches!(called.status, AgpuStatus::AgpuOk), "{}", called.message);
        assert!(called.results == [wanted.clone()], "{threads} threads");
    }
}
