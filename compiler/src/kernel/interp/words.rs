//! Tickets at counters, and the words in which blocks publish values for others.
//!
//! A word that one thread publishes and another awaits orders no other accesses of these threads. A thread that
//! clears counters must have seen all other uses of them, through synchronisation of another kind.

use super::cell::{Access, Target};
use super::fault::{Check, FaultKind};
use super::lanes::{Bits, lanes};
use super::machine::{Machine, Who};
use super::memory::Id;
use super::warp::Warp;
use crate::kernel::{Expr, Reg, Stmt, WARP};
use crate::scalar::{Lit, Ty};

impl<'k> Machine<'k, '_> {
    /// Returns the allocation of the counters, if it has these neighbouring counters and the number of the first one
    /// is a multiple of how many there are.
    fn counters(&self, who: Who<'k>, at: i64, count: usize, multiple: usize) -> Check<(Id, usize)> {
        let len = self.args.counters.map_or(0, |id| self.memory.len(id));
        let first = usize::try_from(at).ok().filter(|first| first + count <= len);
        match (self.args.counters, first) {
            (Some(id), Some(first)) if first % multiple == 0 => Ok((id, first)),
            (_, Some(_)) => {
                let what = format!("counter {at} is no multiple of {multiple}");
                self.fault(FaultKind::Misaligned, who.thread, who.at, what)
            }
            _ => {
                let what = format!("{count} counters from {at} on of {len}");
                self.fault(FaultKind::OutOfBounds, who.thread, who.at, what)
            }
        }
    }

    /// Records accesses of counters as updates, which do not race with one another.
    fn exchange(&mut self, who: Who<'k>, id: Id, counters: std::ops::Range<usize>) -> Check<()> {
        for at in counters {
            let access = Access { epoch: self.clocks.now(who.thread), at: who.at, through: Target::Counters };
            if let Some((other, _)) = self.cells[id.0 as usize][at].update(&self.clocks, access) {
                return self.race(access, "used", other, "cleared", at as i64);
            }
        }
        Ok(())
    }

    /// Takes a ticket.
    pub(super) fn ticket(&mut self, who: Who<'k>, at: i64) -> Check<u64> {
        let (id, at) = self.counters(who, at, 1, 1)?;
        self.exchange(who, id, at..at + 1)?;
        let ticket = self.memory.at(id).bits[at];
        self.memory.set(id, at, Lit::u32(ticket as u32 + 1));
        Ok(ticket)
    }

    /// Publishes a value.
    pub(super) fn publish(&mut self, who: Who<'k>, at: i64, value: Lit) -> Check<()> {
        let words = value.ty.size() / 4;
        let (id, first) = self.counters(who, at, 2 * words, 2)?;
        self.exchange(who, id, first..first + 2 * words)?;
        for word in 0..words {
            let at = first + 2 * word;
            if self.memory.at(id).bits[at + 1] != 0 {
                let what = format!("the word at counter {at} is published again");
                return self.fault(FaultKind::Counter, who.thread, who.at, what);
            }
            self.memory.set(id, at, Lit::u32((value.bits >> (32 * word)) as u32));
            self.memory.set(id, at + 1, Lit::u32(1));
        }
        self.has_news = true;
        Ok(())
    }

    /// Takes the values that lanes await, if all of them are published; else the warp waits.
    pub(super) fn await_words(
        &mut self,
        w: &mut Warp<'k>,
        to: Reg,
        (at, given): (&'k Expr, &'k Expr),
        mask: u32,
        s: &'k Stmt,
    ) -> Check<()> {
        let (at, given) = (self.eval(w, at, mask, s)?, self.eval(w, given, mask, s)?.and(mask));
        let words = self.k.regs[to.0 as usize].1.size() / 4;
        let mut values: Bits = [0; WARP as usize];
        for l in lanes(given) {
            let (id, first) = self.counters(w.who(l, s), at.index(l), 2 * words, 2)?;
            let bits = &self.memory.at(id).bits;
            if (0..words).any(|word| bits[first + 2 * word + 1] == 0) {
                w.again();
                return Ok(());
            }
            values[l] = (0..words).fold(0, |all, word| all | bits[first + 2 * word] << (32 * word));
        }
        for l in lanes(given) {
            let (id, first) = self.counters(w.who(l, s), at.index(l), 2 * words, 2)?;
            self.exchange(w.who(l, s), id, first..first + 2 * words)?;
        }
        w.regs.set(to, &values, mask);
        Ok(())
    }

    /// Sets four counters to 0.
    pub(super) fn clear_counters(&mut self, who: Who<'k>, at: i64) -> Check<()> {
        let (id, first) = self.counters(who, at, 4, 4)?;
        for at in first..first + 4 {
            let access = Access { epoch: self.clocks.now(who.thread), at: who.at, through: Target::Counters };
            if let Some((other, _)) = self.cells[id.0 as usize][at].write(&self.clocks, access) {
                return self.race(access, "cleared", other, "used", at as i64);
            }
            self.memory.set(id, at, Lit::zero(Ty::U32));
        }
        Ok(())
    }
}
