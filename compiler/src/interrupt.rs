//! Compiling that is stopped from outside: the host cancels, or memory runs out. Passes, the
//! schedule and the C compiler's caller ask between their steps; what was compiled so far is
//! dropped, and nothing else has changed.

use crate::error::{Error, Kind, Result};
use std::sync::OnceLock;

/// Why compiling stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// The host asked for it.
    Cancelled,
    /// The allocator lives on its reserve.
    OutOfMemory,
}

/// Code of a compilation that was cancelled.
pub const CANCELLED: &str = "E0901";
/// Code of a compilation that memory did not suffice for.
pub const OUT_OF_MEMORY: &str = "E0902";

static ASK: OnceLock<fn() -> Option<Why>> = OnceLock::new();

/// `ask` is called from now on by the threads that compile. Only the first one given counts.
pub fn install(ask: fn() -> Option<Why>) {
    let _ = ASK.set(ask);
}

/// An error where compiling is to stop.
pub fn check() -> Result<()> {
    match ASK.get().and_then(|ask| ask()) {
        None => Ok(()),
        Some(why) => Err(stopped(why)),
    }
}

/// The error of a compilation that stops.
#[cold]
pub fn stopped(why: Why) -> Error {
    let (code, message) = match why {
        Why::Cancelled => (CANCELLED, "compiling was cancelled"),
        Why::OutOfMemory => (OUT_OF_MEMORY, "there is not enough memory to compile this"),
    };
    Error { kind: Kind::Stopped, code, message: message.into(), loc: None }
}
