//! The order of accesses: each thread has a vector clock, and each element keeps its last accesses.
//!
//! The method is FastTrack (Flanagan, Freund: FastTrack: efficient and precise dynamic race
//! detection, PLDI 2009). Every thread counts its own epochs, from one synchronisation to the next,
//! and knows up to which epoch of each other thread it has seen everything. An access is ordered
//! before another one if the second one's thread has seen the epoch of the first. Whether a race is
//! found does not depend on the order in which threads happen to run.

use crate::kernel::{Mem, Stmt};
use rustc_hash::FxHashMap as HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::rc::Rc;

/// For each thread of the grid the last epoch that has been seen, grouped by block. A block without
/// an entry has not been seen at all.
#[derive(Clone, Default)]
pub(super) struct Clock(HashMap<u32, Rc<[u32]>>);

impl Clock {
    fn join(&mut self, from: &Clock) {
        for (block, steps) in &from.0 {
            match self.0.entry(*block) {
                Entry::Vacant(e) => {
                    e.insert(steps.clone());
                }
                Entry::Occupied(mut e) if !Rc::ptr_eq(e.get(), steps) => {
                    let known = Rc::make_mut(e.get_mut());
                    known.iter_mut().zip(&**steps).for_each(|(a, b)| *a = (*a).max(*b));
                }
                Entry::Occupied(_) => {}
            }
        }
    }
}

/// An epoch of a thread.
#[derive(Clone, Copy)]
pub(super) struct Epoch {
    /// The thread's number in the grid.
    pub thread: u32,
    step: u32,
}

/// The clocks of all threads.
pub(super) struct Clocks {
    /// The number of threads of a block.
    width: usize,
    /// The current epoch of each thread, from 1.
    own: Vec<u32>,
    /// What each thread has seen of the others. Threads that met share one clock.
    seen: Vec<Rc<Clock>>,
}

impl Clocks {
    /// Makes the clocks of `blocks` blocks of `width` threads, none of which has seen another.
    pub fn new(blocks: usize, width: usize) -> Clocks {
        let threads = blocks * width;
        Clocks { width, own: vec![1; threads], seen: vec![Rc::default(); threads] }
    }

    /// Returns the current epoch of a thread.
    pub fn now(&self, thread: u32) -> Epoch {
        Epoch { thread, step: self.own[thread as usize] }
    }

    /// Returns whether the thread has seen that epoch.
    pub fn has_seen(&self, thread: u32, e: Epoch) -> bool {
        let (block, place) = self.place(e.thread);
        let seen = || self.seen[thread as usize].0.get(&block).is_some_and(|steps| steps[place] >= e.step);
        thread == e.thread || seen()
    }

    /// Returns whether the thread has seen anything of a block, which has begun then.
    pub fn has_met(&self, thread: u32, block: u32) -> bool {
        self.place(thread).0 == block || self.seen[thread as usize].0.contains_key(&block)
    }

    /// Returns whether any thread of a block has seen that epoch.
    pub fn is_seen_in(&self, block: u32, e: Epoch) -> bool {
        let first = block * self.width as u32;
        (first..first + self.width as u32).any(|t| self.has_seen(t, e))
    }

    /// Returns the block of a thread, and its number there.
    fn place(&self, thread: u32) -> (u32, usize) {
        (thread / self.width as u32, thread as usize % self.width)
    }

    /// Synchronises neighbouring threads with each other, as a barrier or a broadcast does.
    pub fn meet(&mut self, threads: Range<usize>) {
        let mut all = Clock::clone(&self.seen[threads.start]);
        for t in threads.clone().skip(1) {
            if !Rc::ptr_eq(&self.seen[t], &self.seen[t - 1]) {
                all.join(&self.seen[t]);
            }
        }
        for t in threads.clone() {
            self.advance(t, &mut all);
        }
        let all = Rc::new(all);
        self.seen[threads].fill(all);
    }

    /// Lets neighbouring threads see that each other's blocks have begun, and nothing else.
    pub fn begin(&mut self, threads: Range<usize>) {
        let (first, last) = (self.place(threads.start as u32).0, self.place(threads.end as u32 - 1).0);
        for seen in &mut self.seen[threads] {
            let clock = Rc::make_mut(seen);
            for block in first..=last {
                clock.0.entry(block).or_insert_with(|| vec![0; self.width].into());
            }
        }
    }

    /// Releases everything that the thread has done and seen into `clock`, for threads that acquire
    /// it later.
    pub fn release(&mut self, thread: u32, clock: &mut Clock) {
        clock.join(&self.seen[thread as usize]);
        self.advance(thread as usize, clock);
    }

    /// Lets the thread see everything that was released into `clock`.
    pub fn acquire(&mut self, thread: u32, clock: &Clock) {
        Rc::make_mut(&mut self.seen[thread as usize]).join(clock);
    }

    /// Marks the thread's epoch as seen by `clock`, and begins the next one.
    fn advance(&mut self, thread: usize, clock: &mut Clock) {
        let (block, place) = self.place(thread as u32);
        let steps = clock.0.entry(block).or_insert_with(|| vec![0; self.width].into());
        Rc::make_mut(steps)[place] = self.own[thread];
        self.own[thread] += 1;
    }
}

/// The memory through which an element is accessed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Target {
    Mem(Mem),
    Slot(u32),
}

/// An access of an element: the epoch, the statement, and the memory through which it is accessed.
#[derive(Clone, Copy)]
pub(super) struct Access<'k> {
    pub epoch: Epoch,
    pub at: &'k Stmt,
    pub through: Target,
}

/// The last accesses of an element that later ones could race with.
#[derive(Default)]
pub(super) struct Cell<'k> {
    write: Option<Access<'k>>,
    reads: Reads<'k>,
}

/// The reads since the last write that no later read has seen.
#[derive(Default)]
enum Reads<'k> {
    #[default]
    None,
    One(Access<'k>),
    /// The reads by thread.
    Many(Box<HashMap<u32, Access<'k>>>),
}

impl<'k> Cell<'k> {
    /// Records a read. Returns the write that races with it, if any.
    pub fn read(&mut self, clocks: &Clocks, new: Access<'k>) -> Option<Access<'k>> {
        let thread = new.epoch.thread;
        if let Some(w) = self.write.filter(|w| !clocks.has_seen(thread, w.epoch)) {
            return Some(w);
        }
        match &mut self.reads {
            Reads::None => self.reads = Reads::One(new),
            Reads::One(old) if clocks.has_seen(thread, old.epoch) => *old = new,
            Reads::One(old) => {
                let both = [(old.epoch.thread, *old), (thread, new)];
                self.reads = Reads::Many(Box::new(both.into_iter().collect()));
            }
            Reads::Many(all) => {
                all.insert(thread, new);
            }
        }
        None
    }

    /// Records a write. Returns the access that races with it, if any, and whether that is a write.
    pub fn write(&mut self, clocks: &Clocks, new: Access<'k>) -> Option<(Access<'k>, bool)> {
        let races = |a: &Access<'k>| !clocks.has_seen(new.epoch.thread, a.epoch);
        if let Some(w) = self.write.filter(races) {
            return Some((w, true));
        }
        let racing = match &self.reads {
            Reads::None => None,
            Reads::One(r) => Some(*r).filter(races),
            Reads::Many(all) => all.values().copied().filter(races).min_by_key(|r| r.epoch.thread),
        };
        if racing.is_none() {
            *self = Cell { write: Some(new), reads: Reads::None };
        }
        racing.map(|r| (r, false))
    }

    /// Returns the accesses that nothing has followed.
    pub fn last(&self) -> impl Iterator<Item = &Access<'k>> {
        let (one, many) = match &self.reads {
            Reads::None => (None, None),
            Reads::One(r) => (Some(r), None),
            Reads::Many(all) => (None, Some(all.values())),
        };
        self.write.iter().chain(one).chain(many.into_iter().flatten())
    }

    /// Returns the last write, or else a read, through another memory than `through`. If
    /// `only_writes` is set, reads are ignored.
    pub fn through_other(&self, through: Target, only_writes: bool) -> Option<Access<'k>> {
        let other = |a: &Access| a.through != through;
        let read = || match &self.reads {
            Reads::One(r) => Some(*r).filter(other),
            Reads::Many(all) => all.values().copied().filter(other).min_by_key(|r| r.epoch.thread),
            Reads::None => None,
        };
        self.write.filter(other).or_else(|| if only_writes { None } else { read() })
    }
}
