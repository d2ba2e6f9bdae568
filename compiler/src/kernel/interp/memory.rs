//! The memory of the simulated device: allocations of elements of one type, each of which records
//! whether it was written.

use crate::scalar::{Lit, Ty};

/// The number of an allocation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Id(pub u32);

/// All allocations. Each starts at an address that is a multiple of 256 bytes.
#[derive(Clone, Default, Debug)]
pub struct Memory {
    list: Vec<Allocation>,
}

/// An allocation of elements of one type.
#[derive(Clone, Debug)]
pub(super) struct Allocation {
    pub ty: Ty,
    pub bits: Vec<u64>,
    pub written: Vec<bool>,
}

impl Allocation {
    /// Returns the bits of an element as a kernel reads them: a byte other than 0 counts as true.
    #[inline]
    pub fn value(&self, i: usize) -> u64 {
        if self.ty == Ty::Bool { (self.bits[i] != 0).into() } else { self.bits[i] }
    }
}

impl Memory {
    /// Allocates elements, all of them unwritten.
    pub fn allocate(&mut self, ty: Ty, len: usize) -> Id {
        self.list.push(Allocation { ty, bits: vec![0; len], written: vec![false; len] });
        Id(self.list.len() as u32 - 1)
    }

    /// Allocates and writes the elements of a list.
    pub fn filled(&mut self, ty: Ty, values: &[Lit]) -> Id {
        let id = self.allocate(ty, values.len());
        values.iter().enumerate().for_each(|(i, v)| self.set(id, i, *v));
        id
    }

    /// Returns how many elements an allocation has.
    pub fn len(&self, id: Id) -> usize {
        self.at(id).bits.len()
    }

    /// Returns an element, or `None` if it was never written.
    pub fn get(&self, id: Id, i: usize) -> Option<Lit> {
        let a = self.at(id);
        a.written[i].then(|| Lit { ty: a.ty, bits: a.bits[i] })
    }

    /// Writes an element.
    #[inline]
    pub fn set(&mut self, id: Id, i: usize, value: Lit) {
        let a = &mut self.list[id.0 as usize];
        (a.bits[i], a.written[i]) = (value.bits, true);
    }

    /// Makes elements unwritten again.
    pub(super) fn forget(&mut self, id: Id, first: usize, count: usize) {
        self.list[id.0 as usize].written[first..first + count].fill(false);
    }

    #[inline]
    pub(super) fn at(&self, id: Id) -> &Allocation {
        &self.list[id.0 as usize]
    }

    pub(super) fn count(&self) -> usize {
        self.list.len()
    }

    /// Drops all allocations but the first `count`.
    pub(super) fn truncate(&mut self, count: usize) {
        self.list.truncate(count);
    }

    /// Returns whether an allocation exists.
    pub(super) fn holds(&self, id: Id) -> bool {
        (id.0 as usize) < self.list.len()
    }
}
