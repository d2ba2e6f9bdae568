//! Streams that this library makes for the caller, and operations on a stream beside calls and
//! copies.
//!
//! A stream that the caller frees is not destroyed, because buffers remember it as the stream that used them last,
//! and because it has scratch. It is lent again when its work is done. So a program that makes a stream for each of
//! its tasks has no more streams than ever worked at the same time. Two kinds of streams are not lent again: one that
//! was captured, because its graph may leave error records there at any time; and one with an error record that was
//! not reported yet, because the next user must not get the record.

use super::gpu::{Gpu, Uncaptured};
use super::records::Reading;
use super::state::{Lent, Stream};
use super::table::lock;
use crate::device::Callback;
use crate::error::{INVALID_ARGUMENT, INVALID_HANDLE, Result, fail};
use crate::log::log;
use cudarc::driver::sys::CUstream;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU8, Ordering};

const NEVER: u8 = 0;
const LENT: u8 = 1;
const FREE: u8 = 2;

/// The maximum number of free streams that wait for their records to be reported. Beyond it, records are dropped.
const MOST_WAITING: usize = 16;

impl Lent {
    /// The state of a stream that this library does not lend: it is the caller's, or the context's
    /// own.
    pub fn never() -> Lent {
        Lent(AtomicU8::new(NEVER))
    }

    pub fn now() -> Lent {
        Lent(AtomicU8::new(LENT))
    }

    /// Whether the stream was made to be lent.
    pub fn is_ours(&self) -> bool {
        self.0.load(Ordering::Relaxed) != NEVER
    }

    fn is_free(&self) -> bool {
        self.0.load(Ordering::Acquire) == FREE
    }

    /// Returns an error if the stream was freed.
    pub fn check(&self) -> Result<()> {
        if self.is_free() {
            fail!(INVALID_HANDLE, "call.stream was freed by agpu_stream_free()");
        }
        Ok(())
    }

    fn change(&self, from: u8, to: u8) -> bool {
        self.0.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

impl Stream {
    /// Lends a stream that is free. Only the thread that holds `Gpu::adding` calls this.
    fn lend_again(&self) -> CUstream {
        self.lease.fetch_add(1, Ordering::Relaxed);
        self.lent.0.store(LENT, Ordering::Release);
        self.raw
    }
}

impl Gpu {
    /// Returns a stream for the caller to use until `take_back`.
    pub fn lend(&self) -> Result<CUstream> {
        let (_current, _uncaptured) = (self.enter()?, Uncaptured::enter(self.api()));
        let _one = lock(&self.adding);
        let mut waiting = Vec::new();
        for known in self.streams.iter().filter(|s| self.is_done(s)) {
            if self.is_reported(known)? {
                return Ok(known.lend_again());
            }
            waiting.push(known);
        }
        if let [first, ..] = *waiting
            && waiting.len() >= MOST_WAITING
        {
            if let Some(Err(dropped)) = Reading::begin(first).map(|r| r.check(None)) {
                log!(Warn, "nobody waited for a stream that was freed: {}", dropped.message);
            }
            return Ok(first.lend_again());
        }
        let count = self.streams.iter().count();
        let stream = Stream::ours(self, count as u32)?;
        Ok(self.streams.get_or_init(count, || stream).raw)
    }

    /// Whether the stream is free, the work that this library queued on it is done, and no graph, which may run
    /// at any time, leaves error records for it.
    fn is_done(&self, stream: &Stream) -> bool {
        // SAFETY: the event is one of this library.
        let is_idle = || unsafe { (self.api().event_query)(stream.event) } == 0;
        stream.lent.is_free() && !stream.captured.load(Ordering::Acquire) && is_idle()
    }

    /// Whether no error record of a stream whose work is done waits to be reported.
    fn is_reported(&self, stream: &Stream) -> Result<bool> {
        let Some(reading) = Reading::begin(stream) else { return Ok(true) };
        if reading.has_found() {
            return Ok(false);
        }
        reading.queue(self, self.aside)?;
        // SAFETY: the stream is one of this library.
        self.check(unsafe { (self.api().stream_synchronize)(self.aside) }, "reading error records")?;
        if reading.has_found() {
            return Ok(false);
        }
        reading.check(None).map(|()| true)
    }

    /// Takes a stream back from the caller. Its work continues.
    pub fn take_back(&self, raw: CUstream) -> Result<()> {
        let found = self.streams.iter().find(|s| s.raw == raw && s.lent.is_ours());
        let Some(stream) = found else {
            fail!(INVALID_HANDLE, "stream {raw:p} is none of agpu_stream_create() in this context");
        };
        // after a failure nothing runs any more, so there is nothing to capture
        let capturing = self.switch().is_ok_and(|_current| self.is_capturing(raw).unwrap_or(false));
        if capturing {
            fail!(INVALID_ARGUMENT, "the stream is being captured");
        }
        if !stream.lent.change(LENT, FREE) {
            fail!(INVALID_HANDLE, "the stream was freed before");
        }
        Ok(())
    }

    /// Waits until the work queued on a stream is done; then returns the error of the first record
    /// that was left, if any.
    pub fn synchronize_on(&self, raw: CUstream) -> Result<()> {
        let _current = self.enter()?;
        let (stream, capturing) = self.stream(raw)?;
        if capturing {
            fail!(INVALID_ARGUMENT, "the stream is being captured, it cannot be waited for");
        }
        self.wait(stream, None)
    }

    /// Queues a function of the caller. If the stream is being captured, each launch of the graph would call the
    /// function; that is an error if it may be called only `once`.
    pub fn callback(&self, raw: CUstream, f: Callback, data: *mut c_void, once: bool) -> Result<()> {
        let _current = self.enter()?;
        let (stream, capturing) = self.stream(raw)?;
        if once && (capturing || stream.is_own() && self.is_capturing(stream.raw)?) {
            fail!(
                INVALID_ARGUMENT,
                "the stream is being captured: its graph would call f each time that it runs, but f may run only once"
            );
        }
        // SAFETY: the stream is one of this context; the caller promises that the function takes
        // this argument.
        self.check(unsafe { (self.api().host_function)(stream.raw, Some(f), data) }, "cuLaunchHostFunc")?;
        if stream.is_own() || capturing { Ok(()) } else { self.mark(stream) }
    }
}
