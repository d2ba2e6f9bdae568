//! Scans of more tiles than a group has, and of more tiles than are joined in one round, on CPUs: a composition of
//! affine maps of u32, which does not commute and is exact, so that a loop gives every bit.

#[path = "common/mod.rs"]
mod runtime;

use arraygpu::prelude::*;
use arraygpu_capi::abi::AgpuStatus;
use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::{Targets, compile_for};
use runtime::{Layout, context, load_highest};

const TILE: usize = 8192;
const GROUP: usize = 32 * TILE;

fn maps(x: VExp<u32>) -> (VExp<u32>, VExp<u32>) {
    (x * 2 + 1, x + 3).scan((1, 0), |(a, b), (c, d)| (a * c, b * c + d))
}

fn vector(v: &[u32]) -> Value {
    Value::Vector(v.iter().map(|x| x.lit()).collect())
}

#[test]
fn parts_join_in_order_whatever_threads_there_are() {
    let package = Package::new("t").function("f", ["x"], ["a", "b"], maps);
    let compiled =
        compile_for("t", package.functions().unwrap(), Targets { cpu: true, cuda: false }).unwrap();
    let loaded = load_highest(&compiled);
    for n in [GROUP - 1, GROUP, GROUP + 1, GROUP + TILE + 129, 1024 * TILE + 1] {
        let x: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 7).collect();
        let (mut a, mut b) = (1u32, 0u32);
        let wanted: (Vec<u32>, Vec<u32>) = x
            .iter()
            .map(|x| {
                let (c, d) = (x.wrapping_mul(2).wrapping_add(1), x.wrapping_add(3));
                (a, b) = (a.wrapping_mul(c), b.wrapping_mul(c).wrapping_add(d));
                (a, b)
            })
            .unzip();
        let wanted = [vector(&wanted.0), vector(&wanted.1)];
        for threads in [1, 2, 7] {
            let shapes = [vec![n as i64], vec![n as i64]];
            let layouts = if n == GROUP + 1 { &Layout::ALL[..] } else { &[Layout::Contiguous] };
            for layout in layouts {
                let called = loaded.call(0, context(threads), &[vector(&x)], &shapes, *layout);
                assert!(matches!(called.status, AgpuStatus::AgpuOk), "{n}: {}", called.message);
                assert!(called.results == wanted, "{n} elements, {threads} threads, {layout:?}");
            }
        }
    }
}
