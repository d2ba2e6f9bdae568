//! Loads and stores of a warp. What is the same for all lanes is found once, and an access that has no fault is made
//! here. Any other one is the machine's (`machine.rs`), which finds its fault.

use super::cell::{Access, Target};
use super::fault::Check;
use super::lanes::{Lanes, lanes};
use super::machine::Machine;
use super::memory::Id;
use super::warp::Warp;
use crate::kernel::{Mem, Stmt};
use crate::scalar::Lit;

/// Where the elements of an array are: its allocation, the position of its first element there, and the distance
/// between neighbours.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub id: Id,
    offset: i64,
    pub stride: i64,
    pub len: u64,
}

impl Span {
    /// Returns whether the array has `count` elements from this one on.
    #[inline]
    pub fn has(&self, index: i64, count: usize) -> bool {
        index >= 0 && index as u64 + count as u64 <= self.len
    }

    /// Returns the position of an element that the array has. The launch has checked that it is in the allocation.
    #[inline]
    pub fn position(&self, index: i64) -> usize {
        (self.offset + index * self.stride) as usize
    }
}

impl<'k> Machine<'k, '_> {
    /// Finds an array. `shared` is the first allocation of the shared memory that is accessed.
    pub(super) fn span(&self, shared: Id, m: Mem) -> Span {
        let whole = |id| Span { id, offset: 0, stride: 1, len: self.memory.len(id) as u64 };
        match m {
            Mem::Array(i) => {
                let a = &self.args.arrays[i as usize];
                Span { id: a.memory, offset: a.offset as i64, stride: a.stride, len: a.len }
            }
            Mem::Scratch(i) => whole(self.args.scratch[i as usize]),
            Mem::Shared(i) => whole(Id(shared.0 + i)),
            Mem::Local(_) => unreachable!("{m:?} is a warp's"),
        }
    }

    /// Replaces the indices in the lanes of `mask` by the elements at these indices.
    pub(super) fn load_lanes(
        &mut self,
        w: &Warp<'k>,
        m: Mem,
        out: &mut Lanes,
        mut mask: u32,
        at: &'k Stmt,
    ) -> Check<()> {
        loop {
            mask = self.load_sound(w, m, out, mask, at);
            let Some(l) = lanes(mask).next() else { return Ok(()) };
            self.load(w.who(l, at), m, out.index(l), std::slice::from_mut(&mut out.bits[l]))?;
            mask &= mask - 1;
        }
    }

    /// Writes a value in each lane of `mask`.
    pub(super) fn store_lanes(
        &mut self,
        w: &Warp<'k>,
        m: Mem,
        (index, value): (&Lanes, &Lanes),
        mut mask: u32,
        at: &'k Stmt,
    ) -> Check<()> {
        loop {
            mask = self.store_sound(w, m, (index, value), mask, at);
            let Some(l) = lanes(mask).next() else { return Ok(()) };
            self.store(w.who(l, at), m, index.index(l), &[value.bits[l]])?;
            mask &= mask - 1;
        }
    }

    /// Loads in ascending lanes up to the first whose access has a fault. Returns the lanes that are left.
    fn load_sound(&mut self, w: &Warp<'k>, m: Mem, out: &mut Lanes, mask: u32, at: &'k Stmt) -> u32 {
        let span = self.span(w.shared(), m);
        let memory = self.memory.at(span.id);
        let mut cells = self.cells.get_mut(span.id.0 as usize).filter(|cells| !cells.is_empty());
        let mut left = mask;
        for l in lanes(mask) {
            let index = out.index(l);
            if !span.has(index, 1) {
                break;
            }
            let place = span.position(index);
            if !memory.written[place] {
                break;
            }
            if let Some(cells) = &mut cells {
                let epoch = self.clocks.now(w.thread(l));
                let access = Access { epoch, at, through: Target::Mem(m) };
                if !cells[place].read_if_sound(&self.clocks, access) {
                    break;
                }
            }
            out.bits[l] = memory.value(place);
            left &= left - 1;
        }
        left
    }

    /// Stores in ascending lanes up to the first whose access has a fault. Returns the lanes that are left.
    fn store_sound(
        &mut self,
        w: &Warp<'k>,
        m: Mem,
        (index, value): (&Lanes, &Lanes),
        mask: u32,
        at: &'k Stmt,
    ) -> u32 {
        let span = self.span(w.shared(), m);
        let ty = self.memory.at(span.id).ty;
        let Some(cells) = self.cells.get_mut(span.id.0 as usize) else { return mask };
        let mut left = mask;
        for l in lanes(mask) {
            let index = index.index(l);
            if !span.has(index, 1) {
                break;
            }
            let place = span.position(index);
            let access = Access { epoch: self.clocks.now(w.thread(l)), at, through: Target::Mem(m) };
            if !cells[place].write_if_sound(&self.clocks, access) {
                break;
            }
            self.memory.set(span.id, place, Lit { ty, bits: value.bits[l] });
            left &= left - 1;
        }
        left
    }
}
