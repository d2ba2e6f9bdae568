//! Decides which sums cannot overflow. Integers wrap, and only for a sum that does not is the linear form its value.
//!
//! Lengths of arrays are far below 2^63. So are small multiples of lengths, and indices whose extents are lengths.
//! But an extent may also be a scalar parameter, which may be any number, and then so may an index below it: `i + 2`
//! may overflow, whereas `i`, `i - 1` and `n - 1 - i` cannot. The length of a vector that the function returns is
//! small, wherever it comes from: the vector has memory before anything is computed. (An extent of a matrix that the
//! function returns may be any number, if the other extent is 0.)

use super::{Guards, MAX_STEPS, is_clamp, types};
use crate::core::index_space::without_bound;
use crate::core::linear::{Linear, is_i64};
use crate::core::simplify::extent;
use crate::core::{Function, Graph, NodeId, Op};
use crate::scalar::BinaryOp;

impl Guards<'_> {
    /// Notes the extents of the vectors that a function returns.
    pub(super) fn learn_results(&mut self, f: &mut Function) {
        for r in &f.results {
            if f.graph.ty(r.value).rank == 1 {
                self.stored.insert(extent(&mut f.graph, r.value, 0));
            }
        }
    }

    /// Notes which indices, from this one on, have small extents.
    pub(super) fn learn_extents(&mut self, g: &Graph, from: usize) {
        for at in from..self.indices.len() {
            let (index, extent, _) = self.indices[at];
            if self.stored.contains(&extent) || self.is_bounded(g, extent, true, MAX_STEPS) {
                self.small.insert(index);
            }
        }
    }

    /// Returns the linear forms of two operands if none of their sums can wrap.
    pub(super) fn exact(&self, g: &Graph, operands: [NodeId; 2]) -> Option<[Linear; 2]> {
        let forms = operands.map(|n| self.rules.resolve(&Linear::of(g, n)));
        forms.iter().all(|form| self.is_exact(g, form, MAX_STEPS)).then_some(forms)
    }

    /// Whether the sums of a form cannot overflow. They cannot if all terms are small. They cannot either if at most
    /// one index or extent of any size is added and at most one is subtracted, if the other terms have the opposite
    /// sign, and if the constant moves the sum no farther from 0.
    pub(super) fn is_exact(&self, g: &Graph, form: &Linear, depth: u32) -> bool {
        if self.is_small(g, form, depth) {
            return true;
        }
        let (mut rest, mut above, mut below) = (form.clone(), 0, 0);
        // an extent may be the greatest number; an index is less than that
        let mut most = 1;
        for (&t, &k) in form.terms.iter().filter(|(t, _)| !self.is_small_term(g, **t, depth)) {
            rest.terms.remove(&t);
            let is_extent = self.naturals.contains(&t) || self.indices.iter().any(|(_, n, _)| *n == t);
            match k {
                1 if is_extent || self.extent(g, t).is_some() => above += 1,
                -1 if is_extent || self.extent(g, t).is_some() => below += 1,
                _ => return false,
            }
            most -= i64::from(is_extent && k == 1);
        }
        let is_natural = |t: &NodeId| {
            matches!(g.op(*t), Op::Len(..)) || self.naturals.contains(t) || self.extent(g, *t).is_some()
        };
        let has_sign = |sign: i64| rest.terms.iter().all(|(t, k)| k.signum() == sign && is_natural(t));
        (above <= 1 && below <= 1 && self.is_small(g, &rest, depth))
            && (above == 0 || rest.constant <= most && has_sign(-1))
            && (below == 0 || rest.constant >= -1 && has_sign(1))
    }

    /// Whether a form has small coefficients, and its terms are lengths, indices of small extents and these extents,
    /// and clamps, quotients and remainders of these.
    pub(super) fn is_small(&self, g: &Graph, form: &Linear, depth: u32) -> bool {
        form.constant.unsigned_abs() < 1 << 40
            && form.terms.iter().all(|(t, k)| k.unsigned_abs() < 1 << 6 && self.is_small_term(g, *t, depth))
    }

    fn is_small_term(&self, g: &Graph, t: NodeId, depth: u32) -> bool {
        let is_extent = |(i, n, _): &(NodeId, NodeId, usize)| *n == t && self.small.contains(i);
        matches!(g.op(t), Op::Len(..))
            || self.small.contains(&t)
            || self.indices.iter().any(is_extent)
            || types::range(g, t).is_some()
            || self.is_small_operation(g, t, depth)
    }

    /// Whether the value of a quotient, remainder or clamp is small. A quotient or remainder of a small dividend is,
    /// whatever the divisor. A clamp between small bounds is, whatever is clamped. If the dividend does not overflow,
    /// a remainder by a small divisor is small, and so is a quotient of an index whose extent is small after
    /// division.
    fn is_small_operation(&self, g: &Graph, n: NodeId, depth: u32) -> bool {
        use BinaryOp::{Div, Rem};
        let Some(left) = depth.checked_sub(1) else { return false };
        match *g.op(n) {
            Op::Binary(op @ (Div | Rem), a, b) if is_i64(g, a) => {
                let [a, b] = [a, b].map(|o| Linear::of(g, o));
                self.is_small(g, &b, left)
                    && (self.is_small(g, &a, left) || op == Rem && self.is_exact(g, &a, left))
                    || self.extent(g, n).is_some_and(|extent| self.is_bounded(g, extent, true, left))
            }
            _ if is_clamp(g, n) => [false, true].iter().all(|above| self.is_bounded(g, n, *above, depth)),
            _ => false,
        }
    }

    /// Whether a node is no greater (`above`) or no less than something small.
    pub(super) fn is_bounded(&self, g: &Graph, n: NodeId, above: bool, depth: u32) -> bool {
        let Some(left) = depth.checked_sub(1) else { return false };
        match *g.op(n) {
            Op::Binary(op @ (BinaryOp::Max | BinaryOp::Min), a, b) if is_i64(g, a) => {
                let side = |o: NodeId| self.is_bounded(g, o, above, left);
                if (op == BinaryOp::Min) == above { side(a) || side(b) } else { side(a) && side(b) }
            }
            _ => {
                let form = self.rules.resolve(&Linear::of(g, n));
                let mut terms = form.terms.iter();
                self.is_exact(g, &form, left)
                    && terms.all(|(t, k)| (*k < 0) == above || self.is_small_term(g, *t, left))
            }
        }
    }

    /// Returns a number that is above an index, or above a quotient of one that is not negative: if the index has the
    /// extent `m * d`, its quotient by d is below m.
    fn extent(&self, g: &Graph, n: NodeId) -> Option<NodeId> {
        if let Some((_, extent, _)) = self.indices.iter().find(|(i, ..)| *i == n) {
            return Some(*extent);
        }
        let Op::Binary(BinaryOp::Div, a, d) = *g.op(n) else { return None };
        let Op::Binary(BinaryOp::Mul, m, by) = *g.op(self.extent(g, a)?) else { return None };
        let d = without_bound(g, d);
        let is_length = |n: NodeId| self.rules.resolve(&Linear::of(g, n)).at_least(g, 0);
        let other = if by == d { m } else { by };
        ((by == d || m == d) && is_length(m) && is_length(by)).then_some(other)
    }
}
