//! Calls that end early, because the host cancels them or the compiler's memory runs out.
//!
//! A thread of the host chooses a flag of its own (`agpu_set_cancel_flag`). Calls of that thread
//! read the flag where stopping is cheap: between the passes of the compiler, before each launch
//! and each turn of an iteration, and every few milliseconds inside a launch on the CPU. The
//! library never writes the flag and keeps no pointer to it beyond the call.

use crate::abi::AgpuStatus::AgpuErrorCancelled as CANCELLED;
use crate::error::{Error, INTERNAL, INVALID_ARGUMENT, OUT_OF_MEMORY, Result, error};
use crate::reserve;
use arraygpu_compiler::error::Kind;
use arraygpu_compiler::interrupt::{self, Why};
use std::cell::Cell;
use std::ptr::null;
use std::sync::atomic::{AtomicI32, Ordering};

thread_local! {
    static FLAG: Cell<Flag> = const { Cell::new(Flag(null())) };
}

/// The host's flag, or none.
#[derive(Clone, Copy)]
pub(crate) struct Flag(*const AtomicI32);

// SAFETY: it is an atomic of the host, which stays valid as long as a call reads it (the contract
// of `agpu_set_cancel_flag`).
unsafe impl Send for Flag {}
// SAFETY: as above.
unsafe impl Sync for Flag {}

impl Flag {
    /// Returns the flag of this thread.
    pub fn of_thread() -> Flag {
        FLAG.try_with(Cell::get).unwrap_or(Flag(null()))
    }

    /// Sets the flag of this thread. Returns the previous one, or `None` while the thread ends.
    pub fn set(flag: *const i32) -> Option<*const i32> {
        FLAG.try_with(|own| own.replace(Flag(flag.cast())).0.cast()).ok()
    }

    /// Whether there is a flag.
    pub fn is_there(self) -> bool {
        !self.0.is_null()
    }

    /// Whether the host has raised the flag.
    pub fn is_raised(self) -> bool {
        // SAFETY: the pointer is null or valid, as explained above.
        unsafe { self.0.as_ref() }.is_some_and(|flag| flag.load(Ordering::Acquire) != 0)
    }
}

/// The error of a call that the host cancelled.
#[cold]
pub(crate) fn cancelled() -> Error {
    error(CANCELLED, "the call was cancelled: the flag of agpu_set_cancel_flag() is raised")
}

/// Returns an error if this thread's call is to end. What lives longer than the call may only be
/// kept after this check, because it must not lie in the reserve.
pub(crate) fn check() -> Result<()> {
    match why() {
        None => Ok(()),
        Some(Why::Cancelled) => Err(cancelled()),
        Some(Why::OutOfMemory) => Err(error(OUT_OF_MEMORY, "there is not enough memory for this call")),
    }
}

/// Why this thread's call is to end, if it is.
fn why() -> Option<Why> {
    if Flag::of_thread().is_raised() {
        return Some(Why::Cancelled);
    }
    reserve::is_in_use().then_some(Why::OutOfMemory)
}

/// Gives the compiler the function that it asks whether to stop.
pub(crate) fn install() {
    interrupt::install(why);
}

/// Converts a compiler's error into the error that the caller gets.
pub(crate) fn refused(e: arraygpu_compiler::Error) -> Error {
    let status = match e.kind {
        Kind::Stopped if e.code == interrupt::CANCELLED => CANCELLED,
        Kind::Stopped => OUT_OF_MEMORY,
        Kind::Bug => INTERNAL,
        Kind::User | Kind::Limit | Kind::Late => INVALID_ARGUMENT,
    };
    let late = e.kind == Kind::Late;
    let refused = error(status, e.to_string());
    Error { passing: refused.passing || late, ..refused }
}

/// Whether the same call may succeed another time. Such an error is not a property of a program and
/// is never remembered for it.
pub(crate) fn is_passing(e: &Error) -> bool {
    e.passing
}

#[cfg(test)]
mod tests {
    use super::*;
    use arraygpu_compiler::budget::{self, Budget};
    use std::time::Duration;

    /// A machine may be slow for a while, but a program never gets smaller.
    #[test]
    fn an_excess_of_time_passes() {
        let spent = |budget| {
            let made = budget::within(budget, || {
                budget::make();
                budget::write(1);
                std::thread::sleep(Duration::from_millis(1));
                budget::check()
            });
            refused(made.unwrap_err())
        };
        let usual = Budget::default();
        let late = spent(Budget { time: Duration::ZERO, ..usual });
        assert!(is_passing(&late) && late.message.contains("longer than 0 s"), "{late:?}");
        assert!(is_passing(&late.of("f")));
        assert!(!is_passing(&spent(Budget { nodes: 0, ..usual })));
        assert!(!is_passing(&spent(Budget { bytes: 0, ..usual })));
    }
}
