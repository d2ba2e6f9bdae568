//! Kernel IR in.

use crate::arguments::{Arguments, Stage};
use crate::{listed, usage};
use arraygpu_compiler::backend::cuda;
use arraygpu_compiler::error::Result;
use arraygpu_compiler::kernel::parse;
use arraygpu_compiler::kernel::pipeline::{PASSES, Pass};

/// The names of the passes, in the order in which they run first.
pub fn passes() -> String {
    listed(names())
}

fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = PASSES.iter().map(|p| p.name).collect();
    // one runs twice
    let mut seen = Vec::new();
    names.retain(|n| {
        !seen.contains(n) && {
            seen.push(*n);
            true
        }
    });
    names
}

/// Reads kernels, runs the passes that are named, prints them.
pub fn run(text: &str, a: &Arguments) -> Result<String> {
    let as_cuda = a.emit == [Stage::Cuda];
    let wants_stage = !(a.emit.is_empty() || as_cuda)
        || !a.dump_after.is_empty()
        || a.explain.is_some()
        || !a.stage.is_empty()
        || !a.without.is_empty();
    if wants_stage {
        return Err(usage(
            "--emit of other stages than cuda, --dump-after, --explain, --stage and --without are for core IR; this text is kernel IR",
        ));
    }
    let pass = |name: &String| -> Result<&Pass> {
        let found = PASSES.iter().find(|p| p.name == *name);
        found
            .ok_or_else(|| usage(format!("kernel IR has no pass `{name}`; there are {}", names().join(", "))))
    };
    let passes = a.run.iter().map(pass).collect::<Result<Vec<_>>>()?;
    let mut kernels = parse::parse(text)?;
    for k in &mut kernels {
        if k.threads == 0 && (as_cuda || !passes.is_empty()) {
            return Err(usage(format!(
                "@{} is a kernel for CPUs; passes run on kernels for GPUs, which are CUDA C++, too",
                k.name
            )));
        }
        passes.iter().try_for_each(|pass| pass.run(k))?;
    }
    if as_cuda {
        return Ok(cuda::emit(&kernels));
    }
    Ok(kernels.iter().map(|k| k.to_string()).collect::<Vec<_>>().join("\n"))
}
