//! A package's state word: null, or the address of the value that the first caller made for the package. There is no
//! lock, because a package holds only the word: two threads may make the value at the same time, and one of them
//! discards its own.

use crate::sync::{AtomicPtr, Ordering};
use std::ptr::null_mut;

/// Returns the value to which the word points, and makes it first if the word is null.
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
        // Another thread was first.
        Err(first) => {
            // SAFETY: this thread made it and shared it with nobody.
            drop(unsafe { Box::from_raw(fresh) });
            Ok(first)
        }
    }
}
