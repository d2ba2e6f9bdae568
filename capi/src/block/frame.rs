//! The memory of a call: one piece a thread, which only grows.

use std::cell::Cell;

/// Block registers begin at multiples of this.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[allow(dead_code, reason = "it is seen as bytes")] [u8; 64]);

thread_local! {
    static FRAME: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// Calls `f` with memory of at least so many bytes, aligned to 64, whatever is in it.
pub(super) fn with<R>(bytes: usize, f: impl FnOnce(*mut u8) -> R) -> R {
    // a call within this one would find none, and make its own
    let mut lines = FRAME.take();
    let wanted = bytes.div_ceil(64);
    if lines.len() < wanted {
        lines.resize(wanted, Line([0; 64]));
    }
    let result = f(lines.as_mut_ptr().cast());
    FRAME.set(lines);
    result
}

/// The next multiple of 64.
pub(super) fn align(bytes: usize) -> usize {
    bytes.next_multiple_of(64)
}
