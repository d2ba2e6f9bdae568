//! Linear normal forms of i64 expressions: `c + k1 * t1 + k2 * t2 ...` in wrapping arithmetic.
//!
//! Wrapping i64 arithmetic is a ring, so normalising changes no bit. The compiler compares index
//! and size expressions by the difference of their forms: it shows that two sizes are equal, or
//! that a slice can never fit.

mod terms;

use super::{Graph, NodeId, Op};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
pub use terms::Terms;

/// A linear form.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Linear {
    /// The constant term.
    pub constant: i64,
    /// The coefficients, none of which is zero.
    pub terms: Terms,
}

/// The maximum number of nodes of a sum that are taken apart. The rest of a longer sum is one term, because
/// normalising each prefix of a long chain would take quadratic time.
const MAX_NODES: usize = 512;

impl Linear {
    /// Returns the form of an i64 scalar.
    pub fn of(g: &Graph, n: NodeId) -> Linear {
        Linear::with_dropped(g, n).0
    }

    /// Returns the form of an i64 scalar, and the terms that cancel out.
    pub fn with_dropped(g: &Graph, n: NodeId) -> (Linear, Vec<NodeId>) {
        let (mut out, mut dropped) = (Linear::default(), Vec::new());
        // the nodes of the sum that are not taken apart yet, in ascending order. Each is taken apart once, with the
        // factor that all of its users give it, because users have higher numbers than their operands
        let mut sum = vec![(n, 1i64)];
        let mut left = MAX_NODES;
        while let Some((n, k)) = sum.pop() {
            left = left.saturating_sub(1);
            let mut add = |n: NodeId, k: i64| match sum.binary_search_by_key(&n, |part| part.0) {
                Ok(at) => sum[at].1 = sum[at].1.wrapping_add(k),
                Err(at) => sum.insert(at, (n, k)),
            };
            match *g.op(n) {
                Op::Const(l) => out.constant = out.constant.wrapping_add(k.wrapping_mul(l.as_i64())),
                _ if k == 0 => dropped.push(n),
                _ if left == 0 => out.terms.set(n, k),
                Op::Unary(UnaryOp::Neg, a) => add(a, k.wrapping_neg()),
                Op::Binary(BinaryOp::Add, a, b) => {
                    add(a, k);
                    add(b, k);
                }
                Op::Binary(BinaryOp::Sub, a, b) => {
                    add(a, k);
                    add(b, k.wrapping_neg());
                }
                Op::Binary(BinaryOp::Mul, a, b) => match (g.as_lit(a), g.as_lit(b)) {
                    (Some(c), _) => add(b, k.wrapping_mul(c.as_i64())),
                    (_, Some(c)) => add(a, k.wrapping_mul(c.as_i64())),
                    _ => out.terms.set(n, k),
                },
                _ => out.terms.set(n, k),
            }
        }
        (out, dropped)
    }

    /// Returns the form with a value in place of a term.
    pub fn replaced(&self, term: NodeId, value: &Linear) -> Linear {
        let mut rest = self.clone();
        let k = rest.terms.remove(&term).unwrap_or(0);
        rest.minus(&value.scaled(k.wrapping_neg()))
    }

    /// Returns `self - other`.
    pub fn minus(&self, other: &Linear) -> Linear {
        let mut out = self.clone();
        out.constant = out.constant.wrapping_sub(other.constant);
        for (&t, &k) in other.terms.iter() {
            let sum = out.terms.get(&t).copied().unwrap_or(0).wrapping_sub(k);
            out.terms.set(t, sum);
        }
        out
    }

    /// Returns `k * self`.
    pub fn scaled(&self, k: i64) -> Linear {
        let terms = self.terms.iter().map(|(t, c)| (*t, c.wrapping_mul(k))).filter(|t| t.1 != 0).collect();
        Linear { constant: self.constant.wrapping_mul(k), terms }
    }

    /// Returns the value, if there are no terms.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// Returns whether the form is at least `bound` for all values of its terms, given that lengths
    /// are not negative. Lengths, and small multiples of them, are far below 2^63; a form with
    /// large coefficients could wrap, so it proves nothing.
    pub fn at_least(&self, g: &Graph, bound: i64) -> bool {
        self.constant >= bound
            && self.small()
            && self.terms.iter().all(|(t, k)| *k > 0 && matches!(g.op(*t), Op::Len(..)))
    }

    /// Returns whether the form is at most `bound`, under the same assumptions.
    pub fn at_most(&self, g: &Graph, bound: i64) -> bool {
        self.constant <= bound
            && self.small()
            && self.terms.iter().all(|(t, k)| *k < 0 && matches!(g.op(*t), Op::Len(..)))
    }

    /// Returns whether the form has the same value as over the integers: small sums of small multiples of lengths,
    /// which are far below 2^63, cannot wrap. A scalar may be any number, so a sum with one may wrap.
    pub fn cannot_wrap(&self, g: &Graph) -> bool {
        self.constant.unsigned_abs() < 1 << 48
            && self.terms.len() < 16
            && self.terms.iter().all(|(t, k)| k.unsigned_abs() < 1 << 8 && matches!(g.op(*t), Op::Len(..)))
    }

    fn small(&self) -> bool {
        self.constant.unsigned_abs() < 1 << 48 && self.terms.values().all(|k| k.unsigned_abs() < 1 << 8)
    }

    /// Returns the canonical expression of the form.
    pub fn node(&self, g: &mut Graph) -> NodeId {
        let mut sum: Option<NodeId> = None;
        let positive = self.terms.iter().filter(|t| *t.1 > 0);
        for (&t, &k) in positive.chain(self.terms.iter().filter(|t| *t.1 < 0)) {
            let subtract = k < 0 && k != i64::MIN && sum.is_some();
            let k = if subtract { -k } else { k };
            let term = match k {
                1 => t,
                -1 => g.add(Op::Unary(UnaryOp::Neg, t)),
                k => {
                    let k = g.lit(Lit::i64(k));
                    g.add(Op::Binary(BinaryOp::Mul, t, k))
                }
            };
            sum = Some(match sum {
                None => term,
                Some(s) if subtract => g.add(Op::Binary(BinaryOp::Sub, s, term)),
                Some(s) => g.add(Op::Binary(BinaryOp::Add, s, term)),
            });
        }
        let Some(sum) = sum else { return g.lit(Lit::i64(self.constant)) };
        match self.constant {
            0 => sum,
            c if c < 0 && c != i64::MIN => {
                let c = g.lit(Lit::i64(-c));
                g.add(Op::Binary(BinaryOp::Sub, sum, c))
            }
            c => {
                let c = g.lit(Lit::i64(c));
                g.add(Op::Binary(BinaryOp::Add, sum, c))
            }
        }
    }
}

/// Returns `a + b` of i64 nodes in normal form.
pub fn add(g: &mut Graph, a: NodeId, b: NodeId) -> NodeId {
    let n = g.add(Op::Binary(BinaryOp::Add, a, b));
    Linear::of(g, n).node(g)
}

/// Returns `a - b` in normal form.
pub fn sub(g: &mut Graph, a: NodeId, b: NodeId) -> NodeId {
    let n = g.add(Op::Binary(BinaryOp::Sub, a, b));
    Linear::of(g, n).node(g)
}

/// Returns `a * b` in normal form.
pub fn mul(g: &mut Graph, a: NodeId, b: NodeId) -> NodeId {
    let n = g.add(Op::Binary(BinaryOp::Mul, a, b));
    Linear::of(g, n).node(g)
}

/// Returns whether a node is an i64 scalar; linear forms consist of these only.
pub fn is_i64(g: &Graph, n: NodeId) -> bool {
    g.ty(n).is_scalar() && g.ty(n).elem == Ty::I64
}
