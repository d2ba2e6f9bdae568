//! The times of launches on a GPU: an event before each launch and one behind it.

use super::driver::Api;
use super::gpu::{Gpu, Uncaptured};
use crate::error::{Result, UNAVAILABLE, error};
use crate::profile::Timed;
use cudarc::driver::sys::{CUevent, CUevent_flags, CUstream};
use std::ptr::null_mut;

/// A point of a stream with its time.
pub(crate) struct Stamp {
    api: &'static Api,
    raw: CUevent,
}

// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for Stamp {}

impl Drop for Stamp {
    /// Destroys the event. Errors (the process is ending, the device failed) are ignored.
    fn drop(&mut self) {
        // SAFETY: the event was made below and is destroyed once.
        unsafe { (self.api.event_destroy)(self.raw) };
    }
}

impl Gpu {
    /// Records the time at which the work on a stream so far is done. The context is current.
    #[cold]
    pub(super) fn stamp(&self, stream: CUstream) -> Result<Stamp> {
        let (api, mut raw) = (self.api(), null_mut());
        let flags = CUevent_flags::CU_EVENT_DEFAULT as u32;
        // SAFETY: the pointer is to a local variable.
        self.check(unsafe { (api.event_create)(&mut raw, flags) }, "cuEventCreate")?;
        let stamp = Stamp { api, raw };
        // SAFETY: the event was made above, and the stream is one of this context.
        self.check(unsafe { (api.event_record)(raw, stream) }, "cuEventRecord")?;
        Ok(stamp)
    }

    /// Starts or ends the timing of launches.
    pub(super) fn switch_profile(&self, on: bool) -> Result<()> {
        let _current = self.enter()?;
        self.profile.switch(on);
        Ok(())
    }

    /// Waits for the work on all streams, and returns the times of the launches.
    pub(super) fn profiled(&self) -> Result<Vec<Timed>> {
        self.synchronize()?;
        let (_current, _uncaptured) = (self.enter()?, Uncaptured::enter(self.api()));
        let Some(elapsed) = self.api().event_elapsed else {
            return Err(error(UNAVAILABLE, "the driver has no cuEventElapsedTime"));
        };
        let launches = self.profile.launches();
        let seconds = |from: &Stamp, to: &Stamp| {
            let mut milliseconds = 0f32;
            // SAFETY: the pointer is to a local variable, and both events are done.
            let code = unsafe { elapsed(&mut milliseconds, from.raw, to.raw) };
            self.check(code, "cuEventElapsedTime").map(|()| f64::from(milliseconds) * 1e-3)
        };
        let timed = launches.iter().map(|(names, [begin, end])| {
            let first = &launches[0].1[0];
            Ok(Timed { names: names.clone(), start: seconds(first, begin)?, seconds: seconds(begin, end)? })
        });
        timed.collect()
    }
}
