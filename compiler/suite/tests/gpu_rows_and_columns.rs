//! Rows that are reduced, and then their columns, on a simulated GPU: all bits are the interpreter's, at the edges
//! of lanes, tiles and blocks.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::kernel::interp::Order;
use arraygpu_compiler::scalar::{Lit, Ty};
use arraygpu_suite::gpu::{How, Layout, call};
use arraygpu_suite::reference;
use arraygpu_suite::rng::Rng;
use arraygpu_suite::row_chains;
use arraygpu_suite::row_chains::Of;
use arraygpu_suite::today;
use arraygpu_suite::typed::{compiled, numbers};

/// The product with a transposed matrix of a product.
const ATAX: &str = "func @f(%a: [[T]], %x: [T]) -> (y: [T]) {
  %m = len %a
  %n = len %a axis 1
  %0 = len %x
  require same %n, %0 \"columns: a, x\"
  %t = generate %m (%i: i64) {
    %row = pick %a at %i
    %d = dot from 0T over %row, %x
    yield %d
  }
  %y = generate %n (%j: i64) {
    %c = pick %a axis 1 at %j
    %d = dot from 1T over %c, %t
    yield %d
  }
  return %y
}";

/// Rows without their means: the greatest of each column, and the sums of others with weights of rows and
/// columns. The means are a result as well.
const CENTRED: &str = "func @f(%a: [[T]], %u: [T], %v: [T]) -> (t: [T], top: [T]) {
  %m = len %a
  %n = len %a axis 1
  %0 = len %v
  require same %n, %0 \"columns: a, v\"
  %1 = len %u
  require same %m, %1 \"rows: a, u\"
  %t = generate %m (%i: i64) {
    %row = pick %a at %i
    %p = elem %u, %i
    %d = reduce (%x: T, %y: T) from %p over %row { %z = add %x, %y yield %z }
    yield %d
  }
  %s = generate %m (%i: i64) {
    %e = elem %u, %i
    %row = generate %n (%j: i64) { %x = elem %a, %i, %j %y = sub %x, %e yield %y }
    %d = dot from 9T over %row, %row
    yield %d
  }
  %top = generate %n (%j: i64) {
    %w = elem %v, %j
    %c = generate %m (%i: i64) {
      %x = elem %a, %i, %j
      %e = elem %t, %i
      %f = elem %s, %i
      %y = sub %x, %e
      %g = mul %y, %w
      %z = add %g, %f
      yield %z
    }
    %d = reduce (%x: T, %y: T) from LEAST over %c { %z = max %x, %y yield %z }
    %h = add %d, %w
    yield %h
  }
  return %t, %top
}";

/// Two vectors along the rows, and a row of another matrix.
const VECTORS: &str = "func @f(%a: [[T]], %b: [[T]], %u: [T], %v: [T]) -> (y: [T]) {
  %m = len %a
  %n = len %a axis 1
  %0 = len %u
  require same %n, %0 \"columns: a, u\"
  %1 = len %v
  require same %n, %1 \"columns: a, v\"
  %2 = len %b axis 1
  require same %n, %2 \"columns: a, b\"
  %t = generate %m (%i: i64) {
    %row = generate %n (%j: i64) { %x = elem %a, %i, %j %y = elem %b, 0i64, %j %z = add %x, %y yield %z }
    %d = dot from 0T over %row, %u
    yield %d
  }
  %y = generate %n (%j: i64) {
    %w = elem %v, %j
    %c = generate %m (%i: i64) {
      %x = elem %a, %i, %j
      %e = elem %t, %i
      %y = sub %x, %e
      %z = mul %y, %w
      yield %z
    }
    %d = reduce (%x: T, %y: T) from 1T over %c { %z = add %x, %y yield %z }
    yield %d
  }
  return %y
}";

/// Calls the function by every variant that fits. Returns the entries that went over rows and columns.
fn check(c: &Compiled, args: &[Value], is_long: bool, what: &str) -> Vec<String> {
    let wanted =
        reference::run(&c.functions[0].fused, args).unwrap_or_else(|e| panic!("{what}: {e}")).results;
    let variants = c.kernels[0].gpu_variants().len();
    let mut kept = Vec::new();
    let n = if let Value::Array(extents, _) = &args[0] { extents[1] as u32 } else { 0 };
    let serves = |at: &usize| {
        let launch = &c.kernels[0].gpu_variants()[*at].launch;
        !is_long || launch.is_first() && launch.guards.longest.is_some_and(|l| l >= n && l < 4 * n.max(64))
    };
    let versions = (0..variants).filter(serves).map(Some).chain([None]);
    let layouts = [Layout::Contiguous, Layout::Padded].into_iter().take(if is_long { 1 } else { 2 });
    for (version, layout) in versions.flat_map(|v| layouts.clone().map(move |l| (v, l))) {
        let how = How { layout, version, span: 1, order: Order::Random(7) };
        let found = call(c, 0, args, how).unwrap_or_else(|e| panic!("{what}, {how:?}: {e}"));
        assert!(found.results == wanted, "{what}, {how:?}, {:?}", found.entries);
        kept.extend(found.entries.into_iter().filter(|e| e.contains("_both")));
    }
    let others = [Layout::Strided, Layout::Offset, Layout::Reversed];
    for layout in others.into_iter().take(if is_long { 0 } else { 3 }) {
        let how = How { layout, version: None, span: 1, order: Order::Random(7) };
        let found = call(c, 0, args, how).unwrap_or_else(|e| panic!("{what}, {how:?}: {e}"));
        assert!(found.results == wanted, "{what}, {how:?}, {:?}", found.entries);
    }
    kept.sort();
    kept.dedup();
    kept
}

#[test]
fn products() {
    let mut rng = Rng::new(1);
    let c = compiled(ATAX, Ty::F32);
    let mut kept = Vec::new();
    for (m, n) in [
        (0, 4),
        (3, 0),
        (1, 1),
        (2, 4),
        (127, 8),
        (128, 68),
        (129, 256),
        (130, 260),
        (20, 512),
        (2049, 8),
        (2100, 4),
        (20, 1024),
        (9, 1028),
        (35, 2048),
        (3, 2052),
        (18, 4096),
        (3, 8192),
        (1, 8196),
        (2, 1023),
    ] {
        let args = [&[m, n][..], &[n]].map(|e| numbers(Ty::F32, e, &mut rng));
        kept.extend(check(&c, &args, m * n > 5000, &format!("{m} by {n}")));
    }
    kept.sort();
    kept.dedup();
    let mut all: Vec<String> = [256, 512, 1024, 2048, 4096, 8192]
        .iter()
        .flat_map(|n| [format!("f_0_both_{n}"), format!("f_0_both_{n}_join")])
        .collect();
    all.sort();
    assert_eq!(kept, all);
}

/// The tiles of a column are more than one tile of the next level has columns.
#[test]
fn many_tiles() {
    let mut rng = Rng::new(2);
    let c = compiled(ATAX, Ty::F32);
    let args = [&[262_150, 4][..], &[4]].map(|e| numbers(Ty::F32, e, &mut rng));
    let wanted = reference::run(&c.functions[0].fused, &args).unwrap().results;
    // the runtime takes longer rows only
    let how = How { layout: Layout::Contiguous, version: Some(0), span: 1, order: Order::Random(7) };
    let found = call(&c, 0, &args, how).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(found.entries, ["f_0_both_256", "f_0_both_256_join"]);
    assert!(found.results == wanted);
}

#[test]
fn other_types_and_reductions() {
    let mut rng = Rng::new(3);
    for ty in [Ty::F32, Ty::F64, Ty::I32, Ty::U8] {
        let c = compiled(CENTRED, ty);
        for (m, n) in [(0, 16), (3, 0), (1, 16), (130, 16), (19, 272), (9, 1040), (2060, 4)] {
            let args = [&[m, n][..], &[m], &[n]].map(|e| numbers(ty, e, &mut rng));
            let kept = check(&c, &args, m * n > 5000, &format!("{m} by {n} of {ty}"));
            assert!(n != 272 || !kept.is_empty(), "{m} by {n} of {ty}");
        }
    }
}

#[test]
fn random_programs() {
    let mut kept = 0;
    for seed in today::seeds(24) {
        let mut rng = Rng::new(seed);
        let text = row_chains::program(&mut rng, Of::Both);
        let ty = rng.pick(&[Ty::F32, Ty::F64, Ty::I32, Ty::U8]);
        let c = compiled(&text, ty);
        for n in [0, 5, 16, 272] {
            let m = rng.pick(&[0, 1, 9, 140]);
            let args = [numbers(ty, &[m, n], &mut rng), numbers(ty, &[n], &mut rng)];
            let what = format!("{m} by {n} of {ty}, seed {seed}\n{text}");
            kept += check(&c, &args, m * n > 3000, &what).len();
        }
    }
    assert!(kept > 12, "{kept}");
}

/// Special numbers are what the formula makes of them.
#[test]
fn special_numbers() {
    let c = compiled(ATAX, Ty::F32);
    let special = [f32::NAN, 1.0, -0.0, f32::INFINITY, f32::MAX, 1e-45, 0.0];
    let list = |n: usize| (0..n).map(|i| Lit::f32(special[i * i % 7])).collect::<Vec<_>>();
    let args = [Value::Array(vec![140, 4], list(560)), Value::Vector(list(4))];
    assert!(!check(&c, &args, false, "special numbers").is_empty());
    let zeros = |n: usize| vec![Lit::f32(-0.0); n];
    let args = [Value::Array(vec![140, 4], zeros(560)), Value::Vector(zeros(4))];
    assert!(!check(&c, &args, false, "zeros").is_empty());
}

/// Counts the loads of an array before the loop over rows, and in it.
fn loads(c: &Compiled, entry: &str, array: &str) -> [usize; 2] {
    let code = c.kernels[0].gpu_variants().iter().find(|code| code.launch.entry == entry).expect(entry);
    let text = code.kernel.to_string();
    let (before, inside) = text.rsplit_once(" seq %").expect("a loop over rows");
    [before, inside].map(|part| part.matches(&format!("= {array}[")).count())
}

/// What all rows have in common is loaded once, where registers suffice for it, and all bits are the same.
#[test]
fn vectors_in_registers() {
    let atax = compiled(ATAX, Ty::F32);
    for (longest, wanted) in [(256, [0, 8]), (512, [4, 0]), (1024, [8, 0]), (2048, [16, 0]), (8192, [16, 0])]
    {
        assert_eq!(loads(&atax, &format!("f_0_both_{longest}"), "a_x"), wanted, "{longest}");
    }
    let mut rng = Rng::new(4);
    for (ty, of_all, of_each) in [(Ty::F32, "512", "1024"), (Ty::I32, "512", "2048")] {
        let c = compiled(VECTORS, ty);
        for array in ["a_b", "a_u", "a_v"] {
            let [before, inside] = loads(&c, &format!("f_0_both_{of_all}"), array);
            assert!(before == 4 && inside == 0, "{array}: {before}, {inside}");
            let [before, inside] = loads(&c, &format!("f_0_both_{of_each}"), array);
            assert!(before == 0 && inside > 0, "{array}: {before}, {inside}");
        }
        for (m, n) in [(0, 512), (1, 300), (35, 512), (130, 260), (9, 1024)] {
            let args = [&[m, n][..], &[1, n], &[n], &[n]].map(|e| numbers(ty, e, &mut rng));
            let kept = check(&c, &args, m * n > 5000, &format!("{m} by {n} of {ty}"));
            assert!(
                m == 0 || n > 512 || kept.iter().any(|e| e == "f_0_both_512"),
                "{m} by {n} of {ty}: {kept:?}"
            );
        }
    }
}
