//! A GPU, through the runtime: kernels as PTX, which the driver compiles when they are launched.

use super::runtime::{Contexts, calls};
use super::{Failure, compiled, precise};
use crate::case::Case;
use crate::runtime::Loaded;
use arraygpu_compiler::driver::Targets;

/// Runs all calls.
pub fn check(case: &Case) -> Result<u64, Failure> {
    // `fast_math` and `tensor_cores` change bits on a GPU
    let mut case = case.clone();
    precise(&mut case.function);
    let Some(compiled) = compiled(&case, Targets { cpu: false, cuda: true })? else { return Ok(0) };
    // the runtime refuses a kernel with too many parameters for a GPU
    if compiled.kernels.iter().any(|k| k.gpu.as_ref().is_some_and(|gpu| gpu.absent.is_some())) {
        return Ok(0);
    }
    let loaded = Loaded::gpu(&compiled);
    calls(&loaded, 0, &case, &compiled.functions[0].fused, &Contexts::gpu()?)
}
