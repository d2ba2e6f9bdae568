//! Segmented reductions on a simulated GPU whose elements, or segments, have indices along several axes, and those
//! whose reads are tested: the interpreter's bits and records, in every version and layout, for lengths on both sides
//! of every limit of a variant.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::kernel::{Expr, Stmt};
use arraygpu_compiler::scalar::Lit;
use arraygpu_suite::reference;
use arraygpu_suite::rng::Rng;
use arraygpu_suite::versions::{check, compiled};

/// Windows of a matrix, of `p` by `q` elements, whose indices are clamped: as sums, and as squared deviations.
const WINDOWS: &str = "func @f(%x: [[f32]], %p: i64, %q: i64) -> (r: [[f32]]) {
  %n = len %x
  %m = len %x axis 1
  %0 = sub %n, 1i64
  %1 = sub %m, 1i64
  %r = generate %n, %m (%i: i64, %j: i64) {
    %all = generate %p, %q (%a: i64, %b: i64) {
      %2 = add %i, %a
      %3 = sub %2, 2i64
      %4 = max %3, 0i64
      %k = min %4, %0
      %5 = add %j, %b
      %6 = sub %5, 1i64
      %7 = max %6, 0i64
      %l = min %7, %1
      %v = elem %x, %k, %l
      yield %v
    }
    REDUCED
    yield %s
  }
  return %r
}";

const SUM: &str = "%s = reduce (%c: f32, %d: f32) from 0f32 over %all { %e = add %c, %d yield %e }";
const DEVIATIONS: &str = "%s = squared_deviations from 0f32 over %all";

/// A convolution of all planes by 2 by 3 weights, whose matrix may have too few columns.
const CHANNELS: &str = "func @f(%x: [[[f32]]], %w: [[f32]]) -> (r: [[f32]]) {
  %planes = len %x
  %0 = len %x axis 1
  %n = sub %0, 1i64
  %1 = len %x axis 2
  %m = sub %1, 2i64
  require extent 0i64, %n \"rows\"
  require extent 0i64, %m \"columns\"
  %r = generate %n, %m (%i: i64, %j: i64) {
    %all = generate %planes, 2i64, 3i64 (%k: i64, %a: i64, %b: i64) {
      %2 = mul %a, 3i64
      %3 = add %2, %b
      %u = at %w, %k, %3
      %4 = add %i, %a
      %5 = add %j, %b
      %v = elem %x, %k, %4, %5
      %p = mul %u, %v
      yield %p
    }
    %s = reduce (%c: f32, %d: f32) from 0f32 over %all { %e = add %c, %d yield %e }
    yield %s
  }
  return %r
}";

/// Sums of two axes of a volume, weighted along the last one.
const TWO_AXES: &str = "func @f(%x: [[[f32]]], %w: [f32]) -> (r: [f32]) {
  %n = len %x
  %p = len %x axis 1
  %q = len %x axis 2
  %0 = len %w
  require same %q, %0 \"x, w\"
  %r = generate %n (%i: i64) {
    %all = generate %p, %q (%a: i64, %b: i64) {
      %u = elem %x, %i, %a, %b
      %v = elem %w, %b
      %y = mul %u, %v
      yield %y
    }
    REDUCED
    yield %s
  }
  return %r
}";

/// Sums of the last axis of a volume, of what depends on the other two.
const LAST_AXIS: &str = "func @f(%x: [[[f32]]], %y: [[f32]]) -> (r: [[f32]]) {
  %n = len %x
  %m = len %x axis 1
  %k = len %x axis 2
  %0 = len %y
  %1 = len %y axis 1
  require same %m, %0 \"x, y\"
  require same %k, %1 \"x, y\"
  %r = generate %n, %m (%i: i64, %j: i64) {
    %all = generate %k (%a: i64) {
      %u = elem %x, %i, %j, %a
      %v = elem %y, %j, %a
      %w = sub %u, %v
      yield %w
    }
    REDUCED
    yield %s
  }
  return %r
}";

/// The product of a lower triangular matrix, which may have too few rows or columns, and a vector.
const TRIANGULAR: &str = "func @f(%a: [[f32]], %x: [f32]) -> (r: [f32]) {
  %n = len %x
  %r = generate %n (%i: i64) {
    %all = generate %n (%j: i64) {
      %v = at %a, %i, %j
      %u = elem %x, %j
      %p = mul %u, %v
      %is = le %j, %i
      %e = select %is, %p, 0f32
      yield %e
    }
    REDUCED
    yield %s
  }
  return %r
}";

/// The transposed product, whose segments are columns.
const TRANSPOSED: &str = "func @f(%a: [[f32]], %x: [f32]) -> (r: [f32]) {
  %n = len %x
  %r = generate %n (%i: i64) {
    %all = generate %n (%j: i64) {
      %v = at %a, %j, %i
      %u = elem %x, %j
      %p = mul %u, %v
      yield %p
    }
    REDUCED
    yield %s
  }
  return %r
}";

/// Sums of values at places that are data, so that no condition says whether they are in bounds.
const GATHERED: &str = "func @f(%a: [[f32]], %at: [i64]) -> (r: [f32]) {
  %n = len %a
  %k = len %at
  %r = generate %n (%i: i64) {
    %all = generate %k (%j: i64) {
      %l = elem %at, %j
      %v = at %a, %i, %l
      yield %v
    }
    %s = reduce (%c: f32, %d: f32) from 0f32 over %all { %e = add %c, %d yield %e }
    yield %s
  }
  return %r
}";

fn array(extents: &[i64], rng: &mut Rng) -> Value {
    let count: i64 = extents.iter().product();
    let all = (0..count).map(|_| Lit::f32(rng.below(2000) as f32 / 64.0 - 15.0)).collect();
    if extents.len() == 1 { Value::Vector(all) } else { Value::Array(extents.to_vec(), all) }
}

fn scalar(n: i64) -> Value {
    Value::Scalar(Lit::i64(n))
}

/// The program with each kind of reduction.
fn reduced(text: &str) -> [Compiled; 2] {
    [SUM, DEVIATIONS].map(|code| compiled(&text.replace("REDUCED", code), None))
}

/// Calls in every version. Whether there is a record.
fn call(c: &Compiled, args: &[Value], what: &str) -> bool {
    check(c, args, what);
    reference::run(&c.functions[0].fused, args).is_ok_and(|found| found.recorded)
}

/// The number of kernels that have a version of elements without tests: a branch by a scalar of the call.
fn versions(c: &Compiled) -> usize {
    let has_version = |s: &Stmt| matches!(s, Stmt::If(Expr::In(_), ..));
    fn any(body: &[Stmt], f: &dyn Fn(&Stmt) -> bool) -> bool {
        body.iter().any(|s| f(s) || s.blocks().into_iter().any(|b| any(b, f)))
    }
    let kernels = c.kernels.iter().flat_map(|k| k.gpu_variants());
    kernels.filter(|code| any(code.kernel.main.as_deref().unwrap_or_default(), &has_version)).count()
}

#[test]
fn windows_of_any_size() {
    let mut rng = Rng::new(1);
    for c in &reduced(WINDOWS) {
        for (p, q) in [(0, 3), (1, 1), (3, 1), (1, 7), (3, 3), (5, 5), (2, 8), (11, 12), (1, 300), (47, 46)] {
            let x = array(&[3, 37], &mut rng);
            call(c, &[x, scalar(p), scalar(q)], &format!("{p} x {q}"));
        }
    }
}

#[test]
fn windows_of_a_constant_size() {
    let mut rng = Rng::new(2);
    let c = compiled(CHANNELS, None);
    assert!(versions(&c) > 2, "there is code without tests");
    for planes in [1, 2, 4, 30, 400] {
        for (rows, columns, recorded) in [(planes, 6, false), (planes + 1, 7, false), (planes, 5, true)] {
            let (x, w) = (array(&[planes, 4, 21], &mut rng), array(&[rows, columns], &mut rng));
            assert_eq!(call(&c, &[x, w], &format!("{planes} planes, {columns} weights")), recorded);
        }
    }
}

#[test]
fn rows_of_two_axes() {
    let mut rng = Rng::new(3);
    for c in &reduced(TWO_AXES) {
        for (p, q) in
            [(1, 1), (2, 3), (7, 4), (8, 8), (3, 40), (5, 41), (64, 4), (9, 200), (70, 61), (1, 2500)]
        {
            let (x, w) = (array(&[5, p, q], &mut rng), array(&[q], &mut rng));
            call(c, &[x, w], &format!("{p} x {q}"));
        }
    }
}

#[test]
fn segments_of_two_axes() {
    let mut rng = Rng::new(4);
    for c in &reduced(LAST_AXIS) {
        for (n, m, k) in
            [(1, 1, 1), (3, 5, 7), (7, 3, 16), (4, 9, 40), (3, 11, 130), (2, 5, 600), (2, 2, 4500)]
        {
            let (x, y) = (array(&[n, m, k], &mut rng), array(&[m, k], &mut rng));
            call(c, &[x, y], &format!("{n} x {m} x {k}"));
        }
    }
}

#[test]
fn tested_reads_of_rows_and_columns() {
    let mut rng = Rng::new(5);
    for text in [TRIANGULAR, TRANSPOSED] {
        for c in &reduced(text) {
            assert!(versions(c) > 2, "there is code without tests\n{text}");
            for n in [1i64, 5, 32, 36, 150, 260, 515] {
                // none is missing, then a row or a column is
                for (rows, columns) in [(n, n), (n + 1, n + 4), (n - 1, n), (n, n - 1)] {
                    let (a, x) = (array(&[rows, columns], &mut rng), array(&[n], &mut rng));
                    let recorded = call(c, &[a, x], &format!("{n}: {rows} x {columns}"));
                    assert_eq!(recorded, rows < n || columns < n);
                }
            }
        }
    }
}

/// A segment of more than one tile.
#[test]
fn tested_reads_of_tiles() {
    let mut rng = Rng::new(6);
    let c =
        compiled(&TRIANGULAR.replace("generate %n (%i", "generate 3i64 (%i").replace("REDUCED", SUM), None);
    for (columns, recorded) in [(4100, false), (2050, false), (2, true)] {
        let (a, x) = (array(&[3, columns], &mut rng), array(&[4100], &mut rng));
        assert_eq!(call(&c, &[a, x], &format!("{columns} columns")), recorded);
    }
}

#[test]
fn places_that_are_data() {
    let mut rng = Rng::new(7);
    let c = compiled(GATHERED, None);
    for (last, recorded) in [(9, false), (10, true)] {
        let at = Value::Vector((0..70).map(|i| Lit::i64(if i == 50 { last } else { i % 10 })).collect());
        assert_eq!(call(&c, &[array(&[6, 10], &mut rng), at], "gathered"), recorded);
    }
}
