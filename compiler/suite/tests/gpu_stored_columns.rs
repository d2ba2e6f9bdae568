//! Matrices that are stored where their columns are reduced, on a simulated GPU: all bits are the
//! interpreter's, for every variant, span and layout.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::kernel::interp::Order;
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_suite::gpu::{How, Layout, Runs, call};
use arraygpu_suite::reference;
use arraygpu_suite::rng::Rng;
use arraygpu_suite::row_chains;
use arraygpu_suite::row_chains::Of;
use arraygpu_suite::today;
use arraygpu_suite::typed::{compiled, numbers};

/// A rank-two update, and products from both sides.
const UPDATED: &str = "func @f(%a: [[T]], %u: [T], %v: [T], %y: [T], %z: [T]) -> (b: [[T]], x: [T], w: [T]) {
  %m = len %a
  %n = len %a axis 1
  %0 = len %u
  require same %m, %0 \"rows: a, u\"
  %1 = len %v
  require same %n, %1 \"columns: a, v\"
  %2 = len %y
  require same %m, %2 \"rows: a, y\"
  %3 = len %z
  require same %n, %3 \"columns: a, z\"
  %b = generate %m, %n (%i: i64, %j: i64) {
    %e = elem %a, %i, %j
    %p = elem %u, %i
    %q = elem %v, %j
    %r = elem %y, %i
    %s = elem %z, %j
    %pq = mul %p, %q
    %rs = mul %r, %s
    %t = add %e, %pq
    %f = add %t, %rs
    yield %f
  }
  %x = generate %n (%j: i64) {
    %c = generate %m (%i: i64) { %e = elem %b, %i, %j yield %e }
    %d = dot from 0T over %c, %y
    %f = elem %z, %j
    %g = add %d, %f
    yield %g
  }
  %w = generate %m (%i: i64) {
    %row = pick %b at %i
    %d = dot from 0T over %row, %x
    yield %d
  }
  return RESULTS
}";

/// Two matrices, of which one is stored in a narrow type, and three reductions of columns.
const SEVERAL: &str = "func @f(%a: [[T]], %w: [T]) -> (b: [[T]], c: [[u8]], s: [T], top: [T], t: [T]) {
  %m = len %a
  %n = len %a axis 1
  %0 = len %w
  require same %m, %0 \"rows: a, w\"
  %b = generate %m, %n (%i: i64, %j: i64) {
    %x = elem %a, %i, %j
    %y = elem %w, %i
    %z = mul %x, %y
    yield %z
  }
  %c = generate %m, %n (%i: i64, %j: i64) {
    %x = elem %b, %i, %j
    %y = elem %a, %i, %j
    %p = gt %x, %y
    %z = cast u8 %p
    yield %z
  }
  %s = generate %n (%j: i64) {
    %c = generate %m (%i: i64) { %e = elem %a, %i, %j yield %e }
    %d = reduce (%x: T, %y: T) from 9T over %c { %z = add %x, %y yield %z }
    yield %d
  }
  %top = generate %n (%j: i64) {
    %c = generate %m (%i: i64) { %e = elem %b, %i, %j yield %e }
    %d = reduce (%x: T, %y: T) from LEAST over %c { %z = max %x, %y yield %z }
    yield %d
  }
  %t = generate %n (%j: i64) {
    %c = generate %m (%i: i64) { %e = elem %b, %i, %j yield %e }
    %k = generate %m (%i: i64) { %e = elem %a, %i, %j yield %e }
    %d = dot from 1T over %c, %k
    yield %d
  }
  return %b, %c, %s, %top, %t
}";

const SHAPES: [(usize, usize); 12] = [
    (0, 5),
    (1, 1),
    (3, 0),
    (2, 131),
    (128, 4),
    (129, 4),
    (130, 132),
    (700, 3),
    (1100, 8),
    (2047, 2),
    (2049, 36),
    (4100, 3),
];

/// Calls the function by every variant that fits, in several layouts. Returns the entries that stored
/// columns.
fn check(c: &Compiled, args: &[Value], is_long: bool, what: &str) -> Vec<String> {
    let wanted =
        reference::run(&c.functions[0].fused, args).unwrap_or_else(|e| panic!("{what}: {e}")).results;
    let variants = c.kernels[0].gpu_variants().len();
    let (mut kept, mut runs) = (Vec::new(), Runs::default());
    for version in (0..variants).map(Some).chain([None]) {
        for (layout, span) in Layout::ALL.into_iter().zip([1, 16, 4, 2, 1, 8, 1]) {
            let is_usual = [Layout::Contiguous, Layout::InPlace, Layout::Strided].contains(&layout);
            if !is_usual && (is_long || version.is_some()) {
                continue;
            }
            let how = How { layout, version, span, order: Order::Random(7) };
            if !runs.is_new(c, 0, args, how) {
                continue;
            }
            let found = call(c, 0, args, how).unwrap_or_else(|e| panic!("{what}, {how:?}: {e}"));
            assert!(found.results == wanted, "{what}, {how:?}, {:?}", found.entries);
            kept.extend(found.entries.into_iter().filter(|e| e.contains("_columns")));
        }
    }
    kept.sort();
    kept.dedup();
    kept
}

/// What is stored is a result or not, and read again or not.
#[test]
fn a_rank_two_update() {
    let mut rng = Rng::new(1);
    for (head, results) in [
        ("b: [[T]], x: [T], w: [T]", "%b, %x, %w"),
        ("b: [[T]], x: [T]", "%b, %x"),
        ("b: [[T]], w: [T]", "%b, %w"),
    ] {
        let text = UPDATED.replace("b: [[T]], x: [T], w: [T]", head).replace("RESULTS", results);
        let c = compiled(&text, Ty::F32);
        assert!(c.functions[0].plan.may_be_in_place(0, 0), "{results}");
        let mut kept = Vec::new();
        for (m, n) in SHAPES {
            // what is stored takes no part in how a large matrix is divided
            if m * n > 20_000 && results != "%b, %x, %w" {
                continue;
            }
            let args = [&[m, n][..], &[m], &[n], &[m], &[n]].map(|e| numbers(Ty::F32, e, &mut rng));
            kept.extend(check(&c, &args, m * n > 4000, &format!("{results}: {m} by {n}")));
        }
        kept.sort();
        kept.dedup();
        let all = ["", "_any", "_in_place", "_short", "_short_in_place", "_wide"]
            .map(|s| format!("f_0_columns{s}"));
        assert_eq!(kept, all, "{results}");
    }
}

#[test]
fn several_matrices_and_types() {
    let mut rng = Rng::new(2);
    for ty in [Ty::F32, Ty::F64, Ty::I32, Ty::U8, Ty::I16] {
        let c = compiled(SEVERAL, ty);
        assert!(c.functions[0].plan.may_be_in_place(0, 0), "columns are reduced before a matrix is replaced");
        for (m, n) in SHAPES {
            if m * n > 20_000 && ty != Ty::F32 {
                continue;
            }
            let args = [numbers(ty, &[m, n], &mut rng), numbers(ty, &[m], &mut rng)];
            let kept = check(&c, &args, m * n > 4000, &format!("{m} by {n} of {ty}"));
            assert!(n == 0 || !kept.is_empty(), "{m} by {n} of {ty}: {kept:?}");
        }
    }
}

#[test]
fn random_chains() {
    let mut kept = 0;
    for seed in today::seeds(21) {
        let mut rng = Rng::new(seed);
        let text = row_chains::program(&mut rng, Of::Columns);
        let ty = rng.pick(&[Ty::F32, Ty::F64, Ty::I32, Ty::U8]);
        let mut c = compiled(&text, ty);
        // columns that are kept store them as well (`gpu_resident_columns.rs`)
        let strips = c.kernels.iter_mut().filter(|k| k.name.ends_with("_strips"));
        strips.for_each(|k| k.gpu.as_mut().expect("code for GPUs").variants.clear());
        for m in [0, 1, 5, 130, 400] {
            let n = 1 + rng.below(9);
            let args = [numbers(ty, &[m, n], &mut rng), numbers(ty, &[m], &mut rng)];
            let what = format!("seed {seed}, {m} by {n} of {ty}\n{text}");
            let wanted = reference::run(&c.functions[0].fused, &args).unwrap().results;
            for layout in [Layout::Contiguous, Layout::InPlace, Layout::Strided] {
                for version in [Some(0), Some(1), Some(2), None] {
                    let how = How { layout, version, span: 2, order: Order::Random(seed) };
                    let found = call(&c, 0, &args, how).unwrap_or_else(|e| panic!("{what}, {how:?}: {e}"));
                    assert!(found.results == wanted, "{what}, {how:?}, {:?}", found.entries);
                    kept += usize::from(found.entries.iter().any(|e| e.contains("_columns")));
                }
            }
        }
    }
    assert!(kept > 20, "{kept}");
}

/// Special numbers are what the formula makes of them.
#[test]
fn special_numbers() {
    let c = compiled(&UPDATED.replace("RESULTS", "%b, %x, %w"), Ty::F32);
    let special = [f32::NAN, 1.0, -0.0, f32::INFINITY, f32::MAX, 1e-45, f32::NEG_INFINITY];
    let list = |n: usize| (0..n).map(|i| Lit::f32(special[i * i % 7])).collect::<Vec<_>>();
    let vector = |n: usize| Value::Vector(list(n));
    let args = [Value::Array(vec![140, 4], list(560)), vector(140), vector(4), vector(140), vector(4)];
    assert!(!check(&c, &args, false, "special numbers").is_empty());
}
