//! Runs the runtime's protocols between threads in every order of their steps, and with every value
//! that the memory model allows a load to return. Loom's scheduler, atomics, locks and cells
//! replace those of the system. The files are the runtime's own (`capi/src`), compiled here with
//! another `sync`, so the tested code is the code that ships.
//!
//! A run has a few threads that take a few steps each. Errors between two threads show within them.

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

/// Runs `run` in every order of steps with at most three switches away from a thread that could
/// continue. All known errors need fewer, and without a bound there are too many orders with a
/// third thread.
fn model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(3));
    builder.check(run);
}

/// A value that is written when it is made and when it is dropped. Loom reports a read that is not
/// ordered after the former or not before the latter. It also counts the live values, which loom
/// does not do.
struct Watched {
    number: UnsafeCell<usize>,
    alive: std::sync::Arc<AtomicUsize>,
}

// SAFETY: loom stops the model if two threads use the cell at once.
unsafe impl Sync for Watched {}

impl Watched {
    fn new(number: usize, alive: &std::sync::Arc<AtomicUsize>) -> Watched {
        alive.fetch_add(1, Ordering::Relaxed);
        Watched { number: UnsafeCell::new(number), alive: alive.clone() }
    }

    fn number(&self) -> usize {
        // SAFETY: the number is written only when the value is made and when it is dropped.
        self.number.with(|n| unsafe { *n })
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // SAFETY: the protocol says that nobody reads any more; otherwise loom reports it.
        self.number.with_mut(|n| unsafe { *n = usize::MAX });
        let before = self.alive.fetch_sub(1, Ordering::Relaxed);
        assert!(before > 0, "dropped twice");
    }
}
