//! Vector clocks, by which the interpreter knows which accesses are ordered.
//!
//! The method is FastTrack (Flanagan, Freund: FastTrack: efficient and precise dynamic race detection, PLDI 2009). A
//! thread's *epochs* are the stretches between its synchronisations, numbered from 1. Every thread knows, for each
//! other thread, the last epoch that it has seen: all that happened up to that epoch is ordered before what it does
//! now. So access `a` is ordered before access `b` if the thread of `b` has seen the epoch of `a`. Whether a race is
//! found does not depend on the order in which the interpreter happens to run threads.

use crate::kernel::WARP;
use std::ops::Range;
use std::rc::Rc;

/// For each thread of the grid, the last epoch that has been seen; 0 for none. There is an entry for each block, in
/// ascending order of blocks; a block without an entry has not been seen at all.
#[derive(Clone, Default)]
pub(super) struct Clock(Vec<(u32, Rc<[u32]>)>);

impl Clock {
    #[inline]
    fn of(&self, block: u32) -> Option<&[u32]> {
        match &self.0[..] {
            // most threads have seen their own block alone
            [(seen, steps)] => (*seen == block).then_some(steps),
            all => Some(&all[all.binary_search_by_key(&block, |entry| entry.0).ok()?].1),
        }
    }

    /// Returns the entry of a block of `width` threads. If there was none, it is made, with no thread seen.
    fn entry(&mut self, block: u32, width: usize) -> &mut [u32] {
        let at = self.0.binary_search_by_key(&block, |entry| entry.0).unwrap_or_else(|at| {
            self.0.insert(at, (block, vec![0; width].into()));
            at
        });
        Rc::make_mut(&mut self.0[at].1)
    }

    fn join(&mut self, from: &Clock) {
        for (block, steps) in &from.0 {
            match self.0.binary_search_by_key(block, |entry| entry.0) {
                Err(at) => self.0.insert(at, (*block, steps.clone())),
                Ok(at) if !Rc::ptr_eq(&self.0[at].1, steps) => {
                    let known = Rc::make_mut(&mut self.0[at].1);
                    known.iter_mut().zip(&**steps).for_each(|(a, b)| *a = (*a).max(*b));
                }
                Ok(_) => {}
            }
        }
    }
}

/// An epoch of a thread.
#[derive(Clone, Copy)]
pub(super) struct Epoch {
    /// The thread's number in the grid.
    pub thread: u32,
    pub step: u32,
}

/// The clocks of all threads.
pub(super) struct Clocks {
    /// The number of threads of a block.
    width: usize,
    /// The current epoch of each thread, from 1.
    own: Vec<u32>,
    /// What each thread has seen of the others. Threads that synchronised with each other share one clock.
    seen: Vec<Rc<Clock>>,
}

impl Clocks {
    /// Makes the clocks of `blocks` blocks of `width` threads. No thread has seen another.
    pub fn new(blocks: usize, width: usize) -> Clocks {
        let threads = blocks * width;
        Clocks { width, own: vec![1; threads], seen: vec![Rc::default(); threads] }
    }

    /// Returns the current epoch of a thread.
    #[inline]
    pub fn now(&self, thread: u32) -> Epoch {
        Epoch { thread, step: self.own[thread as usize] }
    }

    /// Returns whether a thread has seen an epoch (of its own, always).
    #[inline]
    pub fn has_seen(&self, thread: u32, e: Epoch) -> bool {
        if thread == e.thread {
            return true;
        }
        let (block, place) = self.place(e.thread);
        self.seen[thread as usize].of(block).is_some_and(|steps| steps[place] >= e.step)
    }

    /// Returns the mask of those of the `lanes` of a warp whose epoch `step` the thread has not seen. `warp` is the
    /// number of the warp's first thread.
    #[inline]
    pub fn unseen(&self, thread: u32, warp: u32, lanes: u32, step: u32) -> u32 {
        let own = if thread / WARP * WARP == warp { 1 << (thread % WARP) } else { 0 };
        let others = lanes & !own;
        if others == 0 {
            return 0;
        }
        let (block, place) = self.place(warp);
        let Some(steps) = self.seen[thread as usize].of(block) else { return others };
        if others.is_power_of_two() {
            let is_late = steps[place + others.trailing_zeros() as usize] < step;
            return if is_late { others } else { 0 };
        }
        let steps = &steps[place..place + WARP as usize];
        let late = steps.iter().enumerate().fold(0, |late, (l, s)| late | u32::from(*s < step) << l);
        others & late
    }

    /// Returns whether the thread knows that a block has begun.
    pub fn has_met(&self, thread: u32, block: u32) -> bool {
        self.place(thread).0 == block || self.seen[thread as usize].of(block).is_some()
    }

    /// Returns whether any thread of a block has seen an epoch.
    pub fn is_seen_in(&self, block: u32, e: Epoch) -> bool {
        let first = block * self.width as u32;
        (first..first + self.width as u32).any(|t| self.has_seen(t, e))
    }

    /// Returns the block of a thread, and the thread's number in it.
    #[inline]
    fn place(&self, thread: u32) -> (u32, usize) {
        let block = thread / self.width as u32;
        (block, (thread - block * self.width as u32) as usize)
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
                clock.entry(block, self.width);
            }
        }
    }

    /// Releases everything that the thread has done and seen into `clock`, for threads that acquire it later.
    pub fn release(&mut self, thread: u32, clock: &mut Clock) {
        clock.join(&self.seen[thread as usize]);
        self.advance(thread as usize, clock);
    }

    /// Lets the thread see everything that was released into `clock`.
    pub fn acquire(&mut self, thread: u32, clock: &Clock) {
        Rc::make_mut(&mut self.seen[thread as usize]).join(clock);
    }

    /// Marks the thread's current epoch as seen in `clock`, and begins the thread's next epoch.
    fn advance(&mut self, thread: usize, clock: &mut Clock) {
        let (block, place) = self.place(thread as u32);
        clock.entry(block, self.width)[place] = self.own[thread];
        self.own[thread] += 1;
    }
}
