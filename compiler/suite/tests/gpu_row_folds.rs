//! Elements that each fold a row of their own on a simulated GPU: all bits are the interpreter's, in every version
//! and layout, with rows and columns at the edges of blocks and chunks.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_suite::mutants;
use arraygpu_suite::rng::Rng;
use arraygpu_suite::versions::{check, compiled, numbers};

/// A fold of tuples whose elements, steps and initial values know the row, and what follows from it.
const TUPLES: &str = "func @f(%x: [[T]], %w: [T], %c: [T]) -> (r: [T], s: [T]) {
  %m = len %x
  %n = len %x axis 1
  %0 = len %w
  %1 = len %c
  require same %m, %0 \"weights\"
  require same %n, %1 \"columns\"
  %r = generate %m (%i: i64) {
    %w0 = elem %w, %i
    %row = generate %n (%k: i64) {
      %v = elem %x, %i, %k
      %u = elem %c, %k
      %t = mul %v, %w0
      %both = tuple %t, %u
      yield %both
    }
    %start = tuple %w0, 1T
    %f = fold 0 (%a: T, %s: T, %v: T, %u: T) from %start over %row {
      %b = mul_add %a, 3T, %v
      %t = add %s, %b
      %t1 = mul_add %u, %w0, %t
      %next = tuple %b, %t1
      yield %next
    }
    %g = fold 1 (%a: T, %s: T, %v: T, %u: T) from %start over %row {
      %b = mul_add %a, 3T, %v
      %t = add %s, %b
      %t1 = mul_add %u, %w0, %t
      %next = tuple %b, %t1
      yield %next
    }
    %sum = add %f, %g
    %all = mul %sum, %w0
    yield %all
  }
  %s = generate %m (%i: i64) {
    %v = elem %w, %i
    %t = add %v, 1T
    yield %t
  }
  return %r, %s
}";

const ONE: &str = "func @f(%x: [[T]]) -> (r: [T]) {
  %m = len %x
  %n = len %x axis 1
  %r = generate %m (%i: i64) {
    %row = generate %n (%k: i64) {
      %v = elem %x, %i, %k
      yield %v
    }
    %f = fold (%a: T, %v: T) from 1T over %row {
      %b = mul_add %a, 3T, %v
      yield %b
    }
    yield %f
  }
  return %r
}";

fn vector(ty: Ty, n: usize, rng: &mut Rng) -> Value {
    let Value::Array(_, all) = numbers(ty, 1, n, rng) else { unreachable!("a matrix") };
    Value::Vector(all)
}

#[test]
fn rows_and_columns_at_every_edge() {
    let mut rng = Rng::new(3);
    let mut ran = Vec::new();
    for ty in [Ty::F32, Ty::F64, Ty::I64, Ty::U8] {
        for (rows, columns) in [(0, 80), (5, 0), (1, 1), (3, 63), (33, 64), (32, 65), (31, 128), (70, 131)] {
            let what = format!("{ty}, {rows} x {columns}");
            let x = numbers(ty, rows, columns, &mut rng);
            let tuples = compiled(&TUPLES.replace('T', &ty.to_string()), None);
            let args = [x.clone(), vector(ty, rows, &mut rng), vector(ty, columns, &mut rng)];
            ran.extend(check(&tuples, &args, &what));
            ran.extend(check(&compiled(&ONE.replace('T', &ty.to_string()), None), &[x], &what));
        }
    }
    assert!(ran.iter().filter(|entry| entry.ends_with("_folds")).count() > 40, "{ran:?}");
}

/// Rows that are read backwards or by columns have no chunks.
#[test]
fn other_directions_have_loops() {
    let mut rng = Rng::new(3);
    let one = ONE.replace('T', "f32");
    let backwards =
        one.replace("%v = elem %x, %i, %k", "%e = sub %n, %k %l = sub %e, 1i64 %v = elem %x, %i, %l");
    let down = one
        .replace("%m = len %x\n", "%m = len %x axis 1\n")
        .replace("%n = len %x axis 1", "%n = len %x")
        .replace("elem %x, %i, %k", "elem %x, %k, %i");
    for text in [backwards, down] {
        let ran = check(&compiled(&text, None), &[numbers(Ty::F32, 70, 90, &mut rng)], &text);
        assert!(!ran.is_empty() && !ran.iter().any(|entry| entry.ends_with("_folds")), "{ran:?}");
    }
}

/// Without the barrier between the warps that compute a chunk and the one that folds it there is a race.
#[test]
fn chunks_need_their_barrier() {
    let mut compiled = compiled(&ONE.replace('T', "f32"), None);
    let args = [Value::Array(vec![33, 130], (0..33 * 130).map(|i| Lit::f32((i % 7) as f32)).collect())];
    let first = compiled.kernels[0].gpu_variants()[0].kernel.clone();
    let mutants = mutants::of(&first);
    assert_eq!(mutants.len(), 1);
    for (what, kernel) in mutants {
        compiled.kernels[0].gpu.as_mut().expect("code for GPUs").variants[0].kernel = kernel;
        assert_eq!(mutants::races(&compiled, &args, 0, &what), [true; 3], "{what}");
    }
}
