//! Loads and stores. A load of contiguous elements copies nothing: it is a window into the array.
//! Other loads gather the elements into a block register.

use super::linear::{Linear, Num};
use super::{Kind, Lower, Target, Value};
use crate::block::ops::{
    gather, gather_if, load_if, load_masked, load_one, load_strided, scatter, store_one, store_strided,
};
use crate::block::program::{Home, NONE, Slot, Window};
use arraygpu_compiler::kernel::{Expr, Mem};
use arraygpu_compiler::scalar::{BinaryOp, Ty};

impl Lower<'_> {
    /// Loads an element.
    pub(super) fn load(&mut self, m: Mem, i: &Expr, to: Option<Target>) -> Value {
        let ty = self.k.mem(m).1;
        let size = ty.size();
        match self.linear(i) {
            Some(l) if l.is_scalar() => {
                let index = self.scaled(m, l.start);
                let index = self.number(index);
                let base = self.base(m);
                let v =
                    self.load_scalar(Some(m), load_one(size, self.level), [index, self.early(base, ty)], ty);
                self.loaded(m, v, to)
            }
            Some(l) => {
                let (window, step) = self.window(m, l);
                match step {
                    None => self.loaded(m, Value { slot: window, ty, array: true, early: false }, to),
                    Some(step) => {
                        let d = self.result(m, ty, to);
                        self.push(load_strided(size, self.level), d, [window, step.slot, NONE]);
                        self.loaded(m, Value { slot: d, ty, array: true, early: false }, to)
                    }
                }
            }
            None => {
                let index = self.indices(m, i);
                let (base, d) = (self.base(m), self.result(m, ty, to));
                self.push(gather(size, self.level), d, [index.slot, base, NONE]);
                self.loaded(m, Value { slot: d, ty, array: true, early: false }, to)
            }
        }
    }

    /// Loads an element where the condition holds, else gives 0 without reading.
    pub(super) fn load_if(&mut self, m: Mem, i: &Expr, c: &Expr, to: Option<Target>) -> Value {
        let ty = self.k.mem(m).1;
        let (size, base) = (ty.size(), self.base(m));
        let condition = self.value(c);
        if !condition.array && self.is_scalar(i) {
            let index = self.value(i);
            let index = self.scaled(m, Num::Slot(index.slot, index.early));
            let index = self.number(index);
            let operands = [index, self.early(base, ty), condition];
            let v = self.load_scalar(Some(m), load_if(size, self.level), operands, ty);
            return self.loaded(m, v, to);
        }
        let condition = self.splat(condition);
        let d = self.result(m, ty, to);
        let linear = self.linear(i).filter(|l| !l.is_scalar());
        let window = linear.map(|l| self.window(m, l));
        match window {
            Some((window, None)) => {
                self.push(load_masked(size, self.level), d, [window, condition.slot, NONE]);
            }
            _ => {
                let index = self.indices(m, i);
                self.push(gather_if(size, self.level), d, [index.slot, base, condition.slot]);
            }
        }
        self.loaded(m, Value { slot: d, ty, array: true, early: false }, to)
    }

    /// Loads the value of a slot of the call.
    pub(super) fn load_slot(&mut self, i: u32) -> Value {
        let ty = self.k.slots[i as usize].ty;
        let base = self.place_of_slot(i);
        let zero = self.early(NONE, Ty::I64);
        let v = self.load_scalar(None, load_one(ty.size(), self.level), [zero, self.early(base, ty)], ty);
        if ty == Ty::Bool { self.apply(Kind::IsTrue, vec![v], None) } else { v }
    }

    /// Returns the address of a slot of the call.
    pub(super) fn place_of_slot(&mut self, i: u32) -> Slot {
        if let Some(slot) = self.places.get(&i) {
            return *slot;
        }
        let slot = self.slot(Home::Place(i));
        self.places.insert(i, slot);
        slot
    }

    /// Loads a scalar. The load is placed before the vector loop only where every run of the loop
    /// would do it, and nothing in the loop stores to that memory.
    fn load_scalar<const N: usize>(
        &mut self,
        m: Option<Mem>,
        op: crate::block::ops::Op,
        operands: [Value; N],
        ty: Ty,
    ) -> Value {
        let fixed = self.vector.as_ref().is_none_or(|v| {
            v.depth == 0 && m.is_none_or(|m| !v.stored.may_be(self.k, m)) && operands.iter().all(|o| o.early)
        });
        let mut slots = [NONE; 3];
        slots.iter_mut().zip(&operands).for_each(|(s, v)| *s = v.slot);
        if fixed && self.vector.is_some() {
            return self.once(op, slots, ty);
        }
        let slot = self.scalar().0;
        self.push(op, slot, slots);
        Value { slot, ty, array: false, early: fixed }
    }

    /// Converts a loaded value: a bool of the caller's arrays is true if its byte is not 0.
    fn loaded(&mut self, m: Mem, v: Value, to: Option<Target>) -> Value {
        if v.ty == Ty::Bool && !matches!(m, Mem::Local(_)) {
            return self.apply(Kind::IsTrue, vec![v], to);
        }
        to.map_or(v, |to| self.place(v, to))
    }

    /// Returns the slot to which a loop writes what it loads.
    fn result(&mut self, m: Mem, ty: Ty, to: Option<Target>) -> Slot {
        match to {
            Some(to)
                if to.array && (ty != Ty::Bool || matches!(m, Mem::Local(_))) && !self.is_memory(to.slot) =>
            {
                to.slot
            }
            _ => self.register(ty),
        }
    }

    /// Whether a slot is anything but a block register.
    fn is_memory(&self, slot: Slot) -> bool {
        !matches!(self.program.homes[slot as usize], Home::Block(_))
    }

    /// Returns an index times the array's stride.
    fn scaled(&mut self, m: Mem, index: Num) -> Num {
        match self.stride(m) {
            Some(stride) => self.int(BinaryOp::Mul, index, Num::Slot(stride.slot, stride.early)),
            None => index,
        }
    }

    /// Returns the index of each iteration, times the array's stride.
    fn indices(&mut self, m: Mem, i: &Expr) -> Value {
        let index = self.value(i);
        let index = self.splat(index);
        match self.stride(m) {
            Some(stride) => self.apply(Kind::Binary(BinaryOp::Mul, Ty::I64), vec![index, stride], None),
            None => index,
        }
    }

    /// Returns a window at the block's first element, and the distance between elements if they are
    /// not contiguous.
    fn window(&mut self, m: Mem, l: Linear) -> (Slot, Option<Value>) {
        let distance = self.scaled(m, l.step);
        let distance = (distance != Num::Const(1)).then(|| self.number(distance));
        let [start, step] = [l.start, l.step].map(|n| self.number(n));
        let (base, one) = (self.base(m), self.constant(1));
        let stride = self.stride(m).map_or(one, |s| s.slot);
        let Some(v) = &mut self.vector else { unreachable!("windows are of vector loops") };
        let (counter, size) = (v.counter, self.k.mem(m).1.size() as i64);
        let early = start.early && step.early;
        let key = (base, start.slot, step.slot);
        if let (true, Some(slot)) = (early, v.window_of.get(&key)) {
            return (*slot, distance);
        }
        let slot = self.slot(Home::Moving);
        let window = Window { slot, base, start: start.slot, step: step.slot, counter, stride, size };
        match &mut self.vector {
            Some(v) if early => {
                v.windows.push(window);
                v.window_of.insert(key, slot);
            }
            _ => self.push_windows(window),
        }
        (slot, distance)
    }

    /// Stores an element.
    pub(super) fn store(&mut self, m: Mem, i: &Expr, e: &Expr) {
        let ty = self.k.mem(m).1;
        let size = ty.size();
        if self.vector.is_none() {
            let v = self.value(e);
            let index = self.value(i);
            let index = self.scaled(m, Num::Slot(index.slot, true));
            let (index, base) = (self.number(index), self.base(m));
            self.push(store_one(size, self.level), base, [index.slot, v.slot, NONE]);
            return;
        }
        match self.linear(i) {
            Some(l) => {
                let (window, step) = self.window(m, l);
                match step {
                    None => {
                        self.compute(e, Some(Target { slot: window, array: true }));
                    }
                    Some(step) => {
                        let v = self.value(e);
                        let v = self.splat(v);
                        self.push(store_strided(size, self.level), window, [v.slot, step.slot, NONE]);
                    }
                }
            }
            None => {
                let v = self.value(e);
                let v = self.splat(v);
                let (index, base) = (self.indices(m, i), self.base(m));
                self.push(scatter(size, self.level), base, [index.slot, v.slot, NONE]);
            }
        }
    }
}
