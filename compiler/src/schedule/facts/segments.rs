//! Segmented reductions: fused groups each of whose elements is computed from reductions of one length, such as the
//! sums of a matrix's rows or columns. A *segment* is what one element reduces, so an element's index is a segment's
//! number.
//!
//! ```text
//! generate %rows (%i) { %s = reduce (..) over (generate %cols (%k) { elem %a, %i, %k })   yield (mul %s, 0.5f32) }
//! ```
//!
//! This file recognises segmented reductions. Each target has its own strategies for them, and GPUs have another one
//! for those whose elements share what they read (`cuda/contraction.rs`). Groups with folds, reductions nested in
//! reductions, or operators without an identity run the loops of [`crate::schedule::element::nested_loop`]. An error
//! record names the segment's number, whichever thread leaves it.

use super::along::Along;
use super::merge_reductions;
use super::needed_reductions;
use super::{InBounds, Segments};
use crate::core::linear::Linear;
use crate::core::{Graph, NodeId, Op, TILE, Var};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::element;
use crate::schedule::element::in_bounds::{self, Range};
use crate::schedule::element::lower::{LaunchContext, Lower, Surroundings};
use crate::schedule::element::reduction::Reduction;
use crate::schedule::element::scalars::join_initial;
use crate::schedule::groups::{FusedGroup, is_store};
use rustc_hash::FxHashSet as HashSet;

impl Segments {
    /// Emits the values of the elements of the segment at `place`, whose reductions have the totals
    /// `totals`: joins the initial values, then computes what follows from the reductions.
    pub fn values(
        &self,
        l: &mut Lower,
        reductions: &[Reduction],
        place: &Surroundings,
        totals: &[Vec<Expr>],
        length: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let some = Expr::binary(BinaryOp::Gt, length.clone(), Expr::int(0));
        let mut vars = place.vars.to_vec();
        for (r, total) in reductions.iter().zip(totals) {
            let place = Surroundings { vars: &vars, at: place.at };
            let mut values = join_initial(l, r, &place, some.clone(), total.clone(), out)?;
            vars.append(&mut values);
        }
        l.region(&vars, &self.bodies, place.at, out)
    }

    /// Returns the nested reductions with reads that are not tested, and the condition, which the host computes, that
    /// all reads of all segments are in bounds. Returns `None` if the reductions leave no records, or may leave
    /// others.
    pub fn in_bounds(&self, l: &mut LaunchContext) -> Option<InBounds> {
        let Op::Var(var, _) = *l.g.op(self.index) else { return None };
        if !self.may_record || !self.nested.iter().any(|n| l.may_record(*n)) {
            return None;
        }
        let count = l.count_node();
        let all = Range::below(l, var, count);
        let found = in_bounds::without_records(l, &self.nested, &[all])?;
        l.is_host(found.condition).then_some(found)
    }
}

/// A fused group each of whose elements is computed from reductions of one length.
pub enum Found {
    /// Segments whose elements follow an axis, or are parts of a vector.
    Segments(Segments),
    /// Loops whose reads follow no axis. Often all elements read the same ones, as the forces between all pairs of
    /// bodies do, so these count as columns: neighbouring lanes reduce neighbouring segments.
    Loops(Segments),
}

/// Returns what the fused group is, or `None` if it is neither.
pub fn of(l: &mut LaunchContext, fused: &FusedGroup) -> Option<Found> {
    if fused.items.is_empty() || !fused.items.iter().all(|it| is_store(&l.g, it)) {
        return None;
    }
    let (_, index) = l.g.fresh_var(Ty::I64);
    let bodies: Vec<NodeId> = fused.items.iter().map(|it| element(&mut l.g, it.node, index)).collect();
    let mut s = joint(l, index, bodies)?;
    if find_direction(l, &mut s) {
        return Some(Found::Segments(s));
    }
    let is_flat = s.nested.iter().all(|n| {
        let (_, k) = l.g.fresh_var(Ty::I64);
        let first = Reduction::nested(l, *n).first(l, k);
        !has_nested(l, &first)
    });
    is_flat.then_some(Found::Loops(s))
}

/// Returns the values `bodies` of the segment with the variable `index` as a segmented reduction, or `None` if they
/// are not one.
pub fn of_bodies(l: &mut LaunchContext, index: NodeId, bodies: Vec<NodeId>) -> Option<Segments> {
    let mut s = joint(l, index, bodies)?;
    find_direction(l, &mut s).then_some(s)
}

/// Finds the direction of segments. Returns whether they have one.
fn find_direction(l: &mut LaunchContext, s: &mut Segments) -> bool {
    let Op::Var(var, _) = *l.g.op(s.index) else { return false };
    let by_axes = along(l, &s.nested, var);
    s.are_parts = by_axes.is_none() && are_parts(l, &s.nested, var);
    let direction = by_axes.or(s.are_parts.then_some(Along::Rows));
    s.along = direction.unwrap_or(s.along);
    direction.is_some()
}

/// Returns the values `bodies` of the segment with the variable `index` as segments, of columns until their direction
/// is found, if their reductions have one length.
fn joint(l: &mut LaunchContext, index: NodeId, bodies: Vec<NodeId>) -> Option<Segments> {
    let may_record = l.g.reachable(bodies.iter().copied()).into_iter().any(|n| l.g.op(n).may_record(&l.g));
    let of_bodies = nested(l, &bodies)?;
    let bodies = merge_reductions::merged(l, bodies, &of_bodies);
    let of_bodies = nested(l, &bodies)?;
    let bodies = if may_record { needed_reductions::always(l, bodies, of_bodies)? } else { bodies };
    let nested = nested(l, &bodies)?;
    let length = common_length(l, &nested)?;
    let along = Along::Columns;
    Some(Segments { index, bodies, nested, length, along, are_parts: false, may_record })
}

/// Returns the fused group as reductions of parts of vectors whose lengths are data, or `None` if it is not that.
pub fn find_ragged(l: &mut LaunchContext, fused: &FusedGroup) -> Option<Segments> {
    if fused.domain.len() != 1 || fused.items.iter().any(|it| l.may_record_inside(it.node)) {
        return None;
    }
    let (_, index) = l.g.fresh_var(Ty::I64);
    let bodies: Vec<NodeId> = fused.items.iter().map(|it| element(&mut l.g, it.node, index)).collect();
    let nested = nested(l, &bodies)?;
    let mut length = None;
    for n in &nested {
        let Op::Reduce { init, src, .. } = *l.g.op(*n) else { return None };
        let Op::Generate(extents, _) = l.g.op(src) else { return None };
        let extent = extents[0];
        let same = *length.get_or_insert(extent) == extent;
        let (_, k) = l.g.fresh_var(Ty::I64);
        let r = Reduction::nested(l, *n);
        let first = r.first(l, k);
        let is_plain = r.has_identity(l) && !has_nested(l, &first) && !has_nested(l, &[init, extent]);
        if !same || l.g.is_closed(extent) || !is_plain {
            return None;
        }
    }
    let length = length?;
    // several reductions are computed together for segments of one tile only
    if Reduction::all_nested(l, &nested).len() > 1 && !is_one_tile(&l.g, length) {
        return None;
    }
    Some(Segments { index, bodies, nested, length, along: Along::Rows, are_parts: true, may_record: false })
}

/// Whether no segment has more than one tile, if this node is the length of a segment.
pub fn is_one_tile(g: &Graph, length: NodeId) -> bool {
    matches!(*g.op(length), Op::Binary(BinaryOp::Min, a, b)
        if [a, b].into_iter().any(|n| g.as_lit(n).is_some_and(|n| n.as_i64() <= TILE)))
}

/// Returns the length of these reductions, if it is the same for all elements and all of them, and
/// if each has an identity and an initial value without loops.
pub fn common_length(l: &mut LaunchContext, nested: &[NodeId]) -> Option<NodeId> {
    let mut length = None;
    for n in nested {
        let (init, src) = match *l.g.op(*n) {
            Op::Reduce { init, src, .. } => (init, src),
            Op::Dot { init, a, .. } => (init, a),
            Op::SquaredDeviations { init, src } => (init, src),
            _ => return None,
        };
        let Op::Generate(extents, _) = l.g.op(src) else { return None };
        let extent = extents[0];
        let same = *length.get_or_insert(extent) == extent;
        let known = Reduction::nested(l, *n).has_identity(l);
        if !same || !l.g.is_closed(extent) || !known || has_nested(l, &[init]) {
            return None;
        }
    }
    length
}

/// Returns the reductions that the bodies need and that depend on the element, outermost ones only.
/// Returns `None` if there are none, or if one of them is a fold.
pub fn nested(l: &LaunchContext, bodies: &[NodeId]) -> Option<Vec<NodeId>> {
    let (mut stack, mut seen, mut found) = (bodies.to_vec(), HashSet::default(), Vec::new());
    while let Some(n) = stack.pop() {
        if !seen.insert(n) || l.g.is_closed(n) {
            continue;
        }
        if l.g.op(n).needs_launch() {
            found.push(n);
        } else {
            stack.extend(l.g.op(n).operands());
        }
    }
    found.sort_unstable();
    (!found.is_empty()).then_some(found)
}

fn has_nested(l: &LaunchContext, roots: &[NodeId]) -> bool {
    nested(l, roots).is_some()
}

/// Returns the direction in which the reads of the reductions are contiguous, where `i` is the variable of the
/// segment. Returns `None` if no array is read at an index of the segment and one of the element, or if an element
/// has reductions of its own.
pub fn along(l: &mut LaunchContext, nested: &[NodeId], i: Var) -> Option<Along> {
    let mut found = None;
    for n in nested {
        let (k, node) = l.g.fresh_var(Ty::I64);
        let first = Reduction::nested(l, *n).first(l, node);
        if has_nested(l, &first) {
            return None;
        }
        for read in l.g.reachable(first) {
            let (Op::Elem(_, index) | Op::At(_, index)) = l.g.op(read) else { continue };
            let has = |n: &NodeId, v: Var| l.g.node(*n).free.contains(&v);
            let last = index.last()?;
            let outer = &index[..index.len() - 1];
            // neighbours in the loop are neighbours in memory
            let by_one = Linear::of(&l.g, *last).terms.get(&node) == Some(&1) || !has(last, i);
            if has(last, k) && by_one && outer.iter().any(|n| has(n, i)) {
                found = Some(Along::Rows);
            } else if has(last, i) && outer.iter().any(|n| has(n, k)) && found.is_none() {
                found = Some(Along::Columns);
            }
        }
    }
    found
}

/// Whether segments are parts of vectors that lie apart from one another, whatever the order in which elements are
/// read.
fn are_parts(l: &mut LaunchContext, nested: &[NodeId], i: Var) -> bool {
    nested.iter().all(|n| {
        let (k, node) = l.g.fresh_var(Ty::I64);
        let first = Reduction::nested(l, *n).first(l, node);
        let is_of_part = |read: NodeId| match l.g.op(read) {
            Op::Elem(_, index) | Op::At(_, index) => index.len() == 1 && is_apart(&l.g, index[0], i),
            _ => false,
        };
        let is_own = |read: &NodeId| [i, k].iter().all(|v| l.g.node(*read).free.contains(v));
        let reads = l.g.reachable(first.iter().copied()).into_iter();
        let mut reads =
            reads.filter(|n| matches!(l.g.op(*n), Op::Elem(..) | Op::At(..)) && is_own(n)).peekable();
        reads.peek().is_some() && reads.all(is_of_part) && !has_nested(l, &first)
    })
}

/// From this distance, in elements, neighbouring segments of a vector count as lying apart: their elements share no
/// cache line.
const APART: i64 = 32;

/// Whether a place in a vector is a large multiple of the segment's index `i` plus a value that does not depend on
/// `i`, or the minimum or maximum of such a place and a bound.
fn is_apart(g: &Graph, place: NodeId, i: Var) -> bool {
    if let Op::Binary(BinaryOp::Min | BinaryOp::Max, a, b) = *g.op(place) {
        let inner = if g.is_closed(b) { a } else { b };
        return (g.is_closed(a) || g.is_closed(b)) && is_apart(g, inner, i);
    }
    let form = Linear::of(g, place);
    let is_index = |n: NodeId| matches!(g.op(n), Op::Var(v, _) if *v == i);
    let own = form.terms.iter().find(|(n, _)| is_index(**n)).map_or(0, |(_, by)| *by);
    let others = form.terms.keys().filter(|n| !is_index(**n));
    own >= APART && others.into_iter().all(|n| !g.node(*n).free.contains(&i))
}

/// Returns the reads (array and outer indices) among the values that `roots` need whose last index
/// is exactly `index` and whose outer indices do not depend on it: these reads are contiguous for
/// neighbouring values of `index`.
pub fn neighbours(l: &mut LaunchContext, roots: &[NodeId], index: NodeId) -> Vec<(NodeId, Vec<NodeId>)> {
    let Op::Var(var, _) = *l.g.op(index) else { return vec![] };
    let mut list = Vec::new();
    for read in l.g.reachable(roots.iter().copied()) {
        let Op::Elem(x, at) = l.g.op(read).clone() else { continue };
        let Some((last, outer)) = at.split_last() else { continue };
        let exact = Linear::of(&l.g, *last) == Linear { constant: 0, terms: [(index, 1)].into() };
        if exact && outer.iter().all(|n| !l.g.node(*n).free.contains(&var)) {
            list.push((x, outer.to_vec()));
        }
    }
    list.sort_unstable();
    list.dedup();
    list
}

/// Returns how many reads of the elements at `index` are no contiguous loads of neighbours: those that may leave a
/// record, and those whose neighbours along the loop lie apart in memory.
pub fn scattered(l: &mut LaunchContext, roots: &[NodeId], index: NodeId) -> usize {
    let contiguous = neighbours(l, roots, index);
    let Op::Var(var, _) = *l.g.op(index) else { return 0 };
    let is_scattered = |n: NodeId| match l.g.op(n) {
        Op::At(..) => !l.g.is_closed(n),
        Op::Elem(x, at) => {
            let outer = &at[..at.len() - 1];
            l.g.node(n).free.contains(&var) && !contiguous.iter().any(|of| of.0 == *x && of.1 == outer)
        }
        _ => false,
    };
    l.g.reachable(roots.iter().copied()).into_iter().filter(|n| is_scattered(*n)).count()
}
