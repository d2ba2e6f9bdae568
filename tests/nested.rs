//! Nested operations through the C compiler and the runtime: the interpreter's bits, in every layout.

mod common;

use arraygpu_capi::abi::AgpuStatus;
use arraygpu_compiler::core::{interp, parse};
use arraygpu_suite::arguments::arguments;
use arraygpu_suite::rng::Rng;
use common::{Layout, compile, context, load_highest, shapes};

const SHAPES: [(usize, usize); 16] = [
    (0, 3),
    (3, 0),
    (1, 1),
    (3, 5),
    (2, 127),
    (5, 129),
    (200, 130),
    (2, 300),
    (1, 2050),
    (130, 7),
    (1, 4500),
    (2100, 4),
    (6, 1100),
    (4100, 3),
    (30, 1300),
    // more tiles than a level has columns
    (264_300, 1),
];

#[test]
fn bits_and_records() {
    let programs = parse::parse(include_str!("../compiler/tests/nested/programs.core")).unwrap();
    let loaded = load_highest(&compile(programs.clone()));
    let contexts = [1, 2].map(context);
    let mut rng = Rng::new(11);
    for (i, f) in programs.iter().enumerate() {
        for (round, (rows, cols)) in SHAPES.into_iter().enumerate() {
            // the interpreter takes minutes for all pairs of many
            if !f.name.ends_with("_sums") && rows > 200 {
                continue;
            }
            let args = arguments(f, rows, cols, &mut rng);
            let expected = interp::run(f, &args).unwrap();
            let extents = shapes(&expected.results);
            for layout in Layout::ALL {
                let case = format!("@{} of {rows} x {cols}, {layout:?}", f.name);
                let called = loaded.call(i, contexts[round % 2], &args, &extents, layout);
                let recorded = matches!(called.status, AgpuStatus::AgpuErrorRecord);
                assert!(
                    recorded || matches!(called.status, AgpuStatus::AgpuOk),
                    "{case}: {}",
                    called.message
                );
                assert_eq!(recorded, expected.recorded, "{case}: {}", called.message);
                if !expected.recorded {
                    assert_eq!(called.results, expected.results, "{case}");
                }
            }
        }
    }
}
