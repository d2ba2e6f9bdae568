//! The bookkeeping of a thread's asynchronous copies: those that it has begun and not waited for, by group.

use super::memory::Id;
use crate::kernel::{Mem, Stmt};

/// A copy that a thread has begun.
pub(super) struct Begun<'k> {
    /// The first allocation of the block's shared memory.
    pub shared: Id,
    pub at: &'k Stmt,
    pub to: Mem,
    pub index: i64,
    pub elements: Vec<u64>,
}

/// The copies of a thread.
#[derive(Default)]
pub(super) struct Copies<'k> {
    groups: Vec<Vec<Begun<'k>>>,
    last: Vec<Begun<'k>>,
}

impl<'k> Copies<'k> {
    pub fn begin(&mut self, copy: Begun<'k>) {
        self.last.push(copy);
    }

    /// Makes a group of the copies since the last group.
    pub fn group(&mut self) {
        self.groups.push(std::mem::take(&mut self.last));
    }

    /// Takes out the copies of all groups except the last `but`.
    pub fn wait(&mut self, but: u32) -> Vec<Begun<'k>> {
        let done = self.groups.len().saturating_sub(but as usize);
        self.groups.drain(..done).flatten().collect()
    }
}
