//! The messages of the driver's compiler and linker when they reject code.

use cudarc::driver::sys::CUjit_option::{self, *};
use std::ffi::c_void;
use std::ptr::without_provenance_mut;

/// A buffer for errors. The driver writes there as long as it has the options.
pub(super) struct Log {
    text: Vec<u8>,
    options: [CUjit_option; 2],
    values: [*mut c_void; 2],
}

impl Log {
    pub fn new() -> Log {
        let mut text = vec![0u8; 16 << 10];
        let room = text.len() - 1;
        let values = [text.as_mut_ptr().cast(), without_provenance_mut(room)];
        Log { text, options: [CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES], values }
    }

    /// Returns the number of options, their names, and their values.
    pub fn options(&mut self) -> (u32, *mut CUjit_option, *mut *mut c_void) {
        (2, self.options.as_mut_ptr(), self.values.as_mut_ptr())
    }

    /// Returns the log's text in a form that can be appended to a message, or "" if it is empty.
    pub fn says(&self) -> String {
        // the driver never writes the last byte, so there is always a NUL
        let end = self.text.iter().position(|c| *c == 0).unwrap_or(0);
        let text = String::from_utf8_lossy(&self.text[..end]);
        match text.trim_end() {
            "" => String::new(),
            text => format!("\n{text}"),
        }
    }
}
