//! The record that computing a value leaves, as a label: 0 if it leaves none.

use crate::core::simplify::simplify;
use crate::core::{Graph, LabelSet, NodeId, Op};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};

/// The label, u32, and the set of labels that it may be. `None` if no record can be left.
#[derive(Clone, Default)]
pub struct Kept(Option<(NodeId, LabelSet)>);

impl Kept {
    /// Returns the record of one place, which is left where the condition holds.
    pub fn of_place(g: &mut Graph, label: u32, is_left: NodeId) -> Kept {
        let [zero, own] = [0, label].map(|bits| g.lit(Lit { ty: Ty::U32, bits: bits.into() }));
        Kept::of(simplify(g, Op::Select(is_left, own, zero)), LabelSet::one(label))
    }

    /// Returns the record with this label.
    pub fn of(label: NodeId, labels: LabelSet) -> Kept {
        Kept(Some((label, labels)))
    }

    /// Whether no record can be left.
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the label and the set of labels that it may be, if there may be a record.
    pub fn label(&self) -> Option<&(NodeId, LabelSet)> {
        self.0.as_ref()
    }

    /// Returns the record of an element that needs both values: the first one in the author's program.
    pub fn first(g: &mut Graph, a: &Kept, b: &Kept) -> Kept {
        match (&a.0, &b.0) {
            (Some((x, of_x)), Some((y, of_y))) => {
                let labels = of_x.union(of_y);
                let op = Kept::join(&labels);
                Kept::of(simplify(g, Op::Binary(op, *x, *y)), labels)
            }
            (None, _) => b.clone(),
            (_, None) => a.clone(),
        }
    }

    /// Returns the operator that joins such labels. If there is only one label, a cheaper one suffices.
    pub fn join(labels: &LabelSet) -> BinaryOp {
        if labels.is_one() { BinaryOp::Or } else { BinaryOp::Max }
    }

    /// Returns the record of `a` if the condition holds, else that of `b`.
    pub fn select(g: &mut Graph, condition: NodeId, a: &Kept, b: &Kept) -> Kept {
        let labels = match (&a.0, &b.0) {
            (Some((_, x)), Some((_, y))) => x.union(y),
            (Some((_, one)), None) | (None, Some((_, one))) => one.clone(),
            (None, None) => return Kept::default(),
        };
        let zero = g.lit(Lit::zero(Ty::U32));
        let [a, b] = [a, b].map(|of| of.0.as_ref().map_or(zero, |of| of.0));
        Kept::of(simplify(g, Op::Select(condition, a, b)), labels)
    }

    /// Returns the value with its record, if there is one. Records are rare, so the slow path leaves them.
    pub fn left(&self, g: &mut Graph, value: NodeId) -> NodeId {
        let Some((label, labels)) = self.0.clone() else { return value };
        let zero = g.lit(Lit::zero(Ty::U32));
        let any = g.add(Op::Binary(BinaryOp::Ne, label, zero));
        let any = g.add(Op::Unary(UnaryOp::Unlikely, any));
        let is_left = g.add(Op::Leave(label, labels));
        // both arms are the value, but nothing outside of this operation knows that
        let nothing = g.lit(Lit::zero(g.ty(value).elem));
        let left = g.add(Op::Select(is_left, value, nothing));
        g.add(Op::Select(any, left, value))
    }
}

/// Returns the value and the record of a node that [`Kept::left`] has made.
pub fn of_left(g: &Graph, n: NodeId) -> Option<(NodeId, Kept)> {
    let Op::Select(any, left, value) = *g.op(n) else { return None };
    let Op::Select(is_left, known, _) = *g.op(left) else { return None };
    match g.op(is_left) {
        Op::Leave(label, labels)
            if known == value && matches!(g.op(any), Op::Unary(UnaryOp::Unlikely, _)) =>
        {
            Some((value, Kept::of(*label, labels.clone())))
        }
        _ => None,
    }
}

/// Returns the type that holds such labels in memory.
pub fn type_of(labels: &LabelSet) -> Ty {
    match labels.greatest() {
        0..=0xff => Ty::U8,
        0x100..=0xffff => Ty::U16,
        _ => Ty::U32,
    }
}
