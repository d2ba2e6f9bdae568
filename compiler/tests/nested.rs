//! Nested operations: the interpreter's bits and records on a simulated GPU, in every layout and version, for lengths around the borders of tiles.

#[path = "nested/arguments.rs"]
mod arguments;
#[allow(dead_code, reason = "this test needs a part of it")]
mod common;
#[allow(dead_code, reason = "this test needs a part of it")]
#[path = "common/gpu.rs"]
mod gpu;

use arguments::arguments;
use arraygpu_compiler::core::{interp, parse};
use arraygpu_compiler::driver::{self, Targets};
use arraygpu_compiler::kernel::interp::Order;
use common::rng;
use common::rng::Rng;
use gpu::{How, Layout, call};

#[test]
fn bits_and_records() {
    let mut rng = Rng::new(7);
    let (mut recorded, mut entries) = (0, std::collections::BTreeSet::new());
    for f in parse::parse(include_str!("nested/programs.core")).unwrap() {
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
        ] {
            // all pairs of many take the simulation minutes
            if !f.name.ends_with("_sums") && rows > 130 {
                continue;
            }
            let args = arguments(&f, rows, cols, &mut rng);
            let expected = interp::run(&f, &args).unwrap();
            recorded += usize::from(expected.recorded);
            for (which, layout) in Layout::ALL.into_iter().enumerate() {
                if rows * cols > 1500 && which > 2 {
                    continue;
                }
                let how =
                    How { layout, version: None, span: 1 << (rows % 5), order: Order::Random(which as u64) };
                let case = format!("@{name} of {rows} x {cols}, {layout:?}");
                let found = call(&compiled, 0, &args, how).unwrap_or_else(|e| panic!("{case}: {e}"));
                entries.extend(found.entries);
                assert_eq!(found.record.is_some(), expected.recorded, "{case}");
                if !expected.recorded {
                    assert_eq!(found.results, expected.results, "{case}");
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
