//! Indices that are linear in a vector loop's counter: `start + step * counter`, where both are the
//! same for all iterations. i64 wraps, so the arithmetic on these forms is exact.

use super::{Bound, Lower, Value};
use crate::block::ops::ramp;
use crate::block::program::Slot;
use arraygpu_compiler::kernel::Expr;
use arraygpu_compiler::scalar::{BinaryOp, Ty, UnaryOp};

/// A number of i64: a constant, or a scalar and whether it is early.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Num {
    Const(i64),
    Slot(Slot, bool),
}

/// A linear index.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Linear {
    pub start: Num,
    pub step: Num,
}

/// Returns the result of an operation that needs no code: of constants, or with 0 or 1.
pub(super) fn folded(op: BinaryOp, a: Num, b: Num) -> Option<Num> {
    match (op, a, b) {
        (BinaryOp::Add, Num::Const(x), Num::Const(y)) => Some(Num::Const(x.wrapping_add(y))),
        (BinaryOp::Sub, Num::Const(x), Num::Const(y)) => Some(Num::Const(x.wrapping_sub(y))),
        (BinaryOp::Mul, Num::Const(x), Num::Const(y)) => Some(Num::Const(x.wrapping_mul(y))),
        (BinaryOp::Add, x, Num::Const(0)) | (BinaryOp::Add, Num::Const(0), x) => Some(x),
        (BinaryOp::Sub, x, Num::Const(0)) => Some(x),
        (BinaryOp::Mul, x, Num::Const(1)) | (BinaryOp::Mul, Num::Const(1), x) => Some(x),
        (BinaryOp::Mul, _, Num::Const(0)) | (BinaryOp::Mul, Num::Const(0), _) => Some(Num::Const(0)),
        _ => None,
    }
}

impl Linear {
    /// Whether the index is the same for all iterations.
    pub fn is_scalar(self) -> bool {
        self.step == Num::Const(0)
    }
}

impl Lower<'_> {
    /// Returns an index of i64 as a linear form, if it is one.
    pub(super) fn linear(&mut self, e: &Expr) -> Option<Linear> {
        if let Expr::Lit(l) = e {
            return Some(Linear { start: Num::Const(l.as_i64()), step: Num::Const(0) });
        }
        if self.is_scalar(e) {
            let v = self.value(e);
            return Some(Linear { start: Num::Slot(v.slot, v.early), step: Num::Const(0) });
        }
        match e {
            Expr::Reg(r) => match self.bound.get(r) {
                Some(Bound::Linear(l, _)) => Some(*l),
                _ => None,
            },
            Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
                let (a, b) = (self.linear(a)?, self.linear(b)?);
                Some(self.sum(*op, a, b))
            }
            Expr::Binary(BinaryOp::Mul, a, b) => {
                let (a, b) = (self.linear(a)?, self.linear(b)?);
                self.product(a, b)
            }
            Expr::MulAdd(a, b, c) => {
                let (a, b, c) = (self.linear(a)?, self.linear(b)?, self.linear(c)?);
                let product = self.product(a, b)?;
                Some(self.sum(BinaryOp::Add, product, c))
            }
            Expr::Unary(UnaryOp::Neg, a) => {
                let a = self.linear(a)?;
                let zero = Linear { start: Num::Const(0), step: Num::Const(0) };
                Some(self.sum(BinaryOp::Sub, zero, a))
            }
            _ => None,
        }
    }

    fn sum(&mut self, op: BinaryOp, a: Linear, b: Linear) -> Linear {
        Linear { start: self.int(op, a.start, b.start), step: self.int(op, a.step, b.step) }
    }

    fn product(&mut self, a: Linear, b: Linear) -> Option<Linear> {
        let (a, by) = match (a.is_scalar(), b.is_scalar()) {
            (_, true) => (a, b.start),
            (true, false) => (b, a.start),
            _ => return None,
        };
        Some(Linear {
            start: self.int(BinaryOp::Mul, a.start, by),
            step: self.int(BinaryOp::Mul, a.step, by),
        })
    }

    /// Returns the index's values in all iterations of a block, as an array.
    pub(super) fn ramp(&mut self, l: Linear) -> Value {
        let operands = [l.start, l.step].map(|n| self.number(n).slot);
        let counter = self.vector.as_ref().map_or(0, |v| v.counter);
        let slot = self.register(Ty::I64);
        self.push(ramp(self.level), slot, [operands[0], operands[1], counter]);
        Value { slot, ty: Ty::I64, array: true, early: false }
    }

    /// Whether an expression has the same value in all iterations of the vector loop.
    pub(super) fn is_scalar(&self, e: &Expr) -> bool {
        if self.vector.is_none() {
            return true;
        }
        if let Expr::Reg(r) = e {
            return matches!(self.bound.get(r), Some(Bound::Value(v)) if !v.array);
        }
        let mut all = true;
        e.children(&mut |c| all = all && self.is_scalar(c));
        all
    }
}
