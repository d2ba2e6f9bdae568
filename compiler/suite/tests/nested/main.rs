//! Nested operations: the interpreter's bits and records on a simulated GPU, in every layout and version, for lengths
//! around the borders of tiles.

mod scratch;

use arraygpu_compiler::core::interp::{self, Value};
use arraygpu_compiler::core::parse;
use arraygpu_compiler::driver::{self, Targets};
use arraygpu_compiler::explain::Format;
use arraygpu_compiler::kernel::interp::Order;
use arraygpu_compiler::plan::gpu::{Grid, Profit};
use arraygpu_compiler::scalar::Lit;
use arraygpu_suite::arguments::{arguments, value};
use arraygpu_suite::gpu::{How, Layout, Runs, call};
use arraygpu_suite::rng::Rng;

#[test]
fn bits_and_records() {
    let mut rng = Rng::new(7);
    let (mut recorded, mut entries) = (0, std::collections::BTreeSet::new());
    for f in parse::parse(include_str!("../../../tests/nested/programs.core")).unwrap() {
        let name = f.name.clone();
        let compiled = driver::compile_for("t", vec![f.clone()], Targets { cpu: false, cuda: true }).unwrap();
        for (rows, cols) in [
            (0, 3),
            (3, 0),
            (1, 1),
            (3, 5),
            (2, 127),
            (5, 129),
            (2, 300),
            (1, 2050),
            (130, 7),
            (1, 4500),
            (3, 100),
            (4, 60),
            (3, 32),
            (140, 8),
            (2100, 4),
            (6, 1100),
            (300, 20),
        ] {
            // all pairs of many take the simulation minutes
            let several_blocks = rows == 300 && ["order", "softmax"].contains(&f.name.as_str());
            if !f.name.ends_with("_sums") && rows > 130 && !several_blocks {
                continue;
            }
            let args = arguments(&f, rows, cols, &mut rng);
            let expected = interp::run(&f, &args).unwrap();
            recorded += usize::from(expected.recorded);
            let mut runs = Runs::default();
            for (which, layout) in Layout::ALL.into_iter().enumerate() {
                if rows * cols > 1500 && which > 2 {
                    continue;
                }
                // wide strips are for more columns than these
                let strips =
                    compiled.kernels[0].gpu_variants().iter().position(|c| c.kernel.name == "col_sums_0");
                for version in [None].into_iter().chain(strips.map(Some)) {
                    let (span, order) = (1 << (rows % 5), Order::Random(which as u64));
                    let how = How { layout, version, span, order };
                    if !runs.is_new(&compiled, 0, &args, how) {
                        continue;
                    }
                    let case = format!("@{name} of {rows} x {cols}, {layout:?}, version {version:?}");
                    let found = call(&compiled, 0, &args, how).unwrap_or_else(|e| panic!("{case}: {e}"));
                    entries.extend(found.entries);
                    assert_eq!(found.record.is_some(), expected.recorded, "{case}");
                    if !expected.recorded {
                        assert_eq!(found.results, expected.results, "{case}");
                    }
                }
            }
        }
    }
    assert!(recorded > 0, "some program leaves a record");
    for version in [
        "row_sums_0",
        "row_sums_0_8",
        "row_sums_0_16",
        "row_sums_0_short",
        "row_sums_0_warp",
        "row_sums_0_any",
        "row_sums_0_any_warp",
    ] {
        assert!(entries.contains(version), "{version} has run");
    }
    for version in ["col_sums_0", "col_sums_0_short", "col_sums_0_any"] {
        assert!(entries.contains(version), "{version} has run");
    }
}

fn shaped(p: &arraygpu_compiler::core::Param, extents: &[i64], rng: &mut Rng) -> Value {
    let count: i64 = extents.iter().product();
    let elements: Vec<Lit> = (0..count).map(|_| value(p.ty.elem, rng)).collect();
    if extents.len() == 1 { Value::Vector(elements) } else { Value::Array(extents.to_vec(), elements) }
}

#[test]
fn products() {
    let mut rng = Rng::new(11);
    let mut entries = std::collections::BTreeSet::new();
    for f in parse::parse(include_str!("../../../tests/nested/products.core")).unwrap() {
        let compiled = driver::compile_for("t", vec![f.clone()], Targets { cpu: false, cuda: true }).unwrap();
        assert!(
            compiled.kernels[0].gpu_variants().iter().all(|code| {
                let sums = code.kernel.name.ends_with("_sums");
                // a vector's other versions are loops; many results leave their sums in shared memory
                let many = code.kernel.name.ends_with("_largest")
                    || code.kernel.name.ends_with("_large") && f.name == "product";
                let vector = f.name.ends_with("_vector") && !code.kernel.name.contains("_column");
                // a long epilogue has results beside the two sides
                let row = f.name.starts_with("unlikely") && code.kernel.shared.len() == 3;
                code.kernel.shared.len() - usize::from(row)
                    == if sums {
                        1
                    } else if vector {
                        0
                    } else {
                        2 + usize::from(many && !row)
                    }
            }),
            "@{}: two sides",
            f.name
        );
        assert_eq!(compiled.functions[0].warnings, [""; 0]);
        for (m, n, k) in [
            (0, 3, 4),
            (3, 4, 0),
            (1, 1, 1),
            (3, 5, 7),
            (70, 65, 35),
            (128, 66, 24),
            (9, 66, 530),
            // few rows or columns
            (70, 1, 600),
            (3, 70, 1),
            (1, 300, 513),
            (2, 2, 1030),
            // whole steps of 512 bytes of a row
            (33, 1, 256),
        ] {
            let extents: Vec<Vec<i64>> = match f.name.as_str() {
                "product" | "unlikely" | "unlikely_f64" => vec![vec![m, k], vec![k, n]],
                "transposed" => vec![vec![k, m], vec![n, k], vec![m, n]],
                "by_vector" | "unlikely_by_vector" => vec![vec![m, k], vec![k], vec![m]],
                "of_vector" => vec![vec![k], vec![k, n]],
                _ => vec![vec![m, k], vec![n, k], vec![m]],
            };
            let args: Vec<Value> =
                f.params.iter().zip(&extents).map(|(p, e)| shaped(p, e, &mut rng)).collect();
            let expected = interp::run(&f, &args).unwrap().results;
            let versions = compiled.kernels[0].gpu_variants().len();
            // all squares are simulated whole
            let large = (m + 63) / 64 * ((n + 63) / 64) * k > 200;
            // each version once, then what the runtime takes
            let launches = compiled.kernels[0].gpu_variants().iter().map(|code| &code.launch);
            let forced = launches.zip(0..versions).map(|(v, at)| {
                let any = if at % 2 == 0 { Layout::Strided } else { Layout::Reversed };
                (
                    Some(at),
                    if v.guards.contiguous { Layout::Padded } else { any },
                    matches!(v.grid, Grid::Panels { .. }),
                )
            });
            let ways = forced.chain(
                [Layout::Contiguous, Layout::Offset, Layout::InPlace, Layout::InPlaceReversed]
                    .map(|layout| (None, layout, layout == Layout::Contiguous)),
            );
            for (which, (version, layout, always)) in ways.enumerate() {
                if large && !always {
                    continue;
                }
                let how = How { layout, version, span: 1 << (which % 5), order: Order::Random(which as u64) };
                let case = format!("@{} of {m} x {n} x {k}, {layout:?}", f.name);
                let found = call(&compiled, 0, &args, how).unwrap_or_else(|e| panic!("{case}: {e}"));
                assert_eq!(found.results, expected, "{case} by {:?}", found.entries);
                entries.extend(found.entries);
            }
        }
        let panels = compiled.gpu_variants().map(|code| &code.launch).filter(|v| {
            matches!(v.grid, Grid::Panels { .. } | Grid::Sums { .. }) || v.profit != Profit::default()
        });
        for v in panels {
            assert!(entries.contains(&v.entry), "{} has run", v.entry);
        }
    }
}

/// A sequential loop in each thread is said to be one, with its line; tiled nests and segments are not.
#[test]
fn warnings() {
    for f in parse::parse(include_str!("../../../tests/nested/programs.core")).unwrap() {
        let compiled = driver::compile_for("t", vec![f.clone()], Targets { cpu: false, cuda: true }).unwrap();
        // what begins with a value of the element's, matrices by vectors in panels, and records
        let loops = ["two", "records", "vectors"].contains(&f.name.as_str());
        let warnings = &compiled.functions[0].warnings;
        assert_eq!(!warnings.is_empty(), loops, "@{}: {warnings:?}", f.name);
        let tiled = ["order", "pairs", "softmax"].contains(&f.name.as_str());
        // a thread computes short loops by itself
        let shared =
            |code: &driver::GpuCode| !code.kernel.shared.is_empty() || code.kernel.name.ends_with("_short");
        assert!(!tiled || compiled.gpu_variants().all(shared), "@{}: a tile", f.name);
    }
    let text = "func @f(%x: [i32], %y: [i32]) -> (r: [i32]) {
  %0 = map (%a: i32) over %x {
    %1 = map (%b: i32) over %y {
      %2 = div %b, %a
      yield %2
    }
    %3 = fold (%p: i32, %q: i32) from 0i32 over %1 {
      %4 = add %p, %q
      yield %4
    } !author.rs:12:30
    yield %3
  }
  return %0
}";
    let functions = parse::parse(text).unwrap();
    let compiled = driver::compile_for("t", functions, Targets { cpu: false, cuda: true }).unwrap();
    let expected = "f: a nested operation (author.rs:12) is a sequential loop in each thread of a GPU";
    assert_eq!(compiled.functions[0].warnings, [expected]);
    let text = compiled.explain(&Default::default(), Format::Text).unwrap();
    assert!(text.contains(&format!("  warning: {expected}\n")), "{text}");
}

/// An operator with a loop of its own, which begins with the accumulator, is no step of a loop that threads share.
#[test]
fn operators_with_loops() {
    let text = "func @f(%x: [f64]) -> (r: [f64]) {
  %r = map (%e: f64) over %x {
    %s = reduce (%a: f64, %b: f64) from %e over %x {
      %c = sub %a, 2.5f64
      %d = reduce (%p: f64, %q: f64) from %c over %x {
        %m = mul %p, %q
        yield %m
      }
      yield %d
    }
    yield %s
  }
  return %r
}";
    let functions = parse::parse(text).unwrap();
    let c = driver::compile_for("t", functions, Targets { cpu: false, cuda: true }).unwrap();
    let args = [Value::Vector([1.5, -0.5, 3.0].map(Lit::f64).to_vec())];
    let wanted = interp::run(&c.functions[0].fused, &args).unwrap().results;
    let how = How { layout: Layout::Contiguous, version: None, span: 1, order: Order::Ascending };
    assert_eq!(call(&c, 0, &args, how).unwrap().results, wanted);
}
