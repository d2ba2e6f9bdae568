//! The block interpreter runs kernels of the CPU without a C compiler, and gives the same bits.
//!
//! ```text
//! for i { t = a[i] * b[i]   out[i] = t + 1 }
//!     ->
//! for each block of some hundred i { t[..] = a[..] * b[..]   out[..] = t[..] + 1 }
//! ```
//!
//! A kernel is lowered once, to a `program.rs` of operations on scalars and on block registers. Each
//! operation is one loop (`ops`), which the Rust compiler vectorised for the level of the
//! processor. Block registers stay in the first-level cache. Loops whose iterations depend on one
//! another run one iteration at a time, by the same operations on scalars.

mod frame;
mod lower;
mod ops;
mod program;
mod registers;
mod run;
#[cfg(test)]
mod tests;

use crate::abi::AgpuKernelArgs;
use crate::level::{Level, level};
use arraygpu_compiler::kernel::Kernel;
use program::Program;

/// A kernel of the CPU, ready to run.
pub struct Block {
    main: Option<Program>,
    finish: Option<Program>,
}

impl Block {
    /// Lowers a verified kernel of the CPU for the level that this process uses.
    pub fn new(kernel: &Kernel) -> Block {
        Block::at(kernel, level().unwrap_or(Level::V2))
    }

    fn at(kernel: &Kernel, level: Level) -> Block {
        let part = |body: &Option<Vec<_>>| body.as_ref().map(|body| lower::lower(kernel, body, level));
        Block { main: part(&kernel.main), finish: part(&kernel.finish) }
    }

    /// Computes the tiles `tile_begin` up to `tile_end`. Several threads may call it at once.
    ///
    /// # Safety
    /// The arguments are those of the kernel, and valid during the call. The processor has
    /// x86-64-v2 (`level()` returns no error).
    pub unsafe fn main(&self, args: &AgpuKernelArgs, tile_begin: i64, tile_end: i64) {
        if let Some(p) = &self.main {
            // SAFETY: the caller promises it; a level above v2 was detected in the processor.
            unsafe { p.run(args, tile_begin, tile_end) }
        }
    }

    /// Runs what the kernel does once after all tiles; `tile_end` is their number.
    ///
    /// # Safety
    /// The same conditions hold as for [`Block::main`].
    pub unsafe fn finish(&self, args: &AgpuKernelArgs, tile_begin: i64, tile_end: i64) {
        if let Some(p) = &self.finish {
            // SAFETY: the caller promises it.
            unsafe { p.run(args, tile_begin, tile_end) }
        }
    }
}
