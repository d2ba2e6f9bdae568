//! What a context needs of its device: the CPU ([`crate::host`]) or a GPU (`cuda/as_device.rs`).

use crate::cuda::Gpu;
use crate::error::Result;
use crate::float_environment::FloatEnvironment;
use crate::profile::Timed;
use crate::usage::Usage;
use std::ffi::{CStr, c_void};
use std::sync::Arc;

/// A function of the caller that runs when the work before it on a stream is done.
pub(crate) type Callback = unsafe extern "C" fn(data: *mut c_void);

/// The device of a context. A stream is a `CUstream` of the context, or NULL for the context's own
/// stream; a CPU has only NULL, and everything on it is done when the call that asked for it returns.
pub(crate) trait Device: Send + Sync {
    /// Returns the number in the ABI: `AGPU_DEVICE_CPU`, or `AGPU_DEVICE_CUDA` plus the GPU's
    /// number.
    fn number(&self) -> i32;

    /// Returns the device's name.
    fn name(&self) -> &CStr;

    /// Returns the device's name and number, for messages.
    fn title(&self) -> String;

    /// Returns the GPU if the device is one.
    fn gpu(&self) -> Option<&Arc<Gpu>>;

    /// Returns the account of the memory that the context has on the device.
    fn usage(&self) -> &Usage;

    /// Returns the number of kernels that were launched so far.
    fn launches(&self) -> i64;

    /// Starts or ends the timing of launches, and forgets those that were timed.
    fn profile(&self, on: bool) -> Result<()>;

    /// Waits for the work on all streams, and returns the launches that were timed.
    fn profiled(&self) -> Result<Vec<Timed>>;

    /// Returns the context's own stream, NULL on a CPU.
    fn own_stream(&self) -> *mut c_void;

    /// Returns an error if the device cannot have such a stream. A stream that a GPU does not know
    /// is found out at its first use.
    fn check_stream(&self, stream: *mut c_void) -> Result<()>;

    /// Makes a stream for the caller.
    fn create_stream(&self) -> Result<*mut c_void>;

    /// Takes back a stream of [`Device::create_stream`]. Its work goes on.
    fn free_stream(&self, stream: *mut c_void) -> Result<()>;

    /// Waits until the work on all streams of the context is done, and returns the error of the
    /// first error record.
    fn synchronize(&self) -> Result<()>;

    /// Waits until the work on a stream is done, and returns the error of the first error record
    /// that a call there left.
    fn synchronize_stream(&self, stream: *mut c_void) -> Result<()>;

    /// Runs `f` with `data` when the work on a stream so far is done; work that is queued later
    /// waits for it. A CPU runs it at once, outside of the library's floating-point environment. If
    /// `f` may run only `once`, a stream that is being captured is refused, because its graph would
    /// run it again.
    ///
    /// # Safety
    /// `f` takes `data`.
    unsafe fn callback(
        &self,
        stream: *mut c_void,
        f: Callback,
        data: *mut c_void,
        once: bool,
        environment: &FloatEnvironment,
    ) -> Result<()>;

    /// Makes an event, which is done until it is recorded.
    fn create_event(&self) -> Result<Box<dyn Event>>;

    /// Allocates memory of the host from which the device copies fastest: pinned memory for a GPU.
    fn allocate_on_host(&self, bytes: usize) -> Result<Box<dyn HostBlock>>;
}

/// A point in the work of a stream.
pub(crate) trait Event: Send + Sync {
    /// Moves the event to the end of the work that is queued on a stream of its own context.
    fn record(&self, stream: *mut c_void) -> Result<()>;

    /// Lets work that is queued later on a stream of `device` wait for the event. A CPU waits here.
    fn order(&self, device: &dyn Device, stream: *mut c_void) -> Result<()>;

    /// Whether the work before the event is done.
    fn query(&self) -> Result<bool>;

    /// Waits until the event is done, and returns the error of the first error record that a call
    /// before it left.
    fn synchronize(&self) -> Result<()>;
}

/// Memory of the host for the caller. It is freed when it is dropped.
pub(crate) trait HostBlock: Send {
    /// Returns the address of the first byte.
    fn address(&self) -> *mut c_void;
}
