//! One word for each thread that says whether the thread is in a call, and what waits until no
//! thread is.

use crate::sync::{AtomicU32, Mutex, Ordering, PoisonError};

/// The number of nested calls that a thread is in; calls nest if the caller's function calls the
/// library again. Each word has a cache line of its own, so that threads do not slow each other
/// down.
#[repr(align(128))]
pub(crate) struct Word {
    calls: AtomicU32,
    /// The word's number, counted from 0.
    pub number: usize,
}

impl Word {
    /// Marks the beginning of a call. Only the thread that has the word calls this.
    #[inline]
    pub fn enter(&self) {
        self.calls.store(self.calls.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Marks the end of that call.
    #[inline]
    pub fn leave(&self) {
        self.calls.store(self.calls.load(Ordering::Relaxed).wrapping_sub(1), Ordering::Release);
    }
}

/// The words of all threads.
pub(crate) struct Words {
    all: Vec<&'static Word>,
    /// Words of threads that have ended.
    free: Vec<&'static Word>,
}

impl Words {
    pub const fn new() -> Words {
        Words { all: Vec::new(), free: Vec::new() }
    }

    /// Takes a word for a thread.
    pub fn take(&mut self) -> &'static Word {
        self.free.pop().unwrap_or_else(|| {
            let word = Word { calls: AtomicU32::new(0), number: self.all.len() };
            let word: &'static Word = Box::leak(Box::new(word));
            self.all.push(word);
            // This room is reserved so that giving words back never allocates.
            self.free.reserve(self.all.len() - self.free.len());
            word
        })
    }

    /// Gives the word of a thread that ends back.
    pub fn give_back(&mut self, word: &'static Word) {
        self.free.push(word);
    }

    /// Whether a thread with another word is in a call. The calls that count are those that began
    /// before this one, in an order that the caller has established.
    pub fn others_work(&self, own: Option<&Word>) -> bool {
        let is_other = |w: &&&Word| own.is_none_or(|own| !std::ptr::eq(**w, own));
        self.all.iter().filter(is_other).any(|w| w.calls.load(Ordering::Acquire) > 0)
    }
}

/// Drops what waits for the calls of other threads, if there are none. This is decided under the
/// lock: whoever adds something to the list knows of the calls that may use it, and the lock makes
/// them visible here.
pub(crate) fn drop_when_idle<T>(waiting: &Mutex<Vec<T>>, others_work: impl FnOnce() -> bool) {
    let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
    if !others_work() {
        let idle = std::mem::take(&mut *waiting);
        drop(waiting);
        drop(idle);
    }
}
