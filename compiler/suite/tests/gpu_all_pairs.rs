//! Reductions over all pairs on a simulated GPU: of a matrix of pairs, whose tiles lie in one row or in several; of
//! each element with all others, by batches of steps; with reads that are in bounds, and with some that are not.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::scalar::Lit;
use arraygpu_suite::gpu::Layout;
use arraygpu_suite::versions::{check_source, compiled};

fn numbers(n: usize, seed: i64) -> Value {
    let value = |i: i64| ((i * 37 + seed * 11) % 101) as f32 / 7.0 - 5.0;
    Value::Vector((0..n as i64).map(|i| Lit::f32(value(i))).collect())
}

const ALL: [Layout; 3] = [Layout::Contiguous, Layout::Offset, Layout::Reversed];

/// A sum over all pairs, rounded and exact. The reads of y may be out of bounds.
const PAIRS: &str = "func @pairs(%x: [f32], %y: [f32], %n: i64) -> (r: f32, s: i32) {
  require extent 0i64, %n \"generate: n\"
  %0 = len %x
  %1 = generate %0, %n (%i: i64, %j: i64) {
    %a = at %x, %i
    %b = at %y, %j
    %c = sub %a, %b
    %d = mul %c, %a
    yield %d
  }
  %2 = reduce (%a: f32, %b: f32) from 1f32 over %1 {
    %c = add %a, %b
    yield %c
  }
  %3 = generate %0, %n (%i: i64, %j: i64) {
    %a = at %x, %i
    %b = at %y, %j
    %c = lt %a, %b
    %d = select %c, 1i32, 0i32
    yield %d
  }
  %4 = reduce (%a: i32, %b: i32) from 0i32 over %3 {
    %c = add %a, %b
    yield %c
  }
  return %2, %4
}";

#[test]
fn tiles_of_a_matrix_lie_in_one_row_or_in_several() {
    let c = compiled(PAIRS, None);
    // rows shorter than a tile, as long as one, as several, and a little longer
    for (rows, columns) in [(2, 4096), (3, 2048), (1, 6200), (2, 5003), (50, 83), (4500, 1), (0, 9), (9, 0)] {
        let args = [numbers(rows, 1), numbers(columns, 2), Value::Scalar(Lit::i64(columns as i64))];
        check_source(&c, &args, &ALL[..if rows == 2 { 3 } else { 1 }], false);
    }
}

#[test]
fn tiles_of_a_matrix_leave_records() {
    let c = compiled(PAIRS, None);
    for (rows, columns) in [(2, 4097), (3, 90)] {
        let args = [numbers(rows, 1), numbers(columns - 1, 2), Value::Scalar(Lit::i64(columns as i64))];
        check_source(&c, &args, &ALL[..1], true);
    }
}

/// For each element of x a sum, a minimum and a count over the first n rows of y, whose columns may be missing.
const NEAREST: &str = "func @nearest(%x: [f32], %y: [[f32]], %n: i64) -> (r: [f32]) {
  require extent 0i64, %n \"generate: n\"
  %1 = map (%v: f32) over %x {
    %2 = generate %n (%j: i64) {
      %a = at %y, %j, 0i64
      %b = at %y, %j, 2i64
      %c = sub %v, %a
      %d = mul %c, %c
      %e = add %d, %b
      yield %e
    }
    %3 = reduce (%a: f32, %b: f32) from inff32 over %2 {
      %c = min %a, %b
      yield %c
    }
    %4 = reduce (%a: f32, %b: f32) from 2f32 over %2 {
      %c = add %a, %b
      yield %c
    }
    %5 = add %3, %4
    yield %5
  }
  return %1
}";

fn matrix(rows: usize, columns: usize) -> Value {
    let value = |i: usize| Lit::f32(((i * 29) % 97) as f32 / 9.0 - 4.0);
    Value::Array(vec![rows as i64, columns as i64], (0..rows * columns).map(value).collect())
}

#[test]
fn batches_of_steps_end_anywhere() {
    let c = compiled(NEAREST, None);
    for n in [0, 1, 2, 3, 4, 5, 8, 127, 129, 500, 2048, 2300] {
        let args = [numbers(5, 3), matrix(n, 3), Value::Scalar(Lit::i64(n as i64))];
        check_source(&c, &args, &ALL[..if n == 5 { 3 } else { 1 }], false);
    }
}

#[test]
fn steps_without_bounds_leave_records() {
    let c = compiled(NEAREST, None);
    check_source(&c, &[numbers(5, 3), matrix(7, 2), Value::Scalar(Lit::i64(7))], &ALL, true);
    check_source(&c, &[numbers(5, 3), matrix(7, 3), Value::Scalar(Lit::i64(8))], &ALL, true);
    // nothing is read, so nothing is out of bounds
    check_source(&c, &[numbers(0, 3), matrix(7, 3), Value::Scalar(Lit::i64(8))], &ALL, false);
    check_source(&c, &[numbers(5, 3), matrix(7, 2), Value::Scalar(Lit::i64(0))], &ALL, false);
}

/// Each element's own loop, whose number of steps is a scalar or data.
const STEPS: &str = "func @steps(%x: [f32], %k: i64) -> (r: [f32]) {
  %0 = map (%v: f32) over %x {
    %s = loop 1 (%t: i64, %a: f32, %b: f32) by COUNT from %v, 0f32 {
      %u = cast f32 %t
      %c = mul %a, 0.75f32
      %d = add %c, %u
      %e = add %b, %d
      %p = tuple true, %d, %e
      yield %p
    }
    yield %s
  }
  return %0
}";

#[test]
fn counted_loops_of_elements_end_anywhere() {
    let of_call = compiled(&STEPS.replace("COUNT", "%k"), None);
    for k in [-3, 0, 1, 2, 3, 4, 5, 7, 8, 9, 30] {
        check_source(&of_call, &[numbers(70, 5), Value::Scalar(Lit::i64(k))], &ALL, false);
    }
    for k in ["0i64", "3i64", "4i64", "21i64", "1003i64"] {
        let constant = compiled(&STEPS.replace("COUNT", k), None);
        check_source(&constant, &[numbers(70, 5), Value::Scalar(Lit::i64(1))], &ALL[..1], false);
    }
}

/// Sums of windows whose width is a scalar: the rules bound the width, so no read is tested.
const WINDOWS: &str = "func @windows(%x: [f32], %k: i64) -> (r: [f32]) {
  require extent 0i64, %k \"generate: k\"
  %0 = len %x
  %1 = sub %0, %k
  %2 = add %1, 1i64
  require extent 0i64, %2 \"generate: x, k\"
  %3 = generate %2 (%i: i64) {
    %4 = generate %k (%j: i64) {
      %n = add %i, %j
      %a = at %x, %n
      yield %a
    }
    %5 = reduce (%a: f32, %b: f32) from 0f32 over %4 {
      %c = add %a, %b
      yield %c
    }
    yield %5
  }
  return %3
}";

#[test]
fn windows_of_any_width_are_proven_to_be_in_bounds() {
    let c = compiled(WINDOWS, None);
    let mut launches = c.functions[0].plan.launches();
    assert!(launches.all(|launch| launch.sites.is_empty()), "some read is tested");
    for (n, k) in [(1, 0), (1, 1), (1, 2), (10, 3), (300, 130), (5000, 2100), (0, 0), (0, 1)] {
        check_source(&c, &[numbers(n, 5), Value::Scalar(Lit::i64(k))], &ALL[..1], false);
    }
}
