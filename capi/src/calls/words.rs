//! A word for each thread that says whether it is in a call, and what waits until no thread is.

use crate::sync::{AtomicU32, Mutex, Ordering, PoisonError};

/// Calls that a thread is in: one inside of another where the caller's function calls us again. On a line of its own:
/// threads would slow each other down.
#[repr(align(128))]
pub(crate) struct Word {
    calls: AtomicU32,
    /// Words are counted through.
    pub number: usize,
}

impl Word {
    /// The thread whose word it is, which alone writes it, begins a call.
    #[inline]
    pub fn enter(&self) {
        self.calls.store(self.calls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// That call ends.
    #[inline]
    pub fn leave(&self) {
        self.calls.store(self.calls.load(Ordering::Relaxed).wrapping_sub(1), Ordering::Release);
    }
}

/// All words.
pub(crate) struct Words {
    all: Vec<&'static Word>,
    /// Of threads that are gone.
    free: Vec<&'static Word>,
}

impl Words {
    pub const fn new() -> Words {
        Words { all: Vec::new(), free: Vec::new() }
    }

    /// A word for a thread.
    pub fn take(&mut self) -> &'static Word {
        self.free.pop().unwrap_or_else(|| {
            let word = Word { calls: AtomicU32::new(0), number: self.all.len() };
            let word: &'static Word = Box::leak(Box::new(word));
            self.all.push(word);
            // so that giving words back never allocates
            self.free.reserve(self.all.len() - self.free.len());
            word
        })
    }

    /// The thread ends.
    pub fn give_back(&mut self, word: &'static Word) {
        self.free.push(word);
    }

    /// Whether a thread with another word is in a call that began before, in an order that the caller made.
    pub fn others_work(&self, own: Option<&Word>) -> bool {
        let is_other = |w: &&&Word| own.is_none_or(|own| !std::ptr::eq(**w, own));
        self.all.iter().filter(is_other).any(|w| w.calls.load(Ordering::Acquire) > 0)
    }
}

/// Drops what waits for the calls of other threads, if there are none. Asked under the lock: whoever gave something
/// to wait for knew of the calls that may use it, and after the lock so do we.
pub(crate) fn drop_when_idle<T>(waiting: &Mutex<Vec<T>>, others_work: impl FnOnce() -> bool) {
    let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
    if !others_work() {
        let idle = std::mem::take(&mut *waiting);
        drop(waiting);
        drop(idle);
    }
}
