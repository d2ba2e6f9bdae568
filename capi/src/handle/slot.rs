//! One slot of a table: a value, and the word that says who may access it.
//!
//! ```text
//! word = generation (32 bits) | live (1 bit) | pins (31 bits)
//! ```
//!
//! A slot is filled by the thread that took it from the free list, pinned and unpinned while it is
//! live, ended once, and reclaimed by the one thread that left it neither live nor pinned.
//! `arraygpu-models` checks this for every order of threads.

use crate::sync::{AtomicU64, Ordering, UnsafeCell};

const LIVE: u64 = 1 << 31;
const PINS: u64 = LIVE - 1;

/// A slot has cache lines of its own, so that threads that use different values do not slow each
/// other down.
#[repr(align(128))]
pub(crate) struct Slot<T> {
    word: AtomicU64,
    /// The value, which is `Some` while live or pinned. It is written by the one thread that owns
    /// the slot: the inserter before it is live, the reclaimer after the last pin.
    value: UnsafeCell<Option<T>>,
}

// SAFETY: `value` is shared only while pinned (then as &T), and otherwise owned by one thread, as
// `word` says.
unsafe impl<T: Send + Sync> Sync for Slot<T> {}

impl<T: Send + Sync> Slot<T> {
    /// Makes an empty slot of the first generation.
    pub fn new() -> Slot<T> {
        Slot { word: AtomicU64::new(1 << 32), value: UnsafeCell::new(None) }
    }

    /// Puts a value in and makes it live. Returns its generation.
    ///
    /// # Safety
    /// The caller owns the slot: nobody has filled it since it was made or last reclaimed, and the
    /// thread that reclaimed it handed it over by a lock.
    pub unsafe fn fill(&self, value: T) -> u64 {
        // SAFETY: the caller guarantees this, and a thread that pins checks first whether the value
        // is live.
        self.value.with_mut(|place| unsafe { *place = Some(value) });
        self.word.fetch_or(LIVE, Ordering::Release) >> 32
    }

    /// Pins the value of that generation if it is live. It then stays until [`Slot::unpin`].
    /// Returns whether it was live.
    #[inline]
    pub fn pin(&self, generation: u64) -> bool {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            if word & !PINS != generation << 32 | LIVE || word & PINS == PINS {
                return false;
            }
            match self.word.compare_exchange_weak(word, word + 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
    }

    /// Returns the value.
    ///
    /// # Safety
    /// The caller has pinned it for as long as it uses the reference.
    #[inline]
    pub unsafe fn get(&self) -> &T {
        // SAFETY: while pinned, the value is there and only read.
        match self.value.with(|place| unsafe { &*place }) {
            Some(value) => value,
            None => unreachable!("a pinned slot holds a value"),
        }
    }

    /// Ends a pin. Returns whether the caller now owns the slot and must reclaim it.
    ///
    /// # Safety
    /// The pin belongs to the caller and is ended once.
    #[inline]
    pub unsafe fn unpin(&self) -> bool {
        let word = self.word.fetch_sub(1, Ordering::Release);
        if word & (LIVE | PINS) != 1 {
            return false;
        }
        // This load orders the reclaim after what other threads did with the value. A fence would
        // be enough, but ThreadSanitizer does not support fences.
        self.word.load(Ordering::Acquire);
        true
    }

    /// Ends the life of a value. Returns `None` if that generation is not live, and otherwise
    /// whether the caller now owns the slot and must reclaim it.
    pub fn end(&self, generation: u64) -> Option<bool> {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            if word & !PINS != generation << 32 | LIVE {
                return None;
            }
            match self.word.compare_exchange_weak(word, word & !LIVE, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Some(word & PINS == 0),
                Err(now) => word = now,
            }
        }
    }

    /// Drops the value. Returns whether the slot has another generation and may be filled again.
    ///
    /// # Safety
    /// The caller owns the slot, as [`Slot::unpin`] or [`Slot::end`] returned.
    pub unsafe fn reclaim(&self) -> bool {
        // SAFETY: the slot is not live and has no pins, so it belongs to the one thread that made
        // it so.
        drop(self.value.with_mut(|place| unsafe { (*place).take() }));
        let generation = (self.word.load(Ordering::Relaxed) >> 32) + 1;
        // A slot that has used all its generations is not used again.
        let has_more = generation < 1 << 32;
        if has_more {
            // The lock of the free list orders this store before the next thread fills the slot.
            self.word.store(generation << 32, Ordering::Relaxed);
        }
        has_more
    }
}
