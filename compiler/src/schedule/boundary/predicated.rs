//! The predicated form of an element: code that is right at the edges as well, and that reads
//! arrays only at constant distances from its own indices. The values that a thread keeps in
//! registers around an element then serve every element.
//!
//! ```text
//! x[min(max(i - 1, 0), n - 1)]                          ->   select(i == 0, x[i], x[i - 1])
//! select(0 < i && i < n - 1, x[max(i - 1, 0)] + .., y)  ->   select(0 < i && i < n - 1, x[i - 1] + .., y)
//! ```
//!
//! Both arms of a `select` are computed. The arm that is not taken may read beyond the edge of the array, and
//! whatever value it gets there is discarded. The form assumes that every axis is so long that no index is near both
//! of its ends ([`Predicated::least`]).
//!
//! An index that wraps around reads at a distance that depends on the extent, so no read at a constant distance can
//! replace it. But if the caller keeps a copy of the other end's elements beyond each edge ([`Domain::may_wrap`]),
//! such an index becomes the plain one:
//!
//! ```text
//! x[(i + n - 1) % n]                                    ->   x[i - 1]
//! ```

use super::interior::{BoundaryWidth, interior_of};
use crate::core::linear::{self, Linear};
use crate::core::simplify::simplify;
use crate::core::{Graph, NodeId, Op};
use crate::scalar::{BinaryOp, Lit, Ty};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// A length greater than that of any axis. [`Edges::choices`] makes the length of an axis a variable, which this
/// bounds.
const ENDLESS: i64 = 1 << 40;

/// The predicated form of an element.
#[derive(Clone)]
pub struct Predicated {
    /// The element's value.
    pub value: NodeId,
    /// The minimum length of each axis for which the form is right.
    pub least: i64,
    /// For each axis, whether the form reads beyond its edges and expects a copy of the other end's elements there.
    pub wrapped: Vec<bool>,
}

/// The index space of an element, and how far the element may read.
pub struct Domain<'a> {
    /// The variables of the element's indices.
    pub index: &'a [NodeId],
    /// The extent of each axis.
    pub extents: &'a [NodeId],
    /// Returns the least and the greatest distance from the element at which the caller holds values of an array, one
    /// pair per axis.
    pub reach: &'a dyn Fn(NodeId) -> Vec<(i64, i64)>,
    /// Whether the caller holds a copy of the other end's elements beyond each edge, if the element wraps around.
    pub may_wrap: bool,
}

/// Returns the predicated form of `root`. Returns `None` if the element has loops, may leave an
/// error record, or reads at distances that are not constant.
pub fn element(g: &mut Graph, domain: &Domain, root: NodeId) -> Option<Predicated> {
    let mut edges = Edges {
        domain,
        selected: HashMap::default(),
        read: HashMap::default(),
        least: 1,
        wrapped: vec![false; domain.index.len()],
    };
    let root = edges.selected(g, root);
    let value = edges.rewritten(g, root)?;
    let bad = |n: NodeId| {
        let op = g.op(n);
        !g.is_closed(n) && (op.lambda().is_some() || op.may_record(g))
    };
    if g.reachable([value]).into_iter().any(bad) {
        return None;
    }
    Some(Predicated { value, least: edges.least, wrapped: edges.wrapped })
}

/// Whether a value uses an index only to read elements, and not in a comparison or in arithmetic.
pub fn only_reads_by(g: &Graph, value: NodeId, index: NodeId) -> bool {
    let (mut pending, mut seen) = (vec![value], HashSet::default());
    while let Some(n) = pending.pop() {
        if n == index {
            return false;
        }
        if !g.is_closed(n) && seen.insert(n) && !matches!(g.op(n), Op::Elem(..)) {
            pending.extend(g.op(n).operands());
        }
    }
    true
}

/// The rewriting of one element, in two walks: the first simplifies arms of `select` ([`Edges::selected`]), the
/// second one replaces reads ([`Edges::rewritten`]).
struct Edges<'a> {
    domain: &'a Domain<'a>,
    /// The results of the first walk.
    selected: HashMap<NodeId, NodeId>,
    /// The results of the second walk.
    read: HashMap<NodeId, NodeId>,
    /// See [`Predicated::least`] and [`Predicated::wrapped`].
    least: i64,
    wrapped: Vec<bool>,
}

impl Edges<'_> {
    /// Returns the node with each arm of a `select` simplified for the indices at which that arm is
    /// selected.
    fn selected(&mut self, g: &mut Graph, n: NodeId) -> NodeId {
        if g.is_closed(n) || g.op(n).lambda().is_some() {
            return n;
        }
        if let Some(known) = self.selected.get(&n) {
            return *known;
        }
        let mut op = g.op(n).clone();
        if let Op::Select(c, a, b) = op {
            let (values, widths) = interior_of(g, self.domain.index, self.domain.extents, &[c]);
            let arm = |edges: &Self, g: &mut Graph, arm: NodeId| edges.within(g, arm, &widths).unwrap_or(arm);
            op = match g.as_lit(values[0]).map(Lit::as_bool) {
                Some(true) => Op::Select(c, arm(self, g, a), b),
                Some(false) => Op::Select(c, a, arm(self, g, b)),
                None => op,
            };
        }
        let operands: Vec<NodeId> = op.operands().map(|o| self.selected(g, o)).collect();
        let made = rebuilt(g, n, op.with(&operands, None));
        self.selected.insert(n, made);
        made
    }

    /// Returns the value of a node at indices that keep these boundary widths, or `None` if the
    /// value needs wider ones.
    fn within(&self, g: &mut Graph, n: NodeId, widths: &[BoundaryWidth]) -> Option<NodeId> {
        let (values, needed) = interior_of(g, self.domain.index, self.domain.extents, &[n]);
        let narrower = needed.iter().zip(widths).all(|(n, m)| n.0 <= m.0 && n.1 <= m.1);
        narrower.then(|| self.proven(g, values[0], widths, &mut HashMap::default()))
    }

    /// Returns the node with a plain read (`elem`) in place of each total read (`at`) that is in
    /// bounds within these boundary widths.
    fn proven(
        &self,
        g: &mut Graph,
        n: NodeId,
        widths: &[BoundaryWidth],
        memo: &mut HashMap<NodeId, NodeId>,
    ) -> NodeId {
        if g.is_closed(n) || g.op(n).lambda().is_some() {
            return n;
        }
        if let Some(known) = memo.get(&n) {
            return *known;
        }
        let op = g.op(n).clone();
        let operands: Vec<NodeId> = op.operands().map(|o| self.proven(g, o, widths, memo)).collect();
        let op = match op.with(&operands, None) {
            Op::At(x, at) if self.is_inside(g, x, &at, widths) => Op::Elem(x, at),
            op => op,
        };
        let made = rebuilt(g, n, op);
        memo.insert(n, made);
        made
    }

    /// Whether `x` has the extents of the index space and is read no farther from the element than the boundary is
    /// wide, so that the read is in bounds.
    fn is_inside(&self, g: &mut Graph, x: NodeId, at: &[NodeId], widths: &[BoundaryWidth]) -> bool {
        let Domain { index, extents, .. } = *self.domain;
        at.len() == index.len()
            && (0..at.len()).all(|axis| {
                let length = g.add(Op::Len(x, axis as u8));
                let tap = distance(g, at[axis], index[axis]);
                length == extents[axis] && tap.is_some_and(|t| -widths[axis].0 <= t && t <= widths[axis].1)
            })
    }

    /// Returns the node with every read at constant distances, or `None` if that is impossible.
    fn rewritten(&mut self, g: &mut Graph, n: NodeId) -> Option<NodeId> {
        if g.is_closed(n) || g.op(n).lambda().is_some() {
            return Some(n);
        }
        if let Some(known) = self.read.get(&n) {
            return Some(*known);
        }
        let op = g.op(n).clone();
        let made = match &op {
            Op::Elem(x, at) if at.len() == self.domain.index.len() => {
                self.reads(g, *x, at, &mut Vec::new())?
            }
            Op::Elem(..) | Op::At(..) => return None,
            op => {
                let mut operands = Vec::new();
                for o in op.operands() {
                    operands.push(self.rewritten(g, o)?);
                }
                rebuilt(g, n, op.with(&operands, None))
            }
        };
        self.read.insert(n, made);
        Some(made)
    }

    /// Returns the element of `x` at the indices `at` as a choice among reads at constant
    /// distances. `taps` are the distances along the first axes, which are chosen already; the function calls itself
    /// for the next axis with each distance that this axis may have.
    ///
    /// ```text
    /// x[min(i + 2, n - 1)]   ->   select(i == n - 2, x[i + 1], select(i == n - 1, x[i], x[i + 2]))
    /// ```
    fn reads(&mut self, g: &mut Graph, x: NodeId, at: &[NodeId], taps: &mut Vec<i64>) -> Option<NodeId> {
        let Domain { index, extents, reach, .. } = *self.domain;
        let axis = taps.len();
        if axis == index.len() {
            let place = |g: &mut Graph, (i, t): (&NodeId, &i64)| {
                let by = g.lit(Lit::i64(*t));
                linear::add(g, *i, by)
            };
            let at = index.iter().zip(taps.iter()).map(|pair| place(g, pair)).collect();
            return Some(g.add(Op::Elem(x, at)));
        }
        let (own, length) = (index[axis], extents[axis]);
        let (first, last) = *reach(x).get(axis)?;
        let choices = match distance(g, at[axis], own) {
            Some(tap) => Choices { tap, before: vec![], behind: vec![] },
            None => self.choices(g, at[axis], axis)?,
        };
        let all = choices.before.iter().chain(&choices.behind).chain([&choices.tap]);
        if !all.into_iter().all(|t| (first..=last).contains(t)) {
            return None;
        }
        let mut with = |edges: &mut Self, g: &mut Graph, tap: i64| {
            taps.push(tap);
            let value = edges.reads(g, x, at, taps);
            taps.pop();
            value
        };
        let mut value = with(self, g, choices.tap)?;
        for (d, tap) in (0..).zip(&choices.behind) {
            let behind = g.lit(Lit::i64(d + 1));
            let place = linear::sub(g, length, behind);
            let there = g.add(Op::Binary(BinaryOp::Eq, own, place));
            let other = with(self, g, *tap)?;
            value = g.add(Op::Select(there, other, value));
        }
        for (d, tap) in (0..).zip(&choices.before) {
            let place = g.lit(Lit::i64(d));
            let there = g.add(Op::Binary(BinaryOp::Eq, own, place));
            let other = with(self, g, *tap)?;
            value = g.add(Op::Select(there, other, value));
        }
        Some(value)
    }

    /// Returns the distances of a read whose index along one axis is clamped, reflected or the like: evaluates the
    /// index at each of the first places (0, 1, ..) and of the last ones (n - 1, n - 2, ..) that lie in the boundary,
    /// and subtracts the place. Returns `None` if one of the differences is not constant.
    fn choices(&mut self, g: &mut Graph, at: NodeId, axis: usize) -> Option<Choices> {
        let (own, length) = (self.domain.index[axis], self.domain.extents[axis]);
        if g.node(at).free != g.node(own).free {
            return None;
        }
        let (values, widths) = interior_of(g, self.domain.index, self.domain.extents, &[at]);
        let tap = distance(g, values[0], own)?;
        let (before, behind) = widths[axis];
        // the length n of the axis becomes the index of an analysis of its own; the width that this analysis needs at
        // the low end of n is the least length for which the distance is right
        let (_, n) = g.fresh_var(Ty::I64);
        let endless = g.lit(Lit::i64(ENDLESS));
        let mut near = |g: &mut Graph, place: NodeId| {
            let there = replaced(g, at, &[(length, n), (own, place)], &mut HashMap::default());
            let (values, needed) = interior_of(g, &[n], &[endless], &[there]);
            self.least = self.least.max(needed[0].0);
            Linear::of(g, values[0]).minus(&Linear::of(g, place))
        };
        let mut distances = [Vec::new(), Vec::new()];
        for d in 0..before {
            let place = g.lit(Lit::i64(d));
            distances[0].push(near(g, place));
        }
        for d in 0..behind {
            let back = g.lit(Lit::i64(d + 1));
            let place = linear::sub(g, n, back);
            distances[1].push(near(g, place));
        }
        self.least = self.least.max(before + behind + 1);
        // a read that wraps around has the distance tap + n at the first indices, and tap - n at the last ones
        let goes_on = |(distances, sign): (&Vec<Linear>, i64)| {
            distances
                .iter()
                .all(|d| d.constant == tap && d.terms.len() == 1 && d.terms.get(&n) == Some(&sign))
        };
        if self.domain.may_wrap && before + behind > 0 && distances.iter().zip([1, -1]).all(goes_on) {
            self.wrapped[axis] = true;
            return Some(Choices { tap, before: vec![], behind: vec![] });
        }
        let [before, behind] = distances.map(|d| d.iter().map(Linear::as_constant).collect::<Option<_>>());
        Some(Choices { tap, before: before?, behind: behind? })
    }
}

/// The distance of a read's index from the element's own index along one axis.
struct Choices {
    /// Away from the edges.
    tap: i64,
    /// At the indices 0, 1, ..
    before: Vec<i64>,
    /// At the indices n - 1, n - 2, ..
    behind: Vec<i64>,
}

/// Returns the difference of an index and the element's own index, if it is constant.
fn distance(g: &mut Graph, at: NodeId, own: NodeId) -> Option<i64> {
    Linear::of(g, at).minus(&Linear::of(g, own)).as_constant()
}

/// Returns the node of `op`, which replaces `old` and takes over its source line and its marks.
fn rebuilt(g: &mut Graph, old: NodeId, op: Op) -> NodeId {
    if *g.op(old) == op {
        return old;
    }
    let before = g.set_loc(g.node(old).loc.clone());
    let made = g.add(op);
    g.set_loc(before);
    if g.node(old).bound {
        g.mark_bound(made);
    }
    made
}

/// Returns the node with the nodes in `by` replaced.
fn replaced(g: &mut Graph, n: NodeId, by: &[(NodeId, NodeId)], memo: &mut HashMap<NodeId, NodeId>) -> NodeId {
    if let Some((_, new)) = by.iter().find(|(old, _)| *old == n) {
        return *new;
    }
    if let Some(known) = memo.get(&n) {
        return *known;
    }
    let op = g.op(n).clone();
    let operands: Vec<NodeId> = op.operands().map(|o| replaced(g, o, by, memo)).collect();
    let made = if op.lambda().is_some() { n } else { simplify(g, op.with(&operands, None)) };
    memo.insert(n, made);
    made
}
