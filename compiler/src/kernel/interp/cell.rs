//! Race detection for one element of memory: its last accesses, and whether a new access races with one of them. Two
//! accesses by different threads race if one of them is a write, and no synchronisation orders them (`clock.rs`).
//!
//! ```text
//! new read     races with the last write and updates that its thread has not seen
//! new write    races with these, and with unseen reads
//! new update   (a join of a value, as an atomic addition) races with an unseen write and unseen reads
//! ```

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

/// Accesses of an element by several lanes of one warp, in one statement and epoch. Grouping them saves memory and
/// time, because most elements of shared memory are read by whole warps.
struct Group<'k> {
    /// The access as the warp's first thread would have made it; that thread need not be among the lanes.
    first: Access<'k>,
    lanes: u32,
}

impl<'k> Group<'k> {
    #[inline]
    fn of(access: Access<'k>) -> Group<'k> {
        let (thread, step) = (access.epoch.thread, access.epoch.step);
        let first = Access { epoch: Epoch { thread: thread / WARP * WARP, step }, ..access };
        Group { first, lanes: 1 << (thread % WARP) }
    }

    #[inline]
    fn is_like(&self, other: &Group<'k>) -> bool {
        let (a, b) = (&self.first, &other.first);
        let epochs = (a.epoch.thread, a.epoch.step) == (b.epoch.thread, b.epoch.step);
        epochs && std::ptr::eq(a.at, b.at) && a.through == b.through
    }

    #[inline]
    fn access(&self, lane: usize) -> Access<'k> {
        let epoch = self.first.epoch;
        Access { epoch: Epoch { thread: epoch.thread + lane as u32, ..epoch }, ..self.first }
    }

    /// Returns the mask of the lanes whose accesses a thread has not seen.
    #[inline]
    fn unseen(&self, clocks: &Clocks, thread: u32) -> u32 {
        clocks.unseen(thread, self.first.epoch.thread, self.lanes, self.first.epoch.step)
    }
}

/// Accesses of an element, at most the last one of each thread, as groups of lanes.
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

    /// Adds a read.
    fn add(&mut self, clocks: &Clocks, new: Access<'k>) {
        let group = Group::of(new);
        // Another lane of this statement has read the element. Nothing has seen that lane's current epoch, so that the
        // new read does not replace its read.
        if let Some(last) = self.0.last_mut().filter(|last| last.is_like(&group)) {
            let other = lanes(last.lanes & !group.lanes).next().map(|l| last.access(l).epoch);
            if other.is_some_and(|e| clocks.now(e.thread).step == e.step) {
                last.lanes |= group.lanes;
                return;
            }
        }
        if !self.replace(clocks, new) {
            self.record(new);
        }
    }

    /// Replaces all accesses by a new one, if they are one group and the new one's thread has seen all of it: what
    /// races with them also races with the new one. Returns whether it did.
    fn replace(&mut self, clocks: &Clocks, new: Access<'k>) -> bool {
        match &mut self.0[..] {
            [old] if old.unseen(clocks, new.epoch.thread) == 0 => *old = Group::of(new),
            _ => return false,
        }
        true
    }

    /// Returns the access of the lowest thread among those that this thread has not seen.
    fn first_unseen(&self, clocks: &Clocks, thread: u32) -> Option<Access<'k>> {
        // later groups come first, because the last access of a thread is in the latest group
        let unseen = self.0.iter().rev().filter_map(|g| match g.unseen(clocks, thread) {
            0 => None,
            lanes => Some(g.access(lanes.trailing_zeros() as usize)),
        });
        unseen.min_by_key(|a| a.epoch.thread)
    }

    /// Returns the access of the lowest thread among those through another memory than `through`.
    fn through_other(&self, through: Target) -> Option<Access<'k>> {
        let other = self.0.iter().filter(|g| g.first.through != through);
        other.map(|g| g.access(g.lanes.trailing_zeros() as usize)).min_by_key(|a| a.epoch.thread)
    }

    fn iter(&self) -> impl Iterator<Item = Access<'k>> {
        self.0.iter().flat_map(|g| lanes(g.lanes).map(|l| g.access(l)))
    }
}

/// The accesses of an element that later ones could race with.
#[derive(Default)]
pub(super) struct Cell<'k> {
    write: Option<Access<'k>>,
    /// The reads since the last write, without those that a later read has replaced.
    reads: Groups<'k>,
    /// The updates (joins of values) since the last write. They race with reads and writes, but not with one another.
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

    /// Records a read. Returns the write or update that races with it, if any.
    pub fn read(&mut self, clocks: &Clocks, new: Access<'k>) -> Option<Access<'k>> {
        let thread = new.epoch.thread;
        if let Some(change) = self.unseen_change(clocks, thread) {
            return Some(change);
        }
        self.reads.add(clocks, new);
        None
    }

    /// Returns whether the last write is the only change, through the same memory, and seen by the access's thread.
    #[inline]
    fn is_settled(&self, clocks: &Clocks, new: Access<'k>) -> bool {
        let is_settled = |w: &Access| w.through == new.through && clocks.has_seen(new.epoch.thread, w.epoch);
        self.updates.0.is_empty() && self.write.as_ref().is_none_or(is_settled)
    }

    /// Records a read that has no fault. Returns whether it is known to have none; else nothing is recorded.
    #[inline]
    pub fn read_if_sound(&mut self, clocks: &Clocks, new: Access<'k>) -> bool {
        let is_sound = self.is_settled(clocks, new);
        if is_sound {
            self.reads.add(clocks, new);
        }
        is_sound
    }

    /// Records a write that has no fault. Returns whether it is known to have none; else nothing is recorded.
    #[inline]
    pub fn write_if_sound(&mut self, clocks: &Clocks, new: Access<'k>) -> bool {
        let is_seen = |g: &Group| g.first.through == new.through && g.unseen(clocks, new.epoch.thread) == 0;
        let is_sound = self.is_settled(clocks, new) && self.reads.0.iter().all(is_seen);
        if is_sound {
            self.clear();
            self.write = Some(new);
        }
        is_sound
    }

    /// Records a write. Returns the access that races with it, if any, and whether that is a write or update.
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

    /// Records an update. Returns the access that races with it, if any, and whether that is a write.
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

    /// Returns the recorded accesses.
    pub fn last(&self) -> impl Iterator<Item = Access<'k>> {
        self.write.iter().copied().chain(self.reads.iter()).chain(self.updates.iter())
    }

    /// Returns an access through another memory than `through`: the last write, else an update, else a read. If
    /// `only_writes` is set, reads are ignored.
    pub fn through_other(&self, through: Target, only_writes: bool) -> Option<Access<'k>> {
        let written = self.write.filter(|w| w.through != through);
        let written = written.or_else(|| self.updates.through_other(through));
        written.or_else(|| if only_writes { None } else { self.reads.through_other(through) })
    }
}
