//! One place of a table: a value, and the word that says who may touch it.
//!
//! ```text
//! word = generation (32 bits) | live (1 bit) | pins (31 bits)
//! ```
//!
//! A slot is filled by who took it from the free list, pinned and unpinned while it is live, ended once, and
//! reclaimed by the one thread that left it neither live nor pinned. `arraygpu-models` checks this in
//! every order of threads.

use crate::sync::{AtomicU64, Ordering, UnsafeCell};

const LIVE: u64 = 1 << 31;
const PINS: u64 = LIVE - 1;

/// On lines of its own: threads that use different values would slow each other down.
#[repr(align(128))]
pub(crate) struct Slot<T> {
    word: AtomicU64,
    /// Some while live or pinned. Written by the one thread that owns the slot: the inserter before it is live, the
    /// reclaimer after the last pin.
    value: UnsafeCell<Option<T>>,
}

// SAFETY: `value` is shared only while pinned (then as &T), and otherwise owned by one thread, as `word` says.
unsafe impl<T: Send + Sync> Sync for Slot<T> {}

impl<T: Send + Sync> Slot<T> {
    /// An empty one of the first generation.
    pub fn new() -> Slot<T> {
        Slot { word: AtomicU64::new(1 << 32), value: UnsafeCell::new(None) }
    }

    /// Puts a value in, and lets it live; its generation.
    ///
    /// # Safety
    /// The caller owns the slot: nobody filled it since it was made or last reclaimed, and its owner then handed it
    /// over by a lock.
    pub unsafe fn fill(&self, value: T) -> u64 {
        // SAFETY: the caller's promise; who pins looks first whether it lives.
        self.value.with_mut(|place| unsafe { *place = Some(value) });
        self.word.fetch_or(LIVE, Ordering::Release) >> 32
    }

    /// Whether the value of that generation lives: then it stays until [`Slot::unpin`].
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

    /// The value.
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

    /// Ends a pin; whether the caller owns the slot now and has to reclaim it.
    ///
    /// # Safety
    /// A pin of the caller's, ended once.
    #[inline]
    pub unsafe fn unpin(&self) -> bool {
        let word = self.word.fetch_sub(1, Ordering::Release);
        if word & (LIVE | PINS) != 1 {
            return false;
        }
        // after what other threads did with the value; a fence would do, but ThreadSanitizer knows none
        self.word.load(Ordering::Acquire);
        true
    }

    /// Ends the life of a value: none if that generation does not live, otherwise whether the caller owns the slot
    /// now and has to reclaim it.
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

    /// Drops the value; whether the slot has another generation and may be filled again.
    ///
    /// # Safety
    /// The caller owns the slot, as [`Slot::unpin`] or [`Slot::end`] told it.
    pub unsafe fn reclaim(&self) -> bool {
        // SAFETY: not live and without pins, the slot belongs to the one thread that made it so.
        drop(self.value.with_mut(|place| unsafe { (*place).take() }));
        let generation = (self.word.load(Ordering::Relaxed) >> 32) + 1;
        // a slot that has used up its generations retires
        let has_more = generation < 1 << 32;
        if has_more {
            // the free list's lock orders it before whoever fills the slot next
            self.word.store(generation << 32, Ordering::Relaxed);
        }
        has_more
    }
}
