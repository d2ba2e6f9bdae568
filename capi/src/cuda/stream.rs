//! Streams: the context's own and the caller's, the memory that kernels on them share, and the
//! order between them.
//!
//! A buffer remembers the stream that used it last (or several, if threads use it at the same time). Before work on
//! another stream uses the buffer, that stream waits for the *mark* of the last one: an event that is recorded after
//! the work. A caller's stream is marked after each call, because it may be gone when another stream wants to wait.
//! The context's own stream exists as long as the context, so it is marked only when another stream waits. Streams
//! that are lent to the caller are treated as the caller's.

use super::driver::Api;
use super::gpu::{Gpu, Uncaptured};
use super::state::{Block, Lent, NON_BLOCKING, Shared, Stream};
use super::table::lock;
use crate::error::{INVALID_ARGUMENT, Result, fail};
use cudarc::driver::sys::*;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// The value of CU_STREAM_PER_THREAD.
const PER_THREAD: usize = 2;
/// The number of a stream for which the driver gives none, or about which it cannot be asked.
const UNKNOWN: u64 = 0;

/// A call that queues its work.
pub(super) struct Queueing<'a>(&'a Stream);

impl Drop for Queueing<'_> {
    fn drop(&mut self) {
        self.0.queueing.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Stream {
    fn new(gpu: &Gpu, raw: CUstream, index: u32, id: u64, lent: Lent) -> Result<Stream> {
        let mut event = null_mut();
        // SAFETY: the pointer is to a local variable.
        let code =
            unsafe { (gpu.api().event_create)(&mut event, CUevent_flags::CU_EVENT_DISABLE_TIMING as u32) };
        gpu.check(code, "cuEventCreate")?;
        Ok(Stream {
            raw,
            index,
            lent,
            lease: AtomicU32::new(0),
            captured: AtomicBool::new(false),
            id: AtomicU64::new(id),
            event,
            shared: Mutex::default(),
            of_capture: Mutex::default(),
            scratch_launches: Mutex::default(),
            records: Mutex::default(),
            reading: Mutex::default(),
            queueing: AtomicU32::new(0),
        })
    }

    /// Makes a stream of this library: with index 0 for a new context, else one to lend.
    pub(super) fn ours(gpu: &Gpu, index: u32) -> Result<Stream> {
        let mut raw = null_mut();
        // SAFETY: the pointer is to a local variable.
        let code = unsafe { (gpu.api().stream_create)(&mut raw, NON_BLOCKING) };
        gpu.check(code, "cuStreamCreate")?;
        let lent = if index == 0 { Lent::never() } else { Lent::now() };
        Stream::new(gpu, raw, index, UNKNOWN, lent).inspect_err(|_| {
            // SAFETY: it was made above, and nothing uses it.
            unsafe { (gpu.api().stream_destroy)(raw) };
        })
    }

    pub fn is_own(&self) -> bool {
        self.index == 0
    }

    /// Returns the tag of the stream, which another lease of the same stream does not have: its index in the low 32
    /// bits, and the number of leases before this one in the high bits.
    #[inline]
    pub(super) fn tag(&self) -> u64 {
        u64::from(self.lease.load(Ordering::Relaxed)) << 32 | u64::from(self.index)
    }

    /// Registers a call that queues work. The value must live from before the stream waits for the buffers' last uses
    /// until it is marked.
    pub(super) fn queueing(&self) -> Queueing<'_> {
        self.queueing.fetch_add(1, Ordering::SeqCst);
        Queueing(self)
    }

    /// Whether some call on the stream has ordered its buffers and not marked the stream yet.
    pub(super) fn is_queueing(&self) -> bool {
        self.queueing.load(Ordering::SeqCst) > 0
    }

    /// Destroys the event, and the stream if this library made it.
    pub(super) fn destroy(self, api: &Api) {
        // SAFETY: this library made the event, and the stream if it destroys it; nothing uses them
        // any more.
        unsafe {
            (api.event_destroy)(self.event);
            if self.is_own() || self.lent.is_ours() {
                (api.stream_destroy)(self.raw);
            }
        }
    }
}

impl Shared {
    /// Returns memory for the scratch of one launch at a time: kernels on a stream run one after another, and those
    /// of a launch are queued under `scratch_launches`.
    pub fn scratch(&mut self, gpu: &Gpu, bytes: u64) -> Result<CUdeviceptr> {
        grown(gpu, &mut self.scratch, bytes, 64 << 10)
    }

    /// Returns counters, which are zero, and which every kernel leaves at zero.
    pub fn counters(&mut self, gpu: &Gpu, count: u64) -> Result<CUdeviceptr> {
        grown(gpu, &mut self.counters, count.saturating_mul(4), 4 << 10)
    }

    /// Returns a word of device memory for a scalar.
    pub fn take_slot(&mut self, gpu: &Gpu) -> Result<CUdeviceptr> {
        const MORE: u64 = 256;
        if let Some(slot) = self.slots.pop() {
            return Ok(slot);
        }
        let first = gpu.lasting(MORE * 8)?;
        let room = self.slots.capacity() + MORE as usize;
        self.slots.reserve(room); // so that giving back never allocates
        self.slots.extend((1..MORE).rev().map(|i| first + i * 8));
        Ok(first)
    }

    pub fn give_slot(&mut self, slot: CUdeviceptr) {
        self.slots.push(slot);
    }
}

/// Returns a block of at least that many bytes. The old block stays allocated, because queued or captured kernels may
/// hold its address.
fn grown(gpu: &Gpu, block: &mut Block, bytes: u64, least: u64) -> Result<CUdeviceptr> {
    if block.bytes < bytes {
        let more = bytes.checked_next_power_of_two().unwrap_or(bytes).max(least);
        *block = Block { address: gpu.lasting(more)?, bytes: more };
    }
    Ok(block.address)
}

impl Gpu {
    /// Returns the context's own stream.
    pub fn own_stream(&self) -> &Stream {
        match self.streams.get(0) {
            Some(stream) => stream,
            None => unreachable!("made with the context"),
        }
    }

    /// Returns the stream of a call, and whether work that is queued on it is captured in a graph
    /// instead of run. NULL is the context's own stream, which must not be captured.
    #[inline]
    pub fn stream(&self, raw: CUstream) -> Result<(&Stream, bool)> {
        let own = self.own_stream();
        if raw.is_null() || raw == own.raw { Ok((own, false)) } else { self.callers_stream(raw) }
    }

    fn callers_stream(&self, raw: CUstream) -> Result<(&Stream, bool)> {
        if let Some(lent) = self.streams.iter().find(|s| s.raw == raw && s.lent.is_ours()) {
            lent.lent.check()?;
            let capturing = self.is_capturing(raw)?;
            if capturing {
                lent.captured.store(true, Ordering::Release);
            }
            return Ok((lent, capturing));
        }
        let capturing = self.is_capturing(raw)?;
        // the handle CU_STREAM_PER_THREAD means another stream in each thread; the driver's number of the stream
        // tells which
        let per_thread = raw.addr() == PER_THREAD;
        if per_thread && self.api().stream_id.is_none() {
            fail!(
                INVALID_ARGUMENT,
                "call.stream is CU_STREAM_PER_THREAD, which this driver does not tell apart"
            );
        }
        // the driver is asked nothing else about a stream that is being captured, because it does not document that
        // this is allowed
        let id = if capturing && !per_thread { UNKNOWN } else { self.stream_id(raw)? };
        let same = |s: &&Stream| s.raw == raw && (!per_thread || s.id.load(Ordering::Relaxed) == id);
        let stream = match self.streams.iter().find(same) {
            Some(known) => known,
            None => self.add_stream(raw, id, capturing, same)?,
        };
        if capturing {
            stream.captured.store(true, Ordering::Release);
        }
        if id != UNKNOWN && stream.id.load(Ordering::Relaxed) != id {
            self.recognise(stream, id)?;
        }
        Ok((stream, capturing))
    }

    fn stream_id(&self, raw: CUstream) -> Result<u64> {
        let mut id = 0;
        if let Some(f) = self.api().stream_id {
            // SAFETY: the caller promises a stream; the other pointer is to a local variable.
            self.check(unsafe { f(raw, &mut id) }, "call.stream: cuStreamGetId")?;
        }
        Ok(id)
    }

    /// Handles a known handle that may be that of a new stream: the old one was destroyed, and the driver reuses
    /// handles. The new stream waits for the work of the old one, because both use the same workspace.
    #[cold]
    fn recognise(&self, stream: &Stream, id: u64) -> Result<()> {
        self.check_context(stream.raw)?;
        self.after(stream, stream)?;
        stream.id.store(id, Ordering::Relaxed);
        Ok(())
    }

    fn check_context(&self, raw: CUstream) -> Result<()> {
        let mut context = null_mut();
        // SAFETY: the caller promises a stream; the other pointer is to a local variable.
        let code = unsafe { (self.api().stream_context)(raw, &mut context) };
        self.check(code, "call.stream: cuStreamGetCtx")?;
        if context != self.raw {
            fail!(
                INVALID_ARGUMENT,
                "call.stream is not a stream of the primary context of {}",
                self.device.title()
            );
        }
        Ok(())
    }

    #[cold]
    fn add_stream(
        &self,
        raw: CUstream,
        id: u64,
        capturing: bool,
        same: impl FnMut(&&Stream) -> bool,
    ) -> Result<&Stream> {
        if !capturing {
            self.check_context(raw)?;
        }
        let _one = lock(&self.adding);
        let count = self.streams.iter().count();
        if let Some(known) = self.streams.iter().find(same) {
            return Ok(known);
        }
        let stream = Stream::new(self, raw, count as u32, id, Lent::never())?;
        Ok(self.streams.get_or_init(count, || stream))
    }

    /// Whether work that is queued on a stream is captured in a graph instead of run.
    pub fn is_capturing(&self, raw: CUstream) -> Result<bool> {
        let mut status = 0;
        // SAFETY: the caller promises a stream that exists; the other pointer is to a local
        // variable.
        let code = unsafe { (self.api().stream_capturing)(raw, &mut status) };
        self.check(code, "call.stream: cuStreamIsCapturing")?;
        Ok(status != 0)
    }

    /// Orders later work on `to` after the calls on `from`.
    #[cold]
    pub(super) fn order(&self, from: &Stream, to: &Stream) -> Result<()> {
        if from.is_own() {
            self.mark(from)?;
        }
        self.after(to, from)
    }

    /// Orders later work on `to` after the last mark of `from`. The streams may belong to two contexts.
    pub(super) fn after(&self, to: &Stream, from: &Stream) -> Result<()> {
        // SAFETY: the stream is one of this context, and the event one of this library.
        let code = unsafe { (self.api().stream_wait)(to.raw, from.event, 0) };
        self.check(code, "cuStreamWaitEvent").or_else(|_| {
            let _uncaptured = Uncaptured::enter(self.api());
            // SAFETY: the event is one of this library. This thread waits because the stream
            // cannot.
            self.check(unsafe { (self.api().event_synchronize)(from.event) }, "waiting for another stream")
        })
    }

    /// Marks the work on a stream so far. If the driver cannot do that, waits for the queued work,
    /// after which nothing needs to be ordered.
    pub(super) fn mark(&self, stream: &Stream) -> Result<()> {
        // SAFETY: the stream is one of this context, and the event one of this library.
        let code = unsafe { (self.api().event_record)(stream.event, stream.raw) };
        self.check(code, "cuEventRecord").or_else(|_| {
            let _uncaptured = Uncaptured::enter(self.api());
            self.synchronize_stream(stream)
        })
    }

    /// Allocates zeroed device memory that is freed with the context. This is not part of a
    /// capture, and waits for no queued work.
    pub(super) fn lasting(&self, bytes: u64) -> Result<CUdeviceptr> {
        let api = self.api();
        let _uncaptured = Uncaptured::enter(api);
        let address = self.allocate_on(bytes, self.aside)?;
        lock(&self.lasting).push((address, bytes));
        // SAFETY: the memory is new and has that many bytes.
        unsafe {
            self.check((api.set_u8)(address, 0, bytes as usize, self.aside), "cuMemsetD8Async")?;
            self.check((api.stream_synchronize)(self.aside), "cuStreamSynchronize")?;
        }
        Ok(address)
    }
}
