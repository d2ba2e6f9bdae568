//! The state that a context on a GPU keeps: streams, the words of error records, pinned words, loaded code.
//! This file has the data; `stream.rs`, `records.rs`, `words.rs` and `code.rs` work with it.

use super::table::Table;
use crate::module::Entry;
use cudarc::driver::sys::{CUdeviceptr, CUfunction, CUmodule};
use cudarc::driver::sys::{CUevent, CUstream, CUstream_flags};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock};

#[derive(Clone, Copy)]
pub(super) struct Function(pub(super) CUfunction);

// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for Function {}

// SAFETY: as above.
unsafe impl Sync for Function {}

/// A variant of a kernel: its function once it is loaded, and who loads it.
#[derive(Default)]
pub(super) struct Variant {
    pub(super) function: OnceLock<Function>,
    pub(super) loading: Mutex<()>,
}

/// The code that a context loaded. Nothing in it points into a package.
pub(super) struct Code {
    /// Of each package (by `Loaded::id`) the functions, by the number of the variant.
    pub(super) packages: Table<Box<[Variant]>>,
    /// Kernels of this library.
    pub(super) own: [OnceLock<Function>; KERNELS],
    /// What is to be unloaded, and the package that it is of.
    pub(super) modules: Mutex<Vec<(usize, CUmodule)>>,
}

/// A word: its address for the host, and for the device.
#[derive(Clone, Copy)]
pub(crate) struct Word {
    pub host: *mut u64,
    pub device: CUdeviceptr,
}

#[derive(Default)]
pub(super) struct Inner {
    pub(super) free: Vec<Word>,
    /// How many there are.
    pub(super) words: usize,
    pub(super) blocks: Vec<*mut c_void>,
}

/// All words of a context, and which are free.
pub(super) struct Words(pub(super) Mutex<Inner>);

/// Whether a stream is lent.
pub(super) struct Lent(pub(super) AtomicU8);

/// The words of one function: as many as all its launches have sites.
pub(super) struct Range {
    pub(super) entry: Arc<Entry>,
    pub(super) device: CUdeviceptr,
    /// Pinned memory that they are taken to, zeros between readings: its address for the host, and for the device.
    pub(super) host: (*mut u64, CUdeviceptr),
    /// In the order of pending functions.
    pub(super) pending: bool,
    /// In a graph, which may run at any time.
    pub(super) captured: bool,
    /// Calls that are queued, and how many of them were when the last reading began.
    pub(super) calls: u64,
    pub(super) read: u64,
}

/// The records of a stream.
#[derive(Default)]
pub(super) struct Records {
    pub(super) ranges: Vec<Range>,
    /// Which are pending, in the order of their first calls.
    pub(super) order: Vec<usize>,
}

// SAFETY: the pinned words are the range's own.
unsafe impl Send for Records {}

/// Streams of ours do not wait for the legacy default stream.
pub(super) const NON_BLOCKING: u32 = CUstream_flags::CU_STREAM_NON_BLOCKING as u32;

/// Memory that kernels on one stream use in turn.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) scratch: Block,
    pub(super) counters: Block,
    /// Free words for scalars that stay on the device. One that was given back may be taken at once: its next use comes later
    /// on the same stream.
    pub(super) slots: Vec<CUdeviceptr>,
}

#[derive(Default, Clone, Copy)]
pub(super) struct Block {
    pub(super) address: CUdeviceptr,
    pub(super) bytes: u64,
}

pub(crate) struct Stream {
    pub raw: CUstream,
    /// 0: the context's own.
    pub index: u32,
    /// Whether we made it for the caller, and he has it.
    pub(super) lent: Lent,
    /// The driver's unique number: a handle of the caller may return for another stream.
    pub(super) id: AtomicU64,
    /// The work on it so far, as of the last record.
    pub event: CUevent,
    pub(super) shared: Mutex<Shared>,
    pub(super) records: Mutex<Records>,
    /// Held by the one thread that reads records.
    pub reading: Mutex<()>,
    /// Calls that may have asked for the order of their buffers, and have not marked the stream yet.
    pub(super) queueing: AtomicU32,
}

// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for Stream {}

// SAFETY: as above.
unsafe impl Sync for Stream {}

/// Kernels of ours: each operation for elements of 1, 2, 4 and 8 bytes, along one axis or three; words are taken 8 bytes at a time, along one.
pub(super) const KERNELS: usize = 25;
