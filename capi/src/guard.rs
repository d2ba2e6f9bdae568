//! What surrounds every function of the C ABI that may fail: the call is counted, runs in the
//! default floating-point environment, and turns panics into errors. The thread keeps the message
//! of its last error.

use crate::abi::AgpuStatus;
use crate::calls;
use crate::error::{Error, INTERNAL, Result, UNAVAILABLE, error};
use crate::float_environment::FloatEnvironment;
use crate::interrupt;
use crate::reserve;
use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    static LAST: RefCell<CString> = RefCell::new(CString::default());
    static GUARDED: Cell<u32> = const { Cell::new(0) };
}

/// Runs a function of the C ABI in the default floating-point environment. Panics become
/// `AGPU_ERROR_INTERNAL`, errors leave their message, and nothing is printed.
pub(crate) fn guard(f: impl FnOnce() -> Result<()>) -> AgpuStatus {
    guard_outside(|_| f())
}

/// Does what [`guard`] does, for a function that calls a function of the caller in the caller's
/// environment.
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

/// Does what [`guard`] does, with the function's name in front of the message.
pub(crate) fn guard_as(name: &str, f: impl FnOnce() -> Result<()>) -> AgpuStatus {
    guard(|| f().map_err(|e| e.of(name)))
}

#[cold]
fn remember(e: Error) -> AgpuStatus {
    let message = CString::new(e.message.replace('\0', "\u{fffd}")).unwrap_or_default();
    let _ = LAST.try_with(|last| last.replace(message));
    e.status
}

/// The default panic hook prints, which a library must not do. Panics outside the library's
/// functions go to the previous hook.
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

/// Marks a thread of the host as running library code until it is dropped.
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

/// Marks a thread of the library: a panic on it is caught elsewhere and not printed.
pub(crate) fn guard_thread() {
    let _ = GUARDED.try_with(|g| g.set(g.get() + 1));
}

/// Returns the message of this thread's last failing call, or "" if there is none. It is valid
/// until this thread's next failing call.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_last_error_message() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    #[test]
    fn a_panic_is_an_internal_error() {
        let status = guard(|| match std::hint::black_box(1) {
            1 => panic!("no {}", "first"),
            _ => Ok(()),
        });
        // SAFETY: this is the last message of this thread.
        let message = unsafe { CStr::from_ptr(agpu_last_error_message()) }.to_str();
        assert_eq!((status, message), (INTERNAL, Ok("internal error (please report it): no first")));
    }
}
