//! Finds the ranges of a row in which an element needs no tests of its indices. In a range each total read (`at`) is
//! in bounds, so that it becomes a plain load, and each condition on indices has the same value for all elements.
//!
//! ```text
//! select(j >= w, b[j] + at(b, j - w), b[j])    ->    b[j] + b[j - w]    from max(0, w) to min(n, len(b) + w)
//!                                                    b[j]               from 0 to min(n, w)
//! ```
//!
//! Constant boundary widths come from `boundary/interior.rs`. Other conditions compare linear forms of the row's own
//! index and of values that are the same for the whole row: lengths, scalars, indices of the outer axes. Where such a
//! form must not be negative, it gives a bound of the range, which the kernel computes for each row: `j - w >= 0`
//! gives `j >= w`. A comparison that guards total reads cuts a row in two, and each side becomes a range with code of
//! its own.
//!
//! Linear forms are exact only if nothing in them overflows. The kernel therefore tests for each row that the terms
//! of the forms are small, except lengths and indices, which always are. If a test fails, the range is empty.
//! Elements outside of all ranges are computed by the program's own code, which leaves the error records.

use super::decide::{Assumed, RangeLocation, Row, Walk};
use crate::core::linear;
use crate::core::simplify::simplify;
use crate::core::{Graph, NodeId};
use crate::scalar::Lit;
use crate::schedule::boundary::interior::{BoundaryWidth, interior_of, question};
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::groups::FusedGroup;
use rustc_hash::FxHashMap as HashMap;

/// A range of a row that has separate code.
pub struct Range {
    /// The values of an element in the range.
    pub roots: Vec<NodeId>,
    /// Nodes of `roots` that are the same for the whole row and may leave error records elsewhere, but not in the
    /// range: they are computed before its elements.
    pub given: Vec<NodeId>,
    /// Where the range lies.
    pub place: RangeLocation,
    /// The condition under which the range has elements.
    pub test: Option<NodeId>,
}

/// The ranges of a row.
#[derive(Default)]
pub struct Ranges {
    /// The ranges, in order of preference where they overlap.
    pub list: Vec<Range>,
    /// Whether each element lies in one of them.
    pub are_all: bool,
}

/// The maximum number of ranges of a row that comparisons cut.
const MAX_RANGES: usize = 4;
/// The maximum number of nodes of an element that is written several times.
const MAX_NODES: usize = 300;

/// Returns the ranges of the element `roots` at `index`. There are none if the element has no tests.
pub fn of(l: &mut LaunchContext, fused: &FusedGroup, index: &[NodeId], roots: &[NodeId]) -> Ranges {
    let tests = |n: NodeId| question(&l.g, l.g.op(n)).is_some() || l.g.op(n).may_record(&l.g);
    if !l.g.reachable(roots.iter().copied()).into_iter().any(tests) {
        return Ranges::default();
    }
    let (decided, extents) = (l.decided(fused, index, roots), &fused.domain[..]);
    let (inner, widths) = (decided.inner(), decided.widths.clone());
    let (outer, own) = (index.len() - 1, widths[index.len() - 1]);
    let row = Row { index, extents, widths };
    let mut leaves = Vec::new();
    row.split(l, &inner, Assumed::default(), 0, &mut leaves);
    let ranges = leaves.into_iter().filter_map(|assumed| row.range(l, &inner, assumed));
    let mut list: Vec<Range> = ranges.filter(|r| r.roots != roots || !r.given.is_empty()).collect();
    if list.is_empty() || l.g.reachable(roots.iter().copied()).len() > MAX_NODES {
        return Ranges { list, are_all: false };
    }
    if row.widths[..outer].iter().any(|w| *w != (0, 0)) {
        list.extend(row.of_any_row(l, roots).filter(|r| r.test.is_none()));
    }
    let is_whole = list.last().is_some_and(|r| r.is_whole(own));
    let has_single = is_whole && own.0 <= 1 && own.1 <= 1;
    if has_single {
        let [zero, one] = [0, 1].map(|k| l.g.lit(Lit::i64(k)));
        let last = linear::sub(&mut l.g, extents[outer], one);
        for (width, place, at) in [(own.0, RangeLocation::First, zero), (own.1, RangeLocation::Last, last)] {
            if width > 0 {
                list.push(row.single(l, roots, place, at));
            }
        }
    }
    Ranges { list, are_all: has_single }
}

impl Range {
    /// Whether the range has, in every row, all elements but those within the boundary widths `own` of the last axis.
    fn is_whole(&self, own: BoundaryWidth) -> bool {
        match &self.place {
            RangeLocation::Within { widths, lower, upper } => {
                let (last, outer) = widths.split_last().expect("there are axes");
                let is_own = *last == own && outer.iter().all(|w| *w == (0, 0));
                is_own && lower.is_empty() && upper.is_empty() && self.test.is_none()
            }
            _ => false,
        }
    }
}

impl Row<'_> {
    /// Adds to `leaves` the assumptions of each range, which are one side of each comparison that guards total reads:
    /// finds the first such comparison, and calls itself for both of its sides. `waiting` is the number of sides, of
    /// this comparison and of earlier ones, that are still to come; each of them adds at least one range.
    fn split(
        &self,
        l: &mut LaunchContext,
        roots: &[NodeId],
        assumed: Assumed,
        waiting: usize,
        leaves: &mut Vec<Assumed>,
    ) {
        let mut walk = Walk::new(self, l, assumed.clone(), false);
        let simpler: Vec<NodeId> = roots.iter().map(|n| walk.node(*n, false)).collect();
        let room = leaves.len() + waiting + 2 <= MAX_RANGES
            && walk.l.g.reachable(simpler.iter().copied()).len() <= MAX_NODES;
        let Some((sides, terms)) = room.then(|| walk.guard(&simpler)).flatten() else {
            return leaves.push(assumed);
        };
        for (side, waiting) in sides.into_iter().zip([waiting + 1, waiting]) {
            let mut assumed = assumed.clone();
            assumed.forms.push(side);
            assumed.terms.extend(&terms);
            self.split(l, roots, assumed, waiting, leaves);
        }
    }

    /// Returns the range in which the assumptions hold, and in which total reads are in bounds.
    fn range(&self, l: &mut LaunchContext, roots: &[NodeId], assumed: Assumed) -> Option<Range> {
        // the first walk finds the bounds, by which the second one decides comparisons
        let mut walk = Walk::new(self, l, assumed, true);
        for n in roots {
            walk.node(*n, false);
        }
        let assumed = std::mem::take(&mut walk.assumed);
        let mut walk = Walk::new(self, l, assumed, true);
        let roots: Vec<NodeId> = roots.iter().map(|n| walk.node(*n, false)).collect();
        let (place, test) = walk.place()?;
        Some(Range { roots, given: walk.given, place, test })
    }

    /// Returns the range of rows that lie in the boundary of an outer axis: only the boundary widths of the last axis
    /// are assumed. Conditions on outer indices stay, but have the same value for the whole row.
    fn of_any_row(&self, l: &mut LaunchContext, roots: &[NodeId]) -> Option<Range> {
        let last = self.index.len() - 1;
        let (inner, own) = interior_of(&mut l.g, &self.index[last..], &self.extents[last..], roots);
        let mut widths = vec![(0, 0); last];
        widths.extend(own);
        Row { widths, ..*self }.range(l, &inner, Assumed::default())
    }

    /// Returns the range of one element.
    fn single(&self, l: &mut LaunchContext, roots: &[NodeId], place: RangeLocation, at: NodeId) -> Range {
        let own = self.own();
        let roots: Vec<NodeId> = roots.iter().map(|n| l.replace(*n, own, at)).collect();
        Range { roots: simplified(&mut l.g, &roots), given: vec![], place, test: None }
    }
}

/// Simplifies values again, after an index in them was replaced by a constant or another value of the whole row.
fn simplified(g: &mut Graph, roots: &[NodeId]) -> Vec<NodeId> {
    let mut memo: HashMap<NodeId, NodeId> = HashMap::default();
    for n in g.reachable_until(roots.iter().copied(), |m| !g.ty(m).is_scalar() || g.op(m).lambda().is_some())
    {
        let op = g.op(n).clone();
        let operands: Vec<NodeId> = op.operands().map(|o| memo.get(&o).copied().unwrap_or(o)).collect();
        let before = g.set_loc(g.node(n).loc.clone());
        let made = simplify(g, op.with(&operands, None));
        g.set_loc(before);
        if g.node(n).bound {
            g.mark_bound(made);
        }
        memo.insert(n, made);
    }
    roots.iter().map(|n| memo.get(n).copied().unwrap_or(*n)).collect()
}
