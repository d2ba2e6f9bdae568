//! Points of a stream with their time, for the profile of launches.

use super::driver::{Api, Code};
use cudarc::driver::sys::{CUevent, CUevent_flags, CUstream};
use std::ptr::null_mut;

/// An event that takes the time when the work before it is done.
pub(super) struct Stamp {
    api: &'static Api,
    raw: CUevent,
}

// SAFETY: the driver's handles may be used from any thread.
unsafe impl Send for Stamp {}

impl Stamp {
    /// Makes an event of the current context; else the driver's code.
    pub fn new(api: &'static Api) -> Result<Stamp, Code> {
        let mut raw = null_mut();
        // SAFETY: the pointer is to a local variable.
        match unsafe { (api.event_create)(&mut raw, CUevent_flags::CU_EVENT_DEFAULT as u32) } {
            0 => Ok(Stamp { api, raw }),
            code => Err(code),
        }
    }

    /// Records it on a stream of its context; the driver's code.
    pub fn record(&self, stream: CUstream) -> Code {
        // SAFETY: the event was made above, and the stream is one of the context.
        unsafe { (self.api.event_record)(self.raw, stream) }
    }

    /// Returns the driver's handle.
    pub fn raw(&self) -> CUevent {
        self.raw
    }
}

impl Drop for Stamp {
    /// Destroys the event. Errors (the process is ending, the device failed) are ignored.
    fn drop(&mut self) {
        // SAFETY: the event was made above and is destroyed once.
        unsafe { (self.api.event_destroy)(self.raw) };
    }
}
