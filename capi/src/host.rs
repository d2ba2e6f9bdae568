//! The CPU as a device: its threads, its memory, and the number of kernels that it has run. A
//! context on a GPU has a host, too, for temporaries of copies.

use crate::calls::Tally;
use crate::cuda::{Gpu, chosen};
use crate::device::{Callback, Device, Event, HostBlock};
use crate::error::{INVALID_ARGUMENT, INVALID_HANDLE, Result, error, fail};
use crate::float_environment::FloatEnvironment;
use crate::memory::{HostMemory, Storage};
use crate::pool::Workers;
use crate::profile::{Names, Profile, Timed};
use crate::usage::Usage;
use std::ffi::{CStr, c_void};
use std::ptr::null_mut;
use std::sync::Arc;
use std::time::Instant;

/// What a context has on the CPU.
pub(crate) struct Host {
    /// The threads that compute.
    pub workers: Workers,
    /// The memory of arrays, temporaries and scratch.
    pub memory: Arc<HostMemory>,
    /// Number of kernels that were run.
    pub launches: Tally,
    /// The times of launches, if the program asks for them.
    pub profile: Profile<Instant>,
}

impl Device for Arc<Host> {
    fn number(&self) -> i32 {
        chosen::CPU
    }

    fn name(&self) -> &CStr {
        c"CPU"
    }

    fn title(&self) -> String {
        "the CPU".into()
    }

    fn gpu(&self) -> Option<&Arc<Gpu>> {
        None
    }

    fn usage(&self) -> &Usage {
        &self.memory.usage
    }

    fn launches(&self) -> i64 {
        self.launches.sum()
    }

    fn profile(&self, on: bool) -> Result<()> {
        self.profile.switch(on);
        Ok(())
    }

    fn profiled(&self) -> Result<Vec<Timed>> {
        let launches = self.profile.launches();
        let first = launches.iter().map(|(_, [begin, _])| *begin).min();
        let timed = |(names, [begin, end]): &(Names, [Instant; 2])| Timed {
            names: names.clone(),
            start: first.map_or(0.0, |first| begin.saturating_duration_since(first).as_secs_f64()),
            seconds: end.duration_since(*begin).as_secs_f64(),
        };
        Ok(launches.iter().map(timed).collect())
    }

    fn own_stream(&self) -> *mut c_void {
        null_mut()
    }

    fn check_stream(&self, stream: *mut c_void) -> Result<()> {
        if !stream.is_null() {
            fail!(INVALID_ARGUMENT, "call.stream is not NULL, a CPU context has only the default stream");
        }
        Ok(())
    }

    fn create_stream(&self) -> Result<*mut c_void> {
        Ok(null_mut())
    }

    fn free_stream(&self, _: *mut c_void) -> Result<()> {
        Err(error(INVALID_HANDLE, "a CPU context has only the stream NULL"))
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }

    fn synchronize_stream(&self, stream: *mut c_void) -> Result<()> {
        self.check_stream(stream)
    }

    unsafe fn callback(
        &self,
        stream: *mut c_void,
        f: Callback,
        data: *mut c_void,
        _: bool,
        environment: &FloatEnvironment,
    ) -> Result<()> {
        self.check_stream(stream)?;
        // SAFETY: a function of the caller that takes this argument (the caller's promise).
        environment.outside(|| unsafe { f(data) });
        Ok(())
    }

    fn create_event(&self) -> Result<Box<dyn Event>> {
        Ok(Box::new(Done))
    }

    fn allocate_on_host(&self, bytes: usize) -> Result<Box<dyn HostBlock>> {
        Ok(Box::new(Storage::new(bytes as i64, 1, false, Some(&self.memory))?))
    }
}

/// An event on the CPU, where all work is done when its call returns.
struct Done;

impl Event for Done {
    fn record(&self, _: *mut c_void) -> Result<()> {
        Ok(())
    }

    fn order(&self, _: &dyn Device, _: *mut c_void) -> Result<()> {
        Ok(())
    }

    fn query(&self) -> Result<bool> {
        Ok(true)
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
}

impl HostBlock for Storage {
    fn address(&self) -> *mut c_void {
        self.data().cast()
    }
}
