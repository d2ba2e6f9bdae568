//! Tiled contractions on a simulated GPU, at the edges of tiles, columns and rows: all bits are the interpreter's.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::kernel::interp::{FaultKind, Order};
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_suite::gpu;
use arraygpu_suite::gpu::{Failure, How, Layout, call};
use arraygpu_suite::mutants;
use arraygpu_suite::reference;
use arraygpu_suite::rng::Rng;
use arraygpu_suite::typed::{compiled, numbers};

/// The inner extents: of no and one element, around the rows of one and more columns, around a tile, and several
/// tiles.
const LENGTHS: [usize; 14] = [0, 1, 3, 15, 16, 63, 127, 128, 129, 300, 2047, 2048, 2049, 4100];

/// A product, written with a dot product.
const PRODUCT: &str = "func @f(%a: [[T]], %b: [[T]]) -> (r: [[T]]) {
  %m = len %a
  %n = len %b axis 1
  %0 = len %a axis 1
  %1 = len %b
  require same %0, %1 \"product\"
  %r = generate %m, %n (%i: i64, %j: i64) {
    %row = pick %a at %i
    %column = pick %b axis 1 at %j
    %s = dot from 0T over %row, %column
    yield %s
  }
  return %r
}";

/// Two reductions that share a loop, of values at (i, k) and (j, k), of k, and of the indices themselves; an initial
/// value that depends on the element; and more behind the reductions.
const TWO: &str = "func @f(%a: [[T]], %b: [[T]], %w: [T], %u: [T]) -> (r: [[T]]) {
  %m = len %a
  %n = len %b
  %0 = len %a axis 1
  %1 = len %b axis 1
  %2 = len %w
  %3 = len %u
  require same %0, %1 \"a, b\"
  require same %0, %2 \"a, w\"
  require same %m, %3 \"a, u\"
  %r = generate %m, %n (%i: i64, %j: i64) {
    %v = elem %u, %i
    %d = generate %0 (%k: i64) {
      %x = elem %a, %i, %k
      %y = elem %b, %j, %k
      %z = elem %w, %k
      %p = sub %x, %y
      %q = mul_add %p, %p, %v
      %same = eq %k, %j
      %t = select %same, %z, %q
      yield %t
    }
    %s = reduce (%x: T, %y: T) from %v over %d { %z = add %x, %y yield %z }
    %l = reduce (%x: T, %y: T) from 9T over %d { %z = min %x, %y yield %z }
    %e = sub %s, %l
    yield %e
  }
  return %r
}";

/// A batch of products, of which both matrices have the axis of the batch.
const BATCH: &str = "func @f(%a: [[[T]]], %b: [[[T]]]) -> (r: [[[T]]]) {
  %p = len %a
  %m = len %a axis 1
  %n = len %b axis 2
  %0 = len %a axis 2
  %1 = len %b axis 1
  %2 = len %b
  require same %0, %1 \"product\"
  require same %p, %2 \"batch\"
  %r = generate %p, %m, %n (%q: i64, %i: i64, %j: i64) {
    %d = generate %0 (%k: i64) {
      %x = elem %a, %q, %i, %k
      %y = elem %b, %q, %k, %j
      %z = mul %x, %y
      yield %z
    }
    %s = reduce (%x: T, %y: T) from 1T over %d { %z = add %x, %y yield %z }
    yield %s
  }
  return %r
}";

/// Whether a row has a value above that of a column.
const ANY: &str = "func @f(%a: [[T]], %b: [[T]]) -> (r: [[bool]]) {
  %m = len %a axis 1
  %n = len %b axis 1
  %0 = len %a
  %1 = len %b
  require same %0, %1 \"a, b\"
  %r = generate %m, %n (%i: i64, %j: i64) {
    %d = generate %0 (%k: i64) {
      %x = elem %a, %k, %i
      %y = elem %b, %k, %j
      %z = lt %y, %x
      yield %z
    }
    %s = reduce (%x: bool, %y: bool) from false over %d { %z = or %x, %y yield %z }
    yield %s
  }
  return %r
}";

/// Reads of any index and a division, under conditions of the element and of the inner index.
const RECORDS: &str = "func @f(%a: [[T]], %b: [[T]], %d: [i32], %k: i64, %from: i64) -> (r: [[T]]) {
  require extent 0i64, %k \"generate: k\"
  %m = len %a
  %n = len %b
  %r = generate %m, %n (%i: i64, %j: i64) {
    %e = generate %k (%k1: i64) {
      %x = at %a, %i, %k1
      %y = at %b, %j, %k1
      %c = ge %k1, %from
      %z = mul %x, %y
      %q = at %d, %i
      %s = add %q, 1i32
      %t = div 7i32, %s
      %u = cast T %t
      %v = select %c, %z, %u
      yield %v
    }
    %s = reduce (%x: T, %y: T) from 0T over %e { %z = add %x, %y yield %z }
    yield %s
  }
  return %r
}";

/// The same, where only some elements need their reduction.
fn records_of_some() -> String {
    let some = "    %c = lt %i, %j\n    %t = select %c, %s, 1T\n    yield %t\n  }\n  return %r";
    RECORDS.replace("    yield %s\n  }\n  return %r", some)
}

/// A convolution of channels with several results for each place: the axis of rows, which read the weights, stands
/// before the axis outside of rows and columns. The weights are read from any index on.
const CONVOLUTION: &str = "func @f(%x: [[[T]]], %w: [[T]], %from: i64) -> (r: [[[T]]]) {
  %c = len %x
  %h0 = len %x axis 1
  %v0 = len %x axis 2
  %h = sub %h0, 2i64
  %v = sub %v0, 2i64
  require extent 0i64, %h \"generate: x\"
  require extent 0i64, %v \"generate: x\"
  %o = len %w
  %n = mul %c, 9i64
  %r = generate %o, %h, %v (%p: i64, %i: i64, %j: i64) {
    %e = generate %n (%k: i64) {
      %q = add %k, %from
      %t = at %w, %p, %q
      %d = div %k, 9i64
      %m = rem %k, 9i64
      %a = div %m, 3i64
      %b = rem %m, 3i64
      %ia = add %i, %a
      %jb = add %j, %b
      %y = at %x, %d, %ia, %jb
      %z = mul %t, %y
      yield %z
    }
    %s = reduce (%x: T, %y: T) from 0T over %e { %z = add %x, %y yield %z }
    %u = cast T %p
    %l = sub %s, %u
    yield %l
  }
  return %r
}";

/// Calls the contraction, and, if that is not long, what the runtime chooses in another layout.
fn check(c: &Compiled, args: &[Value], is_long: bool, what: &str) {
    let wanted =
        reference::run(&c.functions[0].fused, args).unwrap_or_else(|e| panic!("{what}: {e}")).results;
    let hows = [(Layout::Contiguous, Some(0)), (Layout::Reversed, None), (Layout::Offset, Some(0))];
    for (i, (layout, version)) in hows.into_iter().enumerate().take(if is_long { 1 } else { 3 }) {
        let order = [Order::Ascending, Order::Descending, Order::Random(7)][i];
        let how = How { layout, version, span: 1, order };
        let found = call(c, 0, args, how).unwrap_or_else(|e| panic!("{what}, {how:?}: {e}"));
        assert!(found.results == wanted, "{what}, {how:?}");
        let expected =
            if version.is_some() { found.entries.iter().all(|e| e.ends_with("_tiled")) } else { true };
        assert!(expected, "{what}, {how:?}: {:?}", found.entries);
    }
}

/// The inner extents for a type of elements. The control flow is the same for all, so that others than f32 have few.
fn lengths(ty: Ty) -> impl Iterator<Item = usize> {
    LENGTHS.into_iter().filter(move |k| ty == Ty::F32 || [0, 3, 129, 2049].contains(k))
}

/// The sizes of the result for an inner extent: smaller ones for longer reductions, which take the interpreter long.
fn sizes(length: usize) -> &'static [[usize; 2]] {
    match length {
        0 | 1 => &[[1, 1], [3, 33], [65, 1], [0, 5]],
        16 | 129 => &[[1, 3], [33, 33]],
        _ => &[[3, 1]],
    }
}

#[test]
fn products() {
    let mut rng = Rng::new(1);
    for ty in [Ty::F32, Ty::F64, Ty::I32] {
        let c = compiled(PRODUCT, ty);
        for k in lengths(ty) {
            for [m, n] in sizes(k) {
                let args = [numbers(ty, &[*m, k], &mut rng), numbers(ty, &[k, *n], &mut rng)];
                check(&c, &args, k > 300, &format!("{m} by {k} by {n} of {ty}"));
            }
        }
    }
}

#[test]
fn two_reductions() {
    let mut rng = Rng::new(2);
    for ty in [Ty::F32, Ty::F64] {
        let c = compiled(TWO, ty);
        for k in lengths(ty) {
            for [m, n] in sizes(k) {
                let extents: [&[usize]; 4] = [&[*m, k], &[*n, k], &[k], &[*m]];
                let args = extents.map(|e| numbers(ty, e, &mut rng));
                check(&c, &args, k > 300, &format!("{m} by {n} over {k} of {ty}"));
            }
        }
    }
}

#[test]
fn batches() {
    let mut rng = Rng::new(3);
    let c = compiled(BATCH, Ty::F32);
    for k in LENGTHS {
        for [m, n] in sizes(k) {
            let p = if k > 300 { 1 } else { 3 };
            let args = [numbers(Ty::F32, &[p, *m, k], &mut rng), numbers(Ty::F32, &[p, k, *n], &mut rng)];
            check(&c, &args, k > 300, &format!("{p} of {m} by {k} by {n}"));
        }
    }
}

#[test]
fn columns_of_both() {
    let mut rng = Rng::new(4);
    for ty in [Ty::U8, Ty::F64] {
        let c = compiled(ANY, ty);
        for k in lengths(ty) {
            for [m, n] in sizes(k) {
                let args = [numbers(ty, &[k, *m], &mut rng), numbers(ty, &[k, *n], &mut rng)];
                check(&c, &args, k > 300, &format!("{m} by {n} over {k} of {ty}"));
            }
        }
    }
}

/// The record of a call, which is there if the interpreter leaves one; the results are the interpreter's.
fn recorded_by(c: &Compiled, version: usize, args: &[Value], what: &str) -> Option<gpu::Record> {
    let wanted = reference::run(&c.functions[0].fused, args).unwrap();
    let how = How { layout: Layout::Contiguous, version: Some(version), span: 1, order: Order::Ascending };
    let found = call(c, 0, args, how).unwrap_or_else(|e| panic!("{what}, {how:?}: {e}"));
    assert_eq!(found.record.is_some(), wanted.recorded, "{what}, {how:?}");
    assert!(wanted.recorded || found.results == wanted.results, "{what}, {how:?}");
    found.record
}

/// Records are those of the elements that need a value: the same as without tiles.
#[test]
fn records() {
    let mut rng = Rng::new(6);
    let programs = [compiled(RECORDS, Ty::F32), compiled(&records_of_some(), Ty::F32)];
    let (mut recorded, mut others) = (0, 0);
    for (m, n, width, k, from) in [
        (3, 3, 20, 20, 0),
        (3, 3, 19, 20, 0),
        (70, 3, 129, 130, 5),
        (3, 70, 129, 130, 130),
        (3, 3, 5, 0, 0),
        (33, 70, 40, 40, 3),
        (2, 1, 3, 9, 0),
    ] {
        for zero in [false, true] {
            let mut d = vec![Lit::i32(3); m - 1];
            d.insert(m / 2, Lit::i32(if zero { -1 } else { 4 }));
            let args = [
                numbers(Ty::F32, &[m, width], &mut rng),
                numbers(Ty::F32, &[n, width + 1], &mut rng),
                Value::Vector(d),
                Value::Scalar(Lit::i64(k)),
                Value::Scalar(Lit::i64(from)),
            ];
            let what = format!("{m} by {n} over {k} of {width}, from {from}, {zero}");
            let [all, some] = &programs;
            let mut first = None;
            for version in 0..all.kernels[0].gpu_variants().len() {
                let found = recorded_by(all, version, &args, &what);
                assert_eq!(*first.get_or_insert(found.clone()), found, "{what}, {version}");
            }
            recorded_by(some, 0, &args, &what);
            let wanted = reference::run(&all.functions[0].fused, &args).unwrap();
            *(if wanted.recorded { &mut recorded } else { &mut others }) += 1;
        }
    }
    assert!(recorded > 3 && others > 3, "{recorded} and {others}");
}

/// Rows before the axis outside of rows and columns: the bits and the records are those of all other variants.
#[test]
fn rows_first() {
    let mut rng = Rng::new(7);
    for ty in [Ty::F32, Ty::I32] {
        let c = compiled(CONVOLUTION, ty);
        let shapes = [
            [1, 1, 1, 1],
            [65, 1, 2, 3],
            [3, 8, 2, 66],
            [2, 15, 1, 70],
            [1, 228, 1, 1],
            [33, 2, 3, 5],
            [2, 0, 2, 2],
            [0, 1, 1, 1],
        ];
        for [o, channels, h, v] in shapes {
            let mut of = |from: i64| {
                let x = numbers(ty, &[channels, h + 2, v + 2], &mut rng);
                [x, numbers(ty, &[o, channels * 9 + 1], &mut rng), Value::Scalar(Lit::i64(from))]
            };
            let what = format!("{o} of {channels} channels, {h} by {v}, of {ty}");
            let args = of(1);
            check(&c, &args, true, &what);
            let wanted = reference::run(&c.functions[0].fused, &args).unwrap().results;
            for layout in [Layout::Reversed, Layout::Offset] {
                let how = How { layout, version: None, span: 1, order: Order::Random(7) };
                let found = call(&c, 0, &args, how).unwrap_or_else(|e| panic!("{what}, {how:?}: {e}"));
                assert!(found.results == wanted, "{what}, {how:?}");
            }
            for from in [-1, 2] {
                let args = of(from);
                let mut first = None;
                let versions = if channels > 100 { 1 } else { c.kernels[0].gpu_variants().len() };
                for version in 0..versions {
                    let found = recorded_by(&c, version, &args, &what);
                    assert_eq!(*first.get_or_insert(found.clone()), found, "{what}, {version}");
                }
            }
        }
    }
}

/// Without one of its barriers a contraction is a race.
#[test]
fn barriers() {
    let mut c = compiled(PRODUCT, Ty::F32);
    let mut rng = Rng::new(5);
    // a full tile and a partial one, each with several groups of columns
    let args = [numbers(Ty::F32, &[1, 2300], &mut rng), numbers(Ty::F32, &[2300, 1], &mut rng)];
    let mutants = mutants::of(&c.kernels[0].gpu_variants()[0].kernel);
    assert_eq!(mutants.len(), 4, "around the staging of full and of partial tiles");
    for (what, kernel) in mutants {
        c.kernels[0].gpu.as_mut().expect("code for GPUs").variants[0].kernel = kernel;
        let how = How { layout: Layout::Contiguous, version: Some(0), span: 1, order: Order::Random(1) };
        match call(&c, 0, &args, how) {
            Err(Failure::Fault(f)) if f.kind == FaultKind::Race => {}
            Err(e) => panic!("{what}: {e}"),
            Ok(called) => panic!("{what}: {called:?}"),
        }
    }
}
