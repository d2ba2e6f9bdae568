//! What the protocols between threads are made of: `slot`, `words`, `state` and `recent` take their atomics,
//! locks and cells from here. The crate `arraygpu-models` (`capi/models`) compiles the same files with loom's.

pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
pub(crate) use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// A cell with the interface of loom's, which sees every access by it.
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub const fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    /// Hands out the address for reading.
    #[inline(always)]
    pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    /// Hands out the address for writing.
    #[inline(always)]
    pub fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}
