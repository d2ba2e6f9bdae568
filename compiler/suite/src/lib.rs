//! What the tests of several crates share: a simulated GPU that runs plans, programs at random and in families,
//! values for them, and NVIDIA's assembler. `compiler/suite/tests` are the compiler's own integration tests. They are
//! a package of their own because debug builds optimise the compiler's package, which for tests would only take time.

pub mod all_pairs;
pub mod arguments;
pub mod failing_files;
pub mod gpu;
pub mod growth;
pub mod growth_nested;
pub mod mutants;
pub mod operators;
pub mod pairs;
pub mod ptxas;
pub mod reference;
pub mod rng;
pub mod row_chains;
pub mod sass;
pub mod semantics;
pub mod softmax;
pub mod stencil_stages;
pub mod strips;
pub mod tally;
pub mod tensor_product;
pub mod today;
pub mod typed;
pub mod values;
pub mod versions;

use std::path::{Path, PathBuf};

/// The folder of the compiler's test files: core IR, kernels, golden texts.
pub fn tests_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests")
}
