//! What a call needs while it runs. Each thread keeps one workspace and reuses it, so that small
//! calls allocate nothing.

use crate::buffer::{Buffer, Memory as Owned, On};
use crate::cuda::{Frame, Stream};
use crate::error::{OUT_OF_MEMORY, Result, fail};
use crate::guards;
use crate::handle::Pin;
use crate::memory::{ALIGN, Storage};
use crate::span::Span;
use arraygpu_compiler::counted;
use arraygpu_compiler::scalar::Lit;
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::without_provenance_mut;

/// Size in bytes of the block in which small temporaries and scratch lie.
const ARENA: usize = 64 << 10;
/// Alignment in bytes of a caller's workspace, and of each temporary in it.
pub(crate) const LENT_ALIGN: usize = 256;

/// What a caller specifies for a call's temporaries.
#[derive(Clone, Copy)]
pub(crate) enum Lent {
    /// The temporaries are to lie in the caller's memory at this address, which has this many
    /// bytes.
    Memory(*mut u8, usize),
    /// The caller only asks how many bytes the temporaries need.
    Counted,
}

/// The state of a call. Parameters, results and temporaries are numbered consecutively in this
/// order; the numbers are called "places".
#[derive(Default)]
pub(crate) struct Workspace {
    /// The buffers of the call, which stay valid while it runs.
    pub pins: Vec<Pin<Buffer>>,
    /// A span for each place. That of a scalar result is the caller's memory; those of other
    /// scalars are unused.
    pub spans: Vec<Span>,
    /// Values of the scalar parameters, at their places.
    pub literals: Vec<Lit>,
    /// Values of the plan's host scalars.
    pub host: Vec<Lit>,
    /// Pairs (result, parameter) in which the output is exactly the input.
    pub in_place: Vec<(u32, u32)>,
    /// Results that are computed in a temporary: the place, and the span that the caller wants.
    pub detours: Vec<(usize, Span)>,
    /// Results in new buffers: the place and its memory.
    pub made: Vec<(usize, Owned)>,
    /// Places whose new buffers have a handle already.
    pub delivered: Vec<usize>,
    /// A word for each place: a scalar as kernels read and write it, or the handle of a new buffer.
    pub words: Vec<u64>,
    /// The arguments of a launch.
    pub launch: LaunchArgs,
    /// The error records of all launches on the CPU: the lowest element of each site.
    pub records: Vec<i64>,
    /// Memory for temporaries.
    pub memory: Memory,
    /// State of launches on a GPU.
    pub frame: Frame,
}

impl Workspace {
    /// The memory of the call: new results and temporaries, except temporaries in a caller's
    /// workspace.
    pub fn owned(&self) -> impl Iterator<Item = &Owned> {
        self.made.iter().chain(&self.memory.large).map(|(_, memory)| memory)
    }
}

/// The arrays that `agpu_kernel_args` points at.
#[derive(Default)]
pub(crate) struct LaunchArgs {
    pub arrays: Vec<*mut c_void>,
    pub strides: Vec<i64>,
    pub scalars: Vec<u64>,
    pub slots: Vec<*mut c_void>,
    pub scratch: Vec<*mut c_void>,
}

/// The memory of temporaries: an arena for small ones and allocations for large ones, or a caller's
/// workspace for all.
#[derive(Default)]
pub(crate) struct Memory {
    /// The caller's workspace.
    pub lent: Option<Lent>,
    arena: Option<Storage>,
    /// Bytes used so far of the arena or of the workspace.
    pub used: usize,
    /// Large allocations, each with its place.
    large: Vec<(usize, Owned)>,
}

impl Memory {
    /// Allocates memory for `count` elements of `size` bytes, which is not cleared. On a GPU it is
    /// valid for later work on the stream.
    pub fn take(&mut self, place: usize, count: i64, size: usize, on: On) -> Result<*mut u8> {
        let bytes = usize::try_from(count).ok().and_then(|n| n.checked_mul(size));
        if let Some(lent) = self.lent {
            return self.take_lent(lent, bytes);
        }
        if let On::Device(..) = on {
            return self.take_large(place, count, size, on);
        }
        // Where launches are checked, each temporary is an allocation with guard bytes of its own.
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
        // The number of bytes is reported as an int64_t.
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
                    "the call's workspace of {} is too small; agpu_call.workspace_needed says what it takes",
                    counted(size, "byte")
                )
            }
        }
    }

    fn take_large(&mut self, place: usize, count: i64, size: usize, on: On) -> Result<*mut u8> {
        let memory = Owned::temporary(count, size, on)?;
        let address = memory.data();
        self.large.push((place, memory));
        Ok(address)
    }

    /// Gives the memory of a place back after the work that is queued on the stream.
    pub fn release_on(&mut self, place: usize, stream: &Stream) {
        for i in (0..self.large.len()).rev().filter(|i| self.large[*i].0 == place).collect::<Vec<_>>() {
            if let (_, Owned::Device(allocation)) = self.large.swap_remove(i) {
                allocation.free_on(stream);
            }
        }
    }

    /// Gives the memory of all places back after the work that is queued on the stream.
    pub fn release_all_on(&mut self, stream: &Stream) {
        for (_, memory) in self.large.drain(..) {
            if let Owned::Device(allocation) = memory {
                allocation.free_on(stream);
            }
        }
    }

    /// Gives the memory of a place back if it is a large allocation.
    pub fn release(&mut self, place: usize) {
        self.large.retain(|(p, _)| *p != place);
    }
}

thread_local! {
    static WORKSPACE: Cell<Option<Box<Workspace>>> = const { Cell::new(None) };
}

/// Runs `f` with the thread's workspace. A nested call gets another workspace.
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
