//! The registers of a warp.

use super::lanes::{Bits, Lanes, lanes};
use crate::kernel::{Kernel, Reg};
use crate::scalar::Ty;
use std::cell::RefCell;

thread_local! {
    /// Buffers of earlier values, which are used again: most launches of tests are short, and allocation took a third
    /// of their time.
    #[allow(clippy::vec_box, reason = "a room moves between registers without a copy")]
    static ROOMS: RefCell<Vec<Box<Lanes>>> = const { RefCell::new(Vec::new()) };
}

/// The values of a warp's registers. A kernel with long branches has thousands of registers, of which a warp writes
/// few: a register gets a buffer when it is first written.
pub(super) struct Registers<'k> {
    k: &'k Kernel,
    values: Vec<Option<Box<Lanes>>>,
}

impl<'k> Registers<'k> {
    pub fn new(k: &'k Kernel) -> Registers<'k> {
        Registers { k, values: vec![None; k.regs.len()] }
    }

    pub fn get(&self, r: Reg) -> &Lanes {
        match &self.values[r.0 as usize] {
            Some(value) => value,
            None => unreachable!("verified: {r:?} is written before it is read"),
        }
    }

    pub fn get_mut(&mut self, r: Reg) -> &mut Lanes {
        self.values[r.0 as usize].get_or_insert_with(|| {
            let mut room = room();
            *room = Lanes::none(self.k.regs[r.0 as usize].1);
            room
        })
    }

    /// Sets the lanes of `mask`.
    pub fn set(&mut self, r: Reg, values: &Bits, mask: u32) {
        let bits = &mut self.get_mut(r).bits;
        if mask == u32::MAX {
            *bits = *values;
        } else {
            lanes(mask).for_each(|l| bits[l] = values[l]);
        }
    }

    /// Sets the lanes of `mask` to a value in a buffer of [`room`], without a copy if these are all lanes.
    pub fn put(&mut self, r: Reg, value: Box<Lanes>, mask: u32) {
        let unused = if mask == u32::MAX {
            self.values[r.0 as usize].replace(value)
        } else {
            self.set(r, &value.bits, mask);
            Some(value)
        };
        if let Some(unused) = unused {
            let _ = ROOMS.try_with(|rooms| rooms.borrow_mut().push(unused));
        }
    }
}

impl Drop for Registers<'_> {
    fn drop(&mut self) {
        // a thread that is ending keeps no buffers
        let _ = ROOMS.try_with(|rooms| rooms.borrow_mut().extend(self.values.drain(..).flatten()));
    }
}

/// Returns a buffer for the values of lanes, whose old values have no meaning.
pub(super) fn room() -> Box<Lanes> {
    let known = ROOMS.try_with(|rooms| rooms.borrow_mut().pop()).ok().flatten();
    known.unwrap_or_else(|| Box::new(Lanes::none(Ty::Bool)))
}
