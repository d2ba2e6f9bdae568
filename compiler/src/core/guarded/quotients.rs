//! Quotients and remainders in the forms that are proven. Division truncates to zero, so with a
//! dividend e >= 0 and a divisor d >= 1 it rounds down:
//!
//! ```text
//! d * (e / d) <= e <= d * (e / d) + d - 1            0 <= e % d <= d - 1
//! ```
//!
//! A divisor need not be a constant: if an index has the extent `m * d`, its index space is not
//! empty where the index is used, so the lengths m and d are at least 1.

use super::{Guards, may_divide_by_zero};
use crate::core::index_space::without_bound;
use crate::core::linear::Linear;
use crate::core::simplify::simplify;
use crate::core::{Graph, NodeId, Op};
use crate::scalar::{BinaryOp, Lit};

/// The maximum factor by which a form is multiplied to remove a quotient by a constant.
const MAX_FACTOR: i64 = 64;
/// The maximum constant of a form that is multiplied.
const MAX_CONSTANT: u64 = 1 << 40;

impl Guards<'_> {
    /// Returns the divisor `b` of `a`, in a form that leaves no error record if it is proven to be
    /// positive where the quotient is needed.
    pub(super) fn divisor(&self, g: &mut Graph, op: BinaryOp, a: NodeId, b: NodeId) -> NodeId {
        let divides_by_zero = may_divide_by_zero(g, &Op::Binary(op, a, b));
        if !divides_by_zero || g.is_closed(a) || !self.is_positive(g, b, &[a]) {
            return b;
        }
        let one = g.lit(Lit::i64(1));
        simplify(g, Op::Binary(BinaryOp::Max, b, one))
    }

    /// Whether a divisor is positive where its dividend, which depends on `index`, is needed.
    fn is_positive(&self, g: &Graph, d: NodeId, index: &[NodeId]) -> bool {
        let form = self.rules.resolve(&Linear::of(g, d));
        let one = Linear { constant: 1, ..Linear::default() };
        self.cofactors(g, d, index).next().is_some()
            || self.is_small(g, &form, super::MAX_STEPS) && self.holds(g, &form.minus(&one), index, true)
    }

    /// Returns the extents `m * d` of the indices that `index` depends on, each with its m. Lengths
    /// are not negative, so m and d are at least 1.
    fn cofactors(&self, g: &Graph, d: NodeId, index: &[NodeId]) -> impl Iterator<Item = (NodeId, NodeId)> {
        let d = without_bound(g, d);
        let is_length = |n: NodeId| self.rules.resolve(&Linear::of(g, n)).at_least(g, 0);
        self.indices
            .iter()
            .filter_map(move |(_, n, space)| {
                let Op::Binary(BinaryOp::Mul, a, b) = *g.op(*n) else { return None };
                let m = if b == d { a } else { b };
                let found = (a == d || b == d) && is_length(m) && is_length(d);
                (found && self.is_inside(g, index, *space)).then_some((*n, m))
            })
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// Whether a form is not negative because of the bounds of a quotient or remainder among its
    /// terms.
    pub(super) fn follows_by_quotient(
        &self,
        g: &Graph,
        (form, term): (&Linear, NodeId),
        index: &[NodeId],
        conditions: &[&Linear],
        steps: u32,
    ) -> bool {
        let Op::Binary(op @ (BinaryOp::Div | BinaryOp::Rem), a, b) = *g.op(term) else { return false };
        let mut rest = form.clone();
        let k = rest.terms.remove(&term).unwrap_or(0);
        let holds = |form: &Linear| self.follows(g, &self.rules.resolve(form), index, conditions, steps);
        // the form with another value in place of the term
        let with = |value: &Linear| holds(&form.replaced(term, value));
        let constant = |constant: i64| Linear { constant, ..Linear::default() };
        let [dividend, divisor] = [a, b].map(|n| self.rules.resolve(&Linear::of(g, n)));
        let known = g.as_lit(b).map(Lit::as_i64);
        if !holds(&dividend) || known.is_some_and(|d| d < 1) || known.is_none() && !holds(&divisor) {
            return false;
        }
        if k > 0 {
            // a quotient by 0 is 0
            let known = known.filter(|_| op == BinaryOp::Div);
            return with(&constant(0))
                || known.is_some_and(|d| {
                    self.scaled(&rest, k, d, &dividend.minus(&constant(d - 1))).is_some_and(|f| holds(&f))
                });
        }
        if with(&dividend) {
            return true;
        }
        match (op, known) {
            (BinaryOp::Div, Some(d)) => self.scaled(&rest, k, d, &dividend).is_some_and(|f| holds(&f)),
            (BinaryOp::Div, None) => self.cofactors(g, b, index).any(|(n, m)| {
                let [n, m] = [n, m].map(|n| self.rules.resolve(&Linear::of(g, n)).minus(&constant(1)));
                holds(&n.minus(&dividend)) && with(&m)
            }),
            _ => {
                let last = Linear::of(g, without_bound(g, b)).minus(&constant(1));
                with(&last)
                    && (holds(&last) || with(&constant(0)) || self.cofactors(g, b, index).next().is_some())
            }
        }
    }

    /// Returns a form; if it is not negative, `rest + k * q` is not negative either. d * q is at most `bound` if k <
    /// 0, and at least `bound` if k > 0. The sum is multiplied by d (or a part of it), and `bound` replaces d * q. As
    /// the sum is an integer, it is enough that its multiple is greater than -1 times the factor.
    fn scaled(&self, rest: &Linear, k: i64, d: i64, bound: &Linear) -> Option<Linear> {
        let factor = if k % d == 0 { 1 } else { d };
        let is_small = |form: &Linear| form.constant.unsigned_abs() < MAX_CONSTANT;
        if factor > MAX_FACTOR || !is_small(rest) || !is_small(bound) || k.unsigned_abs() > 1 << 16 {
            return None;
        }
        let mut form = rest.scaled(factor).minus(&bound.scaled(-(k * factor / d)));
        form.constant += factor - 1;
        Some(form)
    }
}
