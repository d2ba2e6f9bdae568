//! The state of one launch: its memory, its clocks, and every access with its checks.

use super::args::{Args, Grid};
use super::cell::{Access, Cell, Target};
use super::clock::{Clock, Clocks};
use super::copies::Copies;
use super::fault::{Check, Fault, FaultKind, Place, Thread};
use super::memory::{Id, Memory};
use crate::kernel::{Kernel, Mem, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty, eval_binary};
use rustc_hash::FxHashMap as HashMap;

/// The origin of an access: a thread by its number in the grid, the shared memory of its block, and
/// the statement.
#[derive(Clone, Copy)]
pub(super) struct Who<'k> {
    pub thread: u32,
    /// The first allocation of the block's shared memory; the others follow it.
    pub shared: Id,
    pub at: &'k Stmt,
}

/// The state of a launch, apart from its warps.
pub(super) struct Machine<'k, 'm> {
    pub k: &'k Kernel,
    pub grid: Grid,
    pub args: &'m Args,
    pub memory: &'m mut Memory,
    pub clocks: Clocks,
    /// The last accesses of each element, by allocation; empty if the kernel cannot write there.
    pub(super) cells: Vec<Vec<Cell<'k>>>,
    /// Whether words were published since awaiting warps last looked for theirs.
    pub has_news: bool,
    /// For each counter, the clock into which arrivals at it were released.
    arrivals: Vec<Clock>,
    pub records: Vec<u64>,
    /// The first allocation of the shared memory of each block that has begun and not ended.
    shared: HashMap<u32, Id>,
    /// The first allocations of blocks that have ended, which the next blocks use again.
    ended: Vec<Id>,
    /// The asynchronous copies of each thread.
    pub copies: HashMap<u32, Copies<'k>>,
    /// The first read of unwritten memory. It is reported last, because it may be caused by a race,
    /// which is the better report.
    pub unwritten: Option<Box<Fault>>,
}

impl<'k, 'm> Machine<'k, 'm> {
    pub fn new(k: &'k Kernel, grid: Grid, memory: &'m mut Memory, args: &'m Args) -> Self {
        let mut m = Machine {
            k,
            grid,
            args,
            clocks: Clocks::new(grid.blocks as usize, k.threads as usize),
            cells: Vec::new(),
            has_news: false,
            arrivals: vec![Clock::default(); args.counters.map_or(0, |c| memory.len(c))],
            records: vec![0; k.sites.len()],
            shared: HashMap::default(),
            ended: Vec::new(),
            copies: HashMap::default(),
            unwritten: None,
            memory,
        };
        let arrays = k.arrays.iter().zip(&args.arrays).filter(|a| a.0.write).map(|a| a.1.memory);
        let slots = k.slots.iter().zip(&args.slots).filter(|s| s.0.write).map(|s| *s.1);
        for id in arrays.chain(slots).chain(args.scratch.iter().copied()).chain(args.counters) {
            m.track(id);
        }
        m
    }

    fn track(&mut self, id: Id) {
        let i = id.0 as usize;
        if self.cells.len() <= i {
            self.cells.resize_with(i + 1, Vec::new);
        }
        self.cells[i].resize_with(self.memory.len(id), Cell::default);
    }

    /// Allocates the shared memory of a block that begins. Returns the first allocation.
    pub fn begin(&mut self, block: u32) -> Id {
        let first = self.ended.pop().unwrap_or(Id(self.memory.count() as u32));
        for (id, (_, ty, len)) in (first.0..).map(Id).zip(&self.k.shared) {
            if self.memory.holds(id) {
                self.memory.forget(id, 0, *len as usize);
                self.cells[id.0 as usize].iter_mut().for_each(Cell::clear);
            } else {
                self.memory.allocate(*ty, *len as usize);
                self.track(id);
            }
        }
        self.shared.insert(block, first);
        first
    }

    /// Ends a block. Other blocks may access its shared memory only before that.
    pub fn end(&mut self, block: u32) -> Check<()> {
        let Some(first) = self.shared.remove(&block).filter(|_| !self.k.shared.is_empty()) else {
            return Ok(());
        };
        self.ended.push(first);
        if self.k.cluster == 0 {
            return Ok(());
        }
        let arrays = first.0 as usize..first.0 as usize + self.k.shared.len();
        let late = self.cells[arrays].iter().flatten().flat_map(Cell::last);
        let late = late.filter(|a| !self.clocks.is_seen_in(block, a.epoch));
        match late.min_by_key(|a| a.epoch.thread) {
            None => Ok(()),
            Some(a) => {
                let what = format!("block {block} may have ended before");
                self.fault(FaultKind::Absent, a.epoch.thread, a.at, what)
            }
        }
    }

    /// Returns the origin of an access to the block of this rank in the thread's cluster.
    pub fn peer(&self, who: Who<'k>, rank: i64) -> Check<Who<'k>> {
        let (own, size) = (self.thread(who.thread).block, self.k.cluster);
        let fault = |kind, what: String| self.fault(kind, who.thread, who.at, what);
        if !(0..i64::from(size)).contains(&rank) {
            return fault(FaultKind::OutOfBounds, format!("block {rank} of a cluster of {size}"));
        }
        let block = own / size * size + rank as u32;
        match self.shared.get(&block) {
            None => fault(FaultKind::Absent, format!("block {block} has ended")),
            Some(_) if !self.clocks.has_met(who.thread, block) => {
                fault(FaultKind::Absent, format!("block {block} may not have begun"))
            }
            Some(shared) => Ok(Who { shared: *shared, ..who }),
        }
    }

    pub fn thread(&self, number: u32) -> Thread {
        Thread { block: number / self.k.threads, thread: number % self.k.threads }
    }

    /// Returns a fault of one thread at a statement.
    pub fn fault<T>(&self, kind: FaultKind, thread: u32, at: &Stmt, message: String) -> Check<T> {
        let at = Some(Place::new(self.k, self.thread(thread), at));
        Err(Box::new(Fault { kind, kernel: self.k.name.clone(), message, at, other: None }))
    }

    fn name(&self, t: Target) -> String {
        match t {
            Target::Counters => "the counters".into(),
            Target::Mem(m) => {
                let kind = match m {
                    Mem::Array(_) => "array",
                    Mem::Local(_) => "local",
                    Mem::Scratch(_) => "scratch",
                    Mem::Shared(_) => "shared",
                };
                format!("{kind} {}", self.k.mem(m).0)
            }
            Target::Slot(i) => format!("slot {}", self.k.slots[i as usize].name),
        }
    }

    /// Returns the allocation behind a memory, the position of element `index` in it, and the
    /// distance to the next of the `count` neighbours.
    fn locate(&self, who: Who, m: Mem, index: i64, count: usize) -> Check<(Id, usize, isize)> {
        let span = self.span(who.shared, m);
        let name = || self.name(Target::Mem(m));
        if !span.has(index, count) {
            let what = if count > 1 {
                format!("{count} elements from {index} on")
            } else {
                format!("element {index}")
            };
            return self.fault(
                FaultKind::OutOfBounds,
                who.thread,
                who.at,
                format!("{what} of {} of {}", name(), span.len),
            );
        }
        let (at, stride) = (span.position(index), span.stride);
        if count > 1 {
            let bytes = count * self.k.mem(m).1.size();
            let fault = |what: String| self.fault(FaultKind::Misaligned, who.thread, who.at, what);
            if index % count as i64 != 0 {
                return fault(format!("index {index} of {} is no multiple of {count}", name()));
            }
            if stride != 1 {
                return fault(format!("{count} neighbours of {}, whose stride is {stride}", name()));
            }
            let address = at * self.k.mem(m).1.size();
            if !address.is_multiple_of(bytes) {
                let over = address % bytes;
                return fault(format!(
                    "element {index} of {} lies {over} bytes after a multiple of {bytes}",
                    name()
                ));
            }
        }
        Ok((span.id, at, stride as isize))
    }

    /// Reads `out.len()` neighbours.
    pub fn load(&mut self, who: Who<'k>, m: Mem, index: i64, out: &mut [u64]) -> Check<()> {
        let (id, first, stride) = self.locate(who, m, index, out.len())?;
        for (i, out) in out.iter_mut().enumerate() {
            let at = first.wrapping_add_signed(i as isize * stride);
            *out = self.load_one(who, Target::Mem(m), id, at, index + i as i64)?;
        }
        Ok(())
    }

    /// Writes neighbours.
    pub fn store(&mut self, who: Who<'k>, m: Mem, index: i64, values: &[u64]) -> Check<()> {
        let (id, first, stride) = self.locate(who, m, index, values.len())?;
        for (i, v) in values.iter().enumerate() {
            let at = first.wrapping_add_signed(i as isize * stride);
            self.store_one(who, Target::Mem(m), id, at, index + i as i64, *v)?;
        }
        Ok(())
    }

    /// Joins a value to an element, which several threads may do without a barrier between them.
    pub fn update(&mut self, who: Who<'k>, op: BinaryOp, m: Mem, index: i64, value: u64) -> Check<()> {
        let (id, at, _) = self.locate(who, m, index, 1)?;
        let through = Target::Mem(m);
        let access = Access { epoch: self.clocks.now(who.thread), at: who.at, through };
        let cell = &mut self.cells[id.0 as usize][at];
        let alias = cell.through_other(through, false);
        if let Some((other, write)) = cell.update(&self.clocks, access) {
            return self.race(access, "joined to", other, if write { "written" } else { "read" }, index);
        }
        if let Some(other) = alias {
            self.check_alias(access, other, index)?;
        }
        let memory = self.memory.at(id);
        if !memory.written[at] && self.unwritten.is_none() {
            let what = format!("element {index} of {}", self.name(through));
            self.unwritten = self.fault::<()>(FaultKind::Unwritten, who.thread, who.at, what).err();
        }
        let ty = memory.ty;
        let [before, value] = [memory.bits[at], value].map(|bits| Lit { ty, bits });
        self.memory.set(id, at, eval_binary(op, before, value).0);
        Ok(())
    }

    /// Makes elements of shared memory unwritten again.
    pub fn forget(&mut self, who: Who<'k>, m: Mem, index: i64, count: usize) {
        if let Mem::Shared(i) = m {
            self.memory.forget(Id(who.shared.0 + i), index as usize, count);
        }
    }

    /// Returns an element of a thread's local array, or the fault of the access. `element` is what was found there.
    pub fn load_local(
        &mut self,
        who: Who<'k>,
        m: Mem,
        index: i64,
        element: Option<Option<u64>>,
    ) -> Check<u64> {
        match element {
            None => self.beyond_local(who, m, index),
            Some(Some(bits)) => Ok(bits),
            Some(None) => {
                let what = format!("element {index} of {}", self.name(Target::Mem(m)));
                self.fault(FaultKind::Unwritten, who.thread, who.at, what)
            }
        }
    }

    /// Returns the fault of an access beyond a local array.
    pub fn beyond_local<T>(&self, who: Who<'k>, m: Mem, index: i64) -> Check<T> {
        let what = format!("element {index} of {}", self.name(Target::Mem(m)));
        self.fault(FaultKind::OutOfBounds, who.thread, who.at, what)
    }

    pub fn load_slot(&mut self, who: Who<'k>, slot: u32) -> Check<u64> {
        self.load_one(who, Target::Slot(slot), self.args.slots[slot as usize], 0, 0)
    }

    pub fn store_slot(&mut self, who: Who<'k>, slot: u32, value: u64) -> Check<()> {
        self.store_one(who, Target::Slot(slot), self.args.slots[slot as usize], 0, 0, value)
    }

    fn load_one(&mut self, who: Who<'k>, through: Target, id: Id, at: usize, index: i64) -> Check<u64> {
        let access = Access { epoch: self.clocks.now(who.thread), at: who.at, through };
        if let Some(cell) = self.cells.get_mut(id.0 as usize).and_then(|c| c.get_mut(at)) {
            if let Some(other) = cell.read(&self.clocks, access) {
                return self.race(access, "read", other, "written", index);
            }
            if let Some(other) = cell.through_other(through, true) {
                self.check_alias(access, other, index)?;
            }
        }
        let memory = self.memory.at(id);
        if !memory.written[at] && self.unwritten.is_none() {
            let what = format!("element {index} of {}", self.name(through));
            self.unwritten = self.fault::<()>(FaultKind::Unwritten, who.thread, who.at, what).err();
        }
        Ok(memory.value(at))
    }

    fn store_one(
        &mut self,
        who: Who<'k>,
        through: Target,
        id: Id,
        at: usize,
        index: i64,
        value: u64,
    ) -> Check<()> {
        let access = Access { epoch: self.clocks.now(who.thread), at: who.at, through };
        let cell = &mut self.cells[id.0 as usize][at];
        let alias = cell.through_other(through, false);
        if let Some((other, write)) = cell.write(&self.clocks, access) {
            return self.race(access, "written", other, if write { "written" } else { "read" }, index);
        }
        if let Some(other) = alias {
            self.check_alias(access, other, index)?;
        }
        let ty = self.memory.at(id).ty;
        self.memory.set(id, at, Lit { ty, bits: value });
        Ok(())
    }

    pub(super) fn race<T>(
        &self,
        new: Access<'k>,
        does: &str,
        old: Access<'k>,
        did: &str,
        index: i64,
    ) -> Check<T> {
        let what = format!("element {index} of {} is {does} and {did}, unordered", self.name(new.through));
        self.both(FaultKind::Race, new, old, what)
    }

    /// Checks two accesses of one element through two names: neither array may be `noalias`.
    fn check_alias(&self, new: Access<'k>, old: Access<'k>, index: i64) -> Check<()> {
        let noalias =
            |t: Target| matches!(t, Target::Mem(Mem::Array(i)) if self.k.arrays[i as usize].noalias);
        if !noalias(new.through) && !noalias(old.through) {
            return Ok(());
        }
        let what = format!(
            "element {index} of {} is also one of {}",
            self.name(new.through),
            self.name(old.through)
        );
        self.both(FaultKind::Alias, new, old, what)
    }

    fn both<T>(&self, kind: FaultKind, new: Access<'k>, old: Access<'k>, message: String) -> Check<T> {
        let place = |a: Access| Some(Place::new(self.k, self.thread(a.epoch.thread), a.at));
        Err(Box::new(Fault { kind, kernel: self.k.name.clone(), message, at: place(new), other: place(old) }))
    }

    /// Performs one arrival. Returns whether it is the last one.
    pub fn arrive(&mut self, who: Who<'k>, at: i64, count: i64) -> Check<bool> {
        let counters = self.arrivals.len();
        let Some(id) = self.args.counters.filter(|_| (0..counters as i64).contains(&at)) else {
            let what = format!("counter {at} of {counters}");
            return self.fault(FaultKind::OutOfBounds, who.thread, who.at, what);
        };
        let before = self.memory.at(id).bits[at as usize] as i64;
        if before >= count {
            let what = format!("arrival {} of {count} at counter {at}", before + 1);
            return self.fault(FaultKind::Counter, who.thread, who.at, what);
        }
        let last = before + 1 == count;
        let after = if last { 0 } else { before + 1 };
        self.memory.set(id, at as usize, Lit { ty: Ty::U32, bits: after as u64 });
        let mut clock = std::mem::take(&mut self.arrivals[at as usize]);
        self.clocks.release(who.thread, &mut clock);
        if last {
            self.clocks.acquire(who.thread, &clock);
        } else {
            self.arrivals[at as usize] = clock;
        }
        Ok(last)
    }
}
