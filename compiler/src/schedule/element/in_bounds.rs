//! Loops without tests of indices (multi-versioning): finds the condition under which all total reads of a loop are
//! in bounds, whatever the indices are within their ranges, and what the loop computes then.
//!
//! ```text
//! sum of at(a, i, k) * x[k] for k < n
//!     ->
//! if i < rows && n <= columns { sum of a[i, k] * x[k] } else { the program's loop }
//! ```
//!
//! The bounds of an index follow by interval arithmetic. Its leaves are the values that are the same for all of the
//! ranges; the condition tests that they are small, so that nothing wraps around. The condition is computed even if
//! the loop has no element, and without the conditions that guard the reads, so its leaves contain only total reads.

mod interior;

use super::lower::LaunchContext;
use crate::core::simplify::simplify;
use crate::core::{Lambda, NodeId, Op, Var, linear};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::facts::InBounds;
use indexmap::IndexSet;
pub use interior::interior;
use rustc_hash::FxHashMap as HashMap;

/// Leaves are tested to be below 2^40, and above the negative of it.
const LEAF_BITS: u32 = 40;
/// Factors that are not constants are tested to be below 2^20, and not negative.
const FACTOR_BITS: u32 = 20;
/// Bounds have at most so many bits, so that the sum of two does not wrap around.
const MAX_BITS: u32 = 62;

/// An index, and its first and last value.
#[derive(Clone, Copy)]
pub struct Range {
    pub var: Var,
    pub first: NodeId,
    pub last: NodeId,
}

impl Range {
    /// Returns the range of an index from 0 up to, not including, `n`.
    pub fn below(l: &mut LaunchContext, var: Var, n: NodeId) -> Range {
        let [first, one] = [0, 1].map(|c| l.g.lit(Lit::i64(c)));
        Range { var, first, last: linear::sub(&mut l.g, n, one) }
    }
}

/// Returns these values without their total reads. Returns `None` if there are no total reads, or if the bounds of
/// some index are not known.
pub fn of(l: &mut LaunchContext, roots: &[NodeId], ranges: &[Range]) -> Option<InBounds> {
    let mut walk = Walk::new(l, ranges);
    let roots = roots.iter().map(|n| walk.plain(*n)).collect::<Option<Vec<NodeId>>>()?;
    let condition = if walk.reads { walk.condition()? } else { return None };
    Some(InBounds { roots, condition })
}

/// Returns these values in a form that leaves no error records. The condition is the constant true if they never
/// leave any. Returns `None` if they may leave some.
pub fn without_records(l: &mut LaunchContext, roots: &[NodeId], ranges: &[Range]) -> Option<InBounds> {
    let condition = l.g.lit(Lit::bool(true));
    let plain = of(l, roots, ranges).unwrap_or_else(|| InBounds { roots: roots.to_vec(), condition });
    let records = plain.roots.iter().any(|n| l.may_record(*n));
    (!records).then_some(plain)
}

/// The minimum and the maximum of an index, and the most bits that either has.
#[derive(Clone, Copy)]
struct Bounds {
    least: NodeId,
    greatest: NodeId,
    bits: u32,
}

struct Walk<'w, 's, 'a> {
    l: &'w mut LaunchContext<'s, 'a>,
    ranges: Vec<Range>,
    /// The variable of the outermost range; `None` if all ranges belong to loops inside of the values.
    outermost: Option<NodeId>,
    /// The plain values that were made, each under the program's own value.
    made: HashMap<NodeId, NodeId>,
    tests: IndexSet<NodeId>,
    /// Whether there was a total read.
    reads: bool,
    edges: Edges,
}

/// What becomes of clamps and of tests of indices.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edges {
    /// They stay.
    Stay,
    /// They are to be left out, and none was met so far.
    Leave,
    /// Some were left out.
    Left,
}

impl<'w, 's, 'a> Walk<'w, 's, 'a> {
    fn new(l: &'w mut LaunchContext<'s, 'a>, ranges: &[Range]) -> Walk<'w, 's, 'a> {
        let outermost = ranges.first().map(|r| l.g.add(Op::Var(r.var, Ty::I64)));
        let (made, tests) = (HashMap::default(), IndexSet::new());
        Walk { l, ranges: ranges.to_vec(), outermost, made, tests, reads: false, edges: Edges::Stay }
    }

    /// Returns the conjunction of the tests; `None` if it never holds.
    fn condition(&mut self) -> Option<NodeId> {
        let yes = self.l.g.lit(Lit::bool(true));
        let tests = std::mem::take(&mut self.tests);
        let all = tests.into_iter().fold(yes, |a, b| self.binary(BinaryOp::And, a, b));
        let never = self.l.g.as_lit(all).is_some_and(|l| !l.as_bool());
        (!never).then_some(all)
    }
}

impl Walk<'_, '_, '_> {
    /// Returns a node with plain reads in place of total ones, which the condition tests to be in bounds.
    fn plain(&mut self, n: NodeId) -> Option<NodeId> {
        if self.l.g.is_closed(n) && !(self.outermost.is_some() && matches!(self.l.g.op(n), Op::At(..))) {
            return Some(n);
        }
        if let Some(known) = self.made.get(&n) {
            return Some(*known);
        }
        if self.edges != Edges::Stay {
            let without_edge = match *self.l.g.op(n) {
                Op::Binary(BinaryOp::Min | BinaryOp::Max, ..) => self.unclamped(n),
                Op::Select(condition, a, b) => self.chosen([condition, a, b]),
                _ => None,
            };
            if let Some(plain) = without_edge {
                self.made.insert(n, plain);
                return Some(plain);
            }
        }
        let op = self.l.g.op(n).clone();
        let made = match &op {
            Op::At(x, at) => {
                self.reads = true;
                for (i, axis) in at.iter().zip(0..) {
                    let extent = self.l.extent(*x, axis);
                    let bounds = self.bounds(*i)?;
                    let zero = self.l.g.lit(Lit::i64(0));
                    self.test(BinaryOp::Ge, bounds.least, zero);
                    self.test(BinaryOp::Lt, bounds.greatest, extent);
                }
                let mut at = at.iter().map(|i| self.plain(*i)).collect::<Option<Vec<NodeId>>>()?;
                if let (true, Some(var), Some(last)) = (self.l.g.is_closed(n), self.outermost, at.last_mut())
                {
                    // values that depend on no index are computed before all loops, where the condition is not tested
                    // yet; so the read is made to depend on one
                    let nothing = self.l.g.add(Op::Binary(BinaryOp::Sub, var, var));
                    *last = self.l.g.add(Op::Binary(BinaryOp::Add, *last, nothing));
                }
                self.l.g.add(Op::Elem(*x, at))
            }
            Op::Elem(x, at) => {
                let at = at.iter().map(|i| self.plain(*i)).collect::<Option<Vec<NodeId>>>()?;
                self.l.g.add(Op::Elem(*x, at))
            }
            Op::Generate(extents, lambda) => {
                let lambda = self.lambda(extents, lambda)?;
                self.l.g.add(Op::Generate(extents.clone(), lambda))
            }
            op => {
                // the operator itself must leave no record
                if op.lambda().is_some_and(|lambda| self.l.may_record(lambda.body)) {
                    return None;
                }
                let operands = op.operands().map(|o| self.plain(o)).collect::<Option<Vec<NodeId>>>()?;
                match operands.iter().copied().eq(op.operands()) {
                    true => n,
                    false => {
                        let op = op.with(&operands, op.lambda().cloned());
                        self.l.g.add(op)
                    }
                }
            }
        };
        if made != n && self.l.g.node(n).bound {
            self.l.g.mark_bound(made);
        }
        self.made.insert(n, made);
        Some(made)
    }

    /// Returns the function of an array whose elements are computed in a loop, with plain reads.
    fn lambda(&mut self, extents: &[NodeId], lambda: &Lambda) -> Option<Lambda> {
        let vars: Vec<(Var, NodeId)> = extents.iter().map(|_| self.l.g.fresh_var(Ty::I64)).collect();
        let nodes: Vec<NodeId> = vars.iter().map(|v| v.1).collect();
        let known = self.ranges.len();
        for (n, (var, _)) in extents.iter().zip(&vars) {
            if self.varies(*n) {
                return None;
            }
            let range = Range::below(self.l, *var, *n);
            self.ranges.push(range);
        }
        let body = self.l.g.open(lambda, &nodes);
        let body = self.plain(body)?;
        self.ranges.truncate(known);
        let typed: Vec<(Var, Ty)> = vars.iter().map(|v| (v.0, Ty::I64)).collect();
        Some(self.l.g.close(&typed, body))
    }

    /// Whether a value may differ within the ranges.
    fn varies(&self, n: NodeId) -> bool {
        self.ranges.iter().any(|r| self.l.g.node(n).free.contains(&r.var))
    }

    fn test(&mut self, op: BinaryOp, a: NodeId, b: NodeId) {
        let test = simplify(&mut self.l.g, Op::Binary(op, a, b));
        self.tests.insert(test);
    }

    fn binary(&mut self, op: BinaryOp, a: NodeId, b: NodeId) -> NodeId {
        simplify(&mut self.l.g, Op::Binary(op, a, b))
    }

    /// Tests that `low` <= n < 2^bits, unless n is known to be.
    fn small(&mut self, n: NodeId, low: i64, bits: u32) -> Option<()> {
        if let Some(c) = self.l.g.as_lit(n).and_then(Lit::as_int) {
            return (i128::from(low) <= c.into() && i128::from(c) < 1 << bits).then_some(());
        }
        let [low, high] = [low, 1 << bits].map(|c| self.l.g.lit(Lit::i64(c)));
        self.test(BinaryOp::Ge, n, low);
        self.test(BinaryOp::Lt, n, high);
        Some(())
    }

    /// Returns a value that is the same for all of the ranges, with total reads in place of plain ones: these may be
    /// in bounds only where the program reads. Returns `None` if the value has loops.
    fn leaf(&mut self, n: NodeId) -> Option<NodeId> {
        let op = self.l.g.op(n).clone();
        if op.needs_launch() || op.lambda().is_some() {
            return self.l.g.is_closed(n).then_some(n);
        }
        let part = |walk: &mut Self, o: NodeId| match walk.l.g.ty(o).is_scalar() {
            true => walk.leaf(o),
            false => Some(o),
        };
        let operands = op.operands().map(|o| part(self, o)).collect::<Option<Vec<NodeId>>>()?;
        let op = match op.with(&operands, None) {
            Op::Elem(x, at) => Op::At(x, at),
            op => op,
        };
        Some(self.l.g.add(op))
    }

    /// Returns the bounds of an index.
    fn bounds(&mut self, n: NodeId) -> Option<Bounds> {
        let is_range = |r: &&Range| *self.l.g.op(n) == Op::Var(r.var, Ty::I64);
        if let Some(r) = self.ranges.iter().find(is_range).copied() {
            self.small(r.first, -(1 << LEAF_BITS), LEAF_BITS)?;
            self.small(r.last, -(1 << LEAF_BITS), LEAF_BITS)?;
            return Some(Bounds { least: r.first, greatest: r.last, bits: LEAF_BITS });
        }
        if !self.varies(n) {
            let n = self.leaf(n)?;
            self.small(n, -(1 << LEAF_BITS), LEAF_BITS)?;
            return Some(Bounds { least: n, greatest: n, bits: LEAF_BITS });
        }
        match *self.l.g.op(n) {
            Op::Binary(BinaryOp::Mul, a, b) => {
                let (a, b) = if self.varies(a) { (a, b) } else { (b, a) };
                self.product(a, b)
            }
            Op::Binary(op @ (BinaryOp::Div | BinaryOp::Rem), a, b) => self.quotient(op, a, b),
            Op::Binary(op, a, b) => {
                let (a, b) = (self.bounds(a)?, self.bounds(b)?);
                let most = a.bits.max(b.bits);
                let (first, last, bits) = match op {
                    BinaryOp::Add => (b.least, b.greatest, most + 1),
                    BinaryOp::Sub => (b.greatest, b.least, most + 1),
                    BinaryOp::Max | BinaryOp::Min => (b.least, b.greatest, most),
                    _ => return None,
                };
                let (least, greatest) = (self.binary(op, a.least, first), self.binary(op, a.greatest, last));
                (bits <= MAX_BITS).then_some(Bounds { least, greatest, bits })
            }
            Op::Select(_, a, b) => {
                let (a, b) = (self.bounds(a)?, self.bounds(b)?);
                let least = self.binary(BinaryOp::Min, a.least, b.least);
                let greatest = self.binary(BinaryOp::Max, a.greatest, b.greatest);
                Some(Bounds { least, greatest, bits: a.bits.max(b.bits) })
            }
            _ => None,
        }
    }

    /// Returns the bounds of a product with a value that is the same for all of the ranges.
    fn product(&mut self, a: NodeId, factor: NodeId) -> Option<Bounds> {
        if self.varies(factor) {
            return None;
        }
        let (a, factor) = (self.bounds(a)?, self.leaf(factor)?);
        let literal = self.l.g.as_lit(factor).and_then(Lit::as_int);
        let own = match literal {
            Some(c) => i64::BITS - c.unsigned_abs().leading_zeros(),
            None => {
                self.small(factor, 0, FACTOR_BITS)?;
                FACTOR_BITS
            }
        };
        let ends = [a.least, a.greatest].map(|n| self.binary(BinaryOp::Mul, n, factor));
        let [least, greatest] = if literal.is_some_and(|c| c < 0) { [ends[1], ends[0]] } else { ends };
        let bits = a.bits + own;
        (bits <= MAX_BITS).then_some(Bounds { least, greatest, bits })
    }

    /// Returns the bounds of a quotient or remainder of an index that is not negative.
    fn quotient(&mut self, op: BinaryOp, a: NodeId, divisor: NodeId) -> Option<Bounds> {
        if self.varies(divisor) {
            return None;
        }
        let (a, divisor) = (self.bounds(a)?, self.leaf(divisor)?);
        self.small(divisor, 1, LEAF_BITS)?;
        let zero = self.l.g.lit(Lit::i64(0));
        self.test(BinaryOp::Ge, a.least, zero);
        if op == BinaryOp::Div {
            let [least, greatest] = [a.least, a.greatest].map(|n| self.binary(op, n, divisor));
            return Some(Bounds { least, greatest, bits: a.bits });
        }
        let one = self.l.g.lit(Lit::i64(1));
        let most = self.binary(BinaryOp::Sub, divisor, one);
        let greatest = self.binary(BinaryOp::Min, a.greatest, most);
        Some(Bounds { least: zero, greatest, bits: a.bits })
    }
}
