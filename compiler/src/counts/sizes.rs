//! Extents and host scalars as numbers, in any form of core IR.

use super::model::Size;
use super::walk::Walk;
use crate::core::{Form, NodeId, Op, ScanPart};
use crate::scalar::{Lit, Ty, eval_binary, eval_cast, eval_mul_add, eval_unary};

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
        match self.g.op(x).clone() {
            Op::Param(p) => match &self.sizes_of_params[p as usize] {
                Size::Extents(extents) => extents.clone(),
                Size::Value(_) => Vec::new(),
            },
            Op::Map(_, srcs) => self.extents(srcs[0]),
            Op::Scan { part: ScanPart::Totals, init, .. } => vec![self.length(init)],
            Op::Reverse(y, _)
            | Op::Materialize(y)
            | Op::Argsort(y)
            | Op::Scan { src: y, .. }
            | Op::Place { src: y, .. } => self.extents(y),
            Op::Iterate { which, form, count, args, .. } => {
                let each = (form == Form::Each).then(|| self.length(count));
                each.into_iter().chain(self.extents(args[which as usize])).collect()
            }
            Op::Generate(extents, _) => extents.iter().map(|n| self.length(*n)).collect(),
            Op::Iota(n) | Op::Fill(n, _) => vec![self.length(n)],
            Op::Permute(y, axes) => {
                let of = self.extents(y);
                axes.iter().map(|axis| of[*axis as usize]).collect()
            }
            Op::Pick { src, axis, .. } => {
                let mut of = self.extents(src);
                of.remove(axis.into());
                of
            }
            Op::Spread { src, axis, n } => {
                let mut of = self.extents(src);
                of.insert(axis.into(), self.length(n));
                of
            }
            Op::Slice { src, axis, start, stop, stride } => {
                let mut of = self.extents(src);
                let [start, stop, stride] = [start, stop, stride].map(|n| self.length(n));
                let stride = stride.max(1);
                of[axis as usize] = ((stop - start).max(0) + stride - 1) / stride;
                of
            }
            _ => Vec::new(),
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
