//! Matrix products on a simulated GPU, at the edges of tiles, of steps and of panels, alone and in batches: all bits
//! are the interpreter's by every variant.

use arraygpu_compiler::core::interp::Value;
use arraygpu_compiler::driver::Compiled;
use arraygpu_compiler::kernel::interp::{FaultKind, Order};
use arraygpu_compiler::scalar::Ty;
use arraygpu_suite::gpu::{Failure, How, Layout, Runs, call};
use arraygpu_suite::mutants;
use arraygpu_suite::reference;
use arraygpu_suite::rng::Rng;
use arraygpu_suite::typed::{compiled, numbers};

const PRODUCT: &str = "func @f(%a: [[T]], %b: [[T]]) -> (r: [[T]]) {
  %m = len %a
  %n = len %b axis 1
  %0 = len %a axis 1
  %1 = len %b
  require same %0, %1 \"product\"
  %r = generate %m, %n (%i: i64, %j: i64) {
    %p = pick %a at %i
    %q = pick %b axis 1 at %j
    %s = panel_dot from 0T over %p, %q
    yield %s
  }
  return %r
}";

/// A vector, with a value of its own behind each result.
const VECTOR: &str = "func @f(%a: [[T]], %x: [T]) -> (r: [T]) {
  %m = len %a
  %0 = len %a axis 1
  %1 = len %x
  require same %0, %1 \"product\"
  %r = generate %m (%i: i64) {
    %p = pick %a at %i
    %s = panel_dot from 1T over %p, %x
    %y = elem %a, %i, 0i64
    %z = mul %s, %y
    yield %z
  }
  return %r
}";

/// A batch: each plane has a factor of its own, and the second operand is transposed.
const BATCH: &str = "func @f(%a: [[[T]]], %b: [[[T]]], %u: [T]) -> (r: [[[T]]]) {
  %p = len %a
  %m = len %a axis 1
  %n = len %b axis 1
  %0 = len %a axis 2
  %1 = len %b axis 2
  %2 = len %b
  %3 = len %u
  require same %0, %1 \"product\"
  require same %p, %2 \"batch\"
  require same %p, %3 \"batch\"
  %r = generate %p, %m, %n (%q: i64, %i: i64, %j: i64) {
    %c = pick %a at %q
    %d = pick %b at %q
    %row = pick %c at %i
    %column = pick %d at %j
    %s = panel_dot from 0T over %row, %column
    %v = elem %u, %q
    %w = mul_add %s, %v, %v
    yield %w
  }
  return %r
}";

fn check(c: &Compiled, args: &[Value], is_long: bool, what: &str) -> Vec<String> {
    let wanted =
        reference::run(&c.functions[0].fused, args).unwrap_or_else(|e| panic!("{what}: {e}")).results;
    let mut entries = Vec::new();
    let versions = c.kernels[0].gpu_variants().len();
    let layouts = [Layout::Contiguous, Layout::Strided, Layout::Offset];
    // largest tiles take the simulator long, whatever the extents are
    let takes_long =
        |version: usize| is_long && c.kernels[0].gpu_variants()[version].kernel.name.ends_with("_largest");
    let mut runs = Runs::default();
    for version in (0..versions).filter(|v| !takes_long(*v)).map(Some).chain([None]) {
        for layout in if is_long || version.is_some() { &layouts[..1] } else { &layouts[..] } {
            let how = How { layout: *layout, version, span: 1, order: Order::Random(7) };
            if !runs.is_new(c, 0, args, how) {
                continue;
            }
            let found = call(c, 0, args, how).unwrap_or_else(|e| panic!("{what}, {how:?}: {e}"));
            assert!(found.results == wanted, "{what}, {how:?}, {:?}", found.entries);
            entries.extend(found.entries);
        }
    }
    entries.sort();
    entries.dedup();
    entries
}

fn products_of(ty: Ty, shapes: &[[usize; 3]]) {
    let (c, mut rng) = (compiled(PRODUCT, ty), Rng::new(1));
    for [m, k, n] in shapes.iter().copied() {
        let args = [numbers(ty, &[m, k], &mut rng), numbers(ty, &[k, n], &mut rng)];
        check(&c, &args, k > 300, &format!("{m} by {k} by {n} of {ty}"));
    }
}

#[test]
fn products_of_f32() {
    products_of(
        Ty::F32,
        &[[1, 0, 1], [1, 1, 1], [0, 4, 5], [65, 16, 33], [64, 33, 64], [64, 32, 128], [68, 100, 132]],
    );
}

/// Several panels.
#[test]
fn long_products_of_f32() {
    products_of(Ty::F32, &[[4, 513, 68], [36, 600, 4], [3, 1100, 257]]);
}

/// The code differs from that of f32 in its types, and in the tiles of f64.
#[test]
fn products_of_other_types() {
    products_of(Ty::F64, &[[1, 0, 1], [65, 16, 33], [64, 33, 64], [4, 513, 68]]);
    products_of(Ty::I32, &[[0, 4, 5], [65, 16, 33], [64, 32, 64]]);
}

#[test]
fn vectors() {
    let mut rng = Rng::new(2);
    for ty in [Ty::F32, Ty::F64, Ty::I16] {
        let c = compiled(VECTOR, ty);
        for [m, k] in [[1, 1], [32, 64], [33, 68], [70, 200], [5, 256], [64, 320], [40, 1029], [32, 2048]] {
            let args = [numbers(ty, &[m, k], &mut rng), numbers(ty, &[k], &mut rng)];
            let entries = check(&c, &args, k > 300, &format!("{m} by {k} of {ty}"));
            let tiled = entries.iter().any(|e| e.contains("_column"));
            assert!(k < 64 || k % 4 > 0 || ty == Ty::I16 || tiled, "{m} by {k} of {ty}: {entries:?}");
            // rows of whole steps of 512 bytes
            let deep = entries.iter().any(|e| e.contains("_column_deep"));
            let of_512 = k > 1 && k * ty.size() % 512 == 0 && ty != Ty::I16;
            assert_eq!(deep, of_512, "{m} by {k} of {ty}: {entries:?}");
        }
    }
}

#[test]
fn batches() {
    let mut rng = Rng::new(3);
    for ty in [Ty::F32, Ty::F64] {
        let c = compiled(BATCH, ty);
        let shapes =
            [[0, 3, 3, 3], [1, 1, 0, 1], [3, 1, 1, 1], [2, 65, 17, 66], [3, 64, 64, 64], [5, 3, 40, 130]];
        for [p, m, k, n] in shapes.into_iter().chain([[2, 4, 513, 4]]) {
            let args = [&[p, m, k][..], &[p, n, k], &[p]].map(|e| numbers(ty, e, &mut rng));
            check(&c, &args, k > 300, &format!("{p} of {m} by {k} by {n} of {ty}"));
        }
    }
    // tiles, not a loop in each thread
    let c = compiled(BATCH, Ty::F32);
    assert!(c.kernels[0].gpu_variants().iter().any(|v| v.kernel.name.ends_with("_large")));
}

/// Without one of its barriers or waits for copies a product is a race, or reads what is not there yet.
#[test]
fn barriers() {
    for (name, k) in [("_column", 328), ("_column_deep", 384)] {
        barriers_of(name, k);
    }
}

fn barriers_of(name: &str, k: usize) {
    let mut rng = Rng::new(4);
    let args = [numbers(Ty::F32, &[64, k], &mut rng), numbers(Ty::F32, &[k], &mut rng)];
    let mut c = compiled(VECTOR, Ty::F32);
    let variants = c.kernels[0].gpu_variants();
    let at = variants.iter().position(|v| v.kernel.name.ends_with(name)).expect("a skinny tile");
    let mutants = mutants::of(&variants[at].kernel);
    let (mut found, mut seen) = (0, Vec::new());
    for (what, kernel) in mutants {
        c.kernels[0].gpu.as_mut().expect("code for GPUs").variants[at].kernel = kernel;
        let how = How { layout: Layout::Contiguous, version: Some(at), span: 1, order: Order::Random(1) };
        match call(&c, 0, &args, how) {
            Err(Failure::Fault(f)) if matches!(f.kind, FaultKind::Race | FaultKind::Unwritten) => found += 1,
            Err(e) => panic!("{what}: {e}"),
            // a warp is a block here, and the paths of tiles at the edge are not taken
            Ok(called) => seen.push((what, called.entries)),
        }
    }
    assert!(found >= 1, "the wait for copies at least: {seen:?}");
}
