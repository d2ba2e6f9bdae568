//! Lowers kernel IR to a program: assigns slots, and places operations.
//!
//! Every value is a scalar, except in the loops that [`analyse`] finds to be vector loops. Within
//! such a loop, a value is a scalar (the same for all iterations) or an array of a block's length.
//! Scalars that do not depend on the block are computed once, before the loop (*early*).

mod analyse;
mod expr;
mod fold;
mod linear;
mod memory;
mod rows;
mod stmt;

use super::ops::{Kind, Op, copy, find, in_place, splat};
use super::program::{Home, Instr, NONE, Program, Slot, Step, Window};
use crate::level::Level;
use arraygpu_compiler::kernel::{Kernel, Mem, Reg, Stmt};
use arraygpu_compiler::scalar::{BinaryOp, Ty};
use linear::{Linear, Num};
use std::collections::{HashMap, HashSet};

/// A value and where it is.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Value {
    slot: Slot,
    ty: Ty,
    /// Whether the value is an array, not a scalar.
    array: bool,
    /// Whether the value is a scalar that is known before the enclosing vector loop begins.
    early: bool,
}

/// Where a value should be written.
#[derive(Clone, Copy)]
struct Target {
    slot: Slot,
    array: bool,
}

/// What a register of the kernel is bound to.
#[derive(Clone)]
enum Bound {
    Value(Value),
    /// In a vector loop, an index that is linear in the counter. Its values are computed when
    /// something needs them.
    Linear(Linear, Option<Value>),
}

/// The vector loop that is being lowered.
struct Vector {
    counter: Slot,
    head: Vec<Step>,
    /// The windows that move at the beginning of each block, and the slot of each by array, start
    /// and step.
    windows: Vec<Window>,
    window_of: HashMap<(Slot, Slot, Slot), Slot>,
    /// The results of the head's operations, by operation and operands.
    known: HashMap<(usize, [Slot; 3]), Slot>,
    /// The arrays that repeat a scalar, by the scalar's slot and the element size: a slot may be
    /// read as several types.
    splats: HashMap<(Slot, usize), Slot>,
    /// The number of enclosing loops and branches within this loop.
    depth: u32,
    /// What the loop stores to, and which registers must not be windows because their memory is
    /// stored to before their last use.
    stored: analyse::Stored,
    copied: HashSet<Reg>,
}

struct Lower<'k> {
    k: &'k Kernel,
    level: Level,
    program: Program,
    constants: HashMap<u64, Slot>,
    ins: HashMap<u32, Slot>,
    strides: HashMap<u32, Slot>,
    bases: HashMap<Mem, Slot>,
    places: HashMap<u32, Slot>,
    sites: HashMap<u32, Slot>,
    bound: HashMap<Reg, Bound>,
    /// Slots of registers that may be assigned.
    vars: HashSet<Slot>,
    tiles: [Slot; 2],
    here: Vec<Step>,
    vector: Option<Vector>,
}

/// Lowers `main` or `finish`.
pub(super) fn lower(k: &Kernel, body: &[Stmt], level: Level) -> Program {
    let program = Program {
        homes: Vec::new(),
        scalars: 0,
        locals: 0,
        arena: 0,
        constants: Vec::new(),
        ins: Vec::new(),
        strides: Vec::new(),
        tiles: [0; 2],
        sites: Vec::new(),
        steps: Vec::new(),
    };
    let mut l = Lower {
        k,
        level,
        program,
        constants: HashMap::new(),
        ins: HashMap::new(),
        strides: HashMap::new(),
        bases: HashMap::new(),
        places: HashMap::new(),
        sites: HashMap::new(),
        bound: HashMap::new(),
        vars: HashSet::new(),
        tiles: [0; 2],
        here: Vec::new(),
        vector: None,
    };
    let none = l.constant(0);
    debug_assert_eq!(none, NONE);
    let [begin, end] = [(); 2].map(|()| l.scalar());
    (l.program.tiles, l.tiles) = ([begin.1, end.1], [begin.0, end.0]);
    l.block(body);
    l.program.steps = std::mem::take(&mut l.here);
    l.program
}

/// Slots.
impl Lower<'_> {
    fn slot(&mut self, home: Home) -> Slot {
        self.program.homes.push(home);
        self.program.homes.len() as Slot - 1
    }

    /// Makes a new scalar; returns its slot and its number.
    fn scalar(&mut self) -> (Slot, u32) {
        let number = self.program.scalars;
        self.program.scalars += 1;
        (self.slot(Home::Scalar(number)), number)
    }

    fn constant(&mut self, bits: u64) -> Slot {
        if let Some(slot) = self.constants.get(&bits) {
            return *slot;
        }
        let (slot, number) = self.scalar();
        self.program.constants.push((number, bits));
        self.constants.insert(bits, slot);
        slot
    }

    /// Makes a new block register.
    fn register(&mut self, ty: Ty) -> Slot {
        self.slot(Home::Block(ty.size() as u32))
    }

    /// A value that is known everywhere.
    fn early(&self, slot: Slot, ty: Ty) -> Value {
        Value { slot, ty, array: false, early: true }
    }

    /// Returns the slot with the address of an array's first element.
    fn base(&mut self, m: Mem) -> Slot {
        if let Some(slot) = self.bases.get(&m) {
            return *slot;
        }
        let home = match m {
            Mem::Array(i) => Home::Array(i),
            Mem::Scratch(i) => Home::Scratch(i),
            Mem::Local(i) | Mem::Shared(i) => {
                let (_, ty, len) = &self.k.locals[i as usize];
                let at = self.program.locals;
                self.program.locals += super::frame::align(*len as usize * ty.size()) as u32;
                Home::Local(at)
            }
        };
        let slot = self.slot(home);
        self.bases.insert(m, slot);
        slot
    }

    /// Returns the stride of an array, if it has one.
    fn stride(&mut self, m: Mem) -> Option<Value> {
        let Mem::Array(i) = m else { return None };
        if !self.k.arrays[i as usize].strided {
            return None;
        }
        let slot = match self.strides.get(&i) {
            Some(slot) => *slot,
            None => {
                let (slot, number) = self.scalar();
                self.program.strides.push((number, i));
                self.strides.insert(i, slot);
                slot
            }
        };
        Some(self.early(slot, Ty::I64))
    }
}

/// Operations.
impl Lower<'_> {
    fn push(&mut self, op: Op, d: Slot, operands: [Slot; 3]) {
        push(&mut self.here, op, d, operands);
    }

    fn push_windows(&mut self, window: Window) {
        match self.here.last_mut() {
            Some(Step::Windows(list)) => list.push(window),
            _ => self.here.push(Step::Windows(vec![window])),
        }
    }

    /// Returns the result of an operation on scalars.
    fn of_scalars(&mut self, op: Op, operands: &[Value], ty: Ty) -> Value {
        let mut slots = [NONE; 3];
        slots.iter_mut().zip(operands).for_each(|(s, v)| *s = v.slot);
        if operands.iter().all(|v| v.early) {
            return self.once(op, slots, ty);
        }
        let slot = self.scalar().0;
        self.push(op, slot, slots);
        Value { slot, ty, array: false, early: false }
    }

    /// Returns the result of an operation that is computed before the enclosing vector loop, or
    /// here if there is none.
    fn once(&mut self, op: Op, slots: [Slot; 3], ty: Ty) -> Value {
        let key = (op as usize, slots);
        if let Some(slot) = self.vector.as_ref().and_then(|v| v.known.get(&key)) {
            return self.early(*slot, ty);
        }
        let slot = self.scalar().0;
        match &mut self.vector {
            Some(v) => {
                push(&mut v.head, op, slot, slots);
                v.known.insert(key, slot);
            }
            None => self.push(op, slot, slots),
        }
        self.early(slot, ty)
    }

    /// Returns a scalar as an array.
    fn splat(&mut self, v: Value) -> Value {
        if v.array {
            return v;
        }
        if let Some(slot) = self.vector.as_ref().and_then(|vector| vector.splats.get(&(v.slot, v.ty.size())))
        {
            return Value { slot: *slot, array: true, early: false, ..v };
        }
        let slot = self.register(v.ty);
        let op = splat(v.ty.size(), self.level);
        match &mut self.vector {
            Some(vector) if v.early => {
                push(&mut vector.head, op, slot, [v.slot, NONE, NONE]);
                vector.splats.insert((v.slot, v.ty.size()), slot);
            }
            _ => self.push(op, slot, [v.slot, NONE, NONE]),
        }
        Value { slot, array: true, early: false, ..v }
    }

    /// Copies a value to the target, unless it is there.
    fn place(&mut self, v: Value, to: Target) -> Value {
        if v.slot == to.slot {
            return v;
        }
        let size = v.ty.size();
        let op = match (v.array, to.array) {
            (false, true) => splat(size, self.level),
            _ => copy(size, self.level),
        };
        self.push(op, to.slot, [v.slot, NONE, NONE]);
        Value { slot: to.slot, array: to.array, early: false, ..v }
    }

    /// Returns the result of an operation on these operands.
    fn apply(&mut self, kind: Kind, mut operands: Vec<Value>, to: Option<Target>) -> Value {
        let ty = kind.result();
        if kind.is_same() {
            let v = Value { ty, ..operands[0] };
            return to.map_or(v, |to| self.place(v, to));
        }
        let kind = ordered(kind, &mut operands);
        if operands.iter().all(|v| !v.array) {
            return self.scalars(kind, &operands, to);
        }
        let mut arrays: Vec<bool> = operands.iter().map(|v| v.array).collect();
        let op = match find(kind, &arrays, self.level) {
            Some(op) => op,
            None => {
                operands = operands.into_iter().map(|v| self.splat(v)).collect();
                arrays.fill(true);
                let Some(op) = find(kind, &arrays, self.level) else {
                    unreachable!("verified: {kind:?} is an operation of a CPU kernel")
                };
                op
            }
        };
        let mut slots = [NONE; 3];
        slots.iter_mut().zip(&operands).for_each(|(s, v)| *s = v.slot);
        if let Some(to) = to
            && let Some(v) = self.onto(kind, &operands, slots, to)
        {
            return v;
        }
        // the result must not be in an operand's place: that would be right, but the loop would not
        // run as vector code
        let elsewhere = to.filter(|to| to.array && !slots.contains(&to.slot));
        let slot = elsewhere.map_or_else(|| self.register(ty), |to| to.slot);
        self.push(op, slot, slots);
        let v = Value { slot, ty, array: true, early: false };
        to.map_or(v, |to| self.place(v, to))
    }

    /// Emits the operation with its result in an operand's place, if there is code for that.
    fn onto(&mut self, kind: Kind, operands: &[Value], slots: [Slot; 3], to: Target) -> Option<Value> {
        let is_product = operands.len() == 3;
        let at = if is_product { 2 } else { slots[..operands.len()].iter().position(|s| *s == to.slot)? };
        let others: Vec<Value> =
            operands.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, v)| *v).collect();
        let commutes = matches!(kind, Kind::Binary(op, _) if op.is_commutative());
        if slots[at] != to.slot || others.iter().any(|v| v.slot == to.slot) || (at == 1 && !commutes) {
            return None;
        }
        if !others.first().is_some_and(|v| v.array) {
            return None;
        }
        let op = in_place(kind, others.get(1).is_some_and(|v| v.array), self.level)?;
        let slots = match is_product {
            true => [others[0].slot, others[1].slot, NONE],
            false => [NONE, others[0].slot, NONE],
        };
        self.push(op, to.slot, slots);
        Some(Value { slot: to.slot, ty: kind.result(), array: true, early: false })
    }

    fn scalars(&mut self, kind: Kind, operands: &[Value], to: Option<Target>) -> Value {
        let none = [false; 3];
        let Some(op) = find(kind, &none[..operands.len()], self.level) else {
            unreachable!("verified: {kind:?} is an operation of a CPU kernel")
        };
        match to {
            Some(to) if !to.array => {
                let mut slots = [NONE; 3];
                slots.iter_mut().zip(operands).for_each(|(s, v)| *s = v.slot);
                self.push(op, to.slot, slots);
                Value { slot: to.slot, ty: kind.result(), array: false, early: false }
            }
            _ => {
                let v = self.of_scalars(op, operands, kind.result());
                to.map_or(v, |to| self.place(v, to))
            }
        }
    }

    /// Returns the sum, difference, product or the like of two numbers of i64.
    fn int(&mut self, op: BinaryOp, a: Num, b: Num) -> Num {
        if let Some(known) = linear::folded(op, a, b) {
            return known;
        }
        let operands = [a, b].map(|n| self.number(n));
        let v = self.scalars(Kind::Binary(op, Ty::I64), &operands, None);
        Num::Slot(v.slot, v.early)
    }

    /// Returns a number as a value.
    fn number(&mut self, n: Num) -> Value {
        match n {
            Num::Const(x) => {
                let slot = self.constant(x as u64);
                self.early(slot, Ty::I64)
            }
            Num::Slot(slot, early) => Value { slot, ty: Ty::I64, array: false, early },
        }
    }
}

fn push(list: &mut Vec<Step>, op: Op, d: Slot, [a, b, c]: [Slot; 3]) {
    let instr = Instr { op, d, a, b, c };
    match list.last_mut() {
        Some(Step::Ops(ops)) => ops.push(instr),
        _ => list.push(Step::Ops(vec![instr])),
    }
}

/// Returns an equal operation with array operands first, and without "greater".
fn ordered(kind: Kind, operands: &mut [Value]) -> Kind {
    match kind {
        Kind::Binary(op @ (BinaryOp::Gt | BinaryOp::Ge), ty) => {
            operands.swap(0, 1);
            Kind::Binary(if op == BinaryOp::Gt { BinaryOp::Lt } else { BinaryOp::Le }, ty)
        }
        Kind::Binary(op, _) if op.is_commutative() && !operands[0].array => {
            operands.swap(0, 1);
            kind
        }
        Kind::MulAdd(_) | Kind::Added(_) | Kind::Subtracted(_) if !operands[0].array => {
            operands.swap(0, 1);
            kind
        }
        kind => kind,
    }
}
