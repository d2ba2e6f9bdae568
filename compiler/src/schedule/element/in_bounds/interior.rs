//! Loops of the interior: reads at clamped indices where no clamp acts, and reads behind tests of indices that all
//! hold. What remains are reads of neighbours.
//!
//! ```text
//! sum of u[min(max(i + k - r, 0), n - 1)] for k < 2 r + 1
//!     ->
//! if i - r >= 0 && i + r <= n - 1 { sum of u[i + k - r] } else { the program's loop }
//! ```
//!
//! Only limits that are the same for all elements of the launch count, and only loops that are shorter than the axes
//! of the index space and do not reach the limit by themselves: other tests, such as those of triangular matrices or
//! of lags, fail within most loops.

use super::{Edges, InBounds, LaunchContext, Walk};
use crate::core::{Graph, NodeId, Op, linear};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use rustc_hash::FxHashSet as HashSet;

/// The maximum number of comparisons of the condition.
const MAX_TESTS: usize = 16;

/// Returns what these values are where the loops inside of them are in the interior, and leave no error records.
/// Returns `None` if the loops have no clamps and no tests of indices, or if bounds of some index are not known.
pub fn interior(l: &mut LaunchContext, roots: &[NodeId]) -> Option<InBounds> {
    let mut walk = Walk::new(l, &[]);
    walk.edges = Edges::Leave;
    let roots = roots.iter().map(|n| walk.plain(*n)).collect::<Option<Vec<NodeId>>>()?;
    if walk.edges != Edges::Left || walk.tests.len() > MAX_TESTS {
        return None;
    }
    let condition = walk.condition()?;
    (!roots.iter().any(|n| l.may_record(*n))).then_some(InBounds { roots, condition })
}

impl Walk<'_, '_, '_> {
    /// Whether some loop is as long as an axis of the index space, or reaches a limit by itself.
    fn reaches(&mut self, limit: NodeId) -> bool {
        let mut ends = self.l.domain().to_vec();
        ends.push(limit);
        for r in self.ranges.clone() {
            for end in &ends {
                let beyond = linear::sub(&mut self.l.g, *end, r.last);
                let beyond = self.l.g.as_lit(beyond).and_then(Lit::as_int);
                if beyond.is_some_and(|c| (0..=1).contains(&c)) {
                    return true;
                }
            }
        }
        false
    }

    /// Returns a clamped index without its clamps, which the condition then tests not to act. Returns `None` for
    /// others.
    pub(super) fn unclamped(&mut self, n: NodeId) -> Option<NodeId> {
        let (mut inner, mut limits) = (n, Vec::new());
        while let Op::Binary(op @ (BinaryOp::Min | BinaryOp::Max), a, b) = *self.l.g.op(inner) {
            let (x, limit) = if self.l.g.is_closed(a) { (b, a) } else { (a, b) };
            if !self.l.g.is_closed(limit) || self.l.g.ty(limit).elem != Ty::I64 {
                return None;
            }
            limits.push((op, limit));
            inner = x;
        }
        if limits.is_empty() || !self.varies(inner) || limits.iter().any(|(_, limit)| self.reaches(*limit)) {
            return None;
        }
        let bounds = self.bounds(inner)?;
        for (op, limit) in limits {
            match op {
                BinaryOp::Max => self.test(BinaryOp::Ge, bounds.least, limit),
                _ => self.test(BinaryOp::Le, bounds.greatest, limit),
            }
        }
        self.edges = Edges::Left;
        self.plain(inner)
    }

    /// Returns the arm of a choice that reads arrays, if the other one does not and the choice is one by indices. The
    /// condition then tests that this arm is always chosen.
    pub(super) fn chosen(&mut self, [condition, a, b]: [NodeId; 3]) -> Option<NodeId> {
        let [of_a, of_b] = [a, b].map(|arm| reads(&self.l.g, arm));
        if of_a == of_b {
            return None;
        }
        let tests = self.tests.len();
        if self.always(condition, of_a).is_none() {
            self.tests.truncate(tests);
            return None;
        }
        self.edges = Edges::Left;
        self.plain(if of_a { a } else { b })
    }

    /// Tests that a condition, a conjunction of comparisons of indices with limits, has this value for all of the
    /// ranges.
    fn always(&mut self, condition: NodeId, value: bool) -> Option<()> {
        use BinaryOp::{And, Ge, Gt, Le, Lt, Or};
        match *self.l.g.op(condition) {
            Op::Unary(UnaryOp::Not, a) => self.always(a, !value),
            Op::Binary(And, a, b) if value => self.always(a, true).and_then(|()| self.always(b, true)),
            Op::Binary(Or, a, b) if !value => self.always(a, false).and_then(|()| self.always(b, false)),
            Op::Binary(op @ (Lt | Le | Gt | Ge), a, b) if self.l.g.ty(a).elem == Ty::I64 => {
                let (op, index, limit) = match (self.l.g.is_closed(a), self.l.g.is_closed(b)) {
                    (false, true) => (op, a, b),
                    (true, false) => (op.swapped(), b, a),
                    _ => return None,
                };
                if self.reaches(limit) {
                    return None;
                }
                let bounds = self.bounds(index)?;
                match if value { op } else { op.opposite() } {
                    op @ (Lt | Le) => self.test(op, bounds.greatest, limit),
                    op => self.test(op, bounds.least, limit),
                }
                Some(())
            }
            _ => None,
        }
    }
}

/// Whether a value reads arrays at indices that are not the same for all elements.
fn reads(g: &Graph, n: NodeId) -> bool {
    let (mut stack, mut seen) = (vec![n], HashSet::default());
    while let Some(n) = stack.pop() {
        if g.is_closed(n) || !seen.insert(n) {
            continue;
        }
        if matches!(g.op(n), Op::At(..) | Op::Elem(..)) {
            return true;
        }
        stack.extend(g.op(n).operands());
    }
    false
}
