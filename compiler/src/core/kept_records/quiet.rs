//! An element without its records: its value, and the bits of the records that it would leave.

use super::bits::Bits;
use super::place::{RecordingPlace, int};
use crate::core::records::may_record;
use crate::core::simplify::{extent, simplify};
use crate::core::{Graph, Lambda, NodeId, Op};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use rustc_hash::FxHashMap as HashMap;

/// The rewriting of one element.
#[derive(Default)]
pub struct Quiet {
    /// The places that may leave a record, in the order in which they are evaluated. Places of one
    /// line are one place of a report, so they share a bit.
    pub places: Vec<RecordingPlace>,
    values: HashMap<NodeId, NodeId>,
    bits: HashMap<NodeId, Bits>,
    /// Loops of the element whose steps may leave records: their values, and the bits. By their first values.
    pub(super) loops: HashMap<NodeId, (Vec<NodeId>, Bits)>,
    /// The known answers of [`Quiet::is_apart`].
    apart: HashMap<NodeId, bool>,
}

impl Quiet {
    /// Returns the value, with the records whose bits are set. This is rare, so that the slow path
    /// does it.
    pub fn left(&self, g: &mut Graph, bits: &Bits, value: NodeId) -> NodeId {
        let Some(any) = bits.any(g) else { return value };
        let mut left = value;
        // the first place counts
        for (number, place) in self.places.iter().enumerate().rev() {
            if let Some(is_left) = bits.has(g, number) {
                left = place.left(g, is_left, left);
            }
        }
        let any = g.add(Op::Unary(UnaryOp::Unlikely, any));
        g.add(Op::Select(any, left, value))
    }

    /// Whether a node leaves no record, or is computed once for the call and leaves its records
    /// itself.
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

    /// Returns the condition under which an operation leaves no record, if it may leave one. The
    /// operands are those without records.
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
            Op::Within(i, n) => inside(g, i, n),
            Op::Binary(_, _, b) => {
                let zero = g.lit(Lit::zero(g.ty(b).elem));
                simplify(g, Op::Binary(BinaryOp::Ne, b, zero))
            }
            _ => return None,
        })
    }

    /// Returns the value that [`Quiet::left`] was given, if the node comes from it.
    pub fn stored_value(g: &Graph, n: NodeId) -> Option<NodeId> {
        let Op::Select(any, mut left, value) = *g.op(n) else { return None };
        if !matches!(g.op(any), Op::Unary(UnaryOp::Unlikely, _)) {
            return None;
        }
        while left != value {
            let Op::Select(_, of_place, next) = *g.op(left) else { return None };
            let is_value = matches!(*g.op(of_place), Op::Select(_, known, _) if known == value);
            if !is_value {
                return None;
            }
            left = next;
        }
        Some(value)
    }

    /// Returns the value of a node without its records.
    pub fn value(&mut self, g: &mut Graph, n: NodeId) -> NodeId {
        if self.is_apart(g, n) {
            return n;
        }
        if let Some(value) = Self::stored_value(g, n) {
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

    /// Returns the bits of the records that computing a node leaves. `None` says that they cannot be
    /// kept.
    pub fn bits(&mut self, g: &mut Graph, n: NodeId) -> Option<Bits> {
        if self.is_apart(g, n) {
            return Some(Bits::default());
        }
        if let Some(known) = self.bits.get(&n) {
            return Some(known.clone());
        }
        let made = match Self::stored_value(g, n) {
            Some(_) => self.stored_bits(g, n)?,
            None => self.bits_of(g, n)?,
        };
        self.bits.insert(n, made.clone());
        Some(made)
    }

    fn bits_of(&mut self, g: &mut Graph, n: NodeId) -> Option<Bits> {
        let op = g.op(n).clone();
        match &op {
            Op::Select(c, a, b) => {
                let of_condition = self.bits(g, *c)?;
                let [a, b] = [self.bits(g, *a)?, self.bits(g, *b)?];
                let of_arms = match a.is_none() && b.is_none() {
                    true => Bits::default(),
                    false => {
                        let c = self.value(g, *c);
                        Bits::select(g, c, &a, &b)
                    }
                };
                Some(Bits::either(g, &of_condition, &of_arms))
            }
            Op::Reduce { join: step, .. } | Op::Fold { step, .. } if may_record(g, step.body) => None,
            Op::Loop { .. } => self.of_element_loop(g, n),
            Op::Reduce { init, src, .. }
            | Op::Fold { init, src, .. }
            | Op::SquaredDeviations { init, src } => self.of_loop(g, *init, &[*src]),
            Op::Dot { init, a, b } | Op::PanelDot { init, a, b } => self.of_loop(g, *init, &[*a, *b]),
            Op::Materialize(_) | Op::Iterate { .. } => None,
            op => {
                let mut all = Bits::default();
                for o in op.operands() {
                    let of_operand = self.bits(g, o)?;
                    all = Bits::either(g, &all, &of_operand);
                }
                if op.may_record(g) {
                    let own = self.own(g, n, op)?;
                    all = Bits::either(g, &all, &own);
                }
                Some(all)
            }
        }
    }

    /// Returns the bits of a reduction whose operator leaves none.
    fn of_loop(&mut self, g: &mut Graph, init: NodeId, arrays: &[NodeId]) -> Option<Bits> {
        let mut all = self.bits(g, init)?;
        for x in arrays {
            let of_elements = self.of_elements(g, *x)?;
            all = Bits::either(g, &all, &of_elements);
        }
        Some(all)
    }

    /// Returns the bits of a node that comes from [`Quiet::left`].
    fn stored_bits(&mut self, g: &mut Graph, n: NodeId) -> Option<Bits> {
        let Op::Select(_, mut left, value) = *g.op(n) else { return Some(Bits::default()) };
        let mut all = self.bits(g, value)?;
        while let Op::Select(is_left, of_place, next) = *g.op(left)
            && left != value
        {
            let mut place = of_place;
            while !g.op(place).may_record(g) {
                place = g.op(place).operands().next()?;
            }
            let op = g.op(place).clone();
            let number = self.number(g, place, &op);
            let own = Bits::of_place(g, number, is_left);
            all = Bits::either(g, &all, &own);
            left = next;
        }
        Some(all)
    }

    /// Returns the number of the place of an operation.
    fn number(&mut self, g: &Graph, n: NodeId, op: &Op) -> usize {
        let place = RecordingPlace { op: op.clone(), loc: g.node(n).loc.clone() };
        self.places.iter().position(|other| other.is_same(&place)).unwrap_or_else(|| {
            self.places.push(place);
            self.places.len() - 1
        })
    }

    /// Returns the bit of an operation that may leave a record itself.
    fn own(&mut self, g: &mut Graph, n: NodeId, op: &Op) -> Option<Bits> {
        let number = self.number(g, n, op);
        let operands: Vec<NodeId> = op.operands().map(|o| self.value(g, o)).collect();
        let fine = Self::condition(g, &op.with(&operands, None))?;
        let is_left = simplify(g, Op::Unary(UnaryOp::Not, fine));
        Some(Bits::of_place(g, number, is_left))
    }

    /// Returns the bits of the records that any element of a `generate` leaves.
    fn of_elements(&mut self, g: &mut Graph, array: NodeId) -> Option<Bits> {
        let Op::Generate(extents, lambda) = g.op(array).clone() else { return Some(Bits::default()) };
        if !may_record(g, lambda.body) {
            return Some(Bits::default());
        }
        let (mut words, mut count, mut is_kept) = (Vec::new(), 1, true);
        while words.len() < count {
            let mut is_empty = true;
            let of_element = self.within(g, &lambda, |this, g, body| {
                let bits = this.bits(g, body);
                is_kept &= bits.is_some();
                let bits = bits.unwrap_or_default();
                count = bits.words().len();
                let word = bits.words().get(words.len()).copied().flatten();
                is_empty = word.is_none();
                word.unwrap_or_else(|| g.lit(Lit::zero(Ty::U32)))
            });
            let src = g.add(Op::Generate(extents.clone(), of_element));
            let join = g.lambda(&[Ty::U32; 2], |g, v| g.add(Op::Binary(BinaryOp::Or, v[0], v[1])));
            let init = g.lit(Lit::zero(Ty::U32));
            let joined = g.add(Op::Reduce { join, init, src, which: 0 });
            words.push((!is_empty).then_some(joined));
        }
        is_kept.then(|| Bits::of_words(words))
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
