//! Streams that the library makes, and functions of the caller in a stream's order.

use crate::abi::{AgpuCall, AgpuContext, AgpuStatus};
use crate::call_options::context_of;
use crate::context;
use crate::error::{INVALID_ARGUMENT, INVALID_HANDLE, Result, error, fail, out};
use crate::float_environment::FloatEnvironment;
use crate::guard::{guard_as, guard_outside};
use std::ffi::c_void;

/// On the CPU there is only NULL.
pub(crate) fn no_stream(stream: *mut c_void) -> Result<()> {
    if !stream.is_null() {
        fail!(INVALID_ARGUMENT, "call.stream is not NULL, a CPU context has only the default stream");
    }
    Ok(())
}

/// Makes a stream in a context (NULL: the default one), a CUstream that calls of this context and other CUDA
/// code may use. It does not wait for the legacy default stream. On the CPU, where calls return when they are
/// done, it is NULL. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_stream_create(
    context: *mut AgpuContext,
    stream: *mut *mut c_void,
) -> AgpuStatus {
    let make = || {
        let out = out(stream, "stream")?;
        let context = context::pin_or_default(context)?;
        out.write(context.gpu.as_ref().map_or(Ok(std::ptr::null_mut()), |g| g.lend())?.cast());
        Ok(())
    };
    guard_as("agpu_stream_create", make)
}

/// Frees a stream of agpu_stream_create() of the same context (NULL: the default one); NULL is fine. Its work
/// goes on, and nothing waits. Later calls on it are an error. It goes with its context, too. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_stream_free(context: *mut AgpuContext, stream: *mut c_void) -> AgpuStatus {
    let free = || {
        if stream.is_null() {
            return Ok(());
        }
        match &context::pin_or_default(context)?.gpu {
            Some(gpu) => gpu.take_back(stream.cast()),
            None => Err(error(INVALID_HANDLE, "a CPU context has only the stream NULL")),
        }
    };
    guard_as("agpu_stream_free", free)
}

/// Waits until what was queued on a stream of a context (NULL: the default one) is done; NULL is the context's
/// own stream. AGPU_ERROR_RECORD if a call there left a record. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_stream_synchronize(
    context: *mut AgpuContext,
    stream: *mut c_void,
) -> AgpuStatus {
    let wait = || match &context::pin_or_default(context)?.gpu {
        Some(gpu) => gpu.synchronize_on(stream.cast()),
        None => no_stream(stream),
    };
    guard_as("agpu_stream_synchronize", wait)
}

/// Has the host call `f` with `data` once what is queued on the call's stream is done; what is queued there
/// later waits for it. On a GPU it runs in a thread of the driver, and never if the device fails before; on the
/// CPU at once, in this thread. It may call neither this library nor CUDA, nor throw, and should be short. `call`
/// may be NULL: the default context. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_stream_callback(
    call: *const AgpuCall,
    f: Option<unsafe extern "C" fn(data: *mut c_void)>,
    data: *mut c_void,
) -> AgpuStatus {
    let queue = |environment: &FloatEnvironment| {
        let Some(f) = f else { fail!(INVALID_ARGUMENT, "f is NULL") };
        // SAFETY: the caller's promise.
        let (given, stream) = unsafe { context_of(call) }?;
        let context = match given {
            Some(pin) => pin.clone(),
            None => context::default()?.1.clone(),
        };
        match &context.gpu {
            Some(gpu) => gpu.callback(stream.cast(), f, data),
            None => {
                no_stream(stream)?;
                // SAFETY: a function of the caller that takes this argument.
                environment.outside(|| unsafe { f(data) });
                Ok(())
            }
        }
    };
    guard_outside(|environment| queue(environment).map_err(|e| e.of("agpu_stream_callback")))
}
