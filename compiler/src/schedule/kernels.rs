//! The variants of one kernel, as they were lowered: the result of the strategies of each target.

use super::facts::stencil::Kept;
use super::facts::transposed::TiledArray;
use super::strategy::Strategy;
use crate::error::Result;
use crate::kernel::{Kernel, pipeline};
use crate::plan::gpu::GpuKernel;
use std::sync::Arc;

/// The variants of the kernel of one launch.
#[derive(Clone, Debug)]
pub struct KernelVariants {
    /// The kernel's name, as in the launch.
    pub name: String,
    /// The variants for CPUs, if code for CPUs was asked for.
    pub cpu: Option<CpuVariants>,
    /// The variants for GPUs, if code for GPUs was asked for.
    pub gpu: Option<GpuVariants>,
}

/// The variants of one kernel for CPUs. At each launch the runtime's executor takes `strided` if
/// some array is not contiguous, else `in_place` if the launch writes an array that it reads, else
/// `contiguous` (`docs/c-abi.md`, `agpu_cpu_kernel`).
#[derive(Clone, Debug)]
pub struct CpuVariants {
    /// For arrays whose last stride is 1, where no output overlaps an input. It also holds the
    /// `finish` part of all variants.
    pub contiguous: CpuVariant,
    /// For arrays whose last stride is 1, where an output may be an input that is read at the same index only. `None`
    /// if the kernel stores no arrays, or reads none in that way; then it is never chosen, and `contiguous` stands
    /// for it.
    pub in_place: Option<CpuVariant>,
    /// For arrays with any strides, with outputs as in `in_place`. `None` if the kernel has no index space, or if its
    /// launch replaces others, which then run.
    pub strided: Option<CpuVariant>,
}

/// One variant of a kernel for CPUs.
#[derive(Clone, Debug)]
pub struct CpuVariant {
    /// The kernel IR.
    pub kernel: Kernel,
    /// The strategy by which it was written.
    pub strategy: Strategy,
}

impl CpuVariants {
    /// Returns the variants in the order `contiguous`, `in_place`, `strided`; `None` for one that does not exist.
    pub fn all(&self) -> [Option<&CpuVariant>; 3] {
        [Some(&self.contiguous), self.in_place.as_ref(), self.strided.as_ref()]
    }

    /// Returns a kernel with nothing but the `finish` part. All variants share it, so it reads vectors at any stride;
    /// kernels compute the addresses of matrices explicitly, so these need no such flag.
    pub fn finish(&self) -> Option<Kernel> {
        let of = &self.contiguous.kernel;
        let mut k = Kernel { finish: Some(of.finish.clone()?), ..of.clone_head() };
        if let Some(strided) = &self.strided {
            k.arrays.clone_from(&strided.kernel.arrays);
        }
        k.arrays.iter_mut().for_each(|a| a.noalias = false);
        Some(k)
    }
}

/// The GPU's side of one fused group.
#[derive(Clone, Debug)]
pub struct GpuVariants {
    /// How its variants are launched.
    pub kernel: GpuKernel,
    /// Their code, in the same order.
    pub drafts: Vec<Draft>,
    /// What was decided about its stencils, for contiguous arrays.
    pub stencils: Vec<Kept>,
    /// What was decided about the arrays that it reads transposed.
    pub transposed: Vec<TiledArray>,
    /// For a kernel with resident rows or columns: the greatest length of one, and what limits it.
    pub limit: Option<String>,
    /// For a chain of stencils: what a block keeps in shared memory.
    pub shared: Option<String>,
}

/// A kernel as it was lowered, before the kernel passes. These take about as long as lowering, and
/// only variants that are launched need them.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The kernel, which variants of one body share.
    pub(super) kernel: Arc<Kernel>,
    pub(super) name: String,
    /// Whether the code may assume that no written array overlaps another one.
    pub(super) noalias: bool,
    pub(super) narrow: bool,
    /// How it was written.
    pub origin: Origin,
}

/// How a kernel was written.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// The strategy that it follows.
    pub strategy: Strategy,
    /// Whether loops of elements go on by batches of steps.
    pub batches: bool,
}

impl Draft {
    /// Returns the kernel after the kernel passes, verified.
    pub fn finish(self) -> Result<Kernel> {
        let mut k = Kernel { name: self.name, ..Arc::unwrap_or_clone(self.kernel) };
        k.arrays.iter_mut().for_each(|a| a.noalias = self.noalias);
        pipeline::run(&mut k, self.narrow)?;
        Ok(k)
    }

    /// Whether the kernel passes make the same of both drafts: no pass looks at the name, or at which arrays overlap.
    fn is_finished_as(&self, other: &Draft) -> bool {
        Arc::ptr_eq(&self.kernel, &other.kernel) && self.narrow == other.narrow
    }
}

/// Finishes the drafts of one launch, and hands each to `each` as it is done. The passes run once for
/// neighbours that differ only in whether arrays overlap.
pub fn finish_all(drafts: Vec<Draft>, mut each: impl FnMut(Origin, Kernel) -> Result<()>) -> Result<()> {
    let mut drafts = drafts.into_iter().peekable();
    let mut twin: Option<Kernel> = None;
    while let Some(draft) = drafts.next() {
        let is_next = drafts.peek().is_some_and(|next| next.is_finished_as(&draft));
        let origin = draft.origin;
        let kernel = match twin.take() {
            None => draft.finish()?,
            Some(made) => {
                let mut k = Kernel { name: draft.name, ..made };
                k.arrays.iter_mut().for_each(|a| a.noalias = draft.noalias);
                k
            }
        };
        twin = is_next.then(|| kernel.clone());
        each(origin, kernel)?;
    }
    Ok(())
}
