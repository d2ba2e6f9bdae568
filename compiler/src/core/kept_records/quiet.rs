//! An element without its records: its value, and the label of the record that it would leave.

use super::kept::{Kept, of_left};
use crate::core::labels::RecordPlace;
use crate::core::records::may_record;
use crate::core::simplify::{extent, simplify};
use crate::core::{Graph, Lambda, NodeId, Op};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp, eval_cast};
use rustc_hash::FxHashMap as HashMap;

/// The rewriting of one element.
#[derive(Default)]
pub struct Quiet {
    values: HashMap<NodeId, NodeId>,
    kept: HashMap<NodeId, Kept>,
    /// For loops of the element whose steps may leave records, and reductions whose operators may: their values, and
    /// the record. The key is their first value.
    pub(super) loops: HashMap<NodeId, (Vec<NodeId>, Kept)>,
    /// The known answers of [`Quiet::is_apart`].
    apart: HashMap<NodeId, bool>,
    /// Whether the record of a reduction's operator becomes a component of the reduction.
    operators: bool,
}

impl Quiet {
    /// Returns a rewriting that makes the records of reductions' operators components of these reductions, which then
    /// are reductions of tuples.
    pub fn with_operators() -> Quiet {
        Quiet { operators: true, ..Quiet::default() }
    }

    /// Whether a node leaves no record, or is computed once for the call and leaves its records itself.
    fn is_apart(&mut self, g: &Graph, n: NodeId) -> bool {
        if g.is_closed(n) && (g.node(n).once || g.is_stored(n)) {
            return true;
        }
        if let Some(known) = self.apart.get(&n) {
            return *known;
        }
        let op = g.op(n);
        let apart = !op.may_record(g)
            && op.operands().chain(op.lambda().map(|l| l.body)).all(|o| self.is_apart(g, o));
        self.apart.insert(n, apart);
        apart
    }

    /// Returns the condition under which an operation leaves no record, if it may leave one. Its operands are already
    /// without records.
    fn condition(g: &mut Graph, op: &Op) -> Option<NodeId> {
        if !op.may_record(g) {
            return None;
        }
        let zero = g.lit(Lit::i64(0));
        let inside = |g: &mut Graph, i: NodeId, n: NodeId| {
            let low = simplify(g, Op::Binary(BinaryOp::Ge, i, zero));
            let high = simplify(g, Op::Binary(BinaryOp::Lt, i, n));
            simplify(g, Op::Binary(BinaryOp::And, low, high))
        };
        Some(match *op {
            Op::At(x, ref index) => {
                let mut all = g.lit(Lit::bool(true));
                for (i, axis) in index.iter().zip(0u8..) {
                    let n = extent(g, x, axis);
                    let one = inside(g, *i, n);
                    all = simplify(g, Op::Binary(BinaryOp::And, all, one));
                }
                all
            }
            Op::Within(i, n, _) => inside(g, i, n),
            Op::Leave(label, _) => {
                let none = g.lit(Lit::zero(Ty::U32));
                simplify(g, Op::Binary(BinaryOp::Eq, label, none))
            }
            Op::Binary(_, _, b) => {
                let zero = g.lit(Lit::zero(g.ty(b).elem));
                simplify(g, Op::Binary(BinaryOp::Ne, b, zero))
            }
            _ => return None,
        })
    }

    /// Returns the value of a node without its records.
    pub fn value(&mut self, g: &mut Graph, n: NodeId) -> NodeId {
        if self.is_apart(g, n) {
            return n;
        }
        if let Some((value, _)) = of_left(g, n) {
            return self.value(g, value);
        }
        if let Some(known) = self.values.get(&n) {
            return *known;
        }
        let op = g.op(n).clone();
        if let Some(made) = self.of_joint_loop(g, &op) {
            return made;
        }
        let before = g.set_loc(g.node(n).loc.clone());
        let operands: Vec<NodeId> = op.operands().map(|o| self.value(g, o)).collect();
        let lambda = op.lambda().map(|l| self.within(g, l, |this, g, body| this.value(g, body)));
        let op = op.with(&operands, lambda);
        let made = match (Self::condition(g, &op), &op) {
            (Some(inside), Op::Within(..)) => inside,
            (Some(fine), Op::Leave(..)) => simplify(g, Op::Unary(UnaryOp::Not, fine)),
            (Some(fine), Op::Binary(o, a, b)) => {
                let ty = g.ty(*b).elem;
                let [zero, one] = [0, 1].map(|k| g.lit(int(ty, k)));
                let is_zero = g.add(Op::Binary(BinaryOp::Eq, *b, zero));
                let divisor = g.add(Op::Select(is_zero, one, *b));
                let quotient = g.add(Op::Binary(*o, *a, divisor));
                g.add(Op::Select(fine, quotient, zero))
            }
            (Some(inside), op) => {
                let made = g.add(op.clone());
                let zero = g.lit(Lit::zero(g.ty(made).elem));
                simplify(g, Op::Select(inside, made, zero))
            }
            (None, op) => g.add(op.clone()),
        };
        g.set_loc(before);
        let (bound, is_once) = (g.node(n).bound, g.node(n).once);
        g.keep_marks(bound, is_once, made);
        self.values.insert(n, made);
        made
    }

    /// Returns the record that computing a node leaves. Returns `None` if it cannot be kept.
    pub fn kept(&mut self, g: &mut Graph, n: NodeId) -> Option<Kept> {
        if self.is_apart(g, n) {
            return Some(Kept::default());
        }
        if let Some(known) = self.kept.get(&n) {
            return Some(known.clone());
        }
        let made = match of_left(g, n) {
            Some((value, left)) => {
                let of_value = self.kept(g, value)?;
                let left = self.handed_on(g, &left);
                Kept::first(g, &of_value, &left)
            }
            None => self.kept_of(g, n)?,
        };
        self.kept.insert(n, made.clone());
        Some(made)
    }

    /// Returns the record that another launch has found, without computing it again.
    fn handed_on(&mut self, g: &mut Graph, left: &Kept) -> Kept {
        let Some((label, labels)) = left.label() else { return Kept::default() };
        Kept::of(self.value(g, *label), labels.clone())
    }

    /// Returns the first record of several values that are all needed.
    pub(super) fn first_of(&mut self, g: &mut Graph, all: impl IntoIterator<Item = NodeId>) -> Option<Kept> {
        let mut first = Kept::default();
        for n in all {
            let of_one = self.kept(g, n)?;
            first = Kept::first(g, &first, &of_one);
        }
        Some(first)
    }

    fn kept_of(&mut self, g: &mut Graph, n: NodeId) -> Option<Kept> {
        let op = g.op(n).clone();
        match &op {
            Op::Select(c, a, b) => {
                let of_condition = self.kept(g, *c)?;
                let [a, b] = [self.kept(g, *a)?, self.kept(g, *b)?];
                if a.is_none() && b.is_none() {
                    return Some(of_condition);
                }
                let c = self.value(g, *c);
                let of_arms = Kept::select(g, c, &a, &b);
                Some(Kept::first(g, &of_condition, &of_arms))
            }
            Op::Reduce { join: step, .. } | Op::Fold { step, .. } if may_record(g, step.body) => {
                if self.operators { self.of_operator(g, n) } else { None }
            }
            Op::Loop { .. } => self.of_element_loop(g, n),
            Op::Reduce { init, src, .. }
            | Op::Fold { init, src, .. }
            | Op::SquaredDeviations { init, src } => self.of_loop(g, *init, &[*src]),
            Op::Dot { init, a, b } | Op::PanelDot { init, a, b } => self.of_loop(g, *init, &[*a, *b]),
            Op::Materialize(_) | Op::Iterate { .. } => None,
            Op::Leave(label, labels) => {
                let of_label = self.kept(g, *label)?;
                let left = self.handed_on(g, &Kept::of(*label, labels.clone()));
                Some(Kept::first(g, &of_label, &left))
            }
            op => {
                let all = self.first_of(g, op.operands())?;
                if !op.may_record(g) {
                    return Some(all);
                }
                let own = self.own(g, n, op)?;
                Some(Kept::first(g, &all, &own))
            }
        }
    }

    /// Returns the record of a reduction whose operator leaves none.
    fn of_loop(&mut self, g: &mut Graph, init: NodeId, arrays: &[NodeId]) -> Option<Kept> {
        let mut all = self.kept(g, init)?;
        for x in arrays {
            let of_elements = self.of_elements(g, *x)?;
            all = Kept::first(g, &all, &of_elements);
        }
        Some(all)
    }

    /// Returns the record of an operation that may leave one itself.
    fn own(&mut self, g: &mut Graph, n: NodeId, op: &Op) -> Option<Kept> {
        let place = RecordPlace::of(g, n);
        let label = g.label(place);
        let operands: Vec<NodeId> = op.operands().map(|o| self.value(g, o)).collect();
        let fine = Self::condition(g, &op.with(&operands, None))?;
        let is_left = simplify(g, Op::Unary(UnaryOp::Not, fine));
        Some(Kept::of_place(g, label, is_left))
    }

    /// Returns the first record that any of the elements of a `generate` leaves.
    fn of_elements(&mut self, g: &mut Graph, array: NodeId) -> Option<Kept> {
        let Op::Generate(extents, lambda) = g.op(array).clone() else { return Some(Kept::default()) };
        if !may_record(g, lambda.body) {
            return Some(Kept::default());
        }
        let mut found = None;
        let of_element = self.within(g, &lambda, |this, g, body| {
            found = this.kept(g, body);
            let label = found.as_ref().and_then(Kept::label).map(|of| of.0);
            label.unwrap_or_else(|| g.lit(Lit::zero(Ty::U32)))
        });
        let found = found?;
        let Some((_, labels)) = found.label().cloned() else { return Some(found) };
        let src = g.add(Op::Generate(extents, of_element));
        let op = Kept::join(&labels);
        let join = g.lambda(&[Ty::U32; 2], |g, v| g.add(Op::Binary(op, v[0], v[1])));
        let init = g.lit(Lit::zero(Ty::U32));
        Some(Kept::of(g.add(Op::Reduce { join, init, src, which: 0 }), labels))
    }

    /// Rewrites the body of a function inside of the element.
    fn within(
        &mut self,
        g: &mut Graph,
        l: &Lambda,
        rewritten: impl FnOnce(&mut Self, &mut Graph, NodeId) -> NodeId,
    ) -> Lambda {
        let types: Vec<Ty> = l.params.iter().map(|p| p.1).collect();
        g.lambda(&types, |g, v| {
            let body = g.open(l, v);
            rewritten(self, g, body)
        })
    }
}

/// Returns an integer of a type.
fn int(ty: Ty, n: i64) -> Lit {
    eval_cast(ty, Lit::i64(n))
}
