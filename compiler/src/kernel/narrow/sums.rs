//! Comparisons and minima of sums that do not fit in 32 bits, such as of two indices. Each term fits, so terms change
//! sides until both sides fit. A term that a loop changes stays alone, and what the loop does not change is computed
//! before it by the assembler.
//!
//! ```text
//! lt(add(%i, %k), n)    ->  lt(%k_32, sub(n_32, %i_32))
//! min(n, add(%i, %k))   ->  add(%i_32, min(sub(n_32, %i_32), %k_32))
//! ```

use super::Narrow;
use crate::kernel::{Expr, Reg};
use crate::scalar::range::Range;
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};

/// The maximum number of terms of both sides: each way to put them on two sides is tried.
const MAX_TERMS: usize = 6;

/// A term of a sum of i64: it fits in 32 bits.
#[derive(Clone)]
pub struct Term {
    value: Expr,
    is_subtracted: bool,
}

impl Term {
    fn negated(self) -> Term {
        Term { is_subtracted: !self.is_subtracted, ..self }
    }
}

/// Where registers get their values, and those that are sums.
#[derive(Default)]
pub struct Sums {
    /// The terms of a register that is a sum beyond 32 bits.
    terms: Vec<Option<Vec<Term>>>,
    /// Registers that are assigned more than once: what was computed from one may differ from it later.
    variables: Vec<bool>,
    /// The number of loops around the definition of a register.
    depths: Vec<u32>,
    /// The number of loops around the statement that the pass is at.
    depth: u32,
}

impl Sums {
    /// Goes into a loop, whose counter is that register.
    pub fn enter(&mut self, counter: Option<Reg>) {
        self.depth += 1;
        if let Some(r) = counter {
            set(&mut self.depths, r, self.depth);
        }
    }

    /// Leaves a loop.
    pub fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Notes that a register is assigned more than once.
    pub fn changes(&mut self, r: Reg) {
        set(&mut self.variables, r, true);
    }

    /// Whether an expression has the same value wherever its registers have one.
    fn is_fixed(&self, e: &Expr) -> bool {
        let mut fixed = match e {
            Expr::Reg(r) => !self.variables.get(r.0 as usize).copied().unwrap_or_default(),
            Expr::Lit(_) | Expr::In(_) | Expr::Place(_) => true,
            Expr::Unary(..) | Expr::Binary(..) | Expr::Select(..) | Expr::Cast(..) => true,
            _ => false,
        };
        e.children(|child| fixed = fixed && self.is_fixed(child));
        fixed
    }

    /// Notes where a register gets its value.
    pub fn define(&mut self, r: Reg) {
        set(&mut self.depths, r, self.depth);
    }

    fn depth_of(&self, e: &Expr) -> u32 {
        let mut depth = match e {
            Expr::Reg(r) => self.depths.get(r.0 as usize).copied().unwrap_or_default(),
            Expr::Load(..) | Expr::LoadIf(..) => self.depth,
            _ => 0,
        };
        e.children(|child| depth = depth.max(self.depth_of(child)));
        depth
    }
}

fn set<T: Clone + Default>(list: &mut Vec<T>, r: Reg, value: T) {
    let at = r.0 as usize;
    if list.len() <= at {
        list.resize(at + 1, T::default());
    }
    list[at] = value;
}

impl Narrow<'_> {
    /// Notes the terms of a register, if it is a sum.
    pub(super) fn note_sum(&mut self, r: Reg, e: &Expr) {
        let is_fixed = |terms: &Vec<Term>| terms.iter().all(|t| self.sums.is_fixed(&t.value));
        if let Some(terms) = self.terms(e).filter(|terms| terms.len() > 1).filter(is_fixed) {
            set(&mut self.sums.terms, r, Some(terms));
        }
    }

    /// Returns the terms of an expression of i64, each of which fits in 32 bits. `None` if there are others.
    fn terms(&self, e: &Expr) -> Option<Vec<Term>> {
        if self.k.ty(e) != Ty::I64 {
            return None;
        }
        let terms = match e {
            _ if self.range(e).is_some() => vec![Term { value: e.clone(), is_subtracted: false }],
            Expr::Reg(r) => self.sums.terms.get(r.0 as usize)?.clone()?,
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
