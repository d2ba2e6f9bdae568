//! Devices: what the driver says of them, and which one a context gets.

use super::driver::{Api, driver};
use super::gpu::Gpu;
use crate::environment;
use crate::error::{INVALID_ARGUMENT, Result, UNAVAILABLE, fail};
use cudarc::driver::sys::CUdevice;
use cudarc::driver::sys::CUdevice_attribute::{self, *};
use std::ffi::{CStr, CString, c_char};
use std::sync::{Arc, OnceLock};

/// `agpu_context_options.device`.
pub(crate) const DEFAULT: i32 = 0;
pub(crate) const CPU: i32 = 1;
pub(crate) const CUDA: i32 = 2;

/// The oldest GPUs that our code runs on.
const OLDEST: (i32, i32) = (8, 0);

/// A GPU.
pub(crate) struct Device {
    pub ordinal: i32,
    pub raw: CUdevice,
    pub name: CString,
    /// Compute capability: (9, 0) is sm_90.
    pub capability: (i32, i32),
    pub multiprocessors: u32,
    pools: bool,
}

impl Device {
    /// `device 0 (NVIDIA H200, sm_90)`
    pub fn title(&self) -> String {
        let (major, minor) = self.capability;
        format!("CUDA device {} ({}, sm_{major}{minor})", self.ordinal, self.name.to_string_lossy())
    }

    /// Says why it will not do, if so.
    fn check(&self) -> Result<()> {
        if self.capability < OLDEST {
            fail!(UNAVAILABLE, "{} is too old: sm_{}{} or newer is needed", self.title(), OLDEST.0, OLDEST.1);
        }
        if !self.pools {
            fail!(
                UNAVAILABLE,
                "{} has no stream-ordered memory pools (a virtual GPU without them?)",
                self.title()
            );
        }
        Ok(())
    }
}

/// All devices, in the driver's order.
pub(super) fn all(api: &Api) -> Result<Vec<Device>> {
    let mut count = 0;
    // SAFETY: a pointer to a local.
    api.check(unsafe { (api.device_count)(&mut count) }, "cuDeviceGetCount")?;
    (0..count).map(|i| describe(api, i)).collect()
}

fn describe(api: &Api, ordinal: i32) -> Result<Device> {
    let (mut raw, mut name) = (0, [0 as c_char; 256]);
    // SAFETY: pointers to locals, with the length of the array.
    unsafe {
        api.check((api.device_get)(&mut raw, ordinal), format_args!("cuDeviceGet of device {ordinal}"))?;
        api.check((api.device_name)(name.as_mut_ptr(), 255, raw), "cuDeviceGetName")?;
    }
    let attribute = |which: CUdevice_attribute| -> Result<i32> {
        let mut value = 0;
        // SAFETY: a pointer to a local.
        let code = unsafe { (api.device_attribute)(&mut value, which, raw) };
        api.check(code, format_args!("cuDeviceGetAttribute {which:?}")).map(|()| value)
    };
    let capability = (
        attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
    );
    Ok(Device {
        ordinal,
        raw,
        // SAFETY: the driver ends the name, and the last byte is 0.
        name: unsafe { CStr::from_ptr(name.as_ptr()) }.to_owned(),
        capability,
        multiprocessors: attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?.max(1) as u32,
        pools: attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)? != 0,
    })
}

/// The GPU of that number, if our code can run on it.
pub(crate) fn gpu(ordinal: i32) -> Result<&'static Device> {
    let devices = &driver()?.devices;
    match usize::try_from(ordinal).ok().and_then(|i| devices.get(i)) {
        Some(device) => device.check().map(|()| device),
        None => fail!(UNAVAILABLE, "there is no CUDA device {ordinal}, the driver has {}", devices.len()),
    }
}

/// The first GPU that our code can run on; else why there is none.
fn first() -> Result<&'static Device> {
    let devices = &driver()?.devices;
    match devices.iter().find(|d| d.check().is_ok()) {
        Some(device) => Ok(device),
        None => gpu(0),
    }
}

/// Why the first context that nobody asked a device for is on the CPU.
static FAILED: OnceLock<String> = OnceLock::new();

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
fn from_environment() -> Result<Option<Arc<Gpu>>> {
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
