//! Adds the shape rules of an iteration's step to the function that contains the iteration, whether
//! or not a result needs its states.
//!
//! ```text
//! @step(%y: [f64]): require stop 3i64, (len %y) "slice"
//! %1 = iterate 2i64 @step (%x)            ->   require stop 3i64, (len %x) "slice"
//! ```
//!
//! This is the first pass, because later ones drop iterations whose states nobody reads, together
//! with their rules. The step's own passes ran before, so the rules of iterations inside it are
//! already among its rules.

use crate::core::Function;
use crate::core::calls::with_rules_of_steps;
use crate::error::Result;

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    Ok(with_rules_of_steps(f))
}
