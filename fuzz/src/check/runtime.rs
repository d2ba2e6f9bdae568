//! Calls of compiled functions through the runtime, in every layout: what the block interpreter and
//! compiled C have in common.

use super::{Failure, difference, ignores};
use crate::case::Case;
use crate::rng::Rng;
use crate::runtime::{Laid, Layout, Loaded, context, extents};
use arraygpu_capi::abi::{AGPU_DEVICE_CPU, AGPU_DEVICE_CUDA, AgpuContext, AgpuStatus};
use arraygpu_capi::agpu_context_free;
use arraygpu_compiler::Result;
use arraygpu_compiler::core::Function;
use arraygpu_compiler::core::interp::{self, Outcome};

/// Contexts with one and two threads, which are freed with this value.
pub struct Contexts([*mut AgpuContext; 2]);

impl Drop for Contexts {
    fn drop(&mut self) {
        let [one, two] = self.0;
        // SAFETY: this value made the contexts, nothing was left in them, and each is freed once. Two may be the same
        // one.
        unsafe {
            agpu_context_free(one);
            if two != one {
                agpu_context_free(two);
            }
        }
    }
}

impl Contexts {
    /// Contexts of the CPU.
    pub fn new() -> std::result::Result<Contexts, Failure> {
        let of =
            |threads| context(AGPU_DEVICE_CPU, threads).map_err(|e| Failure::new(format!("no context: {e}")));
        Ok(Contexts([of(1)?, of(2)?]))
    }

    /// A context of the first GPU.
    pub fn gpu() -> std::result::Result<Contexts, Failure> {
        let one = context(AGPU_DEVICE_CUDA, 0).map_err(|e| Failure::new(format!("no context: {e}")))?;
        Ok(Contexts([one, one]))
    }
}

/// Entry `i` of a program that was loaded: all calls of a case, in all layouts. `fused` is the
/// function after the passes.
pub fn calls(
    loaded: &Loaded,
    i: usize,
    case: &Case,
    fused: &Function,
    contexts: &Contexts,
) -> std::result::Result<u64, Failure> {
    let mut rng = Rng::new(case.calls.len() as u64 + fused.graph.len() as u64);
    let mut compared = 0;
    for (k, call) in case.calls.iter().enumerate() {
        let expected = interp::run(&case.function, &call.args);
        let shapes: Vec<Vec<i64>> = match &expected {
            Ok(o) => o.results.iter().map(extents).collect(),
            // no result is compared: the shape rules refuse the call first
            Err(_) => fused.results.iter().map(|r| vec![0; fused.graph.ty(r.value).rank.into()]).collect(),
        };
        for (j, layout) in Layout::ALL.into_iter().enumerate() {
            let laid = Laid::new(&loaded.plans[i], &call.args, &shapes, layout, &mut rng);
            let expected = if laid.args == call.args {
                expected.clone()
            } else {
                interp::run(&case.function, &laid.args)
            };
            let context = contexts.0[(j + k) % 2];
            let called = loaded
                .call(i, context, &laid)
                .map_err(|e| Failure::new(format!("{layout:?}: the call cannot be made\n{e}")))?;
            compared += 1;
            let wrong = judge(&expected, &called, || interp::run(fused, &laid.args), fused);
            if let Some(wrong) = wrong {
                return Err(Failure::new(format!("{layout:?}: {wrong}")));
            }
        }
    }
    Ok(compared)
}

/// What is wrong with a call.
fn judge(
    expected: &Result<Outcome>,
    called: &crate::runtime::Called,
    fused: impl FnOnce() -> Result<Outcome>,
    f: &Function,
) -> Option<String> {
    if called.wild {
        return Some("memory beside the results is written".into());
    }
    match (expected, called.status) {
        (Ok(o), AgpuStatus::AgpuOk) => {
            // a record may have disappeared with a value that is not needed
            if o.recorded && fused().is_ok_and(|o| o.recorded) && !ignores(f) {
                return Some("a record is lost".into());
            }
            difference(&o.results, &called.results).map(|d| format!("other bits\n{d}"))
        }
        (Ok(o), AgpuStatus::AgpuErrorRecord) if o.recorded => None,
        (Ok(_), AgpuStatus::AgpuErrorRecord) => Some(format!("a record is added\n{}", called.message)),
        (Err(_), AgpuStatus::AgpuErrorShape) => None,
        (Ok(_), status) => Some(format!("{status:?} instead of a value\n{}", called.message)),
        (Err(e), status) => Some(format!("{status:?} instead of a broken rule\n{e}\n{}", called.message)),
    }
}
