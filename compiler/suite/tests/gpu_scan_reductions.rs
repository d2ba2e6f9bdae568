//! Scans in one pass with reductions of what they give: the bits of the interpreter, whatever the order in which
//! blocks run, over the edges of both trees' tiles. The longest vector has two groups of tiles of
//! the scan, and more tiles of the other tree than one thread has.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::core::{interp as oracle, parse as core};
use arraygpu_compiler::driver::{self, Targets};
use arraygpu_compiler::kernel::interp::Order;
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_suite::gpu::{self, How, Layout};

const ORDERS: [Order; 3] = [Order::Ascending, Order::Descending, Order::Random(1)];
const LENGTHS: [usize; 9] = [0, 1, 127, 2048, 2049, 8191, 8193, 20_001, 290_000];

/// Half the sum of the partial sums of squares, which another launch needs. Nothing of the vector's length is stored.
const NOTHING_STORED: &str = "func @f(%x: [f32]) -> (r: [f32]) {
  %x2 = map (%a: f32) over %x {
    %0 = mul %a, %a
    yield %0
  }
  %s = scan (%a: f32, %b: f32) from 0f32 over %x2 {
    %0 = add %a, %b
    yield %0
  }
  %h = map (%a: f32) over %s {
    %0 = mul %a, 0.5f32
    yield %0
  }
  %sum = reduce (%a: f32, %b: f32) from 1f32 over %h {
    %0 = add %a, %b
    yield %0
  }
  %r = generate 3i64 (%i: i64) {
    %0 = cast f32 %i
    %1 = add %0, %sum
    yield %1
  }
  return %r
}
";

/// Several reductions, of a scan that is stored, of a map of it that is not, and with another vector.
const STORED: &str =
    "func @f(%x: [f32], %y: [f32]) -> (s: [f32], sum: f32, most: f32, dot: f32, deviations: f32) {
  %n = len %x
  %l = len %y
  require same %n, %l \"map: x, y\"
  %s = scan (%a: f32, %b: f32) from 0.25f32 over %x {
    %0 = add %a, %b
    yield %0
  }
  %m = map (%a: f32, %b: f32) over %s, %y {
    %0 = mul %a, %b
    yield %0
  }
  %sum = reduce (%a: f32, %b: f32) from 0f32 over %m {
    %0 = add %a, %b
    yield %0
  }
  %most = reduce (%a: f32, %b: f32) from -inff32 over %s {
    %0 = max %a, %b
    yield %0
  }
  %dot = dot from 0f32 over %s, %y
  %q = squared_deviations from 0f32 over %s
  %d = div %q, %most
  return %s, %sum, %most, %dot, %d
}
";

/// A map that is stored in the place of what it reads, and a reduction of it by an operator without an identity.
const MAPPED: &str = "func @f(%x: [u32], %y: [u32]) -> (m: [u32], r: u32) {
  %n = len %x
  %l = len %y
  require same %n, %l \"map: x, y\"
  %s = scan (%a: u32, %b: u32) from 7u32 over %x {
    %0 = add %a, %b
    yield %0
  }
  %m = map (%a: u32, %b: u32) over %s, %y {
    %0 = xor %a, %b
    yield %0
  }
  %r = reduce (%a: u32, %b: u32) from 3u32 over %m {
    %0 = mul %a, %b
    %1 = add %0, %a
    %2 = add %1, %b
    yield %2
  }
  return %m, %r
}
";

const TUPLES: &str = "func @f(%x: [f32]) -> (r: i64, v: f32) {
  %none = tuple inff32, -1i64
  %n = len %x
  %s = scan (%a: f32, %b: f32) from 0f32 over %x {
    %0 = add %a, %b
    yield %0
  }
  %numbers = iota %n
  %z = map (%v: f32, %k: i64) over %s, %numbers {
    %p = tuple %v, %k
    yield %p
  }
  %r = reduce 1 (%a: f32, %i: i64, %b: f32, %j: i64) from %none over %z {
    %0 = lt %b, %a
    %1 = select %0, %b, %a
    %2 = select %0, %j, %i
    %3 = tuple %1, %2
    yield %3
  }
  %v = reduce 0 (%a: f32, %i: i64, %b: f32, %j: i64) from %none over %z {
    %0 = lt %b, %a
    %1 = select %0, %b, %a
    %2 = select %0, %j, %i
    %3 = tuple %1, %2
    yield %3
  }
  return %r, %v
}
";

/// Values of 8 bytes, which are stored.
const LONG_SUM: &str = "func @f(%x: [i64]) -> (s: [i64], r: i64) {
  %h = map (%a: i64) over %x {
    %0 = add %a, 3i64
    yield %0
  }
  %s = scan (%a: i64, %b: i64) from 0i64 over %h {
    %0 = max %a, %b
    yield %0
  }
  %r = reduce (%a: i64, %b: i64) from 0i64 over %s {
    %0 = add %a, %b
    yield %0
  }
  return %s, %r
}
";

fn vector(ty: Ty, n: usize, by: usize) -> Value {
    let number = |i: usize| (i * by) % 1009;
    let value = |i| match ty {
        Ty::F32 => Lit::f32(number(i) as f32 * 0.002 - 0.9),
        Ty::U32 => Lit::u32(number(i) as u32),
        _ => Lit::i64(number(i) as i64 - 400),
    };
    Value::Vector((0..n).map(value).collect())
}

/// Checks a function of vectors of a type at all lengths.
#[track_caller]
fn check(text: &str, ty: Ty, layouts: &[Layout]) {
    let f = core::parse_one(text).expect("a function");
    let targets = Targets { cpu: false, cuda: true };
    let compiled = driver::compile_for("t", vec![f.clone()], targets).expect("it compiles");
    for n in LENGTHS {
        let args: Vec<Value> = (0..f.params.len()).map(|k| vector(ty, n, [7919, 104_729][k])).collect();
        let expected = oracle::run(&f, &args).expect("the call works").results;
        // a long vector takes long here
        let (orders, spans, layouts) = match n < 100_000 {
            true => (&ORDERS[..], &[1, 3][..], layouts),
            false => (&ORDERS[2..], &[3][..], &layouts[..1]),
        };
        for (order, span) in orders.iter().flat_map(|order| spans.iter().map(|span| (*order, *span))) {
            for (version, layout) in layouts.iter().enumerate() {
                let how = How { layout: *layout, version: Some(version), span, order };
                let found =
                    gpu::call(&compiled, 0, &args, how).unwrap_or_else(|e| panic!("{n}, {how:?}: {e}"));
                assert!(
                    found.entries.iter().any(|e| e.starts_with("f_0_reduced")),
                    "{n}: {:?}",
                    found.entries
                );
                assert_eq!(found.results, expected, "{n}, {how:?}");
            }
        }
    }
}

#[test]
fn a_sum_of_a_scan_stores_nothing() {
    check(NOTHING_STORED, Ty::F32, &[Layout::Contiguous]);
}

#[test]
fn several_reductions_of_a_scan_that_is_stored() {
    check(STORED, Ty::F32, &[Layout::Contiguous, Layout::InPlace]);
}

#[test]
fn a_reduction_of_a_map_that_is_stored() {
    check(MAPPED, Ty::U32, &[Layout::Contiguous, Layout::InPlace]);
}

#[test]
fn a_reduction_of_tuples() {
    check(TUPLES, Ty::F32, &[Layout::Contiguous]);
}

#[test]
fn values_of_eight_bytes() {
    check(LONG_SUM, Ty::I64, &[Layout::Contiguous, Layout::InPlace]);
}
