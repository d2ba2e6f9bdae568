//! Streams: the context's own and the caller's, what kernels on them share, and the order between them.
//!
//! A buffer remembers the stream that used it last (or several, if threads use it at once). On another stream, that one's work so far comes first: an event of ours, which is recorded
//! after each call on a stream of the caller, because his stream may be gone when we need it; our own lives, so its event is recorded
//! only when another stream asks. Streams that we lend the caller are like his.

use super::driver::Api;
use super::gpu::{Gpu, Uncaptured};
use super::state::{Block, Lent, NON_BLOCKING, Stream};
use super::table::lock;
use crate::error::{INVALID_ARGUMENT, Result, fail};
use cudarc::driver::sys::*;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// CU_STREAM_PER_THREAD.
const PER_THREAD: usize = 2;
/// The number of a stream that we could not ask for it, or that has none.
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
        // SAFETY: a pointer to a local.
        let code =
            unsafe { (gpu.api().event_create)(&mut event, CUevent_flags::CU_EVENT_DISABLE_TIMING as u32) };
        gpu.check(code, "cuEventCreate")?;
        Ok(Stream {
            raw,
            index,
            lent,
            id: AtomicU64::new(id),
            event,
            shared: Mutex::default(),
            records: Mutex::default(),
            reading: Mutex::default(),
            queueing: AtomicU32::new(0),
        })
    }

    /// A stream of ours: number 0 for a new context, else to lend.
    pub(super) fn ours(gpu: &Gpu, index: u32) -> Result<Stream> {
        let mut raw = null_mut();
        // SAFETY: a pointer to a local.
        let code = unsafe { (gpu.api().stream_create)(&mut raw, NON_BLOCKING) };
        gpu.check(code, "cuStreamCreate")?;
        let lent = if index == 0 { Lent::never() } else { Lent::now() };
        Stream::new(gpu, raw, index, UNKNOWN, lent).inspect_err(|_| {
            // SAFETY: made above, used by nobody.
            unsafe { (gpu.api().stream_destroy)(raw) };
        })
    }

    pub fn is_own(&self) -> bool {
        self.index == 0
    }

    /// From before the buffers of a call are ordered until the stream is marked.
    pub(super) fn queueing(&self) -> Queueing<'_> {
        self.queueing.fetch_add(1, Ordering::SeqCst);
        Queueing(self)
    }

    /// If not, all calls whose buffers were ordered are marked.
    pub(super) fn is_queueing(&self) -> bool {
        self.queueing.load(Ordering::SeqCst) > 0
    }

    /// Destroys what is ours.
    pub(super) fn destroy(self, api: &Api) {
        // SAFETY: the event is ours, and so is the stream if we made it; nothing uses them any more.
        unsafe {
            (api.event_destroy)(self.event);
            if self.is_own() || self.lent.is_ours() {
                (api.stream_destroy)(self.raw);
            }
        }
    }

    /// Memory for the scratch of one launch at a time: kernels on a stream run one after another.
    pub fn scratch(&self, gpu: &Gpu, bytes: u64) -> Result<CUdeviceptr> {
        grown(gpu, &mut lock(&self.shared).scratch, bytes, 64 << 10)
    }

    /// Counters: zeros, which every kernel leaves as zeros.
    pub fn counters(&self, gpu: &Gpu, count: u64) -> Result<CUdeviceptr> {
        grown(gpu, &mut lock(&self.shared).counters, count.saturating_mul(4), 4 << 10)
    }

    /// A word of device memory for a scalar.
    pub fn take_slot(&self, gpu: &Gpu) -> Result<CUdeviceptr> {
        const MORE: u64 = 256;
        let mut shared = lock(&self.shared);
        if let Some(slot) = shared.slots.pop() {
            return Ok(slot);
        }
        let first = gpu.lasting(MORE * 8)?;
        let room = shared.slots.capacity() + MORE as usize;
        shared.slots.reserve(room); // giving back never allocates
        shared.slots.extend((1..MORE).rev().map(|i| first + i * 8));
        Ok(first)
    }

    pub fn give_slot(&self, slot: CUdeviceptr) {
        lock(&self.shared).slots.push(slot);
    }
}

/// A block of at least so many bytes. The old one stays: a captured graph may hold its address.
fn grown(gpu: &Gpu, block: &mut Block, bytes: u64, least: u64) -> Result<CUdeviceptr> {
    if block.bytes < bytes {
        let more = bytes.checked_next_power_of_two().unwrap_or(bytes).max(least);
        *block = Block { address: gpu.lasting(more)?, bytes: more };
    }
    Ok(block.address)
}

impl Gpu {
    /// The context's own stream.
    pub fn own_stream(&self) -> &Stream {
        match self.streams.get(0) {
            Some(stream) => stream,
            None => unreachable!("made with the context"),
        }
    }

    /// The stream of a call, and whether what is queued on it is recorded for a graph instead of run. NULL is the context's own, which
    /// is not to be captured.
    #[inline]
    pub fn stream(&self, raw: CUstream) -> Result<(&Stream, bool)> {
        let own = self.own_stream();
        if raw.is_null() || raw == own.raw { Ok((own, false)) } else { self.callers_stream(raw) }
    }

    fn callers_stream(&self, raw: CUstream) -> Result<(&Stream, bool)> {
        if let Some(lent) = self.streams.iter().find(|s| s.raw == raw && s.lent.is_ours()) {
            lent.lent.check()?;
            return Ok((lent, self.is_capturing(raw)?));
        }
        let capturing = self.is_capturing(raw)?;
        // another stream in each thread, which only its number tells
        let per_thread = raw.addr() == PER_THREAD;
        if per_thread && self.api().stream_id.is_none() {
            fail!(
                INVALID_ARGUMENT,
                "call.stream is CU_STREAM_PER_THREAD, which this driver does not tell apart"
            );
        }
        // no other questions about a stream that is being captured: nothing says that the driver allows them
        let id = if capturing && !per_thread { UNKNOWN } else { self.stream_id(raw)? };
        let same = |s: &&Stream| s.raw == raw && (!per_thread || s.id.load(Ordering::Relaxed) == id);
        let stream = match self.streams.iter().find(same) {
            Some(known) => known,
            None => self.add_stream(raw, id, capturing, same)?,
        };
        if id != UNKNOWN && stream.id.load(Ordering::Relaxed) != id {
            self.recognise(stream, id)?;
        }
        Ok((stream, capturing))
    }

    fn stream_id(&self, raw: CUstream) -> Result<u64> {
        let mut id = 0;
        if let Some(f) = self.api().stream_id {
            // SAFETY: a stream (the caller's promise), and a pointer to a local.
            self.check(unsafe { f(raw, &mut id) }, "call.stream: cuStreamGetId")?;
        }
        Ok(id)
    }

    /// A handle that we saw before may be another stream now: it waits for what the old one did, because both use the same scratch.
    #[cold]
    fn recognise(&self, stream: &Stream, id: u64) -> Result<()> {
        self.check_context(stream.raw)?;
        self.after(stream, stream)?;
        stream.id.store(id, Ordering::Relaxed);
        Ok(())
    }

    fn check_context(&self, raw: CUstream) -> Result<()> {
        let mut context = null_mut();
        // SAFETY: a stream (the caller's promise), and a pointer to a local.
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

    /// Whether what is queued on a stream is recorded for a graph instead of run.
    pub fn is_capturing(&self, raw: CUstream) -> Result<bool> {
        let mut status = 0;
        // SAFETY: a stream that lives (the caller's promise), and a pointer to a local.
        let code = unsafe { (self.api().stream_capturing)(raw, &mut status) };
        self.check(code, "call.stream: cuStreamIsCapturing")?;
        Ok(status != 0)
    }

    /// What comes on `to` comes after what was called on stream `from`.
    #[cold]
    pub(super) fn order(&self, from: &Stream, to: &Stream) -> Result<()> {
        if from.is_own() {
            self.mark(from)?;
        }
        self.after(to, from)
    }

    /// What comes on `to` comes after what `from` had done when it was marked; they may be of two contexts.
    pub(super) fn after(&self, to: &Stream, from: &Stream) -> Result<()> {
        // SAFETY: a stream of this context, and an event of ours.
        let code = unsafe { (self.api().stream_wait)(to.raw, from.event, 0) };
        self.check(code, "cuStreamWaitEvent").or_else(|_| {
            let _uncaptured = Uncaptured::enter(self.api());
            // SAFETY: our event: this thread waits where the stream cannot.
            self.check(unsafe { (self.api().event_synchronize)(from.event) }, "waiting for another stream")
        })
    }

    /// Notes how far a stream is. Where the driver cannot, what was queued is waited for: then nothing has to come after it.
    pub(super) fn mark(&self, stream: &Stream) -> Result<()> {
        // SAFETY: a stream of this context, and our event.
        let code = unsafe { (self.api().event_record)(stream.event, stream.raw) };
        self.check(code, "cuEventRecord").or_else(|_| {
            let _uncaptured = Uncaptured::enter(self.api());
            self.synchronize_stream(stream)
        })
    }

    /// Zeroed device memory that stays until the context goes. Takes no part in a capture, and waits for no queued work.
    pub(super) fn lasting(&self, bytes: u64) -> Result<CUdeviceptr> {
        let api = self.api();
        let _uncaptured = Uncaptured::enter(api);
        let address = self.allocate_on(bytes, self.aside)?;
        lock(&self.lasting).push((address, bytes));
        // SAFETY: fresh memory of that many bytes.
        unsafe {
            self.check((api.set_u8)(address, 0, bytes as usize, self.aside), "cuMemsetD8Async")?;
            self.check((api.stream_synchronize)(self.aside), "cuStreamSynchronize")?;
        }
        Ok(address)
    }
}
