//! Devices: their properties, as the driver reports them.

use super::driver::Api;
use crate::error::{Result, UNAVAILABLE, fail};
use arraygpu_compiler::plan::policy;
use cudarc::driver::sys::CUdevice;
use cudarc::driver::sys::CUdevice_attribute::{self, *};
use std::ffi::{CStr, CString, c_char};

/// The minimum compute capability that this library's code runs on.
const OLDEST: (i32, i32) = (8, 0);

/// A GPU.
pub(crate) struct Device {
    pub ordinal: i32,
    pub raw: CUdevice,
    pub name: CString,
    /// The compute capability: (9, 0) is sm_90.
    pub capability: (i32, i32),
    pub multiprocessors: u32,
    pools: bool,
}

impl Device {
    /// Formats the device as `device 0 (NVIDIA H200, sm_90)`.
    pub fn title(&self) -> String {
        let (major, minor) = self.capability;
        format!("CUDA device {} ({}, sm_{major}{minor})", self.ordinal, self.name.to_string_lossy())
    }

    /// Returns the device as the launch policy knows it.
    #[inline]
    pub(super) fn policy(&self) -> policy::Device {
        let (major, minor) = self.capability;
        policy::Device {
            multiprocessors: self.multiprocessors.into(),
            capability: (10 * major + minor).unsigned_abs(),
        }
    }

    /// Returns an error that says why the device cannot be used, if so.
    pub(super) fn check(&self) -> Result<()> {
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

/// Returns all devices, in the driver's order.
pub(super) fn all(api: &Api) -> Result<Vec<Device>> {
    let mut count = 0;
    // SAFETY: the pointer is to a local variable.
    api.check(unsafe { (api.device_count)(&mut count) }, "cuDeviceGetCount")?;
    (0..count).map(|i| describe(api, i)).collect()
}

fn describe(api: &Api, ordinal: i32) -> Result<Device> {
    let (mut raw, mut name) = (0, [0 as c_char; 256]);
    // SAFETY: the pointers are to local variables, with the length of the array.
    unsafe {
        api.check((api.device_get)(&mut raw, ordinal), format_args!("cuDeviceGet of device {ordinal}"))?;
        api.check((api.device_name)(name.as_mut_ptr(), 255, raw), "cuDeviceGetName")?;
    }
    let attribute = |which: CUdevice_attribute| -> Result<i32> {
        let mut value = 0;
        // SAFETY: the pointer is to a local variable.
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
        // SAFETY: the driver terminates the name, and the last byte is 0.
        name: unsafe { CStr::from_ptr(name.as_ptr()) }.to_owned(),
        capability,
        multiprocessors: attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?.max(1) as u32,
        pools: attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)? != 0,
    })
}
