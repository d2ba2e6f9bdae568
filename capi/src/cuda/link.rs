//! Links PTX to machine code by the driver's linker, and keeps the machine code in the store. The
//! next process loads it and starts without the driver's compiler.
//!
//! ```text
//! store -> load          if any process linked it before
//! link  -> load, store   otherwise
//! load the PTX           if the linker or the driver rejects that; then its message counts
//! ```

#[cfg(test)]
mod tests;

use super::driver::{Api, version_text};
use super::gpu::{Gpu, Uncaptured};
use super::images::Image;
use super::log::Log;
use crate::disk;
use crate::error::{Error, MODULE, Result, error};
use cudarc::driver::sys::{CUfunction, CUjitInputType, CUlinkState};
use std::ffi::{CStr, CString};
use std::ptr::null_mut;

/// The kind of entries in the store, which must change when code is linked in another way.
const SCHEME: &str = "arraygpu machine code 1";

/// A linker of the driver.
struct Linker {
    api: &'static Api,
    raw: CUlinkState,
}

impl Drop for Linker {
    fn drop(&mut self) {
        // SAFETY: this library made it, and destroys it once.
        unsafe { (self.api.link_destroy)(self.raw) };
    }
}

impl Gpu {
    /// Loads PTX that was made in this process and looks up its entry. The machine code comes from
    /// the store, or is linked now and stored. The code is unloaded when `package` is forgotten.
    /// The device's context is current.
    pub(super) fn load_linked(&self, package: usize, ptx: &CStr, entry: &str) -> Result<CUfunction> {
        let ptx = &*self.text_for_device(ptx)?;
        let (major, minor) = self.device.capability;
        let load = |code: &[u8]| {
            let image = Image { arch: major * 10 + minor, data: code.as_ptr().cast() };
            self.load_image(package, image, entry)
        };
        if disk::is_on() {
            let key = self.key(ptx);
            if let Some(function) = disk::get(&key).and_then(|code| load(&code).ok()) {
                return Ok(function);
            }
            let code = self.machine_code(ptx, entry);
            if let Some((function, code)) = code.ok().and_then(|c| Some((load(&c).ok()?, c))) {
                disk::put(&key, &code);
                return Ok(function);
            }
        }
        self.load_module(package, Image { arch: 0, data: ptx.as_ptr().cast() }, entry)
    }

    /// Returns everything that the machine code depends on. Comments are left out: they say where
    /// the author wrote what.
    fn key(&self, ptx: &CStr) -> Vec<u8> {
        let ((major, minor), driver) = (self.device.capability, self.driver.version);
        let head = format!("{SCHEME}\0{driver}\0sm_{major}{minor}\0");
        let mut key = head.into_bytes();
        for line in ptx.to_bytes().split(|c| *c == b'\n') {
            let comment = line.windows(2).position(|w| w == b"//").unwrap_or(line.len());
            key.extend_from_slice(&line[..comment]);
            key.push(b'\n');
        }
        key
    }

    /// Returns machine code for this device. This is not part of a capture. The device's context is
    /// current.
    pub(super) fn machine_code(&self, ptx: &CStr, entry: &str) -> Result<Vec<u8>> {
        let mut log = Log::new(); // outlives the linker, which writes there
        self.link(ptx, entry, &mut log).map_err(|e| Error { message: e.message + &log.says(), ..e })
    }

    fn link(&self, ptx: &CStr, entry: &str, log: &mut Log) -> Result<Vec<u8>> {
        let (api, _uncaptured) = (self.api(), Uncaptured::enter(self.api()));
        let name = CString::new(entry).map_err(|_| error(MODULE, "a NUL in the name"))?;
        let (title, version) = (self.device.title(), version_text(self.driver.version));
        let what = || format!("linking the PTX of {entry} for {title}, the driver is for {version}");
        let mut linker = Linker { api, raw: null_mut() };
        let (count, options, values) = log.options();
        // SAFETY: the options have values that live as long as the log; the pointer is to a local
        // variable.
        let code = unsafe { (api.link_create)(count, options, values, &mut linker.raw) };
        if code != 0 {
            std::mem::forget(linker); // no linker was made
            return self.check(code, what()).map(|()| Vec::new());
        }
        let (mut machine_code, mut size) = (null_mut(), 0);
        // SAFETY: the PTX ends with a NUL and is only read; the name is a C string; the pointers
        // are to local variables.
        unsafe {
            let (kind, data, length) =
                (CUjitInputType::CU_JIT_INPUT_PTX, ptx.as_ptr().cast_mut().cast(), ptx.count_bytes() + 1);
            let code =
                (api.link_add)(linker.raw, kind, data, length, name.as_ptr(), 0, null_mut(), null_mut());
            self.check(code, what())?;
            self.check((api.link_complete)(linker.raw, &mut machine_code, &mut size), what())?;
        }
        if machine_code.is_null() {
            return Err(error(MODULE, format!("{}: it gave nothing", what())));
        }
        // SAFETY: the linker, which still exists, owns that many bytes.
        Ok(unsafe { std::slice::from_raw_parts(machine_code.cast::<u8>(), size) }.to_vec())
    }
}
