//! The law of code: how many operations a kernel may have. It has copies of a program's operations: code of the
//! interior and of the edges, of the fast and of the slow path; and short bodies are unrolled.

use crate::core::Function;
use crate::kernel::Kernel;
use crate::kernel::parts;

/// The most operations of a kernel for each one of its program.
const MOST: usize = 4;
/// The operations to which short bodies may be unrolled: register tiles of products and stencils, trees of
/// reductions.
const UNROLLED: usize = 3000;

/// Returns the operations of a function in fused form, in which elementary functions are expanded, and of the steps that
/// it repeats.
pub fn of_program(fused: &Function) -> usize {
    let values = fused.results.iter().map(|r| r.value).chain(fused.by_stages.iter().copied());
    let own = fused.graph.reachable(values).len();
    own + fused.steps.iter().map(|step| of_program(step)).sum::<usize>()
}

/// Returns the operations of a kernel.
pub fn of_kernel(kernel: &Kernel) -> usize {
    [&kernel.main, &kernel.finish].into_iter().flatten().map(|body| parts::operations(body)).sum()
}

/// Returns what breaks the law, if a kernel of a program with so many operations does.
pub fn excess(program: usize, kernel: &Kernel) -> Option<String> {
    let count = of_kernel(kernel);
    (count > MOST * program + UNROLLED)
        .then(|| format!("{}: {count} operations for {program} of the program", kernel.name))
}
