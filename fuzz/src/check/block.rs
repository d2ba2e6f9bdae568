//! The block interpreter, through the runtime.

use super::runtime::{Contexts, calls};
use super::{Failure, compiled};
use crate::case::Case;
use crate::runtime::Loaded;
use arraygpu_compiler::driver::Targets;

/// Runs all calls.
pub fn check(case: &Case) -> Result<u64, Failure> {
    let Some(compiled) = compiled(case, Targets { cpu: false, cuda: false })? else { return Ok(0) };
    let loaded = Loaded::blocks(&compiled);
    calls(&loaded, 0, case, &compiled.functions[0].fused, &Contexts::new()?)
}
