//! Sums of squared deviations (semantics 5.12) on a simulated GPU: of vectors, rows and columns, at the
//! edges of tiles, lanes and blocks, by every variant of every kernel. All bits are the interpreter's.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::kernel::interp::Order;
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_suite::gpu::{How, Layout, Runs, call};
use arraygpu_suite::reference;
use arraygpu_suite::rng::Rng;
use arraygpu_suite::typed::{compiled, numbers};
use std::collections::BTreeSet;

/// More than any kernel has.
const VARIANTS: usize = 32;

const VECTOR: &str = "func @f(%x: [T]) -> (q: T, s: T, d: [T], scaled: [T]) {
  %q = squared_deviations from 0T over %x
  %s = reduce (%a: T, %b: T) from 0T over %x { %c = add %a, %b yield %c }
  %d = map (%a: T) over %x { %c = mul %a, %a yield %c }
  %e = squared_deviations from 1T over %d
  %scaled = map (%a: T) over %x { %c = div %a, %e yield %c }
  return %q, %s, %d, %scaled
}";

/// An element that is costly, so that its rows are a loop, and two arrays.
const COSTLY: &str = "func @f(%x: [T], %y: [T]) -> (q: T) {
  %0 = len %x
  %1 = len %y
  require same %0, %1 \"zip_with: x, y\"
  %d = map (%a: T, %b: T) over %x, %y { %c = exp %a %d = sqrt %b %e = mul_add %c, %d, %a yield %e }
  %q = squared_deviations from 0T over %d
  return %q
}";

const ROWS: &str = "func @f(%m: [[T]]) -> (q: [T], s: [T]) {
  %n = len %m
  %q = generate %n (%i: i64) {
    %row = pick %m at %i
    %0 = squared_deviations from 0T over %row
    yield %0
  }
  %s = generate %n (%i: i64) {
    %row = pick %m at %i
    %0 = reduce (%x: T, %y: T) from 0T over %row { %z = add %x, %y yield %z }
    %1 = squared_deviations from 1T over %row
    %2 = sub %0, %1
    yield %2
  }
  return %q, %s
}";

const COLUMNS: &str = "func @f(%m: [[T]]) -> (q: [T]) {
  %n = len %m axis 1
  %q = generate %n (%i: i64) {
    %column = pick %m axis 1 at %i
    %0 = squared_deviations from 0T over %column
    %1 = reduce (%x: T, %y: T) from 0T over %column { %z = add %x, %y yield %z }
    %2 = add %0, %1
    yield %2
  }
  return %q
}";

/// Rows with the same mean and scale.
const NORMAL: &str = "func @f(%m: [[T]]) -> (r: [[T]]) {
  %n = len %m
  %k = len %m axis 1
  %count = cast T %k
  %mean = generate %n (%i: i64) {
    %row = pick %m at %i
    %0 = reduce (%x: T, %y: T) from 0T over %row { %z = add %x, %y yield %z }
    %1 = div %0, %count
    yield %1
  }
  %dev = generate %n (%i: i64) {
    %row = pick %m at %i
    %0 = squared_deviations from 0T over %row
    %1 = div %0, %count
    %2 = sqrt %1
    yield %2
  }
  %r = generate %n, %k (%i: i64, %j: i64) {
    %x = elem %m, %i, %j
    %y = elem %mean, %i
    %z = elem %dev, %i
    %d = sub %x, %y
    %e = div %d, %z
    yield %e
  }
  return %r
}";

/// Deviations inside of elements that have another loop, which one thread computes.
const NESTED: &str = "func @f(%m: [[T]]) -> (r: T) {
  %n = len %m
  %k = len %m axis 1
  %d = generate %n (%i: i64) {
    %row = pick %m at %i
    %p = generate %k (%j: i64) {
      %x = elem %m, %i, %j
      %some = slice %row from 0i64 to %k by 1i64
      %e = map (%y: T) over %some { %z = mul %y, %x yield %z }
      %q = squared_deviations from 0T over %e
      yield %q
    }
    %s = squared_deviations from 0T over %p
    yield %s
  }
  %r = squared_deviations from 0T over %d
  return %r
}";

/// Calls the function by every variant in several layouts. Returns the entries that ran.
fn check(c: &Compiled, args: &[Value], what: &str, entries: &mut BTreeSet<String>) {
    let wanted =
        reference::run(&c.functions[0].fused, args).unwrap_or_else(|e| panic!("{what}: {e}")).results;
    let variants = c.kernels.iter().map(|k| k.gpu_variants().len()).max().unwrap_or(0);
    assert!(variants <= VARIANTS);
    let mut runs = Runs::default();
    for version in (0..variants).map(Some).chain([None]) {
        for layout in Layout::ALL {
            let is_usual = [Layout::Contiguous, Layout::Strided].contains(&layout);
            if !is_usual && version.is_some() {
                continue;
            }
            let span = 1 + version.unwrap_or(0) as u32 % 2;
            let how = How { layout, version, span, order: Order::Random(7) };
            if !runs.is_new(c, 0, args, how) {
                continue;
            }
            let found = call(c, 0, args, how).unwrap_or_else(|e| panic!("{what}, {how:?}: {e}"));
            assert!(
                found.results == wanted,
                "{what}, {how:?}, {:?}: {:?} {:?}",
                found.entries,
                found.results,
                wanted
            );
            entries.extend(found.entries);
        }
    }
}

fn all(text: &str, types: &[Ty], shapes: &[&[usize]]) -> BTreeSet<String> {
    let mut rng = Rng::new(1);
    let mut entries = BTreeSet::new();
    for ty in types {
        let c = compiled(text, *ty);
        for shape in shapes {
            let args: Vec<Value> =
                c.functions[0].source.params.iter().map(|_| numbers(*ty, shape, &mut rng)).collect();
            check(&c, &args, &format!("{ty} {shape:?}"), &mut entries);
        }
    }
    entries
}

#[test]
fn vectors() {
    let sizes = [0, 1, 2, 33, 127, 128, 129, 2047, 2048, 2049, 9 * 2048 + 1];
    let shapes: Vec<&[usize]> = sizes.iter().map(std::slice::from_ref).collect();
    all(VECTOR, &[Ty::F32], &shapes);
    all(VECTOR, &[Ty::F64], &shapes[7..10]);
    all(COSTLY, &[Ty::F32, Ty::F64], &shapes[8..10]);
}

#[test]
fn rows() {
    let shapes: [&[usize]; 13] = [
        &[0, 3],
        &[3, 0],
        &[1, 1],
        &[67, 3],
        &[9, 31],
        &[9, 32],
        &[5, 66],
        &[3, 129],
        &[5, 256],
        &[2, 1000],
        &[1, 2048],
        &[2, 2050],
        &[1, 4100],
    ];
    let mut entries = all(ROWS, &[Ty::F32], &shapes);
    entries.extend(all(ROWS, &[Ty::F64], &shapes[6..12]));
    assert!(entries.len() > 7, "{entries:?}");
}

#[test]
fn columns() {
    let shapes: [&[usize]; 11] = [
        &[0, 3],
        &[3, 0],
        &[1, 1],
        &[8, 135],
        &[31, 9],
        &[128, 33],
        &[129, 5],
        &[300, 66],
        &[2048, 3],
        &[2049, 4],
        &[4500, 2],
    ];
    let mut entries = all(COLUMNS, &[Ty::F32], &shapes);
    entries.extend(all(COLUMNS, &[Ty::F64], &shapes[3..7]));
    assert!(entries.len() > 4, "{entries:?}");
}

#[test]
fn normal_rows() {
    let shapes: [&[usize]; 8] =
        [&[67, 1], &[67, 31], &[5, 68], &[3, 250], &[2, 1020], &[2, 1025], &[1, 4100], &[1, 8192]];
    let mut entries = all(NORMAL, &[Ty::F32], &shapes);
    entries.extend(all(NORMAL, &[Ty::F64], &shapes[1..4]));
    assert!(entries.iter().filter(|e| e.contains("_rows")).count() > 5, "{entries:?}");
}

#[test]
fn nested() {
    all(NESTED, &[Ty::F32], &[&[0, 3], &[3, 0], &[3, 4], &[2, 140]]);
}

/// One infinite element makes the sum NaN, wherever it stands, and so does NaN.
#[test]
fn infinities() {
    let c = compiled(VECTOR, Ty::F32);
    for n in [1, 2, 200, 2100] {
        for at in [0, n - 1] {
            for x in [f64::INFINITY, f64::NAN] {
                let mut v = vec![Lit::float(Ty::F32, 2.0); n];
                v[at] = Lit::float(Ty::F32, x);
                let args = [Value::Vector(v)];
                let results = reference::run(&c.functions[0].fused, &args).expect("a value").results;
                let Value::Scalar(q) = results[0] else { panic!("a scalar") };
                assert!(q.is_nan(), "{n} {at} {x}");
                check(&c, &args, "infinities", &mut BTreeSet::new());
            }
        }
    }
}

/// Differences that overflow give the same infinities and NaN in every order of the work.
#[test]
fn overflows() {
    let huge = |i: usize| Lit::float(Ty::F32, if i.is_multiple_of(3) { 3e38 } else { -3e38 });
    let mut entries = BTreeSet::new();
    for (text, rows, cols) in [(ROWS, 2, 2100), (ROWS, 5, 130), (COLUMNS, 2100, 2), (COLUMNS, 300, 3)] {
        let all = (0..rows * cols).map(|i| huge(i / 7)).collect();
        let args = [Value::Array(vec![rows as i64, cols as i64], all)];
        check(&compiled(text, Ty::F32), &args, "overflows", &mut entries);
    }
    let args = [Value::Vector((0..5000).map(huge).collect())];
    check(&compiled(VECTOR, Ty::F32), &args, "overflows", &mut entries);
}
