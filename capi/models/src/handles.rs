//! Slots of the handle table: pinned, ended, reclaimed and filled again by different threads.

use crate::slot::Slot;
use crate::{Watched, model};
use loom::cell::UnsafeCell;
use loom::sync::{Arc, Mutex};
use loom::thread;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A table of one slot, which is free or in use.
struct Table {
    slot: Slot<Watched>,
    is_free: Mutex<bool>,
    alive: std::sync::Arc<AtomicUsize>,
}

impl Table {
    fn new() -> Arc<Table> {
        let alive = std::sync::Arc::default();
        Arc::new(Table { slot: Slot::new(), is_free: Mutex::new(true), alive })
    }

    /// Returns the generation of the new value, whose number is `number`.
    fn insert(&self, number: usize) -> Option<u64> {
        std::mem::take(&mut *self.is_free.lock().unwrap()).then(|| {
            // SAFETY: the slot was taken from the free list.
            unsafe { self.slot.fill(Watched::new(number, &self.alive)) }
        })
    }

    /// Reads the value twice while it is pinned.
    fn read(&self, generation: u64) -> Option<usize> {
        self.slot.pin(generation).then(|| {
            // SAFETY: the slot is pinned.
            let value = unsafe { self.slot.get() };
            let number = value.number();
            assert_eq!(value.number(), number);
            // SAFETY: the pin belongs to this thread.
            if unsafe { self.slot.unpin() } {
                self.reclaim();
            }
            number
        })
    }

    /// Ends the value. Returns whether this call ended it.
    fn free(&self, generation: u64) -> bool {
        let ended = self.slot.end(generation);
        if ended == Some(true) {
            self.reclaim();
        }
        ended.is_some()
    }

    fn reclaim(&self) {
        // SAFETY: the caller owns the slot.
        assert!(unsafe { self.slot.reclaim() });
        *self.is_free.lock().unwrap() = true;
    }

    fn alive(&self) -> usize {
        self.alive.load(Ordering::Relaxed)
    }
}

#[test]
fn a_value_outlives_its_pins_and_goes_once() {
    model(|| {
        let table = Table::new();
        let h = table.insert(7).unwrap();
        let readers = [(); 2].map(|()| {
            let table = table.clone();
            thread::spawn(move || table.read(h))
        });
        assert!(table.free(h));
        assert_eq!(table.read(h), None, "a freed handle pins nothing");
        for reader in readers {
            assert!(matches!(reader.join().unwrap(), None | Some(7)));
        }
        assert_eq!(table.alive(), 0);
        assert!(*table.is_free.lock().unwrap());
    });
}

#[test]
fn a_handle_is_ended_by_one_thread() {
    model(|| {
        let table = Table::new();
        let h = table.insert(7).unwrap();
        let other = {
            let table = table.clone();
            thread::spawn(move || table.free(h))
        };
        let reader = {
            let table = table.clone();
            thread::spawn(move || table.read(h))
        };
        assert!(table.free(h) != other.join().unwrap());
        reader.join().unwrap();
        assert_eq!(table.alive(), 0);
    });
}

#[test]
fn pins_of_others_refuse_nobody() {
    model(|| {
        let table = Table::new();
        let h = table.insert(7).unwrap();
        let other = {
            let table = table.clone();
            thread::spawn(move || table.read(h))
        };
        assert_eq!((table.read(h), other.join().unwrap()), (Some(7), Some(7)));
        assert!(table.free(h));
    });
}

/// Models a buffer with a function that frees the user's memory: dropping it reads what its user
/// wrote.
struct Wrapped(Arc<UnsafeCell<bool>>);

// SAFETY: loom stops the model if two threads use the cell at once.
unsafe impl Send for Wrapped {}
// SAFETY: as above.
unsafe impl Sync for Wrapped {}

impl Drop for Wrapped {
    fn drop(&mut self) {
        // SAFETY: the flag was written before the handle was ended.
        assert!(self.0.with(|done| unsafe { *done }));
    }
}

#[test]
fn what_goes_sees_what_was_done_before_its_handle_was_ended() {
    model(|| {
        let done = Arc::new(UnsafeCell::new(false));
        let slot = Arc::new(Slot::new());
        // SAFETY: no other thread has the slot yet.
        let generation = unsafe { slot.fill(Wrapped(done.clone())) };
        let user = {
            let slot = slot.clone();
            // SAFETY: the pin belongs to this thread, and the slot does if `unpin` says so.
            thread::spawn(move || unsafe {
                if slot.pin(generation) && slot.unpin() {
                    slot.reclaim();
                }
            })
        };
        // SAFETY: no other thread accesses it before the handle is ended.
        done.with_mut(|done| unsafe { *done = true });
        if slot.end(generation) == Some(true) {
            // SAFETY: `end` says that this thread owns the slot.
            unsafe { slot.reclaim() };
        }
        user.join().unwrap();
        // The value was dropped, so only this reference is left.
        assert_eq!(Arc::strong_count(&done), 1);
    });
}

#[test]
fn a_stale_handle_finds_no_later_value() {
    model(|| {
        let table = Table::new();
        let old = table.insert(1).unwrap();
        let reader = {
            let table = table.clone();
            thread::spawn(move || table.read(old))
        };
        let inserter = {
            let table = table.clone();
            thread::spawn(move || table.insert(2).inspect(|new| assert_eq!(table.read(*new), Some(2))))
        };
        assert!(table.free(old));
        assert!(!table.free(old));
        assert!(matches!(reader.join().unwrap(), None | Some(1)));
        if let Some(new) = inserter.join().unwrap() {
            assert_ne!(new, old);
            assert_eq!((table.read(old), table.read(new)), (None, Some(2)));
            assert!(table.free(new));
        }
        assert_eq!(table.alive(), 0);
    });
}

#[test]
fn a_handle_may_reach_a_thread_without_an_order() {
    model(|| {
        // The generation is guessed, or comes from a relaxed store: only the pin shows that the
        // value is there.
        let table = Table::new();
        let guesser = {
            let table = table.clone();
            thread::spawn(move || table.read(1))
        };
        let h = table.insert(7).unwrap();
        assert_eq!(h, 1);
        assert!(matches!(guesser.join().unwrap(), None | Some(7)));
        assert!(table.free(h));
        assert_eq!(table.alive(), 0);
    });
}
