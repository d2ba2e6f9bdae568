//! Streams that we make for the caller, and what he does with a stream beside calls and copies.
//!
//! A stream that he frees is not destroyed: buffers know it as the one that used them last, and it has its scratch. It is lent again when its
//! work is done, so a program that makes a stream for each of its tasks has as many as ever worked at once.

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
    /// It is the caller's, or the context's own.
    pub fn never() -> Lent {
        Lent(AtomicU8::new(NEVER))
    }

    pub fn now() -> Lent {
        Lent(AtomicU8::new(LENT))
    }

    /// It is made to be lent.
    pub fn is_ours(&self) -> bool {
        self.0.load(Ordering::Relaxed) != NEVER
    }

    /// It was not freed.
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
    /// A stream for the caller, until `take_back`.
    pub fn lend(&self) -> Result<CUstream> {
        let (_current, _uncaptured) = (self.enter()?, Uncaptured::enter(self.api()));
        let _one = lock(&self.adding);
        if let Some(known) = self.streams.iter().find(|s| self.is_idle(s) && s.lent.change(FREE, LENT)) {
            return Ok(known.raw);
        }
        let count = self.streams.iter().count();
        let stream = Stream::ours(self, count as u32)?;
        Ok(self.streams.get_or_init(count, || stream).raw)
    }

    /// What we queued there is done.
    fn is_idle(&self, stream: &Stream) -> bool {
        // SAFETY: our event.
        stream.lent.is_ours() && unsafe { (self.api().event_query)(stream.event) } == 0
    }

    /// The caller has a stream no longer. Its work goes on.
    pub fn take_back(&self, raw: CUstream) -> Result<()> {
        let found = self.streams.iter().find(|s| s.raw == raw && s.lent.is_ours());
        let Some(stream) = found else {
            fail!(INVALID_HANDLE, "stream {raw:p} is none of agpu_stream_create() in this context");
        };
        // where nothing runs any more there is nothing to capture
        let capturing = self.switch().is_ok_and(|_current| self.is_capturing(raw).unwrap_or(false));
        if capturing {
            fail!(INVALID_ARGUMENT, "the stream is being captured");
        }
        if !stream.lent.change(LENT, FREE) {
            fail!(INVALID_HANDLE, "the stream was freed before");
        }
        Ok(())
    }

    /// Waits until what was queued on a stream is done; then the error of the first record that was left, if any.
    pub fn synchronize_on(&self, raw: CUstream) -> Result<()> {
        let _current = self.enter()?;
        let (stream, capturing) = self.stream(raw)?;
        if capturing {
            fail!(INVALID_ARGUMENT, "the stream is being captured, it cannot be waited for");
        }
        self.wait(stream, None)
    }

    /// Queues a function of the caller.
    pub fn callback(&self, raw: CUstream, f: Callback, data: *mut c_void) -> Result<()> {
        let _current = self.enter()?;
        let (stream, capturing) = self.stream(raw)?;
        // SAFETY: a stream of this context; the function takes this argument (the caller's promise).
        self.check(unsafe { (self.api().host_function)(stream.raw, Some(f), data) }, "cuLaunchHostFunc")?;
        if stream.is_own() || capturing { Ok(()) } else { self.mark(stream) }
    }
}
