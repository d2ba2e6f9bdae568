//! Machine code from PTX, by the linker that is a part of the driver, kept in the store: the next process loads it and starts without the
//! driver's compiler.
//!
//! ```text
//! store -> load          what was linked before, by any process
//! link  -> load, store   else
//! load the PTX           where the linker, or the driver, does not take that: then its message counts
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

/// What the entries of the store are: it changes with how code is linked.
const SCHEME: &str = "arraygpu machine code 1";

/// A linker at work.
struct Linker {
    api: &'static Api,
    raw: CUlinkState,
}

impl Drop for Linker {
    fn drop(&mut self) {
        // SAFETY: made by us, destroyed once.
        unsafe { (self.api.link_destroy)(self.raw) };
    }
}

impl Gpu {
    /// Loads PTX that was made in this process and looks up its entry: as machine code from the store, or linked now and put there. The code
    /// goes when `package` is forgotten. The device's context is current.
    pub(super) fn load_linked(&self, package: usize, ptx: &CStr, entry: &str) -> Result<CUfunction> {
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
        self.load_image(package, Image { arch: 0, data: ptx.as_ptr().cast() }, entry)
    }

    /// All that machine code depends on: of the text that is not where the author wrote what, which stands in comments.
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

    /// Machine code for this device. Takes no part in a capture. The device's context is current.
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
        // SAFETY: options with their values, which live as long as the log; a pointer to a local.
        let code = unsafe { (api.link_create)(count, options, values, &mut linker.raw) };
        if code != 0 {
            std::mem::forget(linker); // there is none
            return self.check(code, what()).map(|()| Vec::new());
        }
        let (mut machine_code, mut size) = (null_mut(), 0);
        // SAFETY: PTX with its NUL, which is only read; a C string; pointers to locals.
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
        // SAFETY: so many bytes of the linker, which lives.
        Ok(unsafe { std::slice::from_raw_parts(machine_code.cast::<u8>(), size) }.to_vec())
    }
}
