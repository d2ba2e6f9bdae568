//! The times of launches, for a program that asks for them (`agpu_context_profile`). While none
//! does, a launch costs one load.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What names a launch: its kernel, the variant of it, and the class of its sizes (`plan/tuning.rs`), which on a CPU
/// is empty.
pub(crate) type Names = [CString; 3];

/// A launch that was timed.
pub(crate) struct Timed {
    pub names: Names,
    /// When it began, in seconds after the first one.
    pub start: f64,
    /// How long it took, in seconds.
    pub seconds: f64,
}

/// The launches since the program asked for times, each with the device's times of its beginning and its end.
pub(crate) struct Profile<T> {
    is_on: AtomicBool,
    launches: Mutex<Vec<(Names, [T; 2])>>,
}

impl<T> Profile<T> {
    pub fn new() -> Profile<T> {
        Profile { is_on: AtomicBool::new(false), launches: Mutex::new(Vec::new()) }
    }

    /// Whether launches are timed.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.is_on.load(Relaxed)
    }

    /// Starts or ends the timing, and forgets the launches so far.
    pub fn switch(&self, on: bool) {
        self.launches().clear();
        self.is_on.store(on, Relaxed);
    }

    /// Adds a launch.
    #[cold]
    pub fn add(&self, names: [&str; 3], times: [T; 2]) {
        // names of kernels come from C strings and have no NUL
        let names = names.map(|name| CString::new(name).unwrap_or_default());
        self.launches().push((names, times));
    }

    /// Returns the launches in the order in which they were added.
    pub fn launches(&self) -> MutexGuard<'_, Vec<(Names, [T; 2])>> {
        self.launches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
