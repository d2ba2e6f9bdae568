//! Sorts in generated C: by digits of tiles on several threads, and as a whole on one thread, whose digits follow
//! from the keys.

#[path = "common/mod.rs"]
mod runtime;

use arraygpu::prelude::*;
use arraygpu_capi::abi::AgpuStatus;
use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::{Targets, compile_for};
use arraygpu_compiler::plan::Step;
use runtime::{Layout, context, load, shapes};

/// Too few elements for a sort by digits, some, and more than the counters of one digit of near keys need.
const LENGTHS: [usize; 6] = [0, 1, 2, 33, 5000, 30_000];

fn vector<T: Elem>(v: &[T]) -> Value {
    Value::Vector(v.iter().map(|x| x.lit()).collect())
}

/// Keys of all bits, few bits above equal ones, near their neighbours with both signs, all equal, and in order.
fn keys(n: usize) -> [Vec<i64>; 5] {
    let all = |key: &dyn Fn(i64) -> i64| (0..n as i64).map(key).collect::<Vec<i64>>();
    [
        all(&|i| i.wrapping_mul(0x1e37_79b9_7f4a_7c15).rotate_left((i % 61) as u32)),
        all(&|i| (i * 7919 % 1009) * 4096 + 77),
        all(&|i| i / 2 + i * 31 % 17 - n as i64 / 4),
        all(&|_| -5),
        all(&|i| i * 3),
    ]
}

fn order(keys: &[i64]) -> Vec<i64> {
    let mut order: Vec<i64> = (0..keys.len() as i64).collect();
    order.sort_by_key(|i| keys[*i as usize]);
    order
}

type Sorted = (VExp<i64>, VExp<i64>, VExp<i32>, VExp<i32>, VExp<u8>, VExp<i64>, VExp<i8>, VExp<i16>);

fn sorted(x: VExp<i64>) -> Sorted {
    let (narrow, bytes) = (x.cast::<i32>(), x.cast::<u8>());
    let (keys, values) = narrow.sort_by_key(x);
    let (signed, short) = (x.cast::<i8>().sort(), x.cast::<i16>().sort());
    let down = bytes.argsort_descending();
    (x.argsort(), x.sort(), keys, values.cast::<i32>(), bytes.sort(), down, signed, short)
}

fn wanted(x: &[i64]) -> Vec<Value> {
    let narrow: Vec<i64> = x.iter().map(|v| i64::from(*v as i32)).collect();
    let bytes: Vec<i64> = x.iter().map(|v| i64::from(*v as u8)).collect();
    let falling: Vec<i64> = bytes.iter().map(|v| -v).collect();
    let [own, of_narrow, of_bytes, down] = [x, &narrow, &bytes, &falling].map(order);
    let at = |from: &[i64], order: &[i64]| order.iter().map(|i| from[*i as usize]).collect::<Vec<i64>>();
    let as_i32 = |v: Vec<i64>| v.iter().map(|v| *v as i32).collect::<Vec<i32>>();
    let mut signed: Vec<i8> = x.iter().map(|v| *v as i8).collect();
    let mut short: Vec<i16> = x.iter().map(|v| *v as i16).collect();
    signed.sort_unstable();
    short.sort_unstable();
    let sorted_bytes: Vec<u8> = at(&bytes, &of_bytes).iter().map(|v| *v as u8).collect();
    vec![
        vector(&own),
        vector(&at(x, &own)),
        vector(&as_i32(at(&narrow, &of_narrow))),
        vector(&as_i32(at(x, &of_narrow))),
        vector(&sorted_bytes),
        vector(&down),
        vector(&signed),
        vector(&short),
    ]
}

/// Sorts of what launches over tiles store: sums, with values that move with them, and elements in another order.
fn sorted_sums(x: VExp<i64>) -> (VExp<i64>, VExp<f64>, VExp<i64>) {
    let (sums, values) = x.scan(0i64, |a, b| a + b).sort_by_key(x.cast::<f64>());
    let (odd_first, _) = x.partition(|v| (v & 1).eq(1));
    (sums, values, odd_first.sort_descending())
}

fn wanted_of_sums(x: &[i64]) -> Vec<Value> {
    let sums = x.iter().scan(0i64, |sum, v| {
        *sum = sum.wrapping_add(*v);
        Some(*sum)
    });
    let sums: Vec<i64> = sums.collect();
    let order = order(&sums);
    let sorted: Vec<i64> = order.iter().map(|i| sums[*i as usize]).collect();
    let values: Vec<f64> = order.iter().map(|i| x[*i as usize] as f64).collect();
    let mut down = x.to_vec();
    down.sort_unstable_by(|a, b| b.cmp(a));
    vec![vector(&sorted), vector(&values), vector(&down)]
}

#[test]
fn what_tiles_store_is_sorted_as_a_whole() {
    let names = ["sums", "values", "down"];
    let package = Package::new("t").function("f", ["x"], names, sorted_sums);
    let targets = Targets { cpu: true, cuda: false };
    let compiled = compile_for("t", package.functions().unwrap(), targets).unwrap();
    for loaded in load(&compiled) {
        for n in LENGTHS {
            for (kind, x) in keys(n).iter().enumerate() {
                let wanted = wanted_of_sums(x);
                for threads in [1, 2, 7] {
                    let (args, shapes) = ([vector(x)], shapes(&wanted));
                    let called = loaded.call(0, context(threads), &args, &shapes, Layout::Contiguous);
                    let what = format!("{n} keys of kind {kind}, {threads} threads");
                    assert!(matches!(called.status, AgpuStatus::AgpuOk), "{what}: {}", called.message);
                    for ((found, wanted), name) in called.results.iter().zip(&wanted).zip(names) {
                        assert!(found == wanted, "{what}: {name}");
                    }
                }
            }
        }
    }
}

#[test]
fn keys_have_their_order_whatever_threads_there_are() {
    let names = ["order", "sorted", "keys", "values", "bytes", "down", "of_i8", "of_i16"];
    let package = Package::new("t").function("f", ["x"], names, sorted);
    let targets = Targets { cpu: true, cuda: false };
    let compiled = compile_for("t", package.functions().unwrap(), targets).unwrap();
    let wholes = compiled.functions[0].plan.steps.iter().filter(|s| matches!(s, Step::Instead(_))).count();
    assert!(wholes >= 6, "{wholes} sorts as a whole");
    for loaded in load(&compiled) {
        for n in LENGTHS {
            for (kind, x) in keys(n).iter().enumerate() {
                let wanted = wanted(x);
                for threads in [1, 3] {
                    let layouts = if n == 33 { &Layout::ALL[..] } else { &[Layout::Contiguous] };
                    for layout in layouts {
                        let called =
                            loaded.call(0, context(threads), &[vector(x)], &shapes(&wanted), *layout);
                        let what = format!("{n} keys of kind {kind}, {threads} threads, {layout:?}");
                        assert!(matches!(called.status, AgpuStatus::AgpuOk), "{what}: {}", called.message);
                        for ((found, wanted), name) in called.results.iter().zip(&wanted).zip(names) {
                            assert!(found == wanted, "{what}: {name}");
                        }
                    }
                }
            }
        }
    }
}
