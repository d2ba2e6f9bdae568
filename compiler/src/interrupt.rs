//! Interrupts compilation from outside, if the host cancels it or memory runs out. The compiler
//! passes, the schedule and the wait for the C compiler check for an interruption between their
//! steps. What was compiled so far is dropped, and nothing else has changed.

use crate::error::{Error, Kind, Result};
use std::sync::OnceLock;

/// The reason why compilation stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// The host requested it.
    Cancelled,
    /// The allocator uses its reserve.
    OutOfMemory,
}

/// Code of the error of a cancelled compilation.
pub const CANCELLED: &str = "E0901";
/// Code of the error of a compilation that ran out of memory.
pub const OUT_OF_MEMORY: &str = "E0902";

static ASK: OnceLock<fn() -> Option<Why>> = OnceLock::new();

/// Installs `ask`, which the threads that compile call from now on. Only the first call has an
/// effect.
pub fn install(ask: fn() -> Option<Why>) {
    let _ = ASK.set(ask);
}

/// Returns an error if compilation is to stop.
pub fn check() -> Result<()> {
    match ASK.get().and_then(|ask| ask()) {
        None => Ok(()),
        Some(why) => Err(stopped(why)),
    }
}

/// Returns the error of an interrupted compilation.
#[cold]
pub fn stopped(why: Why) -> Error {
    let (code, message) = match why {
        Why::Cancelled => (CANCELLED, "compiling was cancelled"),
        Why::OutOfMemory => (OUT_OF_MEMORY, "there is not enough memory to compile this"),
    };
    Error { kind: Kind::Stopped, code, message: message.into(), loc: None }
}
