//! The primitives of the protocols between threads. `slot`, `words`, `state` and `recent` take
//! their atomics, locks and cells from here. The crate `arraygpu-models` (`capi/models`) compiles
//! the same files with those of loom.

pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
pub(crate) use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// A cell with the interface of loom's cell, which observes every access.
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub const fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    /// Passes the address for reading to `f`.
    #[inline(always)]
    pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    /// Passes the address for writing to `f`.
    #[inline(always)]
    pub fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}
