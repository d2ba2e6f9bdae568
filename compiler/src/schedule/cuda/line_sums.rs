//! Sums of integers in register tiling, and minima and maxima, in an order that follows the lines from which their
//! terms are read.
//!
//! ```text
//! 3 x 3 elements of the columns a, b, c
//! row 0: a0 + b0 + c0 + a1 + b1 + c1 + a2 + b2 + c2    ->    (a0 + b0 + c0) + (a1 + b1 + c1) + (a2 + b2 + c2)
//! row 1: a1 + b1 + c1 + a2 + b2 + c2 + a3 + b3 + c3    ->    (a1 + b1 + c1) + (a2 + b2 + c2) + (a3 + b3 + c3)
//! ```
//!
//! Integers wrap, so the order of a sum changes no bit. The terms of one line are added first, without their common
//! factor. The rows of one thread have these partial sums in common, and each is one node. A sum takes no more
//! operations than before. A value that several others need, or that the author bound, stays a term. Sums of floats
//! keep the program's order. Minima and maxima, also of floats, and `and` and `or` are treated alike: the order of
//! their operands changes no bit either.

use super::register_pressure::LineSchedule;
use crate::core::{NodeId, Op};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use crate::schedule::element::lower::LaunchContext;
use indexmap::IndexMap;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::collections::BTreeMap;

/// Returns `roots` with their sums in the order of lines; `None` if they have no such sums.
pub fn by_lines(l: &mut LaunchContext, roots: &[NodeId], lines: &LineSchedule) -> Option<Vec<NodeId>> {
    let nodes = l.g.reachable(roots.iter().copied());
    let mut sums = Sums { l, lines, inner: HashSet::default(), memo: HashMap::default() };
    sums.find_inner(&nodes, roots);
    if sums.inner.is_empty() {
        return None;
    }
    for n in nodes {
        sums.rebuild(n);
    }
    Some(roots.iter().map(|n| sums.now(*n)).collect())
}

/// The operations that may be reordered.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// A sum, difference or multiple of integers.
    Sum,
    /// A minimum, maximum, `and` or `or`.
    Join(BinaryOp),
}

/// A term of a sum: its factor, and the line that must be loaded before it can be computed.
#[derive(Clone, Copy)]
struct Term {
    factor: i64,
    line: i64,
}

struct Sums<'l, 's, 'a> {
    l: &'l mut LaunchContext<'s, 'a>,
    lines: &'l LineSchedule,
    /// The sums that are part of one other sum only.
    inner: HashSet<NodeId>,
    /// The nodes that replace others.
    memo: HashMap<NodeId, NodeId>,
}

impl Sums<'_, '_, '_> {
    fn now(&self, n: NodeId) -> NodeId {
        self.memo.get(&n).copied().unwrap_or(n)
    }

    /// Returns how the operands of a node may be reordered, if they read arrays.
    fn kind(&self, n: NodeId) -> Option<Kind> {
        use BinaryOp::{And, Max, Min, Or};
        let g = &self.l.g;
        if self.lines.line(n) == i64::MIN {
            return None;
        }
        if let Op::Binary(op @ (Min | Max | And | Or), ..) = *g.op(n) {
            return Some(Kind::Join(op));
        }
        let is_constant = |n: NodeId| g.as_lit(n).is_some();
        let is_sum = match *g.op(n) {
            Op::Binary(BinaryOp::Add | BinaryOp::Sub, ..) | Op::Unary(UnaryOp::Neg, _) | Op::MulAdd(..) => {
                true
            }
            Op::Binary(BinaryOp::Mul, a, b) => is_constant(a) || is_constant(b),
            _ => false,
        };
        (is_sum && g.ty(n).elem.is_int()).then_some(Kind::Sum)
    }

    /// Finds the sums that only one other sum needs.
    fn find_inner(&mut self, nodes: &[NodeId], roots: &[NodeId]) {
        let mut users: HashMap<NodeId, u32> = HashMap::default();
        let mut of_sums = Vec::new();
        for n in nodes {
            let op = self.l.g.op(*n).clone();
            let kind = self.kind(*n);
            for o in op.operands().chain(op.lambda().map(|l| l.body)) {
                *users.entry(o).or_default() += 1;
                of_sums.extend(kind.map(|kind| (o, kind)));
            }
        }
        roots.iter().for_each(|n| *users.entry(*n).or_default() += 1);
        let is_inner = |(n, of): &(NodeId, Kind)| {
            users[n] == 1 && self.kind(*n) == Some(*of) && !self.l.g.node(*n).bound
        };
        self.inner = of_sums.into_iter().filter(is_inner).map(|(n, _)| n).collect();
    }

    fn rebuild(&mut self, n: NodeId) {
        let op = self.l.g.op(n).clone();
        if self.inner.contains(&n) || op.lambda().is_some() {
            return;
        }
        let before = self.l.g.set_loc(self.l.g.node(n).loc.clone());
        let ty = self.l.g.ty(n).elem;
        let made = match self.kind(n) {
            Some(Kind::Sum) => self.sum_in_order(n, ty),
            Some(Kind::Join(op)) => self.joined_in_order(n, op),
            None => {
                let operands: Vec<NodeId> = op.operands().map(|o| self.now(o)).collect();
                let same = op.operands().eq(operands.iter().copied());
                if same { n } else { self.l.g.add(op.with(&operands, None)) }
            }
        };
        self.l.g.set_loc(before);
        if self.l.g.node(n).bound {
            self.l.g.mark_bound(made);
        }
        self.memo.insert(n, made);
    }

    /// Returns a sum in the order of lines; if it shares nothing by that, in its own order.
    fn sum_in_order(&mut self, n: NodeId, ty: Ty) -> NodeId {
        let (terms, constant) = self.terms(n, ty);
        let mut of_lines: BTreeMap<i64, Vec<(NodeId, i64)>> = BTreeMap::new();
        for (x, t) in terms.into_iter().filter(|(_, t)| t.factor != 0) {
            of_lines.entry(t.line).or_default().push((x, t.factor));
        }
        if !shares(&of_lines) {
            return self.as_written(n);
        }
        let mut sum = None;
        for mut line in of_lines.into_values() {
            // the order of terms is the same in every sum, so that equal partial sums are one node
            line.sort();
            let sign = line[0].1.signum();
            let common = sign * line.iter().fold(0, |all, (_, factor)| gcd(all, *factor));
            let mut partial = None;
            for (x, factor) in line {
                partial = Some(self.plus(partial, x, factor / common, ty));
            }
            sum = partial.map(|partial| self.plus(sum, partial, common, ty));
        }
        let constant = integer(ty, constant);
        match sum {
            Some(sum) if constant == Lit::zero(ty) => sum,
            Some(sum) => {
                let constant = self.l.g.lit(constant);
                self.l.g.add(Op::Binary(BinaryOp::Add, sum, constant))
            }
            None => self.l.g.lit(constant),
        }
    }

    /// Returns a minimum, maximum, `and` or `or` in the order of lines.
    fn joined_in_order(&mut self, n: NodeId, op: BinaryOp) -> NodeId {
        let (mut of_lines, mut stack): (BTreeMap<i64, Vec<NodeId>>, _) = (BTreeMap::new(), vec![n]);
        while let Some(m) = stack.pop() {
            if m == n || self.inner.contains(&m) {
                stack.extend(self.l.g.op(m).operands());
            } else {
                of_lines.entry(self.lines.line(m)).or_default().push(self.now(m));
            }
        }
        for line in of_lines.values_mut() {
            // the order is the same everywhere, and a value joined with itself is that value
            line.sort();
            line.dedup();
        }
        if !shares(&of_lines) {
            return self.as_written(n);
        }
        let mut join = |a: NodeId, b: NodeId| self.l.g.add(Op::Binary(op, a, b));
        let mut partial = Vec::new();
        for line in of_lines.into_values() {
            partial.extend(line.into_iter().reduce(&mut join));
        }
        partial.into_iter().reduce(join).unwrap_or(n)
    }

    /// Rebuilds a sum, and the sums inside of it, in the program's order.
    fn as_written(&mut self, n: NodeId) -> NodeId {
        let op = self.l.g.op(n).clone();
        let mut operands = Vec::new();
        for o in op.operands() {
            operands.push(if self.inner.contains(&o) { self.as_written(o) } else { self.now(o) });
        }
        if op.operands().eq(operands.iter().copied()) { n } else { self.l.g.add(op.with(&operands, None)) }
    }

    /// Returns the terms of a sum, and its constant. Inner sums are taken apart.
    fn terms(&mut self, root: NodeId, ty: Ty) -> (IndexMap<NodeId, Term>, i64) {
        let (mut terms, mut constant) = (IndexMap::new(), 0_i64);
        let mut stack = vec![(root, 1_i64)];
        while let Some((n, by)) = stack.pop() {
            if let Some(c) = self.l.g.as_lit(n) {
                constant = constant.wrapping_add(by.wrapping_mul(value(c)));
                continue;
            }
            if n != root && !self.inner.contains(&n) {
                let term = Term { factor: by, line: self.lines.line(n) };
                add_term(&mut terms, ty, self.now(n), term);
                continue;
            }
            let multiple = |a: NodeId, b: NodeId| match (self.l.g.as_lit(a), self.l.g.as_lit(b)) {
                (Some(c), _) => Some((b, by.wrapping_mul(value(c)))),
                (_, Some(c)) => Some((a, by.wrapping_mul(value(c)))),
                _ => None,
            };
            match *self.l.g.op(n) {
                Op::Binary(BinaryOp::Sub, a, b) => stack.extend([(a, by), (b, by.wrapping_neg())]),
                Op::Unary(_, a) => stack.push((a, by.wrapping_neg())),
                Op::Binary(BinaryOp::Mul, a, b) => stack.extend(multiple(a, b)),
                Op::MulAdd(a, b, c) => {
                    stack.push((c, by));
                    match multiple(a, b) {
                        Some(term) => stack.push(term),
                        None => {
                            let line = self.lines.line(a).max(self.lines.line(b));
                            let product = Op::Binary(BinaryOp::Mul, self.now(a), self.now(b));
                            let product = self.l.g.add(product);
                            add_term(&mut terms, ty, product, Term { factor: by, line });
                        }
                    }
                }
                Op::Binary(_, a, b) => stack.extend([(a, by), (b, by)]),
                ref op => unreachable!("{op:?} is no sum"),
            }
        }
        (terms, constant)
    }

    /// Returns `sum + factor * x`.
    fn plus(&mut self, sum: Option<NodeId>, x: NodeId, factor: i64, ty: Ty) -> NodeId {
        let g = &mut self.l.g;
        let (op, by) = if factor == -1 { (BinaryOp::Sub, 1) } else { (BinaryOp::Add, factor) };
        let x = match by {
            1 => x,
            by => {
                let by = g.lit(integer(ty, by));
                g.add(Op::Binary(BinaryOp::Mul, x, by))
            }
        };
        match sum {
            Some(sum) => g.add(Op::Binary(op, sum, x)),
            None if op == BinaryOp::Sub => g.add(Op::Unary(UnaryOp::Neg, x)),
            None => x,
        }
    }
}

/// Whether it pays to join the terms of each line first.
fn shares<T>(of_lines: &BTreeMap<i64, Vec<T>>) -> bool {
    of_lines.len() > 1 && of_lines.values().any(|line| line.len() > 1)
}

fn add_term(terms: &mut IndexMap<NodeId, Term>, ty: Ty, x: NodeId, t: Term) {
    let known = terms.entry(x).or_insert(Term { factor: 0, ..t });
    known.factor = value(integer(ty, known.factor.wrapping_add(t.factor)));
}

/// Returns an integer modulo the width of the type.
fn integer(ty: Ty, x: i64) -> Lit {
    let bits = 8 * ty.size() as u32;
    Lit { ty, bits: x as u64 & (u64::MAX >> (64 - bits)) }
}

/// Returns the bits of an integer as a signed number of its width: of the numbers with these bits, the one nearest to
/// 0.
fn value(l: Lit) -> i64 {
    let unused = 64 - 8 * l.ty.size() as u32;
    ((l.bits << unused) as i64) >> unused
}

/// Returns the greatest common divisor, which is at least 0. That of 0 and the least integer is 1, which is a common
/// divisor, too.
fn gcd(a: i64, b: i64) -> i64 {
    let (Some(mut a), Some(mut b)) = (a.checked_abs(), b.checked_abs()) else { return 1 };
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
