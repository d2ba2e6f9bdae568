//! The runtime's protocols between threads, run in every order of their steps, and with every value that the memory
//! model lets a load see: loom's scheduler, atomics, locks and cells in place of the system's. The files are the
//! runtime's own (`capi/src`), compiled here with another `sync`; so what passes is what ships.
//!
//! A run is a few threads that do a few steps: whatever goes wrong between two threads does within them.

#![cfg(test)]

mod calls;
mod handles;
mod modules;
mod programs;
mod sync;

#[path = "../../src/online/recent.rs"]
mod recent;
#[path = "../../src/handle/slot.rs"]
mod slot;
#[path = "../../src/module/state.rs"]
mod state;
#[path = "../../src/calls/words.rs"]
mod words;

use loom::cell::UnsafeCell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs it in every order of steps with up to three switches from a thread that could go on: all that is known to go
/// wrong takes fewer, and without a bound a third thread makes the orders too many.
fn model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(3));
    builder.check(run);
}

/// A value that is written when it is made and when it goes: loom complains of who reads it without an order after
/// the former, or before the latter. Counts how many there are, which loom does not see.
struct Watched {
    number: UnsafeCell<usize>,
    alive: std::sync::Arc<AtomicUsize>,
}

// SAFETY: loom stops the model where two threads use the cell at once.
unsafe impl Sync for Watched {}

impl Watched {
    fn new(number: usize, alive: &std::sync::Arc<AtomicUsize>) -> Watched {
        alive.fetch_add(1, Ordering::Relaxed);
        Watched { number: UnsafeCell::new(number), alive: alive.clone() }
    }

    fn number(&self) -> usize {
        // SAFETY: written only where it is made and where it goes.
        self.number.with(|n| unsafe { *n })
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // SAFETY: nobody reads any more, says the protocol; if not, loom does.
        self.number.with_mut(|n| unsafe { *n = usize::MAX });
        let before = self.alive.fetch_sub(1, Ordering::Relaxed);
        assert!(before > 0, "dropped twice");
    }
}
