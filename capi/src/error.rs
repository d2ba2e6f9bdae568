//! Errors: a status and a message. [`guard`](crate::guard) passes them to the caller of the C ABI.

use crate::abi::{AgpuStatus, code};
use arraygpu_compiler::counted;
use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;

/// Short names of the statuses.
pub(crate) use crate::abi::AgpuStatus::{
    AgpuErrorCancelled as CANCELLED, AgpuErrorDevice as DEVICE, AgpuErrorInternal as INTERNAL,
    AgpuErrorInvalidArgument as INVALID_ARGUMENT, AgpuErrorInvalidHandle as INVALID_HANDLE,
    AgpuErrorModule as MODULE, AgpuErrorOutOfBounds as OUT_OF_BOUNDS, AgpuErrorOutOfMemory as OUT_OF_MEMORY,
    AgpuErrorOverlap as OVERLAP, AgpuErrorRecord as RECORD, AgpuErrorShape as SHAPE,
    AgpuErrorTypeMismatch as TYPE_MISMATCH, AgpuErrorUnavailable as UNAVAILABLE,
    AgpuErrorWrongContext as WRONG_CONTEXT,
};

/// A status and a message.
#[derive(Clone, Debug)]
pub(crate) struct Error {
    pub status: AgpuStatus,
    pub message: String,
    /// Whether the same call may succeed another time.
    pub passing: bool,
    /// Whether code could not be made or loaded, before anything of the call ran.
    pub of_code: bool,
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Returns from the function with a status and a formatted message.
macro_rules! fail {
    ($status:expr, $($message:tt)*) => {
        return Err($crate::error::error($status, format!($($message)*)))
    };
}
pub(crate) use fail;

/// Makes an error as a value, for `ok_or_else` and `map_err`.
#[cold]
pub(crate) fn error(status: AgpuStatus, message: impl Into<String>) -> Error {
    let passing = matches!(status, CANCELLED | OUT_OF_MEMORY);
    Error { status, message: message.into(), passing, of_code: false }
}

impl Error {
    /// Adds a subject in front of the message: `subject: message`.
    #[cold]
    pub fn of(self, subject: &str) -> Error {
        Error { message: format!("{subject}: {}", self.message), ..self }
    }

    /// Marks an error of making or loading code. Nothing of the call has run yet.
    #[cold]
    pub fn of_code(self) -> Error {
        Error { of_code: true, ..self }
    }
}

/// Checks a pointer to which a result is written.
pub(crate) fn out<'a, T>(pointer: *mut T, name: &str) -> Result<&'a mut MaybeUninit<T>> {
    // SAFETY: the caller guarantees that an out-pointer that is not null may be written as a T;
    // this holds for every function here.
    match unsafe { pointer.cast::<MaybeUninit<T>>().as_mut() } {
        Some(place) if pointer.is_aligned() => Ok(place),
        _ => fail!(INVALID_ARGUMENT, "{name} is NULL or not aligned"),
    }
}

/// Checks that the address of a caller's struct is aligned; it may be NULL.
#[inline]
pub(crate) fn aligned<T>(pointer: *const T, name: &str) -> Result<()> {
    if pointer.is_aligned() {
        return Ok(());
    }
    fail!(INVALID_ARGUMENT, "{name} at {pointer:p} is not aligned to {}", counted(align_of::<T>(), "byte"));
}

/// Returns the name of a status as in this header, or "unknown status" for any other number. The
/// string is never freed.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_status_name(status: MaybeUninit<AgpuStatus>) -> *const c_char {
    const NAMES: [&CStr; 15] = [
        c"AGPU_OK",
        c"AGPU_ERROR_INVALID_ARGUMENT",
        c"AGPU_ERROR_INVALID_HANDLE",
        c"AGPU_ERROR_TYPE_MISMATCH",
        c"AGPU_ERROR_SHAPE",
        c"AGPU_ERROR_OUT_OF_BOUNDS",
        c"AGPU_ERROR_OVERLAP",
        c"AGPU_ERROR_OUT_OF_MEMORY",
        c"AGPU_ERROR_WRONG_CONTEXT",
        c"AGPU_ERROR_RECORD",
        c"AGPU_ERROR_MODULE",
        c"AGPU_ERROR_UNAVAILABLE",
        c"AGPU_ERROR_INTERNAL",
        c"AGPU_ERROR_DEVICE",
        c"AGPU_ERROR_CANCELLED",
    ];
    let name = usize::try_from(code(status)).ok().and_then(|i| NAMES.get(i));
    name.copied().unwrap_or(c"unknown status").as_ptr()
}

/// Returns AGPU_ABI_VERSION of the library.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_abi_version() -> i32 {
    crate::abi::AGPU_ABI_VERSION
}

/// Returns the library's version, for example "0.1.0". The string is never freed.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
