//! Environment variables, and who may not be told by them.

use std::ffi::OsString;

/// The value of a variable. An empty one is none; and in a program that runs with more rights than who started it (setuid, setgid, capabilities of its file) there are none:
/// whoever starts it would choose what code it runs.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    if is_privileged() { None } else { std::env::var_os(name).filter(|v| !v.is_empty()) }
}

/// Whether the program runs with more rights than who started it.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn is_privileged() -> bool {
    // SAFETY: reads what the kernel left for the process.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn is_privileged() -> bool {
    // SAFETY: these always succeed.
    unsafe { libc::getuid() != libc::geteuid() || libc::getgid() != libc::getegid() }
}
