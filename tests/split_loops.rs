//! Loops of CPUs that are split by their counter: where no index is clamped or wrapped, where a condition of the
//! counter holds, where a row ends, and into blocks of elements that differ in low bits. The block interpreter and C
//! through the runtime, against the interpreter of core IR.

#[path = "common/mod.rs"]
mod runtime;

use arraygpu_capi::abi::AgpuStatus;
use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::driver::Targets;
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_suite::rng::Rng;
use arraygpu_suite::typed::{compiled_for, numbers};
use runtime::{Layout, context, load_blocks, load_highest, shapes};

const TYPES: [Ty; 5] = [Ty::F32, Ty::F64, Ty::I32, Ty::U8, Ty::F16];

/// Calls the program in each layout, with and without a C compiler, and compares values and records. The text of its
/// kernels must contain `mark`.
fn check(text: &str, ty: Ty, mark: &str, calls: &[Vec<Value>]) {
    let c = compiled_for(text, ty, Targets { cpu: true, cuda: false });
    let text = &c.functions[0].source;
    assert!(c.emit("kernel").unwrap().contains(mark), "no loop is split\n{text}");
    for loaded in [load_highest(&c), load_blocks(&c)] {
        for (args, layout) in calls.iter().flat_map(|call| Layout::ALL.map(|layout| (call, layout))) {
            let wanted = interp::run(text, args).unwrap();
            let called = loaded.call(0, context(2), args, &shapes(&wanted.results), layout);
            let what = format!("{:?}, {layout:?}\n{text}\n{}", shapes(args), called.message);
            let is_recorded = matches!(called.status, AgpuStatus::AgpuErrorRecord);
            assert!(is_recorded || matches!(called.status, AgpuStatus::AgpuOk), "{what}");
            assert_eq!(is_recorded, wanted.recorded, "{what}");
            assert!(is_recorded || called.results == wanted.results, "{what}");
        }
    }
}

fn matrices(ty: Ty, extents: &[[usize; 2]]) -> Vec<Vec<Value>> {
    let mut rng = Rng::new(1);
    extents.iter().map(|n| vec![numbers(ty, n, &mut rng)]).collect()
}

fn vectors(ty: Ty, lengths: &[usize]) -> Vec<Vec<Value>> {
    let mut rng = Rng::new(1);
    lengths.iter().map(|n| vec![numbers(ty, &[*n], &mut rng)]).collect()
}

/// Sums of rows, whose elements read neighbours at clamped columns.
#[test]
fn clamped_in_rows() {
    let text = "func @f(%x: [[T]]) -> (r: [T]) {
  %n = len %x
  %m = len %x axis 1
  %last = sub %m, 1i64
  %r = generate %n (%i: i64) {
    %g = generate %m (%j: i64) {
      %a0 = sub %j, 2i64
      %a1 = max %a0, 0i64
      %a = elem %x, %i, %a1
      %b0 = add %j, 1i64
      %b1 = min %b0, %last
      %b = elem %x, %i, %b1
      %c = add %a, %b
      yield %c
    }
    %s = reduce (%a: T, %b: T) from 0T over %g { %c = add %a, %b yield %c }
    yield %s
  }
  return %r
}";
    for ty in TYPES {
        let extents = [[0, 3], [2, 1], [2, 2], [3, 3], [2, 17], [1, 126], [2, 300], [1, 2049], [1, 5000]];
        check(text, ty, "last", &matrices(ty, &extents));
    }
}

/// The sum of a matrix whose elements read the next column of a torus.
#[test]
fn wrapped_in_matrices() {
    let text = "func @f(%x: [[T]]) -> (r: T) {
  %n = len %x
  %m = len %x axis 1
  %g = generate %n, %m (%i: i64, %j: i64) {
    %b0 = add %j, 1i64
    %b1 = ge %b0, %m
    %b2 = sub %b0, %m
    %b3 = select %b1, %b2, %b0
    %b = elem %x, %i, %b3
    %a0 = sub %j, 3i64
    %a1 = lt %a0, 0i64
    %a2 = add %a0, %m
    %a3 = select %a1, %a2, %a0
    %a = elem %x, %i, %a3
    %c = sub %b, %a
    %d = mul %c, %c
    yield %d
  }
  %r = reduce (%a: T, %b: T) from 0T over %g { %c = add %a, %b yield %c }
  return %r
}";
    for ty in TYPES {
        check(text, ty, "last", &matrices(ty, &[[3, 3], [5, 16], [7, 129], [2, 300], [40, 90], [1, 5000]]));
    }
}

/// Elements that read four others below a bound, and one beyond it.
#[test]
fn read_below_a_bound() {
    let text = "func @f(%x: [T], %k: i64) -> (r: [T]) {
  %n = len %x
  %m = div %n, 4i64
  %r = generate %m (%i: i64) {
    %p = mul %i, 4i64
    %p1 = add %p, 1i64
    %p3 = add %p, 3i64
    %e = add %p, 4i64
    %c = le %e, %k
    %a = elem %x, %p
    %b = elem %x, %p1
    %d = elem %x, %p3
    %s = add %a, %b
    %t = add %s, %d
    %v = select %c, %t, %a
    yield %v
  }
  return %r
}";
    let mut rng = Rng::new(2);
    for ty in TYPES {
        let bounds = [i64::MIN, -5, 0, 3, 4, 5, 100, 4095, 1 << 50, i64::MAX];
        let call = |k: &i64| vec![numbers(ty, &[9001], &mut rng), Value::Scalar(Lit::i64(*k))];
        let calls: Vec<_> = bounds.iter().map(call).collect();
        check(text, ty, "next", &calls);
    }
}

/// Elements that divide their number by two lengths.
#[test]
fn two_lengths() {
    let text = "func @f(%x: [T], %k: i64, %h: i64) -> (r: [T]) {
  %n = len %x
  %r = generate %n (%i: i64) {
    %p = rem %i, %k
    %q = rem %i, %h
    %d = lt %p, %q
    %y = elem %x, %i
    %w = add %y, %y
    %v = select %d, %y, %w
    yield %v
  }
  return %r
}";
    let mut rng = Rng::new(3);
    for ty in TYPES {
        let lengths = [[16, 32], [100, 7], [0, 64], [33, 33], [-40, 50], [5000, 17]];
        let scalar = |x: i64| Value::Scalar(Lit::i64(x));
        let call = |[k, h]: &[i64; 2]| vec![numbers(ty, &[5000], &mut rng), scalar(*k), scalar(*h)];
        let calls: Vec<_> = lengths.iter().map(call).collect();
        check(text, ty, "column", &calls);
    }
}

/// Two stages of a network, whose elements read those that differ in low bits; where one is not there, they leave a
/// record.
#[test]
fn changed_bits() {
    let text = "func @f(%x: [T]) -> (r: [T]) {
  %n = len %x
  %r = generate %n (%i: i64) {
    %p = xor %i, 1i64
    %q = xor %p, 6i64
    %a = at %x, %p
    %b = at %x, %q
    %y = elem %x, %i
    %bit = and %i, 1i64
    %even = eq %bit, 0i64
    %other = and %i, 4i64
    %up = eq %other, 0i64
    %low = min %a, %y
    %high = max %a, %y
    %s = select %even, %low, %high
    %t = min %s, %b
    %u = max %s, %b
    %v = select %up, %t, %u
    yield %v
  }
  return %r
}";
    for ty in TYPES {
        check(
            text,
            ty,
            "for %q",
            &vectors(ty, &[0, 1, 2, 7, 8, 9, 15, 16, 104, 2047, 2048, 2049, 5000, 5003]),
        );
    }
}

/// A stage with blocks of eight elements, whose last block need not be whole.
#[test]
fn changed_bit() {
    let text = "func @f(%x: [T]) -> (r: [T]) {
  %n = len %x
  %r = generate %n (%i: i64) {
    %p = xor %i, 1i64
    %a = elem %x, %p
    %y = elem %x, %i
    %other = and %i, 4i64
    %up = eq %other, 0i64
    %s = add %a, %y
    %d = sub %a, %y
    %v = select %up, %s, %d
    yield %v
  }
  return %r
}";
    for ty in TYPES {
        check(text, ty, "for %q", &vectors(ty, &[0, 2, 6, 8, 10, 16, 100, 2046, 2048, 2050, 5002]));
    }
}

/// Values that are chosen by the parity of an index and by a comparison of numbers.
#[test]
fn parity() {
    let text = "func @f(%x: [T]) -> (r: [T]) {
  %n = len %x
  %r = generate %n (%i: i64) {
    %y = elem %x, %i
    %j = sub %i, 7i64
    %m = rem %j, 2i64
    %even = eq %m, 0i64
    %above = lt 1T, %y
    %c = and %even, %above
    %z = add %y, %y
    %odd = ne %m, 0i64
    %d = and %odd, %above
    %w = mul %y, %y
    %s = select %c, %z, %y
    %v = select %d, %w, %s
    yield %v
  }
  return %r
}";
    for ty in TYPES {
        check(text, ty, "out_r", &vectors(ty, &[0, 1, 9, 100, 5003]));
    }
}
