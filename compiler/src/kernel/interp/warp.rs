//! A warp: 32 threads, its lanes, that execute each statement together, in those lanes that are active.
//!
//! Control flow is a stack of blocks of statements. A lane that does not take the branch of the
//! others waits until they have finished it; this is one of the orders that a GPU may choose.
//! Faults do not depend on the choice, because the lanes' clocks are separate.

use super::eval::operand;
use super::fault::{Check, FaultKind};
use super::lanes::{Lanes, lanes, packed};
use super::machine::{Machine, Who};
use super::memory::Id;
use super::registers::{Registers, room};
use crate::kernel::{Expr, Kernel, Mem, Reg, Stmt, WARP};
use crate::scalar::Ty;
use std::collections::VecDeque;

/// Whether a warp can run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Running,
    /// The warp waits at a barrier of its block or of its cluster.
    Waiting,
    /// The warp awaits words.
    Awaiting,
    Done,
}

/// What happens at the end of a block of statements.
enum Turn<'k> {
    Once,
    While(&'k Expr),
    /// The next iteration of a loop with this index and end.
    Seq(Reg, Box<Lanes>),
}

/// A block being executed.
struct Frame<'k> {
    /// The statement that it belongs to.
    of: &'k Stmt,
    body: &'k [Stmt],
    at: usize,
    mask: u32,
    turn: Turn<'k>,
    turns: u32,
}

/// A product that a warp has begun.
pub(super) struct StagedProduct<'k> {
    pub at: &'k Stmt,
    /// The numbers of the matrices' first words.
    pub rows: i64,
    pub columns: i64,
}

/// The state of a warp.
pub(super) struct Warp<'k> {
    /// The number in the grid of lane 0's thread.
    first: u32,
    shared: Id,
    pub regs: Registers<'k>,
    /// The elements of each local array; `None` for those that nothing wrote.
    locals: Vec<Vec<[Option<u64>; WARP as usize]>>,
    stack: Vec<Frame<'k>>,
    /// The products of its warpgroup that it has begun and not waited for.
    pub products: VecDeque<StagedProduct<'k>>,
    pub state: State,
}

impl<'k> Warp<'k> {
    /// Makes a warp at the start of the kernel. `first` is the number in the grid of its first
    /// thread.
    pub fn new(k: &'k Kernel, first: u32, shared: Id) -> Warp<'k> {
        let mut w = Warp {
            first,
            shared,
            regs: Registers::new(k),
            locals: k.locals.iter().map(|l| vec![[None; WARP as usize]; l.2 as usize]).collect(),
            stack: Vec::new(),
            products: VecDeque::new(),
            state: State::Running,
        };
        let body = k.main.as_deref().unwrap_or_default();
        match body.first() {
            Some(of) => w.enter(of, body, u32::MAX, Turn::Once),
            None => w.state = State::Done,
        }
        w
    }

    /// Returns the number in the grid of a lane's thread.
    #[inline]
    pub fn thread(&self, lane: usize) -> u32 {
        self.first + lane as u32
    }

    /// Returns the first allocation of the shared memory of the warp's block.
    #[inline]
    pub fn shared(&self) -> Id {
        self.shared
    }

    #[inline]
    pub fn who(&self, lane: usize, at: &'k Stmt) -> Who<'k> {
        Who { thread: self.thread(lane), shared: self.shared, at }
    }

    /// Returns the statements that the warp executed last, with the iterations of the loops around
    /// them. They distinguish one execution of a barrier from another.
    pub fn place(&self) -> Vec<(*const Stmt, u32)> {
        self.stack.iter().map(|f| (&raw const f.body[f.at - 1], f.turns)).collect()
    }

    /// Returns the statement that the warp executed last; `None` after the end.
    pub fn last(&self) -> Option<&'k Stmt> {
        let f = self.stack.last()?;
        f.body.get(f.at.saturating_sub(1))
    }

    /// Returns the statement that the warp executes next.
    pub fn next(&self) -> Option<&'k Stmt> {
        let f = self.stack.last()?;
        f.body.get(f.at)
    }

    /// Lets the warp execute its last statement again, because words that it awaits may have been published since.
    pub fn again(&mut self) {
        if let Some(f) = self.stack.last_mut() {
            f.at -= 1;
        }
        self.state = State::Awaiting;
    }

    /// Returns the barrier at which the warp waits.
    pub fn barrier(&self) -> Option<&'k Stmt> {
        self.last().filter(|_| self.state == State::Waiting)
    }

    fn enter(&mut self, of: &'k Stmt, body: &'k [Stmt], mask: u32, turn: Turn<'k>) {
        if mask != 0 && !body.is_empty() {
            self.stack.push(Frame { of, body, at: 0, mask, turn, turns: 0 });
        }
    }

    /// Returns an element of a lane's local array: `None` out of bounds, else what was written.
    pub fn local(&self, array: u32, index: i64, lane: usize) -> Option<Option<u64>> {
        let at = usize::try_from(index).ok()?;
        Some(self.locals[array as usize].get(at)?[lane])
    }

    fn local_mut(&mut self, array: u32, index: i64, lane: usize) -> Option<&mut Option<u64>> {
        let at = usize::try_from(index).ok()?;
        Some(&mut self.locals[array as usize].get_mut(at)?[lane])
    }
}

impl<'k> Machine<'k, '_> {
    /// Executes one statement of a running warp. `order` puts the lanes of a mask in the order in
    /// which they arrive at counters.
    pub fn step(&mut self, w: &mut Warp<'k>, order: &mut dyn FnMut(&mut Vec<usize>)) -> Check<()> {
        let Some(f) = w.stack.last_mut() else {
            w.state = State::Done;
            return Ok(());
        };
        if f.at == f.body.len() {
            return self.turn(w);
        }
        let (s, mask) = (&f.body[f.at], f.mask);
        f.at += 1;
        match s {
            Stmt::Let(r, e, _) | Stmt::Var(r, e) | Stmt::Assign(r, e) => {
                let mut value = room();
                self.eval_to(&mut value, w, e, mask, s)?;
                w.regs.put(*r, value, mask);
            }
            Stmt::Store(m, i, e) => {
                if let Mem::Local(array) = m {
                    let (index, value) = (self.eval(w, i, mask, s)?, self.eval(w, e, mask, s)?);
                    for l in lanes(mask) {
                        match w.local_mut(*array, index.index(l), l) {
                            Some(element) => *element = Some(value.bits[l]),
                            None => return self.beyond_local(w.who(l, s), *m, index.index(l)),
                        }
                    }
                    return Ok(());
                }
                let (mut of_index, mut of_value);
                let index = operand!(self, of_index, w, i, mask, s);
                let value = operand!(self, of_value, w, e, mask, s);
                self.store_lanes(w, *m, (index, value), mask, s)?;
            }
            Stmt::Update(op, m, i, e) => {
                let (index, value) = (self.eval(w, i, mask, s)?, self.eval(w, e, mask, s)?);
                for l in lanes(mask) {
                    self.update(w.who(l, s), *op, *m, index.index(l), value.bits[l])?;
                }
            }
            Stmt::StoreSlot(slot, e) => {
                let value = self.eval(w, e, mask, s)?;
                for l in lanes(mask) {
                    self.store_slot(w.who(l, s), *slot, value.bits[l])?;
                }
            }
            Stmt::LoadVec(regs, m, i) => {
                let index = self.eval(w, i, mask, s)?;
                let mut values = vec![0; regs.len()];
                for l in lanes(mask) {
                    self.load(w.who(l, s), *m, index.index(l), &mut values)?;
                    regs.iter().zip(&values).for_each(|(r, v)| w.regs.get_mut(*r).bits[l] = *v);
                }
            }
            Stmt::StoreVec(m, i, values) => {
                let mut room;
                let index = operand!(self, room, w, i, mask, s);
                let values: Vec<Lanes> =
                    values.iter().map(|e| self.eval(w, e, mask, s)).collect::<Check<_>>()?;
                let mut row = Vec::with_capacity(values.len());
                for l in lanes(mask) {
                    row.clear();
                    row.extend(values.iter().map(|v| v.bits[l]));
                    self.store(w.who(l, s), *m, index.index(l), &row)?;
                }
            }
            Stmt::If(c, then, otherwise) => {
                let mut room;
                let taken = operand!(self, room, w, c, mask, s).and(mask);
                w.enter(s, otherwise, mask & !taken, Turn::Once);
                w.enter(s, then, taken, Turn::Once);
            }
            Stmt::While(c, body) => {
                let mut room;
                let taken = operand!(self, room, w, c, mask, s).and(mask);
                if body.is_empty() && taken != 0 {
                    return self.fault(FaultKind::Endless, w.thread(0), s, "a loop without a body".into());
                }
                w.enter(s, body, taken, Turn::While(c));
            }
            Stmt::Seq(r, lo, hi, body) => {
                let (lo, hi) = (self.eval(w, lo, mask, s)?, self.eval(w, hi, mask, s)?);
                w.regs.set(*r, &lo.bits, mask);
                let taken = lo.below(&hi, mask);
                w.enter(s, body, taken, Turn::Seq(*r, Box::new(hi)));
            }
            Stmt::Record(site, c, at) => {
                let (bad, at) = (self.eval(w, c, mask, s)?.and(mask), self.eval(w, at, mask, s)?);
                let record = &mut self.records[*site as usize];
                lanes(bad).for_each(|l| *record = (*record).max(!(at.index(l) as u64)));
            }
            Stmt::Arrive(r, at, count) => {
                let (at, count) = (self.eval(w, at, mask, s)?, self.eval(w, count, mask, s)?);
                let mut arriving: Vec<usize> = lanes(mask).collect();
                order(&mut arriving);
                for l in arriving {
                    let last = self.arrive(w.who(l, s), at.index(l), count.index(l))?;
                    w.regs.get_mut(*r).bits[l] = last.into();
                }
            }
            Stmt::Ticket(r, at) => {
                let at = self.eval(w, at, mask, s)?;
                let mut taking: Vec<usize> = lanes(mask).collect();
                order(&mut taking);
                for l in taking {
                    w.regs.get_mut(*r).bits[l] = self.ticket(w.who(l, s), at.index(l))?;
                }
            }
            Stmt::Publish(at, value) => {
                let (at, value) = (self.eval(w, at, mask, s)?, self.eval(w, value, mask, s)?);
                for l in lanes(mask) {
                    self.publish(w.who(l, s), at.index(l), value.at(l))?;
                }
            }
            Stmt::Await(to, at, given) => self.await_words(w, *to, (at, given), mask, s)?,
            Stmt::Clear(at) => {
                let at = self.eval(w, at, mask, s)?;
                lanes(mask).try_for_each(|l| self.clear_counters(w.who(l, s), at.index(l)))?;
            }
            Stmt::Count { old, at, index, bits } => self.count(w, *old, (*at, index, *bits), mask, s)?,
            Stmt::StoreTo(m, i, rank, e) => {
                let (index, rank) = (self.eval(w, i, mask, s)?, self.eval(w, rank, mask, s)?);
                let value = self.eval(w, e, mask, s)?;
                for l in lanes(mask) {
                    let peer = self.peer(w.who(l, s), rank.index(l))?;
                    self.store(peer, *m, index.index(l), &[value.bits[l]])?;
                }
            }
            Stmt::CopyAsync { bytes, to, at, from, index, given } => {
                let (at, index) = (self.eval(w, at, mask, s)?, self.eval(w, index, mask, s)?);
                let given = given.as_ref().map(|e| self.eval(w, e, mask, s)).transpose()?;
                for l in lanes(mask) {
                    let reads = given.as_ref().is_none_or(|e| e.bits[l] != 0);
                    let from = reads.then(|| (*from, index.index(l)));
                    self.copy(w.who(l, s), *bytes, (*to, at.index(l)), from)?;
                }
            }
            Stmt::Pack(r, values) => {
                let values: Vec<Lanes> =
                    values.iter().map(|e| self.eval(w, e, mask, s)).collect::<Check<_>>()?;
                w.regs.set(*r, &packed(&values), mask);
            }
            Stmt::CopyGroup => lanes(mask).for_each(|l| self.copy_group(w.thread(l))),
            Stmt::CopyWait(n) => lanes(mask).try_for_each(|l| self.copy_wait(w.thread(l), *n))?,
            Stmt::LoadMatrices { regs, from, index, transposed } => {
                self.load_matrices(w, (regs, *from), (index, *transposed), mask, s)?;
            }
            Stmt::MultiplyMatrices { ty, sums, rows, columns } => {
                self.multiply_matrices(w, (*ty, sums), [rows, columns], mask, s)?;
            }
            Stmt::MultiplyStaged { from, rows, columns, .. } => {
                self.begin_product(w, *from, [rows, columns], mask, s)?;
            }
            Stmt::MultiplyWait(n) => self.wait_for_products(w, *n, mask, s)?,
            Stmt::Barrier | Stmt::ClusterBarrier { .. } if mask == u32::MAX => w.state = State::Waiting,
            Stmt::Barrier | Stmt::ClusterBarrier { .. } => {
                let missing = self.thread(w.thread(lanes(!mask).next().unwrap_or(0)));
                let here = w.thread(lanes(mask).next().unwrap_or(0));
                let message = format!("{missing} is not there");
                return self.fault(FaultKind::DivergentBarrier, here, s, message);
            }
            Stmt::Note(_) => {}
            Stmt::Local(array) => w.locals[*array as usize].iter_mut().for_each(|element| {
                lanes(mask).for_each(|l| element[l] = None);
            }),
            // a prefetch is only a hint, and changes nothing
            Stmt::Prefetch { .. } => {}
            Stmt::For(..) => {
                unreachable!("verified: {s:?} is the CPU's")
            }
        }
        Ok(())
    }

    /// Ends a block: begins the next iteration of a loop, or returns to the enclosing block.
    fn turn(&mut self, w: &mut Warp<'k>) -> Check<()> {
        let Some(f) = w.stack.last() else { return Ok(()) };
        let again = match &f.turn {
            Turn::Once => 0,
            Turn::While(c) => self.eval(w, c, f.mask, f.of)?.and(f.mask),
            Turn::Seq(r, hi) => {
                let i = w.regs.get_mut(*r);
                for l in lanes(f.mask) {
                    // the index is below the end, so the sum does not overflow
                    let next = i.index(l) + 1;
                    i.bits[l] = if hi.ty == Ty::I32 { u64::from(next as u32) } else { next as u64 };
                }
                i.below(hi, f.mask)
            }
        };
        if again == 0 {
            w.stack.pop();
        } else if let Some(f) = w.stack.last_mut() {
            (f.at, f.mask, f.turns) = (0, again, f.turns + 1);
        }
        Ok(())
    }
}
