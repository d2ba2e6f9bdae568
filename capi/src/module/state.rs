//! A package's state word: null, or what the first caller made of the package. There is no lock, because a package
//! holds nothing but the word: two threads may make it, and one of them keeps its own.

use crate::sync::{AtomicPtr, Ordering};
use std::ptr::null_mut;

/// What the word points at, made if it is null yet.
pub(crate) fn get_or_make<T, E>(
    state: &AtomicPtr<T>,
    make: impl FnOnce() -> Result<T, E>,
) -> Result<*mut T, E> {
    let found = state.load(Ordering::Acquire);
    if !found.is_null() {
        return Ok(found);
    }
    let fresh = Box::into_raw(Box::new(make()?));
    match state.compare_exchange(null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Ok(fresh),
        // another thread was first
        Err(first) => {
            // SAFETY: ours, shared with nobody.
            drop(unsafe { Box::from_raw(fresh) });
            Ok(first)
        }
    }
}
