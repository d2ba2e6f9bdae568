//! Extents and host scalars as numbers, in any form of core IR.

use super::model::Size;
use super::walk::Walk;
use crate::core::length::Length;
use crate::core::{Function, NodeId, Op, Type};
use crate::scalar::{Lit, Ty, eval_binary, eval_cast, eval_mul_add, eval_unary};

/// Returns the sizes of a function's parameters where every extent is `n`. Scalars of type i64 are
/// counts.
pub fn sizes(f: &Function, n: i64) -> Vec<Size> {
    let size = |ty: Type| match (ty.rank, ty.elem) {
        (0, Ty::I64) => Size::Value(Some(Lit::i64(n))),
        (0, _) => Size::Value(None),
        (rank, _) => Size::Extents(vec![n; rank.into()]),
    };
    f.params.iter().map(|p| size(p.ty)).collect()
}

impl Walk<'_> {
    /// Returns the value of a scalar that follows from sizes; that of an index is the middle of its
    /// range.
    pub fn value(&mut self, n: NodeId) -> Option<Lit> {
        if let Some(known) = self.values.get(&n) {
            return *known;
        }
        let value = match *self.g.op(n) {
            Op::Const(l) => Some(l),
            Op::Var(v, Ty::I64) => self.middle(v),
            Op::Param(p) => match &self.sizes_of_params[p as usize] {
                Size::Value(value) => *value,
                Size::Extents(_) => None,
            },
            Op::Len(x, axis) => self.extents(x).get(axis as usize).map(|n| Lit::i64(*n)),
            Op::Turn => self.turn,
            Op::Checked => Some(Lit::i64(0)),
            Op::Stage(a) => self.value(a),
            Op::Unary(op, a) => self.value(a).map(|a| eval_unary(op, a)),
            Op::Binary(op, a, b) => self.value(a).zip(self.value(b)).map(|(a, b)| eval_binary(op, a, b).0),
            Op::MulAdd(a, b, c) => {
                let (a, b, c) = (self.value(a), self.value(b), self.value(c));
                a.zip(b).zip(c).map(|((a, b), c)| eval_mul_add(a, b, c))
            }
            Op::Select(c, a, b) => self.value(c).and_then(|c| self.value(if c.as_bool() { a } else { b })),
            Op::Cast(ty, a) => self.value(a).map(|a| eval_cast(ty, a)),
            _ => None,
        };
        self.values.insert(n, value);
        value
    }

    /// Returns a length or a count; 1 if it is not known.
    pub fn length(&mut self, n: NodeId) -> i64 {
        self.value(n).map_or(1, |l| l.as_i64().max(0))
    }

    /// Returns a number of steps.
    pub fn count(&mut self, n: NodeId) -> f64 {
        self.length(n) as f64
    }

    /// Returns the extents of an array.
    pub fn extents(&mut self, x: NodeId) -> Vec<i64> {
        (0..self.g.ty(x).rank).map(|axis| self.extent(x, axis)).collect()
    }

    fn extent(&mut self, x: NodeId, axis: u8) -> i64 {
        match (Length::of(self.g.op(x), axis), self.g.op(x)) {
            (Length::Of(x, axis), _) => self.extent(x, axis),
            (Length::Is(n), _) => self.length(n),
            (Length::Span { start, stop, stride }, _) => {
                let [start, stop, stride] = [start, stop, stride].map(|n| self.length(n));
                let stride = stride.max(1);
                ((stop - start).max(0) + stride - 1) / stride
            }
            (Length::Own, Op::Param(p)) => match &self.sizes_of_params[*p as usize] {
                Size::Extents(extents) => extents.get(axis as usize).copied().unwrap_or(1),
                Size::Value(_) => 1,
            },
            (Length::Own, _) => 1,
        }
    }

    /// Returns the number of elements of an array.
    pub fn elements(&mut self, x: NodeId) -> f64 {
        self.extents(x).iter().map(|n| *n as f64).product()
    }

    /// Returns the sizes of the arguments of a step.
    pub fn sizes(&mut self, args: &[NodeId]) -> Vec<Size> {
        let size = |a: &NodeId| match self.g.ty(*a).is_scalar() {
            true => Size::Value(self.value(*a)),
            false => Size::Extents(self.extents(*a)),
        };
        args.iter().map(size).collect()
    }
}
