//! The memory that a launch's kernels share is exactly what they use: with one element or one counter less, the
//! simulator reports an access out of bounds. The sizes are those of the runtime (`plan::policy`).

use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::core::{Function, parse};
use arraygpu_compiler::driver::{self, Compiled, Targets};
use arraygpu_compiler::kernel::interp::{FaultKind, Order};
use arraygpu_compiler::plan::gpu::{GpuVariant, Grid};
use arraygpu_suite::arguments::arguments;
use arraygpu_suite::gpu::{self, Failure, How, Layout, Missing};
use arraygpu_suite::rng::Rng;

/// What a call must do with that much less: fail where `is_needed`, else give the same results.
fn check(
    compiled: &Compiled,
    args: &[Value],
    how: How,
    expected: &[Value],
    missing: Missing,
    is_needed: bool,
) {
    let called = gpu::call_without(compiled, 0, args, how, missing);
    let case = format!("@{}, {how:?}, {missing:?}", compiled.functions[0].source.name);
    match called {
        Err(Failure::Fault(f)) if f.kind == FaultKind::OutOfBounds && is_needed => {}
        Ok(called) if !is_needed => assert_eq!(called.results, expected, "{case}"),
        Ok(called) => panic!("{case}: not noticed by {:?}", called.entries),
        Err(e) => panic!("{case}: {e}"),
    }
}

/// Every version with scratch, with each span.
fn exact(f: &Function, args: &[Value], is_wanted: impl Fn(&GpuVariant) -> bool) -> Vec<String> {
    let compiled = driver::compile_for("t", vec![f.clone()], Targets { cpu: false, cuda: true }).unwrap();
    let expected = interp::run(f, args).unwrap().results;
    let mut entries = Vec::new();
    let variants = compiled.kernels[0].gpu_variants().iter().map(|code| &code.launch);
    for (version, v) in variants.enumerate().filter(|(_, v)| is_wanted(v)) {
        let layout = if v.guards.contiguous { Layout::Padded } else { Layout::Strided };
        for span in [1, 2, 16] {
            let how = How { layout, version: Some(version), span, order: Order::Random(u64::from(span)) };
            let called = gpu::call(&compiled, 0, args, how).unwrap_or_else(|e| panic!("{how:?}: {e}"));
            if !called.entries.contains(&v.entry) {
                continue; // it does not fit
            }
            // who adds panels counts no arrivals
            let counts = !matches!(v.grid, Grid::Panels { .. });
            let missing = |scratch, counters| Missing { scratch, counters };
            check(&compiled, args, how, &expected, missing(0, 0), false);
            check(&compiled, args, how, &expected, missing(1, 0), true);
            check(&compiled, args, how, &expected, missing(0, 1), counts);
            entries.extend(called.entries);
        }
    }
    entries
}

#[test]
fn one_element_less_is_noticed() {
    let mut rng = Rng::new(5);
    let programs = parse::parse(include_str!("../../../tests/nested/programs.core")).unwrap();
    let of = |name: &str| programs.iter().find(|f| f.name == name).unwrap();
    let sum = "func @sum(%a: [f32]) -> (sum: f32) {
  %0 = reduce (%x: f32, %y: f32) from 0f32 over %a { %z = add %x, %y yield %z }
  return %0
}";
    let sum = &parse::parse(sum).unwrap()[0];
    let args = arguments(sum, 3 * 2048 + 1, 0, &mut rng);
    let tiles = exact(sum, &args, |v| matches!(v.grid, Grid::Tiles { .. }));
    assert!(!tiles.is_empty(), "tiles");

    let args = arguments(of("row_sums"), 2, 9 * 2048 + 1, &mut rng);
    let chunks = exact(of("row_sums"), &args, |v| matches!(v.grid, Grid::SegmentTiles { .. }));
    assert!(!chunks.is_empty(), "chunks");

    let args = arguments(of("col_sums"), 2 * 2048 + 1, 5, &mut rng);
    let strips = exact(of("col_sums"), &args, |v| matches!(v.grid, Grid::Strips { .. }));
    assert!(!strips.is_empty(), "strips");

    let programs = parse::parse(include_str!("../../../tests/nested/products.core")).unwrap();
    let product = programs.iter().find(|f| f.name == "product").unwrap();
    let elements =
        |n: i64, rng: &mut Rng| (0..n).map(|_| super::value(product.params[0].ty.elem, rng)).collect();
    // whole blocks: of others the last element of scratch may be beyond the product
    let (m, n, k) = (64, 64, 1030);
    let a = Value::Array(vec![m, k], elements(m * k, &mut rng));
    let b = Value::Array(vec![k, n], elements(k * n, &mut rng));
    let panels = exact(product, &[a, b], |v| v.grid == Grid::Panels { rows: 64, columns: 64 });
    assert!(panels.iter().any(|entry| entry.ends_with("_sums")), "{panels:?}");
}
