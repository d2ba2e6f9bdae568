//! Events: points of a stream that hosts and other streams wait for.

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
    /// Where it was recorded last, if it was.
    at: Mutex<Option<Point>>,
}

#[derive(Clone, Copy)]
struct Point {
    /// The stream's index.
    stream: u32,
    /// Calls there that may leave records, so far.
    calls: u64,
}

// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    pub fn new(gpu: &Arc<Gpu>) -> Result<Event> {
        let (_current, mut raw) = (gpu.enter()?, null_mut());
        let flags = CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
        // SAFETY: a pointer to a local.
        gpu.check(unsafe { (gpu.api().event_create)(&mut raw, flags) }, "cuEventCreate")?;
        Ok(Event { gpu: gpu.clone(), raw, at: Mutex::default() })
    }

    /// The event is after what is queued on the stream by now.
    pub fn record(&self, raw: CUstream) -> Result<()> {
        let _current = self.gpu.enter()?;
        let stream = uncaptured(&self.gpu, raw, "an event of agpu_event_create() cannot be recorded")?;
        let mut at = lock(&self.at);
        let calls = stream.calls();
        // SAFETY: our event, and a stream of this context.
        self.gpu.check(unsafe { (self.gpu.api().event_record)(self.raw, stream.raw) }, "cuEventRecord")?;
        *at = Some(Point { stream: stream.index, calls });
        Ok(())
    }

    /// What comes on a stream, of this context or another one, comes after the event; if it was never recorded, that is nothing.
    pub fn order(&self, gpu: &Gpu, raw: CUstream) -> Result<()> {
        let _current = gpu.enter()?;
        let stream = uncaptured(gpu, raw, "it cannot wait for an event of agpu_event_create()")?;
        // SAFETY: our event, and a stream of that context.
        gpu.check(unsafe { (gpu.api().stream_wait)(stream.raw, self.raw, 0) }, "cuStreamWaitEvent")
    }

    /// Whether it is done.
    pub fn query(&self) -> Result<bool> {
        let (_current, _uncaptured) = (self.gpu.enter()?, Uncaptured::enter(self.gpu.api()));
        // SAFETY: our event.
        match unsafe { (self.gpu.api().event_query)(self.raw) } {
            NOT_READY => Ok(false),
            code => self.gpu.check(code, "cuEventQuery").map(|()| true),
        }
    }

    /// Waits until it is done.
    pub fn wait(&self) -> Result<()> {
        let (_current, _uncaptured) = (self.gpu.enter()?, Uncaptured::enter(self.gpu.api()));
        // SAFETY: our event.
        self.gpu.check(unsafe { (self.gpu.api().event_synchronize)(self.raw) }, "waiting for the event")
    }

    /// Waits until it is done; then the error of the first record that was left on its stream, if any.
    pub fn synchronize(&self) -> Result<()> {
        let at = *lock(&self.at);
        self.wait()?;
        let Some((at, stream)) = at.and_then(|at| Some((at, self.gpu.streams.get(at.stream as usize)?)))
        else {
            return Ok(());
        };
        let (_current, _uncaptured) = (self.gpu.enter()?, Uncaptured::enter(self.gpu.api()));
        let Some(reading) = Reading::begin(stream) else { return Ok(()) };
        if stream.calls() != at.calls {
            // what was called since then may still run
            reading.keep();
        }
        reading.queue(&self.gpu, self.gpu.aside)?;
        // SAFETY: our stream.
        let code = unsafe { (self.gpu.api().stream_synchronize)(self.gpu.aside) };
        self.gpu.check(code, "reading error records")?;
        reading.check(None)
    }
}

/// The stream, which is not being captured.
fn uncaptured<'a>(gpu: &'a Gpu, raw: CUstream, what: &str) -> Result<&'a Stream> {
    match gpu.stream(raw)? {
        (stream, false) => Ok(stream),
        _ => fail!(INVALID_ARGUMENT, "call.stream is being captured: {what}"),
    }
}

impl Drop for Event {
    /// Errors (an ending process, a device that failed) do not matter.
    fn drop(&mut self) {
        let _current = self.gpu.switch();
        // SAFETY: made by us, destroyed once; the driver keeps what still waits for it.
        unsafe { (self.gpu.api().event_destroy)(self.raw) };
    }
}
