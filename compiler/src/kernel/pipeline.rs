//! The passes over kernels for GPUs, in order. Kernels for CPUs are what the schedule wrote: the C compiler does the
//! same work there.

use super::{Kernel, avoid_negated_min, cse, dce, divide, if_conversion, narrow, verify};
use crate::error::{Error, Result};

/// A pass over a kernel.
pub struct Pass {
    /// What reports call it.
    pub name: &'static str,
    /// Only where every index fits into 32 bits.
    only_narrow: bool,
    run: fn(&mut Kernel),
}

const fn pass(name: &'static str, run: fn(&mut Kernel)) -> Pass {
    Pass { name, only_narrow: false, run }
}

impl Pass {
    /// Runs this pass alone over a kernel for GPUs. The result is verified.
    pub fn run(&self, k: &mut Kernel) -> Result<()> {
        (self.run)(k);
        verified(k, self.name)
    }
}

/// All passes. Dead code goes before common subexpressions are looked for, and again at the end.
pub const PASSES: [Pass; 7] = [
    pass("if_conversion", if_conversion::run),
    Pass { only_narrow: true, ..pass("narrow", narrow::run) },
    pass("dce", dce::run),
    pass("cse", cse::run),
    pass("divide", divide::run),
    pass("avoid_negated_min", avoid_negated_min::run),
    pass("dce", dce::run),
];

/// Runs all passes over a kernel, whose indices fit into 32 bits if it is `narrow`. The result is verified; in debug
/// builds it is after each pass.
pub fn run(k: &mut Kernel, narrow: bool) -> Result<()> {
    for (i, pass) in PASSES.iter().enumerate() {
        if pass.only_narrow && !narrow {
            continue;
        }
        (pass.run)(k);
        if cfg!(debug_assertions) || i + 1 == PASSES.len() {
            verified(k, pass.name)?;
        }
    }
    Ok(())
}

fn verified(k: &Kernel, after: &str) -> Result<()> {
    verify::verify(k).map_err(|e| Error { message: format!("after {after}: {}", e.message), ..e })
}
