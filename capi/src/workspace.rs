//! What a call needs while it runs: one set a thread, reused, so that small calls allocate nothing.

use crate::buffer::{Buffer, Memory as Owned, On};
use crate::cuda::{Frame, Stream};
use crate::error::{OUT_OF_MEMORY, Result, fail};
use crate::guards;
use crate::handle::Pin;
use crate::memory::{ALIGN, Storage};
use crate::span::Span;
use arraygpu_compiler::scalar::Lit;
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::without_provenance_mut;

/// Small temporaries and scratch live in one block of this size.
const ARENA: usize = 64 << 10;
/// Alignment of a caller's workspace, and of what lies in it.
pub(crate) const LENT_ALIGN: usize = 256;

/// What a caller says of a call's temporaries.
#[derive(Clone, Copy)]
pub(crate) enum Lent {
    /// They are to be in so many bytes of his.
    Memory(*mut u8, usize),
    /// He only wants to know how many bytes they take.
    Counted,
}

/// Parameters, results and temporaries are counted through, in this order: "places".
#[derive(Default)]
pub(crate) struct Workspace {
    /// The buffers of the call: they stay while it runs.
    pub pins: Vec<Pin<Buffer>>,
    /// A span for each place. Scalar results: the caller's memory. Other scalars: unused.
    pub spans: Vec<Span>,
    /// Values of the scalar parameters, at their places.
    pub literals: Vec<Lit>,
    /// Values of the plan's host scalars.
    pub host: Vec<Lit>,
    /// (result, parameter): the output is the input.
    pub in_place: Vec<(u32, u32)>,
    /// Results that go through a temporary: the place, and where the caller wants it.
    pub detours: Vec<(usize, Span)>,
    /// Results in new buffers: the place and the memory.
    pub made: Vec<(usize, Owned)>,
    /// Places whose new buffers have a handle.
    pub delivered: Vec<usize>,
    /// A word for each place: scalars as kernels read and write them, handles of new buffers.
    pub words: Vec<u64>,
    /// The arguments of a launch.
    pub launch: LaunchArgs,
    /// Memory for temporaries.
    pub memory: Memory,
    /// What a launch on a GPU needs.
    pub frame: Frame,
}

impl Workspace {
    /// Memory of the call: new results and temporaries, but for what is in a caller's workspace.
    pub fn owned(&self) -> impl Iterator<Item = &Owned> {
        self.made.iter().chain(&self.memory.large).map(|(_, memory)| memory)
    }
}

/// The arrays behind `agpu_kernel_args`.
#[derive(Default)]
pub(crate) struct LaunchArgs {
    pub arrays: Vec<*mut c_void>,
    pub strides: Vec<i64>,
    pub scalars: Vec<u64>,
    pub slots: Vec<*mut c_void>,
    pub scratch: Vec<*mut c_void>,
    pub records: Vec<i64>,
}

/// An arena for what is small, and allocations for what is not; or a caller's workspace for all.
#[derive(Default)]
pub(crate) struct Memory {
    /// The caller's workspace.
    pub lent: Option<Lent>,
    arena: Option<Storage>,
    /// Bytes of the arena, or of the workspace.
    pub used: usize,
    /// Allocations, each with the place it belongs to.
    large: Vec<(usize, Owned)>,
}

impl Memory {
    /// Memory for `count` elements of `size` bytes, not cleared; on a GPU: for what comes on the stream.
    pub fn take(&mut self, place: usize, count: i64, size: usize, on: On) -> Result<*mut u8> {
        let bytes = usize::try_from(count).ok().and_then(|n| n.checked_mul(size));
        if let Some(lent) = self.lent {
            return self.take_lent(lent, bytes);
        }
        if let On::Device(..) = on {
            return self.take_large(place, count, size, on);
        }
        // what is checked has guards of its own
        match bytes.filter(|n| *n <= ARENA && !guards::is_on()) {
            Some(n) if self.used + n.next_multiple_of(ALIGN) <= ARENA => {
                let arena = match &self.arena {
                    Some(arena) => arena,
                    None => self.arena.insert(Storage::new(ARENA as i64, 1, false, None)?),
                };
                let address = arena.data().wrapping_add(self.used);
                self.used += n.next_multiple_of(ALIGN);
                Ok(address)
            }
            _ => self.take_large(place, count, size, on),
        }
    }

    fn take_lent(&mut self, lent: Lent, bytes: Option<usize>) -> Result<*mut u8> {
        let begin = self.used;
        let end =
            bytes.and_then(|n| n.checked_next_multiple_of(LENT_ALIGN)).and_then(|n| begin.checked_add(n));
        // what is counted must be an int64_t
        let Some(end) = end.filter(|n| *n <= i64::MAX as usize) else {
            fail!(OUT_OF_MEMORY, "the call's temporaries take more bytes than can be counted");
        };
        self.used = end;
        match lent {
            Lent::Counted => Ok(without_provenance_mut(LENT_ALIGN)),
            Lent::Memory(base, size) if end <= size => Ok(base.wrapping_add(begin)),
            Lent::Memory(_, size) => {
                fail!(
                    OUT_OF_MEMORY,
                    "the call's workspace of {size} bytes is too small; agpu_call.workspace_needed says what it takes"
                )
            }
        }
    }

    fn take_large(&mut self, place: usize, count: i64, size: usize, on: On) -> Result<*mut u8> {
        let memory = Owned::new(count, size, on)?;
        let address = memory.data();
        self.large.push((place, memory));
        Ok(address)
    }

    /// Gives the memory of a place back after what is queued on the stream.
    pub fn release_on(&mut self, place: usize, stream: &Stream) {
        for i in (0..self.large.len()).rev().filter(|i| self.large[*i].0 == place).collect::<Vec<_>>() {
            if let (_, Owned::Device(allocation)) = self.large.swap_remove(i) {
                allocation.free_on(stream);
            }
        }
    }

    /// The same for all places.
    pub fn release_all_on(&mut self, stream: &Stream) {
        for (_, memory) in self.large.drain(..) {
            if let Owned::Device(allocation) = memory {
                allocation.free_on(stream);
            }
        }
    }

    /// Gives the memory of a place back, if it is large.
    pub fn release(&mut self, place: usize) {
        self.large.retain(|(p, _)| *p != place);
    }
}

thread_local! {
    static WORKSPACE: Cell<Option<Box<Workspace>>> = const { Cell::new(None) };
}

/// Runs `f` with the thread's workspace. A call inside of `f` gets another one.
pub(crate) fn with<R>(f: impl FnOnce(&mut Workspace) -> R) -> R {
    let mut workspace = WORKSPACE.try_with(Cell::take).ok().flatten().unwrap_or_default();
    let result = f(&mut workspace);
    workspace.pins.clear();
    workspace.made.clear();
    workspace.memory.large.clear();
    (workspace.memory.used, workspace.memory.lent) = (0, None);
    let _ = WORKSPACE.try_with(|w| w.set(Some(workspace)));
    result
}
