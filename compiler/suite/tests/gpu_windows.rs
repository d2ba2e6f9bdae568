//! Reductions over a window of each element on a simulated GPU: threads reduce several windows together; those of the
//! interior have no clamps and no tests of indices.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::scalar::Lit;
use arraygpu_suite::gpu::Layout;
use arraygpu_suite::versions::{check_source, compiled};

const ALL: [Layout; 3] = [Layout::Contiguous, Layout::Offset, Layout::Reversed];

fn array(extents: &[usize], seed: usize) -> Value {
    let value = |i: usize| Lit::f32(((i * 29 + seed * 13) % 97) as f32 / 9.0 - 4.0);
    let count = extents.iter().product();
    Value::Array(extents.iter().map(|n| *n as i64).collect(), (0..count).map(value).collect())
}

fn scalar(x: i64) -> Value {
    Value::Scalar(Lit::i64(x))
}

/// The sum of a window with the radius r, whose indices are clamped, the columns' the other way round.
const CLAMPED: &str = "func @clamped(%u: [[f32]], %r: i64) -> (s: [[f32]]) {
  %n = len %u
  %m = len %u axis 1
  %n1 = sub %n, 1i64
  %m1 = sub %m, 1i64
  %d = mul %r, 2i64
  %side = add %d, 1i64
  require extent 0i64, %side \"generate: side\"
  %0 = generate %n, %m (%i: i64, %j: i64) {
    %1 = generate %side, %side (%a: i64, %b: i64) {
      %2 = add %i, %a
      %3 = sub %2, %r
      %4 = max %3, 0i64
      %row = min %4, %n1
      %5 = sub %j, %b
      %6 = add %5, %r
      %7 = min %m1, %6
      %column = max 0i64, %7
      %x = at %u, %row, %column
      yield %x
    }
    %8 = reduce (%a: f32, %b: f32) from 1f32 over %1 { %c = add %a, %b yield %c }
    yield %8
  }
  return %0
}";

#[test]
fn clamps_act_at_edges_only() {
    let c = compiled(CLAMPED, None);
    // windows of one element, of some, of as many as the matrix has and of more; and no elements at all
    for (rows, columns, r) in
        [(9, 70, 0), (12, 90, 1), (23, 31, 3), (5, 40, 5), (3, 4, 4), (1, 300, 1), (0, 7, 2)]
    {
        let layouts = &ALL[..if r == 1 { 3 } else { 1 }];
        check_source(&c, &[array(&[rows, columns], 1), scalar(r)], layouts, false);
    }
}

/// The maximum and the number of the neighbours of an element that exist, by tests of their indices.
const TESTED: &str = "func @tested(%u: [[f32]], %k: i64) -> (s: [[f32]]) {
  %n = len %u
  %m = len %u axis 1
  require extent 0i64, %k \"generate: k\"
  %0 = generate %n, %m (%i: i64, %j: i64) {
    %1 = generate 3i64, %k (%a: i64, %b: i64) {
      %2 = add %i, %a
      %row = sub %2, 1i64
      %column = add %j, %b
      %3 = lt %row, 0i64
      %4 = ge %row, %n
      %5 = or %3, %4
      %6 = le %m, %column
      %7 = or %5, %6
      %x = at %u, %row, %column
      %8 = select %7, -9f32, %x
      yield %8
    }
    %9 = reduce (%a: f32, %b: f32) from -8f32 over %1 { %c = add %a, %b yield %c }
    yield %9
  }
  return %0
}";

#[test]
fn tests_of_indices_fail_at_edges_only() {
    let c = compiled(TESTED, None);
    for (rows, columns, k) in
        [(8, 60, 3), (3, 33, 1), (2, 9, 60), (9, 2, 2), (1, 1, 1), (0, 5, 3), (40, 41, 0)]
    {
        let layouts = &ALL[..if k == 3 { 3 } else { 1 }];
        check_source(&c, &[array(&[rows, columns], 2), scalar(k)], layouts, false);
    }
}

/// A convolution over channels, whose reads may be out of bounds: a window of 3 by 3 of each of p planes.
const CHANNELS: &str = "func @channels(%x: [[[f32]]], %w: [[f32]], %n: i64, %m: i64) -> (s: [[f32]]) {
  %p = len %x
  require extent 0i64, %n \"generate: n\"
  require extent 1i64, %m \"generate: m\"
  %0 = generate %n, %m (%i: i64, %j: i64) {
    %1 = generate %p, 3i64, 3i64 (%k: i64, %a: i64, %b: i64) {
      %2 = mul %a, 3i64
      %3 = add %2, %b
      %4 = at %w, %k, %3
      %row = add %i, %a
      %column = add %j, %b
      %5 = at %x, %k, %row, %column
      %6 = mul %4, %5
      yield %6
    }
    %7 = reduce (%a: f32, %b: f32) from 0f32 over %1 { %c = add %a, %b yield %c }
    yield %7
  }
  return %0
}";

#[test]
fn windows_of_channels_share_their_weights() {
    let c = compiled(CHANNELS, None);
    for (planes, rows, columns) in [(3, 6, 50), (15, 5, 20), (30, 4, 9), (0, 4, 4), (1, 3, 3)] {
        let extents = [planes, rows, columns];
        let (n, m) = (rows as i64 - 2, columns as i64 - 2);
        let args = [array(&extents, 1), array(&[planes, 9], 2), scalar(n), scalar(m)];
        check_source(&c, &args, &ALL[..if planes == 3 { 3 } else { 1 }], false);
        if planes == 15 {
            let args = [array(&extents, 1), array(&[planes, 9], 2), scalar(n), scalar(m + 1)];
            check_source(&c, &args, &ALL[..1], true);
        }
    }
}

/// Two sums that are equal where neither clamps nor tests act.
const TWINS: &str = "func @twins(%u: [[f32]], %p: i64) -> (s: [f32]) {
  %n = len %u
  %m = len %u axis 1
  %n1 = sub %n, 1i64
  require extent 0i64, %p \"generate: p\"
  %0 = generate %m (%j: i64) {
    %1 = generate %p (%k: i64) {
      %row = min %k, %n1
      %x = at %u, %row, %j
      yield %x
    }
    %2 = reduce (%a: f32, %b: f32) from 0f32 over %1 { %c = add %a, %b yield %c }
    %3 = generate %p (%k: i64) {
      %4 = lt %k, %n
      %x = at %u, %k, %j
      %5 = select %4, %x, 0f32
      yield %5
    }
    %6 = reduce (%a: f32, %b: f32) from 0f32 over %3 { %c = add %a, %b yield %c }
    %7 = mul %6, 3f32
    %8 = sub %2, %7
    yield %8
  }
  return %0
}";

#[test]
fn reductions_that_are_equal_in_the_interior_stay_two() {
    let c = compiled(TWINS, None);
    for (rows, columns, p) in [(9, 40, 5), (9, 40, 12), (300, 33, 290), (1, 3, 1)] {
        check_source(&c, &[array(&[rows, columns], 3), scalar(p)], &ALL[..1], false);
    }
}

/// Windows whose place is data that only some columns have.
const PLACED: &str = "func @placed(%u: [[f32]], %off: [i64], %p: i64) -> (s: [[f32]]) {
  %n = len %u
  %m = len %u axis 1
  %l = len %off
  %n1 = sub %n, 1i64
  require extent 0i64, %p \"generate: p\"
  %0 = generate %n, %m (%i: i64, %j: i64) {
    %1 = generate %p (%k: i64) {
      %o = at %off, %j
      %2 = add %i, %k
      %3 = sub %2, %o
      %4 = max %3, 0i64
      %row = min %4, %n1
      %x = at %u, %row, %j
      %5 = lt %j, %l
      %6 = select %5, %x, 0f32
      yield %6
    }
    %7 = reduce (%a: f32, %b: f32) from 0f32 over %1 { %c = add %a, %b yield %c }
    yield %7
  }
  return %0
}";

#[test]
fn conditions_of_the_interior_leave_no_records() {
    let c = compiled(PLACED, None);
    let offsets = |n: usize| Value::Vector((0..n).map(|j| Lit::i64(j as i64 % 3)).collect());
    for (rows, columns, with, p) in [(7, 40, 40, 4), (7, 40, 25, 4), (5, 9, 0, 2), (5, 9, 4, 0)] {
        check_source(&c, &[array(&[rows, columns], 4), offsets(with), scalar(p)], &ALL[..1], false);
    }
}
