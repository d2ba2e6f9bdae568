//! The simulation of asynchronous copies.
//!
//! A copy may write its bytes at any time until it has been waited for. So they are written twice: where the copy
//! begins, without a value, so that a read before the wait is a read of unwritten memory; and where it has been
//! waited for, so that an unordered read in between is a race.

use super::copies::Begun;
use super::fault::Check;
use super::machine::{Machine, Who};
use crate::kernel::Mem;

impl<'k> Machine<'k, '_> {
    /// Begins a copy of `bytes` bytes to an index of a memory, from an index of another one.
    pub(super) fn copy(
        &mut self,
        who: Who<'k>,
        count: u32,
        (to, index): (Mem, i64),
        from: Option<(Mem, i64)>,
    ) -> Check<()> {
        let size = self.k.mem(to).1.size();
        let mut bytes = vec![0; count as usize];
        if let Some((from, from_index)) = from {
            let from_size = self.k.mem(from).1.size();
            let mut read = vec![0; bytes.len() / from_size];
            self.load(who, from, from_index, &mut read)?;
            bytes = read.iter().flat_map(|e| e.to_le_bytes().into_iter().take(from_size)).collect();
        }
        let element = |bytes: &[u8]| bytes.iter().rev().fold(0, |all, b| all << 8 | u64::from(*b));
        let elements: Vec<u64> = bytes.chunks(size).map(element).collect();
        self.store(who, to, index, &elements)?;
        self.forget(who, to, index, elements.len());
        let begun = Begun { shared: who.shared, at: who.at, to, index, elements };
        self.copies.entry(who.thread).or_default().begin(begun);
        Ok(())
    }

    pub(super) fn copy_group(&mut self, thread: u32) {
        self.copies.entry(thread).or_default().group();
    }

    /// Waits for all groups except the last `but`.
    pub(super) fn copy_wait(&mut self, thread: u32, but: u32) -> Check<()> {
        let done = self.copies.entry(thread).or_default().wait(but);
        done.into_iter().try_for_each(|c| {
            let who = Who { thread, shared: c.shared, at: c.at };
            self.store(who, c.to, c.index, &c.elements)
        })
    }
}
