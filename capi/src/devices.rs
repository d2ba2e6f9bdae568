//! The C functions of devices and of a context's own stream, waits and memory.

use crate::abi::{AgpuContext, AgpuStatus};
use crate::context::{self, Context};
use crate::cuda;
use crate::disk;
use crate::error::{INVALID_ARGUMENT, Result, fail, out};
use crate::guard::guard_as;
use std::ffi::{CString, c_char, c_void};
use std::sync::{Arc, OnceLock};

/// Answers a question about a context.
fn get<T>(name: &str, context: *mut AgpuContext, get: impl FnOnce(&Arc<Context>) -> Result<T>) -> AgpuStatus {
    guard_as(name, || get(&*context::pin(context)?).map(drop))
}

/// Writes the number of GPUs that the CUDA driver has, which is 0 without a driver. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_device_count(cuda_devices: *mut i32) -> AgpuStatus {
    let count = || {
        let out = out(cuda_devices, "cuda_devices")?;
        out.write(cuda::driver().map_or(0, |d| d.devices.len() as i32));
        Ok(())
    };
    guard_as("agpu_device_count", count)
}

/// Writes a sentence that says why no GPU can be used, or why a context for which the program named
/// no device is on the CPU. It is "" if there is no problem. The text is never freed. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_device_problem(message: *mut *const c_char) -> AgpuStatus {
    static PROBLEM: OnceLock<CString> = OnceLock::new();
    let problem = || {
        let out = out(message, "message")?;
        let text = match cuda::chosen::problem() {
            // The first problem stays.
            Some(text) => PROBLEM.get_or_init(|| CString::new(text.replace('\0', " ")).unwrap_or_default()),
            None => c"",
        };
        out.write(text.as_ptr());
        Ok(())
    };
    guard_as("agpu_device_problem", problem)
}

/// Writes a sentence about what is wrong with the cache of compiled code on disk, or with the C
/// compiler that fills it: the first problem that was found in this process. It is "" if there was
/// none. Such a problem never makes a call fail. The text is never freed. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_cache_problem(message: *mut *const c_char) -> AgpuStatus {
    let problem = || {
        out(message, "message")?.write(disk::problem().as_ptr());
        Ok(())
    };
    guard_as("agpu_cache_problem", problem)
}

/// Writes the device of a context: AGPU_DEVICE_CPU, or AGPU_DEVICE_CUDA plus the GPU's number.
/// Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_context_device(context: *mut AgpuContext, device: *mut i32) -> AgpuStatus {
    get("agpu_context_device", context, |c| {
        let number = c.device.number();
        out(device, "device")?.write(number);
        Ok(())
    })
}

/// Writes the name of a context's device. The text is never freed. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_context_device_name(
    context: *mut AgpuContext,
    name: *mut *const c_char,
) -> AgpuStatus {
    get("agpu_context_device_name", context, |c| {
        let text = c.device.name();
        out(name, "name")?.write(text.as_ptr());
        Ok(())
    })
}

/// Writes the context's own stream, a CUstream on which calls without a stream run. It is NULL on
/// the CPU. The stream does not wait for the legacy default stream, and lives as long as the
/// context or one of its buffers. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_context_stream(
    context: *mut AgpuContext,
    stream: *mut *mut c_void,
) -> AgpuStatus {
    get("agpu_context_stream", context, |c| {
        let raw = c.device.own_stream();
        out(stream, "stream")?.write(raw);
        Ok(())
    })
}

/// Waits until all calls and copies of this context are done, on all its streams. The result is
/// AGPU_ERROR_RECORD if one of them left an error record. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_context_synchronize(context: *mut AgpuContext) -> AgpuStatus {
    get("agpu_context_synchronize", context, |c| c.device.synchronize())
}

/// Limits the bytes of this context's arrays, temporaries and scratch, on the device and on the CPU
/// each; INT64_MAX is no limit. An allocation above the limit is AGPU_ERROR_OUT_OF_MEMORY. Nothing
/// is freed. Temporaries of up to 64 KiB on the CPU do not count. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_context_set_memory_limit(context: *mut AgpuContext, bytes: i64) -> AgpuStatus {
    get("agpu_context_set_memory_limit", context, |c| {
        if bytes < 0 {
            fail!(INVALID_ARGUMENT, "the limit {bytes} is negative");
        }
        c.set_memory_limit(bytes);
        Ok(())
    })
}

/// Writes the bytes that this context has allocated now, and the most that it ever had: of the
/// device's memory, which is the CPU's if that is the device. Either pointer may be NULL.
/// Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_context_memory(
    context: *mut AgpuContext,
    in_use: *mut i64,
    peak: *mut i64,
) -> AgpuStatus {
    get("agpu_context_memory", context, |c| {
        let (used, most) = c.device.usage().get();
        for (place, value, name) in [(in_use, used, "in_use"), (peak, most, "peak")] {
            if !place.is_null() {
                out(place, name)?.write(value);
            }
        }
        Ok(())
    })
}

/// Writes the number of kernels that calls of packages and programs have launched in this context
/// so far; on the CPU, of those that have run. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_context_launches(context: *mut AgpuContext, launches: *mut i64) -> AgpuStatus {
    get("agpu_context_launches", context, |c| {
        out(launches, "launches")?.write(c.device.launches());
        Ok(())
    })
}
