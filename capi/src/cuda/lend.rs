//! Streams that this library makes for the caller, and operations on a stream beside calls and
//! copies.
//!
//! A stream that the caller frees is not destroyed: buffers remember it as the stream that used
//! them last, and it has its scratch. It is lent again when its work is done, so a program that
//! makes a stream for each of its tasks has as many streams as ever worked at the same time. One that
//! was captured is never lent again, because its graph leaves its error records there.

use super::gpu::{Gpu, Uncaptured};
use super::state::{Lent, Stream};
use super::table::lock;
use crate::device::Callback;
use crate::error::{INVALID_ARGUMENT, INVALID_HANDLE, Result, fail};
use cudarc::driver::sys::CUstream;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU8, Ordering};

const NEVER: u8 = 0;
const LENT: u8 = 1;
const FREE: u8 = 2;

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

    /// Returns an error if the stream was freed.
    pub fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Acquire) == FREE {
            fail!(INVALID_HANDLE, "call.stream was freed by agpu_stream_free()");
        }
        Ok(())
    }

    fn change(&self, from: u8, to: u8) -> bool {
        self.0.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

impl Gpu {
    /// Returns a stream for the caller to use until `take_back`.
    pub fn lend(&self) -> Result<CUstream> {
        let (_current, _uncaptured) = (self.enter()?, Uncaptured::enter(self.api()));
        let _one = lock(&self.adding);
        if let Some(known) = self.streams.iter().find(|s| self.may_lend(s) && s.lent.change(FREE, LENT)) {
            return Ok(known.raw);
        }
        let count = self.streams.iter().count();
        let stream = Stream::ours(self, count as u32)?;
        Ok(self.streams.get_or_init(count, || stream).raw)
    }

    /// Whether the work that this library queued on the stream is done, and no graph, which may run
    /// at any time, leaves error records for the stream.
    fn may_lend(&self, stream: &Stream) -> bool {
        // SAFETY: the event is one of this library.
        let is_idle = || unsafe { (self.api().event_query)(stream.event) } == 0;
        stream.lent.is_ours() && !stream.captured.load(Ordering::Acquire) && is_idle()
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

    /// Queues a function of the caller, which a graph would run again: that is an error if it may run only `once`.
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
