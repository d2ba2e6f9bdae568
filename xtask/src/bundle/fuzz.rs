//! The random programs of core IR in the bundle: all stages but C, for which there may be no
//! compiler.

use super::Bundle;
use crate::sh::{self, Result};

/// Adds the program as `tests/fuzz/arraygpu-fuzz`.
pub fn add(bundle: &mut Bundle) -> Result {
    sh::run(&mut sh::cargo(&["build", "--profile", "fuzz", "-p", "arraygpu-fuzz"]))?;
    let program = sh::target().join("fuzz/arraygpu-fuzz");
    bundle.test(&program, "tests/fuzz", "run --stage passes,simulator,block --seeds 0..4000")
}
