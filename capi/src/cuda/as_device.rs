//! A GPU as the device of a context ([`crate::device`]).

use super::chosen;
use super::event::Event;
use super::gpu::Gpu;
use super::words::Pinned;
use crate::device::{self, Callback, Device, HostBlock};
use crate::error::Result;
use crate::float_environment::FloatEnvironment;
use crate::profile::Timed;
use crate::usage::Usage;
use std::ffi::{CStr, c_void};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Device for Arc<Gpu> {
    fn number(&self) -> i32 {
        chosen::CUDA + self.device.ordinal
    }

    fn name(&self) -> &CStr {
        &self.device.name
    }

    fn title(&self) -> String {
        self.device.title()
    }

    fn gpu(&self) -> Option<&Arc<Gpu>> {
        Some(self)
    }

    fn usage(&self) -> &Usage {
        &self.usage
    }

    fn launches(&self) -> i64 {
        self.launches.load(Ordering::Relaxed)
    }

    fn profile(&self, on: bool) -> Result<()> {
        self.switch_profile(on)
    }

    fn profiled(&self) -> Result<Vec<Timed>> {
        Gpu::profiled(self)
    }

    fn own_stream(&self) -> *mut c_void {
        Gpu::own_stream(self).raw.cast()
    }

    fn check_stream(&self, _: *mut c_void) -> Result<()> {
        Ok(())
    }

    fn create_stream(&self) -> Result<*mut c_void> {
        Ok(self.lend()?.cast())
    }

    fn free_stream(&self, stream: *mut c_void) -> Result<()> {
        self.take_back(stream.cast())
    }

    fn synchronize(&self) -> Result<()> {
        Gpu::synchronize(self)
    }

    fn synchronize_stream(&self, stream: *mut c_void) -> Result<()> {
        self.synchronize_on(stream.cast())
    }

    unsafe fn callback(
        &self,
        stream: *mut c_void,
        f: Callback,
        data: *mut c_void,
        once: bool,
        _: &FloatEnvironment,
    ) -> Result<()> {
        Gpu::callback(self, stream.cast(), f, data, once)
    }

    fn create_event(&self) -> Result<Box<dyn device::Event>> {
        Ok(Box::new(Event::new(self)?))
    }

    fn allocate_on_host(&self, bytes: usize) -> Result<Box<dyn HostBlock>> {
        Ok(Box::new(Pinned::new(self, bytes)?))
    }
}

impl device::Event for Event {
    fn record(&self, stream: *mut c_void) -> Result<()> {
        Event::record(self, stream.cast())
    }

    fn order(&self, device: &dyn Device, stream: *mut c_void) -> Result<()> {
        match device.gpu() {
            Some(gpu) => Event::order(self, gpu, stream.cast()),
            None => self.wait(),
        }
    }

    fn query(&self) -> Result<bool> {
        Event::query(self)
    }

    fn synchronize(&self) -> Result<()> {
        Event::synchronize(self)
    }
}

impl HostBlock for Pinned {
    fn address(&self) -> *mut c_void {
        Pinned::address(self)
    }
}
