//! Patterns of scalar operations: matching them in a graph, and building nodes from them.

use crate::core::{Graph, NodeId, Op};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp, eval_binary, eval_unary};
use std::fmt;

/// Makes a node in simplest form. This is `core::simplify`, passed as a function because it lies in
/// a layer above the rules.
pub type Simplify = fn(&mut Graph, Op) -> NodeId;

/// A pattern of an operation and its operands. A constant has the type of the operands beside it.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub enum Pattern {
    /// Any operand. Two operands with the same number must be the same node.
    Operand(usize),
    /// Any constant, which is called c.
    Constant,
    /// 1 / c
    Reciprocal,
    Zero,
    One,
    MinusZero,
    MinusOne,
    /// The constant with all bits set; for bool, true.
    AllBits,
    Truth(bool),
    Unary(UnaryOp, &'static Pattern),
    Binary(BinaryOp, &'static [Pattern; 2]),
    MulAdd(&'static [Pattern; 3]),
    Select(&'static [Pattern; 3]),
    /// A cast to the type that the operand already has.
    Cast(&'static Pattern),
}

/// A condition on the constant c.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Condition {
    /// Whether c is a power of two whose reciprocal is one as well, and both are normal numbers.
    ExactReciprocal,
}

/// The format of a float type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    /// The number of bits of the exponent.
    pub exponent: u32,
    /// The number of stored bits of the mantissa.
    pub mantissa: u32,
}

impl Format {
    /// Returns the format of a float type.
    pub fn of(ty: Ty) -> Format {
        let [exponent, mantissa] = match ty {
            Ty::F16 => [5, 10],
            Ty::Bf16 => [8, 7],
            Ty::F32 => [8, 23],
            _ => [11, 52],
        };
        Format { exponent, mantissa }
    }

    /// Returns the first and last stored exponent of the powers of two with exact reciprocals: 1
    /// and 2 * bias - 1.
    pub fn exact_reciprocals(self) -> [u64; 2] {
        [1, (1 << self.exponent) - 3]
    }
}

impl Condition {
    /// Returns whether the condition holds for a constant.
    pub fn holds(self, c: Lit) -> bool {
        let Condition::ExactReciprocal = self;
        let format = Format::of(c.ty);
        let [least, most] = format.exact_reciprocals();
        let exponent = c.bits >> format.mantissa & ((1 << format.exponent) - 1);
        c.bits & ((1 << format.mantissa) - 1) == 0 && least <= exponent && exponent <= most
    }
}

/// The nodes that the names of a pattern stand for.
pub struct Found {
    ty: Ty,
    operands: [Option<NodeId>; 3],
    constant: Option<Lit>,
}

impl Found {
    /// Returns whether the constant satisfies the condition.
    pub fn holds(&self, when: Option<Condition>) -> bool {
        when.is_none_or(|condition| self.constant.is_some_and(|c| condition.holds(c)))
    }

    /// Returns the operands of an operation that its replacement does not have. The arm of a selection that is not
    /// taken is not among them, because it leaves no error record.
    pub fn dropped(&self, op: &Op, to: &Pattern) -> impl Iterator<Item = NodeId> {
        let arms = if let Op::Select(_, a, b) = *op { [a, b].map(Some) } else { [None; 2] };
        let is_dropped =
            |(i, n): (usize, &Option<NodeId>)| n.filter(|n| !to.has(i) && !arms.contains(&Some(*n)));
        let dropped: Vec<NodeId> = self.operands.iter().enumerate().filter_map(is_dropped).collect();
        dropped.into_iter()
    }

    fn fits(&mut self, g: &Graph, pattern: &Pattern, n: NodeId) -> bool {
        match pattern {
            Pattern::Operand(i) => *self.operands[*i].get_or_insert(n) == n,
            Pattern::Constant => {
                self.constant = g.as_lit(n);
                self.constant.is_some()
            }
            Pattern::Unary(..)
            | Pattern::Binary(..)
            | Pattern::MulAdd(_)
            | Pattern::Select(_)
            | Pattern::Cast(_) => self.is(g, pattern, g.op(n)),
            value => g.as_lit(n).is_some_and(|l| value.literal(self) == Some(l)),
        }
    }

    fn is(&mut self, g: &Graph, pattern: &Pattern, op: &Op) -> bool {
        match (pattern, op) {
            (Pattern::Unary(p, a), Op::Unary(o, x)) => p == o && self.fits(g, a, *x),
            (Pattern::Binary(p, [a, b]), Op::Binary(o, x, y)) => {
                p == o && self.fits(g, a, *x) && self.fits(g, b, *y)
            }
            (Pattern::MulAdd(p), Op::MulAdd(x, y, z)) | (Pattern::Select(p), Op::Select(x, y, z)) => {
                p.iter().zip([x, y, z]).all(|(p, n)| self.fits(g, p, *n))
            }
            (Pattern::Cast(p), Op::Cast(ty, x)) => g.ty(*x).elem == *ty && self.fits(g, p, *x),
            _ => false,
        }
    }
}

impl Pattern {
    /// Matches an operation on values of type `ty`; returns the nodes of the pattern's names if it
    /// matches.
    pub fn find(&self, g: &Graph, op: &Op, ty: Ty) -> Option<Found> {
        let mut found = Found { ty, operands: [None; 3], constant: None };
        found.is(g, self, op).then_some(found)
    }

    /// Whether the pattern has an operand.
    fn has(&self, operand: usize) -> bool {
        match self {
            Pattern::Operand(i) => *i == operand,
            Pattern::Unary(_, a) | Pattern::Cast(a) => a.has(operand),
            Pattern::Binary(_, all) => all.iter().any(|p| p.has(operand)),
            Pattern::MulAdd(all) | Pattern::Select(all) => all.iter().any(|p| p.has(operand)),
            _ => false,
        }
    }

    /// Builds the pattern's node in simplest form.
    pub fn make(&self, g: &mut Graph, found: &Found, simplify: Simplify) -> NodeId {
        let op = match self {
            Pattern::Operand(i) => return found.operands[*i].expect("the pattern has this operand"),
            Pattern::Unary(op, a) => Op::Unary(*op, a.make(g, found, simplify)),
            Pattern::Binary(op, p) => {
                let [a, b] = p.each_ref().map(|p| p.make(g, found, simplify));
                Op::Binary(*op, a, b)
            }
            Pattern::MulAdd(p) => {
                let [a, b, c] = p.each_ref().map(|p| p.make(g, found, simplify));
                Op::MulAdd(a, b, c)
            }
            Pattern::Select(p) => {
                let [a, b, c] = p.each_ref().map(|p| p.make(g, found, simplify));
                Op::Select(a, b, c)
            }
            Pattern::Cast(a) => Op::Cast(found.ty, a.make(g, found, simplify)),
            value => return g.lit(value.literal(found).expect("the pattern has this constant")),
        };
        simplify(g, op)
    }

    /// Returns the value of a constant in the pattern.
    fn literal(&self, found: &Found) -> Option<Lit> {
        match self {
            Pattern::Reciprocal => found.constant.map(|c| eval_binary(BinaryOp::Div, Lit::one(c.ty), c).0),
            other => other.value(found.ty),
        }
    }

    /// Returns the value, in type `ty`, of a constant that does not depend on an operand.
    pub fn value(&self, ty: Ty) -> Option<Lit> {
        Some(match self {
            Pattern::Zero => Lit::zero(ty),
            Pattern::One => Lit::one(ty),
            Pattern::MinusZero => eval_unary(UnaryOp::Neg, Lit::zero(ty)),
            Pattern::MinusOne => eval_unary(UnaryOp::Neg, Lit::one(ty)),
            Pattern::AllBits => eval_unary(UnaryOp::Not, Lit::zero(ty)),
            Pattern::Truth(b) => Lit::bool(*b),
            _ => return None,
        })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Operand(i) => f.write_str(["x", "y", "z"][*i]),
            Pattern::Constant => f.write_str("c"),
            Pattern::Reciprocal => f.write_str("(reciprocal c)"),
            Pattern::Zero => f.write_str("0"),
            Pattern::One => f.write_str("1"),
            Pattern::MinusZero => f.write_str("-0"),
            Pattern::MinusOne => f.write_str("-1"),
            Pattern::AllBits => f.write_str("all"),
            Pattern::Truth(b) => write!(f, "{b}"),
            Pattern::Unary(op, a) => write!(f, "({op} {a})"),
            Pattern::Binary(op, [a, b]) => write!(f, "({op} {a} {b})"),
            Pattern::MulAdd([a, b, c]) => write!(f, "(mul_add {a} {b} {c})"),
            Pattern::Select([a, b, c]) => write!(f, "(select {a} {b} {c})"),
            Pattern::Cast(a) => write!(f, "(cast {a})"),
        }
    }
}
