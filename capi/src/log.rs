//! `ARRAYGPU_LOG=warn|info|debug`: messages on standard error about what the library does.
//!
//! - `warn`: slow paths that were taken, and why: arrays with strides, results that overlap the
//!   arrays from which they are computed, a cache or C compiler that cannot be used.
//! - `info`: contexts, packages that were loaded, programs that were compiled.
//! - `debug`: launches, and what was found in the cache on disk.
//!
//! Each level includes those before it. Without the variable nothing is ever printed, and each call
//! costs one load.

use crate::environment;
use std::fmt::Arguments;
use std::io::Write;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// The levels of messages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Level {
    Warn = 1,
    Info,
    Debug,
}

/// The state before the variable was read.
const UNREAD: u8 = u8::MAX;
static LEVEL: AtomicU8 = AtomicU8::new(UNREAD);

/// Whether messages of this level are printed.
#[inline]
pub(crate) fn wants(level: Level) -> bool {
    let known = LEVEL.load(Relaxed);
    (if known == UNREAD { read() } else { known }) >= level as u8
}

#[cold]
fn read() -> u8 {
    let text = environment::variable("ARRAYGPU_LOG").map(|text| text.to_string_lossy().into_owned());
    let level = match text.as_deref() {
        None | Some("off" | "0") => 0,
        Some("warn") => Level::Warn as u8,
        Some("info") => Level::Info as u8,
        Some("debug") => Level::Debug as u8,
        Some(other) => {
            line(Level::Warn, format_args!("ARRAYGPU_LOG is `{other}`, expected warn, info, debug or off"));
            0
        }
    };
    LEVEL.store(level, Relaxed);
    level
}

/// Prints a line with one write, so that lines of several threads do not mix. Errors are ignored.
#[cold]
pub(crate) fn line(level: Level, said: Arguments) {
    let level = match level {
        Level::Warn => "warn",
        Level::Info => "info",
        Level::Debug => "debug",
    };
    let _ = std::io::stderr().write_all(format!("arraygpu {level}: {said}\n").as_bytes());
}

/// Prints a message if its level is enabled: `log!(Info, "{} kernels", n)`.
macro_rules! log {
    ($level:ident, $($text:tt)*) => {
        if $crate::log::wants($crate::log::Level::$level) {
            $crate::log::line($crate::log::Level::$level, format_args!($($text)*));
        }
    };
}
pub(crate) use log;
