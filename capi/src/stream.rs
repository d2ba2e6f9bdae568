//! The C functions of streams: streams that the library makes, and functions of the caller in a
//! stream's order.

use crate::abi::{AgpuCall, AgpuContext, AgpuStatus};
use crate::call_options::context_of;
use crate::context;
use crate::error::{INVALID_ARGUMENT, Result, fail, out};
use crate::float_environment::FloatEnvironment;
use crate::guard::{guard_as, guard_outside};
use std::ffi::c_void;

/// Makes a stream in a context (NULL: the default context). It is a CUstream that calls of this
/// context and other CUDA code may use, and it does not wait for the legacy default stream. On the
/// CPU, where a call returns when its work is done, the stream is NULL. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_stream_create(
    context: *mut AgpuContext,
    stream: *mut *mut c_void,
) -> AgpuStatus {
    let make = || {
        let out = out(stream, "stream")?;
        out.write(context::pin_or_default(context)?.device.create_stream()?);
        Ok(())
    };
    guard_as("agpu_stream_create", make)
}

/// Frees a stream of agpu_stream_create() of the same context (NULL: the default context). A NULL
/// stream is allowed. The work on the stream goes on, and nothing waits. A later call on the stream
/// is an error. Freeing the context frees its streams, too. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_stream_free(context: *mut AgpuContext, stream: *mut c_void) -> AgpuStatus {
    let free = || {
        if stream.is_null() {
            return Ok(());
        }
        context::pin_or_default(context)?.device.free_stream(stream)
    };
    guard_as("agpu_stream_free", free)
}

/// Waits until the work that was queued on a stream of a context (NULL: the default context) is
/// done. A NULL stream is the context's own one. The result is AGPU_ERROR_RECORD if a call on the
/// stream left an error record. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_stream_synchronize(
    context: *mut AgpuContext,
    stream: *mut c_void,
) -> AgpuStatus {
    let wait = || context::pin_or_default(context)?.device.synchronize_stream(stream);
    guard_as("agpu_stream_synchronize", wait)
}

/// Lets the host call `f` with `data` when the work that is queued on the call's stream is done.
/// Work that is queued there later waits for `f`. On a GPU `f` runs in a thread of the driver, and
/// never if the device fails before; on the CPU it runs at once, in this thread. `f` must call
/// neither this library nor CUDA, must not throw, and should be short. If `call` is NULL, the
/// context is the default one. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_stream_callback(
    call: *const AgpuCall,
    f: Option<unsafe extern "C" fn(data: *mut c_void)>,
    data: *mut c_void,
) -> AgpuStatus {
    // SAFETY: the caller's promise.
    let queue = |environment: &FloatEnvironment| unsafe { queue(call, f, data, false, environment) };
    guard_outside(|environment| queue(environment).map_err(|e| e.of("agpu_stream_callback")))
}

/// Does what agpu_stream_callback() does, for a function that may run only once, such as one that
/// frees `data`: on a stream that is being captured it is an error, because the graph would run the
/// function each time. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_stream_callback_once(
    call: *const AgpuCall,
    f: Option<unsafe extern "C" fn(data: *mut c_void)>,
    data: *mut c_void,
) -> AgpuStatus {
    // SAFETY: the caller's promise.
    let queue = |environment: &FloatEnvironment| unsafe { queue(call, f, data, true, environment) };
    guard_outside(|environment| queue(environment).map_err(|e| e.of("agpu_stream_callback_once")))
}

/// # Safety
/// `call` is null or an `agpu_call`, and `f` takes `data`.
unsafe fn queue(
    call: *const AgpuCall,
    f: Option<unsafe extern "C" fn(data: *mut c_void)>,
    data: *mut c_void,
    once: bool,
    environment: &FloatEnvironment,
) -> Result<()> {
    let Some(f) = f else { fail!(INVALID_ARGUMENT, "f is NULL") };
    // SAFETY: the caller's promise.
    let (given, stream) = unsafe { context_of(call) }?;
    let context = match given {
        Some(pin) => pin.clone(),
        None => context::default()?.1.clone(),
    };
    // SAFETY: the function takes this argument (the caller's promise).
    unsafe { context.device.callback(stream, f, data, once, environment) }
}
