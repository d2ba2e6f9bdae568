//! Errors: a status, and the thread's last message. [`guard`] wraps every function of the C ABI that may fail.

use crate::abi::{AgpuStatus, code};
use crate::calls;
use crate::float_environment::FloatEnvironment;
use crate::{interrupt, reserve};
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

/// Short names of the statuses.
pub(crate) use crate::abi::AgpuStatus::{
    AgpuErrorDevice as DEVICE, AgpuErrorInternal as INTERNAL, AgpuErrorInvalidArgument as INVALID_ARGUMENT,
    AgpuErrorInvalidHandle as INVALID_HANDLE, AgpuErrorModule as MODULE,
    AgpuErrorOutOfBounds as OUT_OF_BOUNDS, AgpuErrorOutOfMemory as OUT_OF_MEMORY,
    AgpuErrorOverlap as OVERLAP, AgpuErrorRecord as RECORD, AgpuErrorShape as SHAPE,
    AgpuErrorTypeMismatch as TYPE_MISMATCH, AgpuErrorUnavailable as UNAVAILABLE,
    AgpuErrorWrongContext as WRONG_CONTEXT,
};

/// What went wrong.
#[derive(Clone, Debug)]
pub(crate) struct Error {
    pub status: AgpuStatus,
    pub message: String,
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Returns early with a status and a formatted message.
macro_rules! fail {
    ($status:expr, $($message:tt)*) => {
        return Err($crate::error::Error { status: $status, message: format!($($message)*) })
    };
}
pub(crate) use fail;

/// The error as a value, for `ok_or_else` and `map_err`.
#[cold]
pub(crate) fn error(status: AgpuStatus, message: impl Into<String>) -> Error {
    Error { status, message: message.into() }
}

impl Error {
    /// The same error, said of `subject`: `subject: message`.
    #[cold]
    pub fn of(self, subject: &str) -> Error {
        Error { status: self.status, message: format!("{subject}: {}", self.message) }
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::new(CString::default());
    static GUARDED: Cell<u32> = const { Cell::new(0) };
}

/// Runs a function of the C ABI, in the default floating-point environment: panics become `AGPU_ERROR_INTERNAL`, errors leave their message, nothing is printed.
pub(crate) fn guard(f: impl FnOnce() -> Result<()>) -> AgpuStatus {
    guard_outside(|_| f())
}

/// The same for a function that calls one of the caller's, which has the caller's environment.
pub(crate) fn guard_outside(f: impl FnOnce(&FloatEnvironment) -> Result<()>) -> AgpuStatus {
    silence_panics();
    reserve::forget();
    let (_call, environment) = (calls::enter(), FloatEnvironment::enter());
    let _ = GUARDED.try_with(|g| g.set(g.get() + 1));
    let f = || if calls::is_lost() { Err(lost()) } else { f(&environment) };
    let result = catch_unwind(AssertUnwindSafe(f));
    let _ = GUARDED.try_with(|g| g.set(g.get() - 1));
    match result {
        Ok(Ok(())) => AgpuStatus::AgpuOk,
        Ok(Err(e)) => remember(e),
        Err(payload) => {
            let text = payload.downcast_ref::<&str>().copied();
            let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
            remember(error(
                INTERNAL,
                format!("internal error (please report it): {}", text.unwrap_or("a panic")),
            ))
        }
    }
}

#[cold]
fn lost() -> Error {
    error(
        UNAVAILABLE,
        "this process was forked while another thread was in a call of arraygpu, whose locks nobody gives back here: fork when no thread is in a call, or exec a program",
    )
}

/// The same, with the function's name in front of the message.
pub(crate) fn guard_as(name: &str, f: impl FnOnce() -> Result<()>) -> AgpuStatus {
    guard(|| f().map_err(|e| e.of(name)))
}

#[cold]
fn remember(e: Error) -> AgpuStatus {
    let message = CString::new(e.message.replace('\0', "\u{fffd}")).unwrap_or_default();
    let _ = LAST.try_with(|last| last.replace(message));
    e.status
}

/// The default panic hook prints; a library must not. Panics outside of our functions go to the hook that was there.
fn silence_panics() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        interrupt::install();
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if GUARDED.try_with(Cell::get).unwrap_or(0) == 0 {
                previous(info);
            }
        }));
    });
}

/// Marks a thread of the host as ours for a while.
pub(crate) struct Guarded(());

pub(crate) fn guarded() -> Guarded {
    guard_thread();
    Guarded(())
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = GUARDED.try_with(|g| g.set(g.get() - 1));
    }
}

/// Marks a thread as ours: a panic on it is caught elsewhere, and not printed.
pub(crate) fn guard_thread() {
    let _ = GUARDED.try_with(|g| g.set(g.get() + 1));
}

/// A pointer that an answer is written to.
pub(crate) fn out<'a, T>(pointer: *mut T, name: &str) -> Result<&'a mut MaybeUninit<T>> {
    // SAFETY: non-null out-pointers are the caller's and fit for writing a T (the contract of every function here).
    match unsafe { pointer.cast::<MaybeUninit<T>>().as_mut() } {
        Some(place) if pointer.is_aligned() => Ok(place),
        _ => fail!(INVALID_ARGUMENT, "{name} is NULL or not aligned"),
    }
}

/// A struct of the caller's lies where its fields can be read; it may be NULL.
#[inline]
pub(crate) fn aligned<T>(pointer: *const T, name: &str) -> Result<()> {
    if pointer.is_aligned() {
        return Ok(());
    }
    fail!(INVALID_ARGUMENT, "{name} at {pointer:p} is not aligned to {} bytes", align_of::<T>());
}

/// The message of this thread's last failing call; "" before any. Valid until this thread's next failing
/// call.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_last_error_message() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// The name of a status, as in this header; "unknown status" for a number that is none. Never freed.
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

/// AGPU_ABI_VERSION of the library.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_abi_version() -> i32 {
    crate::abi::AGPU_ABI_VERSION
}

/// The library's version, "0.1.0". Never freed.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_internal_error() {
        let status = guard(|| match std::hint::black_box(1) {
            1 => panic!("no {}", "first"),
            _ => Ok(()),
        });
        // SAFETY: this thread's last message.
        let message = unsafe { CStr::from_ptr(agpu_last_error_message()) }.to_str();
        assert_eq!((status, message), (INTERNAL, Ok("internal error (please report it): no first")));
    }
}
