//! Executes a program.

use super::frame;
use super::program::{Blocks, Home, Program, Slot, Step, Window};
use crate::abi::AgpuKernelArgs;
use std::sync::atomic::{AtomicI64, Ordering};

impl Program {
    /// # Safety
    /// The arguments are valid, and those of the kernel that the program was made from; the
    /// processor has the level that it was made for.
    pub unsafe fn run(&self, args: &AgpuKernelArgs, begin: i64, end: i64) {
        let table = frame::align(self.homes.len() * size_of::<*mut u8>());
        let locals = frame::align(self.scalars as usize * 8);
        let arena = locals + self.locals as usize;
        frame::with(table + arena + self.arena as usize, |memory| {
            // SAFETY: the memory has that many bytes, by the numbers above, and belongs to this
            // call alone. The caller promises the arguments.
            unsafe {
                let data = memory.add(table);
                let machine = Machine { table: memory.cast() };
                for (i, home) in self.homes.iter().enumerate() {
                    let address = match *home {
                        Home::Scalar(n) => data.add(n as usize * 8),
                        Home::Local(at) => data.add(locals + at as usize),
                        Home::Arena(at) => data.add(arena + at as usize),
                        Home::Array(n) => args.arrays.add(n as usize).read().cast(),
                        Home::Scratch(n) => args.scratch.add(n as usize).read().cast(),
                        Home::Place(n) => args.slots.add(n as usize).read().cast(),
                        Home::Moving | Home::Block(_) => data,
                    };
                    machine.table.add(i).write(address);
                }
                let scalars = data.cast::<u64>();
                let set = |n: u32, value: u64| scalars.add(n as usize).write(value);
                self.constants.iter().for_each(|(n, value)| set(*n, *value));
                for (n, i, is_bool) in &self.ins {
                    let word = args.scalars.add(*i as usize).read();
                    set(*n, if *is_bool { u64::from(word != 0) } else { word });
                }
                self.strides.iter().for_each(|(n, i)| set(*n, args.strides.add(*i as usize).read() as u64));
                set(self.tiles[0], begin as u64);
                set(self.tiles[1], end as u64);
                self.sites.iter().for_each(|(n, _)| set(*n, i64::MAX as u64));
                machine.steps(&self.steps, 1);
                for (n, site) in &self.sites {
                    let element = scalars.add(*n as usize).read() as i64;
                    if element != i64::MAX {
                        AtomicI64::from_ptr(args.records.add(*site as usize))
                            .fetch_min(element, Ordering::Relaxed);
                    }
                }
            }
        });
    }
}

/// The table of addresses of a call.
#[derive(Clone, Copy)]
struct Machine {
    table: *mut *mut u8,
}

impl Machine {
    /// # Safety
    /// The slot is one of the table.
    #[inline(always)]
    unsafe fn at(self, slot: Slot) -> *mut u8 {
        // SAFETY: the caller promises it.
        unsafe { self.table.add(slot as usize).read() }
    }

    /// # Safety
    /// The slot is one of a scalar of i64.
    #[inline(always)]
    unsafe fn int(self, slot: Slot) -> i64 {
        // SAFETY: the caller promises it; scalars have 8 aligned bytes.
        unsafe { self.at(slot).cast::<i64>().read() }
    }

    /// # Safety
    /// The same conditions hold as for [`Program::run`]: the steps are those of its program, and
    /// all steps before them have run.
    unsafe fn steps(self, steps: &[Step], n: usize) {
        for step in steps {
            // SAFETY: the lowering gives every operation operands of its shape, and a verified
            // kernel accesses only elements that exist.
            unsafe {
                match step {
                    Step::Ops(ops) => {
                        for i in ops {
                            (i.op)(self.at(i.d), self.at(i.a), self.at(i.b), self.at(i.c), n);
                        }
                    }
                    Step::Windows(windows) => windows.iter().for_each(|w| self.window(w)),
                    Step::Loop { counter, lo, hi, body } => {
                        let place = self.at(*counter).cast::<i64>();
                        for i in self.int(*lo)..self.int(*hi) {
                            place.write(i);
                            self.steps(body, n);
                        }
                    }
                    Step::Blocks(l) => self.blocks(l),
                    Step::While { test, flag, body } => loop {
                        self.steps(test, n);
                        if self.at(*flag).read() == 0 {
                            break;
                        }
                        self.steps(body, n);
                    },
                    Step::If { flag, yes, no } => {
                        self.steps(if self.at(*flag).read() != 0 { yes } else { no }, n);
                    }
                }
            }
        }
    }

    /// # Safety
    /// The same conditions hold as for [`Machine::steps`].
    unsafe fn blocks(self, l: &Blocks) {
        // SAFETY: the reason is the same as there.
        unsafe {
            let (mut i, end) = (self.int(l.lo), self.int(l.hi));
            if i >= end {
                return;
            }
            let counter = self.at(l.counter).cast::<i64>();
            self.steps(&l.head, l.block.min(end.abs_diff(i) as usize));
            while i < end {
                let n = l.block.min(end.abs_diff(i) as usize);
                counter.write(i);
                l.windows.iter().for_each(|w| self.window(w));
                self.steps(&l.body, n);
                i = i.saturating_add(n as i64);
            }
        }
    }

    /// # Safety
    /// The same conditions hold as for [`Machine::steps`].
    #[inline(always)]
    unsafe fn window(self, w: &Window) {
        // SAFETY: all slots are those of scalars of i64, except for the base and the window itself.
        unsafe {
            let index = self.int(w.start).wrapping_add(self.int(w.step).wrapping_mul(self.int(w.counter)));
            let bytes = index.wrapping_mul(self.int(w.stride)).wrapping_mul(w.size);
            let address = self.at(w.base).wrapping_offset(bytes as isize);
            self.table.add(w.slot as usize).write(address);
        }
    }
}
