//! The state that a context on a GPU keeps: streams, the words of error records, pinned words and
//! loaded code. This file defines the data; `stream.rs`, `records.rs`, `words.rs` and `code.rs`
//! work with it.

use super::removable::Removable;
use crate::module::Entry;
use cudarc::driver::sys::{CUdeviceptr, CUfunction, CUmodule};
use cudarc::driver::sys::{CUevent, CUstream, CUstream_flags};
use std::collections::HashSet;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock};

#[derive(Clone, Copy)]
pub(super) struct Function(pub(super) CUfunction);

// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for Function {}

// SAFETY: the reason is the same as above.
unsafe impl Sync for Function {}

/// A variant of a kernel: its function once it is loaded, and the lock of the thread that loads it.
#[derive(Default)]
pub(super) struct Variant {
    pub(super) function: OnceLock<Function>,
    pub(super) loading: Mutex<()>,
}

/// The code that a context has loaded. Nothing in it points into a package.
pub(super) struct Code {
    /// The functions of each package (by `Loaded::id`), by the number of the variant.
    pub(super) packages: Removable<Box<[Variant]>>,
    /// The functions of this library's own kernels.
    pub(super) own: [OnceLock<Function>; KERNELS],
    /// The modules to unload, each with the number of its package.
    pub(super) modules: Mutex<Vec<(usize, CUmodule)>>,
    /// The packages of which a graph holds calls: their modules are unloaded with the context.
    pub(super) captured: Mutex<HashSet<usize>>,
}

/// A pinned word: its address for the host, and for the device.
#[derive(Clone, Copy)]
pub(crate) struct Word {
    pub host: *mut u64,
    pub device: CUdeviceptr,
}

#[derive(Default)]
pub(super) struct Inner {
    pub(super) free: Vec<Word>,
    /// The total number of words.
    pub(super) words: usize,
    pub(super) blocks: Vec<*mut c_void>,
}

/// All pinned words of a context, and which of them are free.
pub(super) struct Words(pub(super) Mutex<Inner>);

/// Whether a stream is lent to the caller.
pub(super) struct Lent(pub(super) AtomicU8);

/// Words for error records, which are zero between readings.
pub(super) struct RecordWords {
    pub(super) count: usize,
    pub(super) device: CUdeviceptr,
    /// Pinned memory that the words are moved to: its address for the host, and for the device.
    pub(super) host: (*mut u64, CUdeviceptr),
}

/// The error records of one function: a word for each site of its launches.
pub(super) struct Range {
    pub(super) entry: Arc<Entry>,
    /// The function's package (`Loaded::id`), and whether it is gone.
    pub(super) package: usize,
    pub(super) is_gone: bool,
    pub(super) words: RecordWords,
    /// Whether the function is in `Records::order`.
    pub(super) pending: bool,
    /// Whether a call of the function is captured in a graph, which may run at any time.
    pub(super) captured: bool,
    /// The number of calls queued so far, and that number when the last reading began.
    pub(super) calls: u64,
    pub(super) read: u64,
}

/// The error records of a stream.
#[derive(Default)]
pub(super) struct Records {
    pub(super) ranges: Vec<Range>,
    /// The indices of the pending ranges, in the order of their first calls.
    pub(super) order: Vec<usize>,
    /// The words of ranges that were dropped, and the number of calls of these.
    pub(super) spare: Vec<RecordWords>,
    pub(super) calls_of_dropped: u64,
}

// SAFETY: each range owns its pinned words.
unsafe impl Send for Records {}

/// Streams of this library do not wait for the legacy default stream.
pub(super) const NON_BLOCKING: u32 = CUstream_flags::CU_STREAM_NON_BLOCKING as u32;

/// A workspace: memory that the launches on one stream use one after another (`Stream::scratch_launches`), or those
/// of one stream in one capture.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) scratch: Block,
    pub(super) counters: Block,
    /// Free words for scalars that stay on the device. A word that was given back may be reused at
    /// once, because its next use comes later on the same stream.
    pub(super) slots: Vec<CUdeviceptr>,
}

/// The workspace of one stream in one capture.
pub(super) type OfCapture = Arc<Mutex<Shared>>;

/// Workspaces that no graph has any more.
pub(super) type Spare = Arc<Mutex<Vec<Shared>>>;

#[derive(Default, Clone, Copy)]
pub(super) struct Block {
    pub(super) address: CUdeviceptr,
    pub(super) bytes: u64,
}

pub(crate) struct Stream {
    pub raw: CUstream,
    /// The number of the stream; 0 is the context's own stream.
    pub index: u32,
    /// Whether this library made the stream for the caller, and the caller has it now.
    pub(super) lent: Lent,
    /// How often it was lent again.
    pub(super) lease: AtomicU32,
    /// Whether it was captured: a graph may leave error records for it.
    pub(super) captured: AtomicBool,
    /// The driver's unique number of the stream: a caller's handle may be reused for another
    /// stream.
    pub(super) id: AtomicU64,
    /// Marks the work on the stream up to the last `Gpu::mark`.
    pub event: CUevent,
    pub(super) shared: Mutex<Shared>,
    /// The last capture of a graph that had a call on the stream: the number of the capture, and its workspace.
    pub(super) of_capture: Mutex<Option<(u64, OfCapture)>>,
    /// Held while the kernels of one launch are queued that pass values through the scratch.
    pub(super) scratch_launches: Mutex<()>,
    pub(super) records: Mutex<Records>,
    /// Held by the one thread that reads error records.
    pub reading: Mutex<()>,
    /// The number of calls under way: they may have made the stream wait for the last uses of their buffers, and have
    /// not marked it yet (`stream.rs`).
    pub(super) queueing: AtomicU32,
}

// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for Stream {}

// SAFETY: the reason is the same as above.
unsafe impl Sync for Stream {}

/// The number of this library's kernels: fills, copies and conversions to bool, for elements of 1, 2, 4 and 8
/// bytes, along one axis or three; copies along four, and fills of bytes; and one that takes words of 8 bytes
/// along one axis.
pub(super) const KERNELS: usize = 30;
