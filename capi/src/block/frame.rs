//! The memory of a call: one allocation per thread, which only grows.

use std::cell::Cell;

/// Block registers begin at multiples of this size, a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[allow(dead_code, reason = "it is seen as bytes")] [u8; 64]);

thread_local! {
    static FRAME: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// Calls `f` with at least that many bytes of memory, aligned to 64 and not cleared.
pub(super) fn with<R>(bytes: usize, f: impl FnOnce(*mut u8) -> R) -> R {
    // a nested call finds no memory here and allocates its own
    let mut lines = FRAME.take();
    let wanted = bytes.div_ceil(64);
    if lines.len() < wanted {
        lines.resize(wanted, Line([0; 64]));
    }
    let result = f(lines.as_mut_ptr().cast());
    FRAME.set(lines);
    result
}

/// Rounds up to a multiple of 64.
pub(super) fn align(bytes: usize) -> usize {
    bytes.next_multiple_of(64)
}
