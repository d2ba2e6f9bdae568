//! Events: points of a stream that the host and other streams can wait for.

use super::driver;
use super::gpu::{Gpu, Uncaptured};
use super::records::Reading;
use super::state::Stream;
use super::table::lock;
use crate::error::{INVALID_ARGUMENT, Result, fail};
use cudarc::driver::sys::{CUevent, CUevent_flags, CUstream};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex};

const NOT_READY: driver::Code = 600;

/// An event of the caller.
pub(crate) struct Event {
    gpu: Arc<Gpu>,
    raw: CUevent,
    /// The point at which it was last recorded, if it was.
    at: Mutex<Option<Point>>,
}

#[derive(Clone, Copy)]
struct Point {
    /// The stream, with its lease at that time (`Stream::tag`).
    stream: u64,
    /// The number of calls before the point that may leave error records.
    calls: u64,
}

// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for Event {}
// SAFETY: the reason is the same as above.
unsafe impl Sync for Event {}

impl Event {
    pub fn new(gpu: &Arc<Gpu>) -> Result<Event> {
        let (_current, mut raw) = (gpu.enter()?, null_mut());
        let flags = CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
        // SAFETY: the pointer is to a local variable.
        gpu.check(unsafe { (gpu.api().event_create)(&mut raw, flags) }, "cuEventCreate")?;
        Ok(Event { gpu: gpu.clone(), raw, at: Mutex::default() })
    }

    /// Records the event after the work that is queued on the stream by now.
    pub fn record(&self, raw: CUstream) -> Result<()> {
        let _current = self.gpu.enter()?;
        let stream = uncaptured(&self.gpu, raw, "an event of agpu_event_create() cannot be recorded")?;
        let mut at = lock(&self.at);
        let calls = stream.calls();
        // SAFETY: the event is one of this library, and the stream one of this context.
        self.gpu.check(unsafe { (self.gpu.api().event_record)(self.raw, stream.raw) }, "cuEventRecord")?;
        *at = Some(Point { stream: stream.tag(), calls });
        Ok(())
    }

    /// Orders later work on a stream, of this context or another one, after the event. If it was
    /// never recorded, there is nothing to wait for.
    pub fn order(&self, gpu: &Gpu, raw: CUstream) -> Result<()> {
        let _current = gpu.enter()?;
        let stream = uncaptured(gpu, raw, "it cannot wait for an event of agpu_event_create()")?;
        // SAFETY: the event is one of this library, and the stream one of that context.
        gpu.check(unsafe { (gpu.api().stream_wait)(stream.raw, self.raw, 0) }, "cuStreamWaitEvent")
    }

    /// Whether the work before the event is done.
    pub fn query(&self) -> Result<bool> {
        let (_current, _uncaptured) = (self.gpu.enter()?, Uncaptured::enter(self.gpu.api()));
        // SAFETY: the event is one of this library.
        match unsafe { (self.gpu.api().event_query)(self.raw) } {
            NOT_READY => Ok(false),
            code => self.gpu.check(code, "cuEventQuery").map(|()| true),
        }
    }

    /// Waits until the work before the event is done.
    pub fn wait(&self) -> Result<()> {
        let (_current, _uncaptured) = (self.gpu.enter()?, Uncaptured::enter(self.gpu.api()));
        // SAFETY: the event is one of this library.
        self.gpu.check(unsafe { (self.gpu.api().event_synchronize)(self.raw) }, "waiting for the event")
    }

    /// Waits until the work before the event is done. Then returns the error of the first record that was left on its
    /// stream, if any. If the stream was lent to another user since, that user's records stay there.
    pub fn synchronize(&self) -> Result<()> {
        let at = *lock(&self.at);
        self.wait()?;
        let known = at.and_then(|at| Some((at, self.gpu.streams.get(at.stream as u32 as usize)?)));
        let Some((at, stream)) = known.filter(|(at, stream)| at.stream == stream.tag()) else {
            return Ok(());
        };
        let (_current, _uncaptured) = (self.gpu.enter()?, Uncaptured::enter(self.gpu.api()));
        let Some(reading) = Reading::begin(stream) else { return Ok(()) };
        if stream.calls() != at.calls {
            // calls that were queued after the event may still run
            reading.keep();
        }
        reading.queue(&self.gpu, self.gpu.aside)?;
        // SAFETY: the stream is one of this library.
        let code = unsafe { (self.gpu.api().stream_synchronize)(self.gpu.aside) };
        self.gpu.check(code, "reading error records")?;
        reading.check(None)
    }
}

/// Returns the stream; an error if it is being captured.
fn uncaptured<'a>(gpu: &'a Gpu, raw: CUstream, what: &str) -> Result<&'a Stream> {
    match gpu.stream(raw)? {
        (stream, false) => Ok(stream),
        _ => fail!(INVALID_ARGUMENT, "call.stream is being captured: {what}"),
    }
}

impl Drop for Event {
    /// Destroys the event. Errors (the process is ending, the device failed) are ignored.
    fn drop(&mut self) {
        let _current = self.gpu.switch();
        // SAFETY: this library made it and destroys it once; the driver keeps what still waits for
        // it.
        unsafe { (self.gpu.api().event_destroy)(self.raw) };
    }
}
