//! The elements of a nested reduction that a condition on their index leaves: outside of a range they are a constant
//! that does not change the result, so loops over whole tiles of them need not run.
//!
//! ```text
//! generate n (i -> reduce (+) from 0 over generate n (k -> select(k <= i, x[k], 0)))       k in 0 .. i + 1
//! generate m (i -> reduce (+) from 0 over generate n (k -> select(k + i < n, .., 0)))      k in 0 .. n - i
//! generate m (i -> reduce (+) from 0 over generate n (k -> select(5 k <= i, .., 0)))       k in 0 .. i / 5 + 1
//! ```
//!
//! The order of semantics 5.1 is one of places: a constant that is the operator's identity may be joined or left out
//! at any place. Zeros of floats change the sign of other zeros, which an initial value other than -0 hides.

use crate::core::arithmetic::{binary, with_number};
use crate::core::identity::of_operator;
use crate::core::records::may_record_here;
use crate::core::simplify::simplify;
use crate::core::{Graph, NodeId, Op, Var};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};

/// Bounds whose magnitude is not greater can be added and subtracted, and indices as well.
const GREATEST: i64 = 1 << 61;

/// A range of the indices of a reduction's elements, outside of which every element is `otherwise`.
pub struct NeededRange {
    /// The first index, where it is bounded: a scalar that does not depend on the index, and may have any value.
    pub first: Option<NodeId>,
    /// The index after the last one, where it is bounded: likewise.
    pub end: Option<NodeId>,
    /// The value of other elements, and of a reduction of such elements.
    pub otherwise: Lit,
    /// The comparison that gave the first of the bounds.
    pub condition: NodeId,
}

/// Returns the range of a reduction's elements that are needed, if a condition bounds it.
pub fn of(g: &mut Graph, reduction: NodeId) -> Option<NeededRange> {
    let Op::Reduce { join, init, src, .. } = g.op(reduction).clone() else { return None };
    let Op::Generate(extents, lambda) = g.op(src).clone() else { return None };
    let (var, index) = g.fresh_var(Ty::I64);
    let element = g.open(&lambda, &[index]);
    let (conditions, otherwise) = choices(g, element)?;
    let init = g.as_lit(init)?;
    let ty = init.ty;
    let identity = of_operator(g, &join, ty)?;
    let is_zero = |lit: Lit| ty.is_float() && lit.as_float() == Some(0.0);
    let is_hidden = is_zero(identity) && is_zero(otherwise) && init != identity;
    if otherwise != identity && !is_hidden || may_record_here(g, conditions.iter().map(|c| c.0)) {
        return None;
    }
    let mut range = Bounds { g, var, count: extents[0], first: None, end: None, condition: None };
    conditions.into_iter().for_each(|(condition, holds)| range.add(condition, holds));
    let Bounds { first, end, condition, .. } = range;
    Some(NeededRange { first, end, otherwise, condition: condition? })
}

/// Returns the conditions that leave a value, what each is where the value is no constant, and the constant.
fn choices(g: &Graph, value: NodeId) -> Option<(Vec<(NodeId, bool)>, Lit)> {
    if let Op::Cast(ty, condition) = *g.op(value)
        && g.ty(condition).elem == Ty::Bool
    {
        return Some((vec![(condition, true)], Lit::zero(ty)));
    }
    let (mut value, mut conditions, mut otherwise) = (value, Vec::new(), None);
    while let Op::Select(condition, a, b) = *g.op(value) {
        let (constant, holds, arm) = match (g.as_lit(a), g.as_lit(b)) {
            (_, Some(constant)) => (constant, true, a),
            (Some(constant), None) => (constant, false, b),
            (None, None) => break,
        };
        if *otherwise.get_or_insert(constant) != constant {
            break;
        }
        conditions.push((condition, holds));
        value = arm;
    }
    Some((conditions, otherwise?))
}

/// The bounds that were found.
struct Bounds<'g> {
    g: &'g mut Graph,
    /// The variable of the index, and the number of indices.
    var: Var,
    count: NodeId,
    first: Option<NodeId>,
    end: Option<NodeId>,
    /// The comparison that gave the first one that was found.
    condition: Option<NodeId>,
}

impl Bounds<'_> {
    /// Adds the bounds that follow where a condition is `holds`.
    fn add(&mut self, condition: NodeId, holds: bool) {
        match (self.g.op(condition).clone(), holds) {
            (Op::Unary(UnaryOp::Not, inner), _) => self.add(inner, !holds),
            (Op::Binary(BinaryOp::And, a, b), true) | (Op::Binary(BinaryOp::Or, a, b), false) => {
                self.add(a, holds);
                self.add(b, holds);
            }
            (Op::Binary(op, a, b), _) if self.g.ty(a).elem == Ty::I64 => {
                let op = match (op, holds) {
                    (op, true) => op,
                    (BinaryOp::Ne, false) => BinaryOp::Eq,
                    (BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge, false) => op.opposite(),
                    _ => return,
                };
                if self.compared(op, a, b).is_some() {
                    self.condition.get_or_insert(condition);
                }
            }
            _ => {}
        }
    }

    /// Adds the bounds that follow from a comparison, if there are any.
    fn compared(&mut self, op: BinaryOp, a: NodeId, b: NodeId) -> Option<()> {
        use BinaryOp::{Eq, Ge, Gt, Le, Lt};
        let is_order = matches!(op, Lt | Le | Gt | Ge);
        if !is_order && op != Eq {
            return None;
        }
        let (op, side, bound) = match (self.depends(a), self.depends(b)) {
            (true, false) => (op, a, b),
            (false, true) => (if is_order { op.swapped() } else { op }, b, a),
            _ => return None,
        };
        let (op, bound, is_known) = match self.alone(side, bound) {
            Some((bound, is_known)) => (op, bound, is_known),
            None => {
                let (quotient, is_known) = self.divided(side, bound)?;
                // the index that is the quotient itself may be needed
                let op = match op {
                    Lt => Le,
                    Gt => Ge,
                    op => op,
                };
                (op, quotient, Some(is_known))
            }
        };
        if matches!(op, Lt | Le | Eq) {
            let end = if op == Lt { bound } else { self.after(bound) };
            let end = self.unless(is_known, end, self.count);
            self.end = Some(self.joined(BinaryOp::Min, self.end, end));
        }
        if matches!(op, Gt | Ge | Eq) {
            let first = if op == Gt { self.after(bound) } else { bound };
            let zero = self.g.lit(Lit::i64(0));
            let first = self.unless(is_known, first, zero);
            self.first = Some(self.joined(BinaryOp::Max, self.first, first));
        }
        Some(())
    }

    fn is_index(&self, n: NodeId) -> bool {
        matches!(*self.g.op(n), Op::Var(v, _) if v == self.var)
    }

    fn depends(&self, n: NodeId) -> bool {
        self.g.node(n).free.contains(&self.var)
    }

    /// Returns the bound of the index if the bound of `side` is `bound`, and the condition that it is one, if it is
    /// not always: that no sum wraps around.
    fn alone(&mut self, side: NodeId, bound: NodeId) -> Option<(NodeId, Option<NodeId>)> {
        if self.is_index(side) {
            return Some((bound, None));
        }
        let (further, op) = match *self.g.op(side) {
            Op::Binary(BinaryOp::Add, a, b) if self.is_index(a) => (b, BinaryOp::Sub),
            Op::Binary(BinaryOp::Add, a, b) if self.is_index(b) => (a, BinaryOp::Sub),
            Op::Binary(BinaryOp::Sub, a, b) if self.is_index(a) => (b, BinaryOp::Add),
            _ => return None,
        };
        if self.depends(further) {
            return None;
        }
        let known = [further, bound].map(|n| {
            let above = with_number(self.g, BinaryOp::Ge, n, -GREATEST);
            let below = with_number(self.g, BinaryOp::Le, n, GREATEST);
            binary(self.g, BinaryOp::And, above, below)
        });
        let is_known = binary(self.g, BinaryOp::And, known[0], known[1]);
        Some((binary(self.g, op, bound, further), Some(is_known)))
    }

    /// Returns the greatest index whose product with a constant is not greater than `bound`, or 0 if there is none,
    /// and the condition that no product wraps around, if `side` is such a product.
    fn divided(&mut self, side: NodeId, bound: NodeId) -> Option<(NodeId, NodeId)> {
        let Op::Binary(BinaryOp::Mul, a, b) = *self.g.op(side) else { return None };
        let factor = if self.is_index(a) { b } else { a };
        if !self.is_index(a) && !self.is_index(b) {
            return None;
        }
        let factor = self.g.as_lit(factor)?.as_int().filter(|factor| *factor > 0)?;
        let zero = self.g.lit(Lit::i64(0));
        let not_negative = binary(self.g, BinaryOp::Max, bound, zero);
        let quotient = with_number(self.g, BinaryOp::Div, not_negative, factor);
        Some((quotient, with_number(self.g, BinaryOp::Le, self.count, GREATEST / factor)))
    }

    /// Returns the index after another one, at most the number of indices.
    fn after(&mut self, n: NodeId) -> NodeId {
        let is_below = binary(self.g, BinaryOp::Lt, n, self.count);
        let next = with_number(self.g, BinaryOp::Add, n, 1);
        simplify(self.g, Op::Select(is_below, next, self.count))
    }

    fn unless(&mut self, is_known: Option<NodeId>, bound: NodeId, otherwise: NodeId) -> NodeId {
        is_known.map_or(bound, |is_known| simplify(self.g, Op::Select(is_known, bound, otherwise)))
    }

    fn joined(&mut self, op: BinaryOp, before: Option<NodeId>, bound: NodeId) -> NodeId {
        before.map_or(bound, |before| binary(self.g, op, before, bound))
    }
}
