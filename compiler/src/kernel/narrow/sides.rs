//! Comparisons and minima of sums that do not fit in 32 bits, such as of two indices. Each term fits, so terms change
//! sides until both sides fit. A term that a loop changes stays alone, and what the loop does not change is computed
//! before it by the assembler.
//!
//! ```text
//! lt(add(%i, %k), n)    ->  lt(%k_32, sub(n_32, %i_32))
//! min(n, add(%i, %k))   ->  add(%i_32, min(sub(n_32, %i_32), %k_32))
//! ```

use super::Narrow;
use super::sums::Term;
use crate::kernel::{Expr, Reg};
use crate::scalar::range::Range;
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};

/// The maximum number of terms of both sides: each way to put them on two sides is tried.
const MAX_TERMS: usize = 6;

impl Narrow<'_> {
    /// Notes the terms of a register, if it is a sum.
    pub(super) fn note_sum(&mut self, r: Reg, e: &Expr) {
        if let Some(terms) = self.terms(e).filter(|terms| terms.len() > 1) {
            self.sums.note(r, terms);
        }
    }

    /// Returns the terms of an expression of i64, each of which fits in 32 bits. `None` if there are others.
    fn terms(&self, e: &Expr) -> Option<Vec<Term>> {
        if self.k.ty(e) != Ty::I64 {
            return None;
        }
        let terms = match e {
            _ if self.range(e).is_some() => vec![Term { value: e.clone(), is_subtracted: false }],
            Expr::Reg(r) => self.sums.terms_of(*r)?,
            Expr::Unary(UnaryOp::Neg, a) => self.terms(a)?.into_iter().map(Term::negated).collect(),
            Expr::Binary(BinaryOp::Add, a, b) => [self.terms(a)?, self.terms(b)?].concat(),
            Expr::Binary(BinaryOp::Sub, a, b) => {
                self.terms(a)?.into_iter().chain(self.terms(b)?.into_iter().map(Term::negated)).collect()
            }
            _ => return None,
        };
        (terms.len() <= MAX_TERMS).then_some(terms)
    }

    /// Returns a comparison in 32 bits.
    pub(super) fn compared(&mut self, op: BinaryOp, a: &Expr, b: &Expr) -> Option<Expr> {
        let terms: Vec<Term> = self.terms(a)?.into_iter().chain(negated(self.terms(b)?)).collect();
        let [left, right] = self.sides(&terms, &[])?;
        Some(Expr::binary(op, self.sum(&left), self.sum(&negated(right))))
    }

    /// Returns the low half of the minimum or maximum of a sum and a value that fits in 32 bits. Terms of the sum
    /// that are on the other side are added to the minimum.
    pub(super) fn least_or_most(&mut self, op: BinaryOp, a: &Expr, b: &Expr) -> Option<Expr> {
        let (sum, other) = if self.range(a).is_some() { (b, a) } else { (a, b) };
        let (terms, other) = (self.terms(sum)?, self.terms(other)?);
        let [left, right] = self.sides(&terms, &other)?;
        if !right.iter().all(|t| self.sums.is_fixed(&t.value)) {
            return None;
        }
        let other: Vec<Term> = other.into_iter().chain(negated(right.clone())).collect();
        let least = Expr::binary(op, self.sum(&left), self.sum(&other));
        Some(Expr::binary(BinaryOp::Add, self.sum(&right), least))
    }

    /// Puts terms on two sides. The sum of the first side fits in 32 bits, as does `other` without the second side.
    fn sides(&self, terms: &[Term], other: &[Term]) -> Option<[Vec<Term>; 2]> {
        let depths: Vec<u32> = terms.iter().map(|t| self.sums.depth_of(&t.value)).collect();
        let deepest = *depths.iter().max()?;
        let changing =
            (0..terms.len()).filter(|at| depths[*at] == deepest).fold(0, |mask, at| mask | 1 << at);
        let sides = |mask: usize| {
            let side = |which| (0..terms.len()).filter(move |at| mask >> at & 1 == which);
            [1, 0].map(|which| side(which).map(|at| terms[at].clone()).collect::<Vec<Term>>())
        };
        let fit = |[left, right]: &[Vec<Term>; 2]| {
            let over: Vec<Term> = other.iter().cloned().chain(negated(right.clone())).collect();
            !left.is_empty() && !right.is_empty() && self.fits(left) && self.fits(&over)
        };
        std::iter::once(changing).chain(1..(1 << terms.len()) - 1).map(sides).find(fit)
    }

    /// Whether a sum of terms fits in 32 bits.
    fn fits(&self, terms: &[Term]) -> bool {
        let sum = terms.iter().try_fold(Range::new(0, 0), |sum, t| {
            let op = if t.is_subtracted { BinaryOp::Sub } else { BinaryOp::Add };
            Range::binary(op, sum, self.range(&t.value)?)
        });
        sum.is_some_and(|sum| sum.fits(Ty::I32))
    }

    /// Returns a sum of terms in 32 bits.
    fn sum(&mut self, terms: &[Term]) -> Expr {
        let mut sum: Option<Expr> = None;
        // what is subtracted comes last
        let (minus, plus): (Vec<&Term>, Vec<&Term>) = terms.iter().partition(|t| t.is_subtracted);
        for t in plus.into_iter().chain(minus) {
            let low = self.low(&t.value);
            sum = Some(match sum {
                Some(sum) if t.is_subtracted => Expr::binary(BinaryOp::Sub, sum, low),
                Some(sum) => Expr::binary(BinaryOp::Add, sum, low),
                None if t.is_subtracted => Expr::Unary(UnaryOp::Neg, Box::new(low)),
                None => low,
            });
        }
        sum.unwrap_or(Expr::Lit(Lit::i32(0)))
    }
}

fn negated(terms: Vec<Term>) -> Vec<Term> {
    terms.into_iter().map(Term::negated).collect()
}
