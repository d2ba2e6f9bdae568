//! The last accesses of each element, and which of them race.

use super::clock::{Clocks, Epoch};
use super::lanes::lanes;
use crate::kernel::{Mem, Stmt, WARP};

/// The memory through which an element is accessed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Target {
    Mem(Mem),
    Slot(u32),
    Counters,
}

/// An access of an element: the epoch, the statement, and the memory through which it is accessed.
#[derive(Clone, Copy)]
pub(super) struct Access<'k> {
    pub epoch: Epoch,
    pub at: &'k Stmt,
    pub through: Target,
}

/// The accesses of an element by several lanes of one warp, at one statement and epoch: most elements of shared
/// memory are read by whole warps.
struct Group<'k> {
    /// The access of the warp's first thread, which may not be one of the lanes.
    first: Access<'k>,
    lanes: u32,
}

impl<'k> Group<'k> {
    fn of(access: Access<'k>) -> Group<'k> {
        let (thread, step) = (access.epoch.thread, access.epoch.step);
        let first = Access { epoch: Epoch { thread: thread / WARP * WARP, step }, ..access };
        Group { first, lanes: 1 << (thread % WARP) }
    }

    fn is_like(&self, other: &Group<'k>) -> bool {
        let (a, b) = (&self.first, &other.first);
        let epochs = (a.epoch.thread, a.epoch.step) == (b.epoch.thread, b.epoch.step);
        epochs && std::ptr::eq(a.at, b.at) && a.through == b.through
    }

    fn access(&self, lane: usize) -> Access<'k> {
        let epoch = self.first.epoch;
        Access { epoch: Epoch { thread: epoch.thread + lane as u32, ..epoch }, ..self.first }
    }

    /// Returns the lanes whose accesses a thread has not seen.
    fn unseen(&self, clocks: &Clocks, thread: u32) -> u32 {
        clocks.unseen(thread, self.first.epoch.thread, self.lanes, self.first.epoch.step)
    }
}

/// The last access of an element by each thread, as long as no other thread has seen it.
#[derive(Default)]
struct Groups<'k>(Vec<Group<'k>>);

impl<'k> Groups<'k> {
    fn record(&mut self, new: Access<'k>) {
        let new = Group::of(new);
        if let Some(last) = self.0.last_mut().filter(|last| last.is_like(&new)) {
            last.lanes |= new.lanes;
            return;
        }
        let warp = new.first.epoch.thread;
        for group in self.0.iter_mut().filter(|g| g.first.epoch.thread == warp) {
            group.lanes &= !new.lanes;
        }
        self.0.retain(|g| g.lanes != 0);
        match self.0.iter_mut().find(|g| g.is_like(&new)) {
            Some(group) => group.lanes |= new.lanes,
            None => self.0.push(new),
        }
    }

    /// Replaces the accesses by a new one that has seen them all, if they are of one warp. Returns whether that is
    /// so.
    fn replace(&mut self, clocks: &Clocks, new: Access<'k>) -> bool {
        match &mut self.0[..] {
            [old] if old.unseen(clocks, new.epoch.thread) == 0 => *old = Group::of(new),
            _ => return false,
        }
        true
    }

    /// Returns the access of the lowest thread among those that this thread has not seen.
    fn first_unseen(&self, clocks: &Clocks, thread: u32) -> Option<Access<'k>> {
        // the last access of a thread stands behind its earlier ones
        let unseen = self.0.iter().rev().filter_map(|g| match g.unseen(clocks, thread) {
            0 => None,
            lanes => Some(g.access(lanes.trailing_zeros() as usize)),
        });
        unseen.min_by_key(|a| a.epoch.thread)
    }

    /// Returns the access of the lowest thread through another memory.
    fn through_other(&self, through: Target) -> Option<Access<'k>> {
        let other = self.0.iter().filter(|g| g.first.through != through);
        other.map(|g| g.access(g.lanes.trailing_zeros() as usize)).min_by_key(|a| a.epoch.thread)
    }

    fn iter(&self) -> impl Iterator<Item = Access<'k>> {
        self.0.iter().flat_map(|g| lanes(g.lanes).map(|l| g.access(l)))
    }
}

/// The last accesses of an element that later ones could race with.
#[derive(Default)]
pub(super) struct Cell<'k> {
    write: Option<Access<'k>>,
    /// The reads since the last write that no later read has seen.
    reads: Groups<'k>,
    /// The joins of values since the last write. They race with reads and writes, but not with one another.
    updates: Groups<'k>,
}

impl<'k> Cell<'k> {
    /// Returns the last write if the thread has not seen it.
    fn unseen_write(&self, clocks: &Clocks, thread: u32) -> Option<Access<'k>> {
        self.write.filter(|w| !clocks.has_seen(thread, w.epoch))
    }

    /// Returns a write or an update that the thread has not seen.
    fn unseen_change(&self, clocks: &Clocks, thread: u32) -> Option<Access<'k>> {
        self.unseen_write(clocks, thread).or_else(|| self.updates.first_unseen(clocks, thread))
    }

    /// Records a read. Returns the write that races with it, if any.
    pub fn read(&mut self, clocks: &Clocks, new: Access<'k>) -> Option<Access<'k>> {
        let thread = new.epoch.thread;
        if let Some(change) = self.unseen_change(clocks, thread) {
            return Some(change);
        }
        if !self.reads.replace(clocks, new) {
            self.reads.record(new);
        }
        None
    }

    /// Records a write. Returns the access that races with it, if any, and whether that is a write.
    pub fn write(&mut self, clocks: &Clocks, new: Access<'k>) -> Option<(Access<'k>, bool)> {
        let thread = new.epoch.thread;
        if let Some(change) = self.unseen_change(clocks, thread) {
            return Some((change, true));
        }
        let racing = self.reads.first_unseen(clocks, thread);
        if racing.is_none() {
            self.clear();
            self.write = Some(new);
        }
        racing.map(|r| (r, false))
    }

    /// Records that a value is joined to the element. Returns the access that races with it, if any, and whether that
    /// is a write.
    pub fn update(&mut self, clocks: &Clocks, new: Access<'k>) -> Option<(Access<'k>, bool)> {
        let thread = new.epoch.thread;
        if let Some(write) = self.unseen_write(clocks, thread) {
            return Some((write, true));
        }
        if let Some(read) = self.reads.first_unseen(clocks, thread) {
            return Some((read, false));
        }
        self.updates.record(new);
        None
    }

    /// Forgets all accesses.
    pub fn clear(&mut self) {
        self.write = None;
        self.reads.0.clear();
        self.updates.0.clear();
    }

    /// Returns the accesses that nothing has followed.
    pub fn last(&self) -> impl Iterator<Item = Access<'k>> {
        self.write.iter().copied().chain(self.reads.iter()).chain(self.updates.iter())
    }

    /// Returns the last write, or else a read, through another memory than `through`. If
    /// `only_writes` is set, reads are ignored.
    pub fn through_other(&self, through: Target, only_writes: bool) -> Option<Access<'k>> {
        let written = self.write.filter(|w| w.through != through);
        let written = written.or_else(|| self.updates.through_other(through));
        written.or_else(|| if only_writes { None } else { self.reads.through_other(through) })
    }
}
