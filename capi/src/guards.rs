//! Guard bytes around arrays, used where launches are checked (`ARRAYGPU_CHECK=1`).

use crate::environment;
use crate::log::log;
use std::sync::OnceLock;

/// The number of guard bytes on each side of an array on the CPU, and after one on a GPU.
pub(crate) const GUARD: usize = 64;
/// The value of a guard byte.
pub(crate) const PATTERN: u8 = 0xfd;

/// Whether launches are checked. The variable is read once.
#[inline]
pub(crate) fn is_on() -> bool {
    static STATE: OnceLock<bool> = OnceLock::new();
    *STATE.get_or_init(read)
}

#[cold]
fn read() -> bool {
    let text = environment::variable("ARRAYGPU_CHECK").map(|text| text.to_string_lossy().into_owned());
    match text.as_deref() {
        None | Some("0" | "off") => false,
        Some("1") => true,
        Some(other) => {
            log!(Warn, "ARRAYGPU_CHECK is `{other}`, expected 1 or 0");
            false
        }
    }
}

/// The number of guard bytes around an allocation, on both sides together.
pub(crate) fn guards() -> usize {
    if is_on() { 2 * GUARD } else { 0 }
}

/// Whether all guard bytes still have their value.
pub(crate) fn is_whole(guard: &[u8]) -> bool {
    guard.iter().all(|byte| *byte == PATTERN)
}
