//! Kernels on the CPU: compiled, or interpreted block by block. [`pool`](crate::pool) runs them
//! over tiles.

use crate::abi::AgpuKernelArgs;
use crate::block::Block;
use crate::error::Result;
use crate::interrupt;
use arraygpu_compiler::kernel::Kernel;
use arraygpu_compiler::schedule::CpuVariants;
use std::sync::OnceLock;

type Native = unsafe extern "C" fn(*const AgpuKernelArgs, i64, i64);

/// The variants of a kernel; they are the fields of `agpu_cpu_kernel`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Variant {
    Contiguous,
    InPlace,
    Strided,
    Finish,
}

/// The code of one variant of a kernel for this processor.
#[derive(Clone, Copy)]
pub(crate) enum Code {
    /// Compiled code.
    Native(Native),
    /// The tiles of an interpreted kernel.
    Main(*const Block),
    /// The end of an interpreted kernel.
    Finish(*const Block),
    /// A test's function on tiles.
    #[cfg(test)]
    Test(fn(i64, i64)),
}

// SAFETY: any number of threads may run the code, and interpreted code lives as long as its module.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

/// The variants of a kernel that is interpreted, each made ready when it is first needed.
pub(crate) struct Blocks {
    kernels: CpuVariants,
    finish: Option<Kernel>,
    /// The variants, in the order in which [`Variant`] counts them.
    ready: [OnceLock<Block>; 4],
}

impl Blocks {
    pub fn new(kernels: CpuVariants) -> Blocks {
        let finish = kernels.finish();
        Blocks { kernels, finish, ready: [const { OnceLock::new() }; 4] }
    }

    /// The variant that a kernel runs for this one, as in C: without outputs, nothing can be in place.
    pub fn kernel(&self, variant: Variant) -> Option<&Kernel> {
        let v = &self.kernels;
        match variant {
            Variant::Contiguous => Some(&v.contiguous),
            Variant::InPlace => v.in_place.as_ref().or(Some(&v.contiguous)),
            Variant::Strided => v.strided.as_ref(),
            Variant::Finish => return self.finish.as_ref(),
        }
        .map(|v| &v.kernel)
        .filter(|k| k.main.is_some())
    }

    /// The code of a variant, if there is one.
    pub fn code(&self, variant: Variant) -> Result<Option<Code>> {
        let Some(kernel) = self.kernel(variant) else { return Ok(None) };
        let ready = &self.ready[variant as usize];
        if ready.get().is_none() {
            let block = Block::new(kernel);
            // The block outlives this call, so it must not be made from the reserve.
            interrupt::check()?;
            let _ = ready.set(block);
        }
        let block: *const Block = ready.get().map_or(std::ptr::null(), std::ptr::from_ref);
        Ok(Some(if variant == Variant::Finish { Code::Finish(block) } else { Code::Main(block) }))
    }
}

impl Code {
    /// Computes tiles; if `finish`, everything that comes after them.
    ///
    /// # Safety
    /// Code and arguments belong together and stay valid during the call.
    pub unsafe fn run(self, args: *const AgpuKernelArgs, begin: i64, end: i64) {
        match self {
            // SAFETY: the caller guarantees this.
            Code::Native(f) => unsafe { f(args, begin, end) },
            // SAFETY: as above; the module that owns the block is in use.
            Code::Main(block) => unsafe { (*block).main(&*args, begin, end) },
            // SAFETY: as above.
            Code::Finish(block) => unsafe { (*block).finish(&*args, begin, end) },
            #[cfg(test)]
            Code::Test(f) => f(begin, end),
        }
    }
}
