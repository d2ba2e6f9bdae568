//! Devices and what a context does on its own: its stream, waits, and memory.

use crate::abi::{AgpuContext, AgpuStatus};
use crate::context::{self, Context};
use crate::cuda;
use crate::disk;
use crate::error::{INVALID_ARGUMENT, Result, fail, out};
use crate::guard::guard_as;
use std::ffi::{CString, c_char, c_void};
use std::sync::{Arc, OnceLock};

/// The common shape of what asks a context.
fn get<T>(name: &str, context: *mut AgpuContext, get: impl FnOnce(&Arc<Context>) -> Result<T>) -> AgpuStatus {
    guard_as(name, || get(&*context::pin(context)?).map(drop))
}

/// How many GPUs the CUDA driver has; 0 without a driver. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_device_count(cuda_devices: *mut i32) -> AgpuStatus {
    let count = || {
        let out = out(cuda_devices, "cuda_devices")?;
        out.write(cuda::driver().map_or(0, |d| d.devices.len() as i32));
        Ok(())
    };
    guard_as("agpu_device_count", count)
}

/// Why no GPU can be used, as a sentence, or why a context that nobody asked a device for is on the CPU; ""
/// if there is no problem. Never freed. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_device_problem(message: *mut *const c_char) -> AgpuStatus {
    static PROBLEM: OnceLock<CString> = OnceLock::new();
    let problem = || {
        let out = out(message, "message")?;
        let text = match cuda::chosen::problem() {
            // the first one stays
            Some(text) => PROBLEM.get_or_init(|| CString::new(text.replace('\0', " ")).unwrap_or_default()),
            None => c"",
        };
        out.write(text.as_ptr());
        Ok(())
    };
    guard_as("agpu_device_problem", problem)
}

/// What is wrong with the cache of compiled code on disk, or with the C compiler that is to fill it, as a
/// sentence: the first thing that was found in this process. "" if nothing was; neither is ever a reason for a
/// call to fail. Never freed. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_cache_problem(message: *mut *const c_char) -> AgpuStatus {
    let problem = || {
        out(message, "message")?.write(disk::problem().as_ptr());
        Ok(())
    };
    guard_as("agpu_cache_problem", problem)
}

/// The device of a context: AGPU_DEVICE_CPU, or AGPU_DEVICE_CUDA plus the GPU's number. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_context_device(context: *mut AgpuContext, device: *mut i32) -> AgpuStatus {
    get("agpu_context_device", context, |c| {
        let number = c.gpu.as_ref().map_or(cuda::chosen::CPU, |g| cuda::chosen::CUDA + g.device.ordinal);
        out(device, "device")?.write(number);
        Ok(())
    })
}

/// The name of a context's device. Never freed. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_context_device_name(
    context: *mut AgpuContext,
    name: *mut *const c_char,
) -> AgpuStatus {
    get("agpu_context_device_name", context, |c| {
        let text = c.gpu.as_ref().map_or(c"CPU", |g| g.device.name.as_c_str());
        out(name, "name")?.write(text.as_ptr());
        Ok(())
    })
}

/// The context's own stream, a CUstream, on which calls without a stream run; NULL on the CPU. It does not
/// wait for the legacy default stream, and lives as long as the context or a buffer of it. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_context_stream(
    context: *mut AgpuContext,
    stream: *mut *mut c_void,
) -> AgpuStatus {
    get("agpu_context_stream", context, |c| {
        let raw = c.gpu.as_ref().map_or(std::ptr::null_mut(), |g| g.own_stream().raw.cast());
        out(stream, "stream")?.write(raw);
        Ok(())
    })
}

/// Waits until all calls and copies of this context are done, on all streams; AGPU_ERROR_RECORD if one of
/// them left a record. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_context_synchronize(context: *mut AgpuContext) -> AgpuStatus {
    get("agpu_context_synchronize", context, |c| c.gpu.as_ref().map_or(Ok(()), |g| g.synchronize()))
}

/// At most so many bytes for this context's arrays, temporaries and scratch, each on the device and on the
/// CPU; INT64_MAX: what there is. What would need more is AGPU_ERROR_OUT_OF_MEMORY. Nothing is freed.
/// Temporaries of up to 64 KiB on the CPU do not count. Thread-safe.
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

/// Bytes that this context has allocated now, and the most it ever had: of the device's memory, or of the
/// CPU's where that is the device.
/// Either may be NULL. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_context_memory(
    context: *mut AgpuContext,
    in_use: *mut i64,
    peak: *mut i64,
) -> AgpuStatus {
    get("agpu_context_memory", context, |c| {
        let (used, most) = c.gpu.as_ref().map_or(&c.memory.usage, |g| &g.usage).get();
        for (place, value, name) in [(in_use, used, "in_use"), (peak, most, "peak")] {
            if !place.is_null() {
                out(place, name)?.write(value);
            }
        }
        Ok(())
    })
}

/// How many kernels calls of packages and programs have launched in this context so far; on the CPU: have
/// run. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_context_launches(context: *mut AgpuContext, launches: *mut i64) -> AgpuStatus {
    get("agpu_context_launches", context, |c| {
        out(launches, "launches")?.write(c.launches());
        Ok(())
    })
}
