//! How long programs and kernels are. A kernel has copies of its program's operations: code of the interior and of
//! the edges, of the fast and of the slow path; and short bodies are unrolled. *The law of copies*: it has at most
//! [`MOST`] times the operations of its program, in which elementary functions are expanded, beside what its strategy
//! unrolls whatever the program is ([`unrolled`]). Each variant is a kernel of its own. Every compilation of a debug
//! build checks it and warns, and so does a test for random programs.

use crate::core::Function;
use crate::kernel::Kernel;
use crate::kernel::parts;
use crate::schedule::strategy::Strategy;

/// The greatest ratio.
pub const MOST: usize = 4;

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

/// Returns the operations that a strategy may have beside those of its program's copies, with the reason. These are
/// the exceptions to the law: each is a number of elements, rows or steps in the registers of one thread, which does
/// not grow with the program.
pub fn unrolled(strategy: Strategy) -> (usize, &'static str) {
    match strategy {
        Strategy::Scalars | Strategy::SequentialFold | Strategy::WholeSort => (500, "one element at a time"),
        Strategy::Map | Strategy::Stencil(..) | Strategy::StencilChain => {
            (3000, "a thread has several elements, once in the interior and once at the edges")
        }
        Strategy::TransposedTile | Strategy::ElementLoops | Strategy::CooperativeNest => {
            (8000, "several columns of the tree at once, with and without tests of what is read")
        }
        Strategy::ThreadRows => (8000, "a row in registers is straight code"),
        Strategy::TemporalBlocking => {
            (8000, "each of several steps is straight code, in the interior and at the edges")
        }
        Strategy::Reduction | Strategy::SegmentedRows | Strategy::SegmentedColumns | Strategy::Ragged => {
            (16_000, "each level of the tree has its operator once for whole and once for partial tiles")
        }
        Strategy::Contraction | Strategy::Product | Strategy::TensorProduct => {
            (16_000, "a thread's results, and the steps of a panel between two barriers, are straight code")
        }
        Strategy::Bins | Strategy::Put => (8000, "a thread has several elements, and once one at a time"),
        Strategy::RadixSort => (8000, "a thread's elements lie in registers, and each is straight code"),
        Strategy::Scan | Strategy::OnePassScan | Strategy::OnePassFilter => {
            (16_000, "a thread's chunks lie in registers, and each level has its operator")
        }
        Strategy::ResidentRows | Strategy::ResidentColumns => {
            (16_000, "a thread's part of a row or strip lies in registers, in each pass over it")
        }
    }
}

/// Returns what breaks the law of copies, if a kernel of a program of so many operations does.
pub fn excess(program: usize, strategy: Strategy, kernel: &Kernel) -> Option<String> {
    let (count, (beside, reason)) = (of_kernel(kernel), unrolled(strategy));
    let message = || {
        let name = &kernel.name;
        format!(
            "{name}: the kernel has {count} operations, the program {program}, of which {MOST} copies and {beside} more are expected: {reason}"
        )
    };
    (count > MOST * program + beside).then(message)
}
