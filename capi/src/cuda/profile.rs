//! The times of launches on a GPU: there is an event before each launch and one after it.

use super::gpu::{Gpu, Uncaptured};
use super::stamp::Stamp;
use crate::error::{Result, UNAVAILABLE, error};
use crate::profile::Timed;
use cudarc::driver::sys::CUstream;

impl Gpu {
    /// Records the time at which the work on a stream so far is done. The context is current.
    #[cold]
    pub(super) fn stamp(&self, stream: CUstream) -> Result<Stamp> {
        let stamp = Stamp::new(self.api()).map_err(|code| self.failed(code, &"cuEventCreate"))?;
        self.check(stamp.record(stream), "cuEventRecord")?;
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
            let code = unsafe { elapsed(&mut milliseconds, from.raw(), to.raw()) };
            self.check(code, "cuEventElapsedTime").map(|()| f64::from(milliseconds) * 1e-3)
        };
        let timed = launches.iter().map(|(names, [begin, end])| {
            let first = &launches[0].1[0];
            // a launch of another thread may have come after the streams were waited for
            // SAFETY: the stamp keeps its event alive.
            self.check(unsafe { (self.api().event_synchronize)(end.raw()) }, "cuEventSynchronize")?;
            Ok(Timed { names: names.clone(), start: seconds(first, begin)?, seconds: seconds(begin, end)? })
        });
        let mut timed = timed.collect::<Result<Vec<_>>>()?;
        // with several streams, the launch that began first need not be the one that was queued first
        let least = timed.iter().map(|t| t.start).fold(0.0, f64::min);
        timed.iter_mut().for_each(|t| t.start -= least);
        Ok(timed)
    }
}
