//! The data that a call on a GPU keeps in its workspace.

use super::event::Event;
use super::state::Word;
use arraygpu_compiler::plan::gpu::GpuVariant;
use arraygpu_compiler::plan::policy::Scratch;
use cudarc::driver::sys::{CUdeviceptr, CUfunction};
use std::cell::Cell;
use std::rc::Rc;

/// The data of a call on a GPU beside the common workspace.
#[derive(Default)]
pub(crate) struct Frame {
    /// The address of each place that is a scalar result or a temporary.
    pub(super) scalars: Vec<CUdeviceptr>,
    /// The words of scalar results that the host waits for, each with its place.
    pub(super) words: Vec<(usize, Word)>,
    /// For iterations that a check ends: words to which numbers of steps are copied, each with the event after its
    /// copy (`until.rs`).
    pub(super) reads: Vec<(Word, Rc<Event>)>,
    /// How many of these the iterations use that are being queued.
    pub(super) busy_reads: usize,
    /// Words of device memory that hold scalars of the call.
    pub(super) slots: Vec<CUdeviceptr>,
    /// Copies of such words after the launches: target, source, bytes.
    pub(super) copies: Vec<(CUdeviceptr, CUdeviceptr, usize)>,
    pub(super) decided: Decided,
    /// A buffer for the parameters of a launch.
    pub(super) params: Vec<u64>,
    /// Whether no variant of some kernel fits the call. A program that compiles online then compiles further
    /// variants.
    pub lacks_variant: Cell<bool>,
}

/// The decisions for a call, in the order in which they are queued.
#[derive(Default)]
pub(super) struct Decided {
    pub(super) steps: Vec<Prepared>,
    /// The kernels of all launches.
    pub(super) kernels: Vec<Running>,
}

impl Decided {
    /// The numbers of steps and of kernels so far.
    pub(super) fn len(&self) -> (usize, usize) {
        (self.steps.len(), self.kernels.len())
    }

    /// Forgets all decisions after this many steps and kernels.
    pub(super) fn truncate(&mut self, (steps, kernels): (usize, usize)) {
        self.steps.truncate(steps);
        self.kernels.truncate(kernels);
    }
}

/// A decided step of the plan.
#[derive(Clone, Copy)]
pub(super) enum Prepared {
    /// A launch: the range of its kernels in [`Decided::kernels`], and the scratch that they share.
    Launch { kernels: (usize, usize), scratch: Scratch },
    /// Whether the launch of a `Step::Instead` runs, in place of the steps that it replaces.
    Instead(bool),
}

/// One variant with its grid and its loaded code.
#[derive(Clone, Copy)]
pub(super) struct Running {
    pub(super) function: CUfunction,
    pub(super) variant: &'static GpuVariant,
    pub(super) blocks: u32,
    /// The span, as in `KernelLaunch::span`.
    pub(super) span: Option<u32>,
}
