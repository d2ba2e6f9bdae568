//! Opens the driver once for the process.

use super::device::{self, Device};
use super::driver::Api;
use super::driver::{Code, version_text};
use crate::error::{Result, UNAVAILABLE, error, fail};
use libloading::Library;
use std::ffi::c_int;
use std::sync::OnceLock;

/// The library's name: the driver's own, present wherever an NVIDIA driver is.
pub(crate) const LIBRARY: &str = "libcuda.so.1";

/// The oldest driver that will do: CUDA 12.0, which came with driver 525.
pub(crate) const OLDEST: i32 = 12_000;

/// The driver, initialised, and what it says of its devices.
pub(crate) struct Driver {
    pub api: Api,
    /// 12040 is CUDA 12.4.
    pub version: i32,
    pub devices: Vec<Device>,
}

/// The driver, or why there is none. Asked once a process.
pub(crate) fn driver() -> Result<&'static Driver> {
    static DRIVER: OnceLock<Result<Driver>> = OnceLock::new();
    DRIVER.get_or_init(open).as_ref().map_err(Clone::clone)
}

pub(crate) fn open() -> Result<Driver> {
    // SAFETY: runs the driver library's initialisers, which every program that uses CUDA runs.
    let library = unsafe { Library::new(LIBRARY) };
    let library = library.map_err(|e| {
        error(UNAVAILABLE, format!("there is no NVIDIA driver: {LIBRARY} cannot be loaded ({e})"))
    })?;
    // never unloaded: handles may be freed until the process ends
    let library: &'static Library = Box::leak(Box::new(library));
    let version = version(library)?;
    if version < OLDEST {
        let has = version_text(version);
        fail!(
            UNAVAILABLE,
            "the NVIDIA driver is too old: it supports {has}, CUDA 12.0 (driver 525) or newer is needed"
        );
    }
    let api = Api::load(library).map_err(|name| {
        error(UNAVAILABLE, format!("the NVIDIA driver ({}) lacks the function {name}", version_text(version)))
    })?;
    // SAFETY: the first call, as the driver asks for.
    let code = unsafe { (api.init)(0) };
    if code != 0 {
        const NO_DEVICE: Code = 100;
        let hint =
            if code == NO_DEVICE { "there is no NVIDIA GPU" } else { "the NVIDIA driver does not start" };
        fail!(UNAVAILABLE, "{hint}: cuInit: {}", api.describe(code));
    }
    let devices = device::all(&api)?;
    Ok(Driver { api, version, devices })
}

/// The driver's version, asked before anything else: a driver that is too old should not be blamed for what it lacks.
pub(crate) fn version(library: &Library) -> Result<i32> {
    const SYMBOL: &str = "cuDriverGetVersion";
    let mut version = 0;
    // SAFETY: the symbol has this type, by the driver's headers; it needs no initialisation.
    let code = unsafe {
        match library.get::<unsafe extern "C" fn(*mut c_int) -> Code>(SYMBOL.as_bytes()) {
            Ok(f) => f(&mut version),
            Err(_) => fail!(UNAVAILABLE, "the NVIDIA driver lacks the function {SYMBOL}"),
        }
    };
    if code != 0 {
        fail!(UNAVAILABLE, "the NVIDIA driver does not tell its version (error {code})");
    }
    Ok(version)
}
