//! What a call on a GPU keeps in its workspace.

use super::state::Word;
use arraygpu_compiler::plan::gpu::GpuVariant;
use arraygpu_compiler::plan::policy::Scratch;
use cudarc::driver::sys::{CUdeviceptr, CUfunction};
use std::cell::Cell;

/// What a call on a GPU needs beside the common workspace.
#[derive(Default)]
pub(crate) struct Frame {
    /// The address of each place that is a scalar result or temporary.
    pub(super) scalars: Vec<CUdeviceptr>,
    /// Words for scalar results that the host waits for, each with its place.
    pub(super) words: Vec<(usize, Word)>,
    /// Words of device memory.
    pub(super) slots: Vec<CUdeviceptr>,
    /// Copies of such words after the launches: to, from, bytes.
    pub(super) copies: Vec<(CUdeviceptr, CUdeviceptr, usize)>,
    pub(super) decided: Decided,
    /// The parameters of a launch.
    pub(super) params: Vec<u64>,
    /// A launch found no variant that fits: a program has more of them made.
    pub lacks_variant: Cell<bool>,
}

/// The launches of a call that are decided, in the order in which they are queued.
#[derive(Default)]
pub(super) struct Decided {
    pub(super) launches: Vec<Prepared>,
    /// Those of all launches.
    pub(super) kernels: Vec<Running>,
}

/// A launch of the plan: its kernels in [`Decided::kernels`], and what they share.
#[derive(Clone, Copy)]
pub(super) struct Prepared {
    pub(super) kernels: (usize, usize),
    pub(super) scratch: Scratch,
}

/// One variant on its grid, its code loaded.
#[derive(Clone, Copy)]
pub(super) struct Running {
    pub(super) function: CUfunction,
    pub(super) variant: &'static GpuVariant,
    pub(super) blocks: u32,
    /// See `KernelLaunch::span`.
    pub(super) span: Option<u32>,
}
