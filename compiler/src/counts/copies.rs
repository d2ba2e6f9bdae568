//! How long programs and kernels are. A kernel has copies of its program's operations: code of the interior and of
//! the edges, of the fast and of the slow path; and short bodies are unrolled.

use crate::core::Function;
use crate::kernel::Kernel;
use crate::kernel::parts;

/// Returns the operations of a function in fused form, in which elementary functions are expanded, and of the steps
/// that it repeats.
pub fn of_program(fused: &Function) -> usize {
    let values = fused.results.iter().map(|r| r.value).chain(fused.by_stages.iter().copied());
    let own = fused.graph.reachable(values).len();
    own + fused.steps.iter().map(|step| of_program(step)).sum::<usize>()
}

/// Returns the operations of a kernel.
pub fn of_kernel(kernel: &Kernel) -> usize {
    [&kernel.main, &kernel.finish].into_iter().flatten().map(|body| parts::operations(body)).sum()
}
