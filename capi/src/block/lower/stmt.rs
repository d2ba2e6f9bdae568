//! Lowers statements.

use super::fold::INDEX;
use super::linear::Num;
use super::{Bound, Kind, Lower, Target, Value, Vector, analyse};
use crate::block::ops::{Fold, copy, fold, record, record_linear, record_one, store_one};
use crate::block::program::{Blocks, NONE, Slot, Step};
use crate::block::registers;
use arraygpu_compiler::kernel::{Expr, Reg, Stmt};
use arraygpu_compiler::scalar::{BinaryOp, Ty};
use std::collections::{HashMap, HashSet};

impl Lower<'_> {
    pub(super) fn block(&mut self, body: &[Stmt]) {
        let mut at = 0;
        while let Some(s) = body.get(at) {
            at += match self.tree(&body[at..]) {
                Some(count) => count,
                None => {
                    self.stmt(s);
                    1
                }
            };
        }
    }

    /// Lowers statements to steps of their own.
    fn steps(&mut self, body: &[Stmt]) -> Vec<Step> {
        let before = std::mem::take(&mut self.here);
        self.block(body);
        std::mem::replace(&mut self.here, before)
    }

    pub(super) fn stmt(&mut self, s: &Stmt) {
        match s {
            Stmt::Let(r, e, _) => self.bind(*r, e),
            Stmt::Var(r, e) => self.var(*r, e),
            Stmt::Assign(r, e) => self.assign(*r, e),
            Stmt::Store(m, i, e) => self.store(*m, i, e),
            Stmt::Update(op, m, i, e) => {
                let before = Expr::load(*m, i.clone());
                self.store(*m, i, &Expr::binary(*op, before, e.clone()));
            }
            Stmt::StoreSlot(i, e) => {
                let v = self.value(e);
                let place = self.place_of_slot(*i);
                self.push(store_one(v.ty.size(), self.level), place, [NONE, v.slot, NONE]);
            }
            Stmt::For(r, lo, hi, body) => {
                if !analyse::has_effect(body) {
                    return;
                }
                match self.vector.is_none() && analyse::is_vector(self.k, *r, body) {
                    true => self.blocks(*r, lo, hi, body),
                    false => self.each(*r, lo, hi, body),
                }
            }
            Stmt::Seq(r, lo, hi, body) => {
                if !self.folds(*r, lo, hi, body) && !self.rows(*r, lo, hi, body) {
                    self.each(*r, lo, hi, body);
                }
            }
            Stmt::While(c, body) => {
                let before = std::mem::take(&mut self.here);
                let flag = self.value(c).slot;
                let test = std::mem::replace(&mut self.here, before);
                let body = self.steps(body);
                self.here.push(Step::While { test, flag, body });
            }
            Stmt::If(c, yes, no) => {
                let flag = self.value(c).slot;
                self.deeper(1);
                let (yes, no) = (self.steps(yes), self.steps(no));
                self.deeper(-1);
                self.here.push(Step::If { flag, yes, no });
            }
            Stmt::Record(site, c, at) => self.record(*site, c, at),
            // a local array has a fixed place; hints are only for compiled code
            Stmt::Local(_) | Stmt::Note(_) | Stmt::Prefetch { .. } => {}
            Stmt::LoadVec(..)
            | Stmt::StoreVec(..)
            | Stmt::CopyAsync { .. }
            | Stmt::CopyGroup
            | Stmt::Pack(..)
            | Stmt::CopyWait(_)
            | Stmt::LoadMatrices { .. }
            | Stmt::MultiplyMatrices { .. }
            | Stmt::MultiplyStaged { .. }
            | Stmt::MultiplyWait(_)
            | Stmt::StoreTo(..)
            | Stmt::Barrier
            | Stmt::ClusterBarrier { .. }
            | Stmt::Count { .. }
            | Stmt::Ticket(..)
            | Stmt::Publish(..)
            | Stmt::Await(..)
            | Stmt::Clear(_)
            | Stmt::Arrive(..) => unreachable!("verified: a CPU kernel"),
        }
    }

    fn deeper(&mut self, by: i32) {
        if let Some(v) = &mut self.vector {
            v.depth = v.depth.wrapping_add_signed(by);
        }
    }

    fn bind(&mut self, r: Reg, e: &Expr) {
        if self.vector.is_some()
            && self.k.ty(e) == Ty::I64
            && !self.is_scalar(e)
            && let Some(l) = self.linear(e)
        {
            self.bound.insert(r, Bound::Linear(l, None));
            return;
        }
        let mut v = self.value(e);
        // a second name of a register that may be assigned needs a copy of the value; a vector loop
        // reads no outer scalar that it assigns (`analyse::is_vector`)
        let may_change = self.vector.is_none() || v.array;
        let changes = may_change && self.vars.contains(&v.slot) && self.is_renaming(e);
        let stored = v.array && self.vector.as_ref().is_some_and(|vector| vector.copied.contains(&r));
        if changes || stored {
            let slot = if v.array { self.register(v.ty) } else { self.scalar().0 };
            self.push(copy(v.ty.size(), self.level), slot, [v.slot, NONE, NONE]);
            v = Value { slot, early: self.vector.is_none(), ..v };
        }
        self.bound.insert(r, Bound::Value(v));
    }

    /// Defines a register that may be assigned. In a vector loop it is an array, whatever its first
    /// value is.
    fn var(&mut self, r: Reg, e: &Expr) {
        let (ty, array) = (self.k.ty(e), self.vector.is_some());
        let slot = if array { self.register(ty) } else { self.scalar().0 };
        self.compute(e, Some(Target { slot, array }));
        self.vars.insert(slot);
        self.bound.insert(r, Bound::Value(Value { slot, ty, array, early: !array }));
    }

    fn assign(&mut self, r: Reg, e: &Expr) {
        let Some(Bound::Value(var)) = self.bound.get(&r).cloned() else {
            unreachable!("verified: {r:?} is a var")
        };
        if let (true, false, Expr::Binary(_, _, x)) = (self.vector.is_some(), var.array, e) {
            // a vector loop assigns only one kind of outer register, by `or`: see
            // `analyse::is_vector`
            let x = self.value(x);
            let x = self.splat(x);
            if let Some(op) = fold(Fold::InOrder, Kind::Binary(BinaryOp::Or, var.ty), self.level) {
                self.push(op, var.slot, [x.slot, NONE, NONE]);
            }
            return;
        }
        self.compute(e, Some(Target { slot: var.slot, array: var.array }));
    }

    /// Lowers a loop whose iterations run one by one.
    fn each(&mut self, r: Reg, lo: &Expr, hi: &Expr, body: &[Stmt]) {
        let [lo, hi] = self.bounds(lo, hi);
        let counter = self.scalar().0;
        let value = Value { slot: counter, ty: Ty::I64, array: false, early: self.vector.is_none() };
        self.bound.insert(r, Bound::Value(value));
        self.deeper(1);
        let body = self.steps(body);
        self.deeper(-1);
        self.here.push(Step::Loop { counter, lo, hi, body });
    }

    pub(super) fn bounds(&mut self, lo: &Expr, hi: &Expr) -> [Slot; 2] {
        [lo, hi].map(|e| self.value(e).slot)
    }

    /// Lowers a loop that runs a block of iterations at a time.
    fn blocks(&mut self, r: Reg, lo: &Expr, hi: &Expr, body: &[Stmt]) {
        let [lo, hi] = self.bounds(lo, hi);
        self.blocks_of(r, lo, hi, body, &mut |l| l.block(body));
    }

    /// Lowers such a loop with a body that `inner` emits.
    pub(super) fn blocks_of(
        &mut self,
        r: Reg,
        lo: Slot,
        hi: Slot,
        body: &[Stmt],
        inner: &mut dyn FnMut(&mut Self),
    ) {
        let counter = self.scalar().0;
        self.vector = Some(Vector {
            counter,
            head: Vec::new(),
            windows: Vec::new(),
            window_of: HashMap::new(),
            known: HashMap::new(),
            splats: HashMap::new(),
            depth: 0,
            stored: analyse::Stored::of(body),
            copied: analyse::copied(self.k, body),
        });
        self.bound.insert(r, Bound::Linear(INDEX, None));
        let before = std::mem::take(&mut self.here);
        inner(self);
        let body = std::mem::replace(&mut self.here, before);
        let Some(Vector { head, windows, .. }) = self.vector.take() else { unreachable!("it was set above") };
        let (block, bytes) = registers::allocate(&mut self.program.homes, &head, &body);
        self.program.arena = self.program.arena.max(bytes);
        self.here.push(Step::Blocks(Box::new(Blocks { counter, lo, hi, head, windows, body, block })));
    }

    fn record(&mut self, site: u32, c: &Expr, at: &Expr) {
        let slot = match self.sites.get(&site) {
            Some(slot) => *slot,
            None => {
                let (slot, number) = self.scalar();
                self.program.sites.push((number, site));
                self.sites.insert(site, slot);
                slot
            }
        };
        let condition = self.value(c);
        if self.vector.is_none() {
            let at = self.value(at);
            self.push(record_one(self.level), slot, [condition.slot, at.slot, NONE]);
            return;
        }
        let condition = self.splat(condition);
        match self.linear(at) {
            Some(l) => {
                // the first index is computed in each block: the counter is not early
                let counter = self.vector.as_ref().map_or(NONE, |v| v.counter);
                let moved = self.int(BinaryOp::Mul, Num::Slot(counter, false), l.step);
                let start = self.int(BinaryOp::Add, moved, l.start);
                let [start, step] = [start, l.step].map(|n| self.number(n).slot);
                self.push(record_linear(self.level), slot, [condition.slot, start, step]);
            }
            None => {
                let at = self.value(at);
                let at = self.splat(at);
                self.push(record(self.level), slot, [condition.slot, at.slot, NONE]);
            }
        }
    }
}

/// A set of registers.
pub(super) type Regs = HashSet<Reg>;
