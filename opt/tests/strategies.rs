//! Every strategy of a target has a golden kernel in `compiler/tests/strategies`, so that a change of its code is a
//! difference of a text. `files` compares the texts; here it is checked that none is missing.

use arraygpu_compiler::core::StencilHint;
use arraygpu_compiler::schedule::strategy::Strategy;
use std::path::Path;

/// The strategy behind another one, first to last: a new one has no place here until it has an arm.
fn next(s: Strategy) -> Option<Strategy> {
    use Strategy::*;
    Some(match s {
        Scalars => Map,
        Map => ElementLoops,
        ElementLoops => Stencil(StencilHint::Direct, 1),
        Stencil(StencilHint::Direct, _) => Stencil(StencilHint::Window, 1),
        Stencil(StencilHint::Window, _) => Stencil(StencilHint::Tile, 1),
        Stencil(StencilHint::Tile, 1) => Stencil(StencilHint::Tile, 2),
        Stencil(StencilHint::Tile, _) => Stencil(StencilHint::Rows, 2),
        Stencil(StencilHint::Rows, _) => Stencil(StencilHint::Planes, 3),
        Stencil(StencilHint::Planes, _) => TransposedTile,
        TransposedTile => Reduction,
        Reduction => SegmentedRows,
        SegmentedRows => SegmentedColumns,
        SegmentedColumns => Ragged,
        Ragged => ThreadRows,
        ThreadRows => ResidentRows,
        ResidentRows => ResidentColumns,
        ResidentColumns => CooperativeNest,
        CooperativeNest => Contraction,
        Contraction => Product,
        Product => TensorProduct,
        TensorProduct => Scan,
        Scan => OnePassScan,
        OnePassScan => OnePassFilter,
        OnePassFilter => Bins,
        Bins => Put,
        Put => RadixSort,
        RadixSort => WholeSort,
        WholeSort => SequentialFold,
        SequentialFold => TemporalBlocking,
        TemporalBlocking => StencilChain,
        StencilChain => return None,
    })
}

/// Whether CPUs have it, too.
fn is_of_cpu(s: Strategy) -> bool {
    use Strategy::*;
    !matches!(
        s,
        Stencil(..)
            | TransposedTile
            | Ragged
            | CooperativeNest
            | TensorProduct
            | OnePassScan
            | TemporalBlocking
            | StencilChain
    )
}

/// Whether GPUs have it, too.
fn is_of_gpu(s: Strategy) -> bool {
    s != Strategy::WholeSort
}

#[test]
fn every_strategy_has_a_golden_kernel() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../compiler/tests/strategies");
    let files = std::fs::read_dir(folder).expect("the golden kernels");
    let texts = files.map(|e| std::fs::read_to_string(e.expect("a file").path()).expect("a text"));
    let all: String = texts.collect();
    let mut strategy = Some(Strategy::Scalars);
    let mut missing = Vec::new();
    while let Some(s) = strategy {
        let is_of = |t: &&str| if *t == "cuda" { is_of_gpu(s) } else { is_of_cpu(s) };
        for target in ["cpu", "cuda"].into_iter().filter(is_of) {
            let head = format!("\n;> ; {target}, {}: ", s.name());
            if !all.contains(&head) {
                missing.push(head.trim().to_string());
            }
        }
        strategy = next(s);
    }
    assert!(missing.is_empty(), "no file of compiler/tests/strategies prints a kernel of {missing:?}");
}
