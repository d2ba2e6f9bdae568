//! Environment variables, and programs that must not use them.

use std::ffi::OsString;

/// Returns the value of a variable. An empty value counts as none. A program that runs with more
/// rights than the user who started it (setuid, setgid, file capabilities) has no variables,
/// because that user could choose what code it runs.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    if is_privileged() { None } else { std::env::var_os(name).filter(|v| !v.is_empty()) }
}

/// Whether the program runs with more rights than the user who started it.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn is_privileged() -> bool {
    // SAFETY: this reads a value that the kernel left for the process.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn is_privileged() -> bool {
    // SAFETY: these functions always succeed.
    unsafe { libc::getuid() != libc::geteuid() || libc::getgid() != libc::getegid() }
}
