//! Asynchronous copies.
//!
//! A copy may write its bytes at any time until it has been waited for. So they are written twice: where it
//! begins, without a value, so that a read before the wait is one of unwritten memory; and where it has
//! been waited for, so that an unordered read in between is a race.

use super::fault::Check;
use super::machine::{Machine, Who};
use crate::kernel::{COPY_BYTES, Mem};

/// A copy that a thread has begun.
struct Begun<'k> {
    who: Who<'k>,
    to: Mem,
    at: i64,
    elements: Vec<u64>,
}

/// The copies of a thread that have not been waited for.
#[derive(Default)]
pub(super) struct Copies<'k> {
    groups: Vec<Vec<Begun<'k>>>,
    last: Vec<Begun<'k>>,
}

impl<'k> Machine<'k, '_> {
    /// Begins a copy to an index of a memory, from an index of another one.
    pub(super) fn copy(
        &mut self,
        who: Who<'k>,
        (to, at): (Mem, i64),
        (from, index): (Mem, i64),
    ) -> Check<()> {
        let [size, from_size] = [to, from].map(|m| self.k.mem(m).1.size());
        let mut read = vec![0; COPY_BYTES / from_size];
        self.load(who, from, index, &mut read)?;
        let bytes: Vec<u8> = read.iter().flat_map(|e| e.to_le_bytes().into_iter().take(from_size)).collect();
        let element = |bytes: &[u8]| bytes.iter().rev().fold(0, |all, b| all << 8 | u64::from(*b));
        let elements: Vec<u64> = bytes.chunks(size).map(element).collect();
        self.store(who, to, at, &elements)?;
        self.forget(who, to, at, elements.len());
        self.copies.entry(who.thread).or_default().last.push(Begun { who, to, at, elements });
        Ok(())
    }

    pub(super) fn copy_group(&mut self, thread: u32) {
        let copies = self.copies.entry(thread).or_default();
        copies.groups.push(std::mem::take(&mut copies.last));
    }

    /// Waits for all groups but so many of the last ones.
    pub(super) fn copy_wait(&mut self, thread: u32, but: u32) -> Check<()> {
        let copies = self.copies.entry(thread).or_default();
        let done = copies.groups.len().saturating_sub(but as usize);
        let done: Vec<Begun> = copies.groups.drain(..done).flatten().collect();
        done.into_iter().try_for_each(|c| self.store(c.who, c.to, c.at, &c.elements))
    }
}
