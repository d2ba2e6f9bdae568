//! Which device a context gets: the one that its options name, or the environment, or the first GPU.

use super::device::Device;
use super::gpu::Gpu;
use super::open::driver;
use crate::environment;
use crate::error::{INVALID_ARGUMENT, Result, UNAVAILABLE, fail};
use std::sync::{Arc, OnceLock};

/// `agpu_context_options.device`.
pub(crate) const DEFAULT: i32 = 0;

pub(crate) const CPU: i32 = 1;

pub(crate) const CUDA: i32 = 2;

/// The GPU of that number, if our code can run on it.
pub(crate) fn gpu(ordinal: i32) -> Result<&'static Device> {
    let devices = &driver()?.devices;
    match usize::try_from(ordinal).ok().and_then(|i| devices.get(i)) {
        Some(device) => device.check().map(|()| device),
        None => fail!(UNAVAILABLE, "there is no CUDA device {ordinal}, the driver has {}", devices.len()),
    }
}

/// The first GPU that our code can run on; else why there is none.
pub(crate) fn first() -> Result<&'static Device> {
    let devices = &driver()?.devices;
    match devices.iter().find(|d| d.check().is_ok()) {
        Some(device) => Ok(device),
        None => gpu(0),
    }
}

/// Why the first context that nobody asked a device for is on the CPU.
pub(crate) static FAILED: OnceLock<String> = OnceLock::new();

/// Why no GPU can be used; None if one can.
pub(crate) fn problem() -> Option<String> {
    FAILED.get().cloned().or_else(|| first().err().map(|e| e.message))
}

/// The environment says which device a context gets that asks for none.
pub(crate) fn is_chosen() -> bool {
    environment::variable("ARRAYGPU_DEVICE").is_some()
}

/// The GPU of `agpu_context_options.device`, used; None is the CPU.
pub(crate) fn open(device: i32) -> Result<Option<Arc<Gpu>>> {
    match device {
        DEFAULT => from_environment(),
        CPU => Ok(None),
        d if d >= CUDA => gpu(d - CUDA).and_then(Gpu::open).map(Some),
        d => {
            fail!(INVALID_ARGUMENT, "{d} is no device: 0 is the default, 1 the CPU, 2 the first CUDA device")
        }
    }
}

/// `ARRAYGPU_DEVICE` decides; without it, a GPU if there is one.
pub(crate) fn from_environment() -> Result<Option<Arc<Gpu>>> {
    let text = environment::variable("ARRAYGPU_DEVICE").unwrap_or_default();
    let text = text.to_string_lossy();
    let asked = |device: Result<&'static Device>| {
        device.and_then(Gpu::open).map(Some).map_err(|e| e.of(&format!("ARRAYGPU_DEVICE={text}")))
    };
    match &*text {
        "" => Ok(first().and_then(Gpu::open).map_err(|e| FAILED.set(e.message)).ok()),
        "cpu" => Ok(None),
        "cuda" => asked(first()),
        other => match other.strip_prefix("cuda:").and_then(|n| n.parse().ok()) {
            Some(ordinal) => asked(gpu(ordinal)),
            None => fail!(INVALID_ARGUMENT, "ARRAYGPU_DEVICE is `{other}`, expected cpu, cuda, or cuda:1"),
        },
    }
}
