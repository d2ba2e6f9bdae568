//! Recognises fused groups that are products: a matrix whose element (i, j) is a sum (or another fold) over an inner
//! index k of values that depend on (i, k) and values that depend on (k, j). The order is that of indices, that of
//! panels (semantics 5.7), or the fixed tree. Examples are matrix products and the distances of all pairs of points.
//!
//! ```text
//! generate m, n (i, j -> panel_dot (k -> a[i, k], b[k, j]))        rows: a[i, k]    columns: b[k, j]
//! ```
//!
//! Matrix times vector, by panels, is a product with one column: `generate m (i -> panel_dot (k ->
//! a[i, k], v[k]))`. A batch is an array of three dimensions, each plane of which is a product of two planes. The
//! values of both sides may be any expressions, and any expression may follow from the result.

use super::loop_nests::{self, Loop, Order};
use crate::core::records::may_record_here;
use crate::core::{Graph, NodeId, Op};
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::groups::{FusedGroup, is_store};
use crate::schedule::identity;
use rustc_hash::FxHashSet as HashSet;

/// Maximum number of values per side that a kernel keeps for each pair of an outer and an inner
/// index.
const MAX_PARTS: usize = 2;
/// The maximum number of nodes of one step of the inner loop, without its reads, because its code is repeated for
/// many results.
const MAX_BODY: usize = 12;

/// A fused group that is a product.
pub struct Product {
    /// The variables of the element's row and column.
    pub outer: [NodeId; 2],
    /// The variable of the plane, in a batch of products.
    pub plane: Option<NodeId>,
    /// The variable of the inner index.
    pub k: NodeId,
    /// The nodes of the items' elements.
    pub roots: Vec<NodeId>,
    /// The loop over the inner index, which has one operation.
    pub of: Loop,
    /// The values of the rows' side and of the columns' side.
    pub sides: [Side; 2],
    /// Whether the axis of rows stands before that of planes.
    pub rows_first: bool,
    /// Whether the results are matrices. A vector counts as one column.
    pub is_matrix: bool,
    /// Whether the parts of the sides may leave error records. Nothing else of a product may, and only one through the
    /// tree.
    pub may_record: bool,
}

/// The values of one side: of the rows or of the columns.
pub struct Side {
    /// Values that depend on the side's own index and on the inner one. A kernel stages them.
    pub parts: Vec<NodeId>,
    /// Values that depend on the side's own index only.
    pub invariants: Vec<NodeId>,
    /// Whether the inner index is the last index of a read, so that neighbouring inner indices (and
    /// not neighbouring outer ones) are contiguous in memory.
    pub along_k: bool,
}

impl Product {
    /// Returns the variables of an element of one side at an inner index, this one first, for
    /// [`loop_nests::depends`].
    pub fn variables(&self, first: NodeId, side: usize) -> Vec<NodeId> {
        let others = [self.k, self.outer[side]].into_iter().chain(self.plane);
        [first].into_iter().chain(others.filter(|n| *n != first)).collect()
    }

    /// Returns the axes of rows and of columns, and that of planes.
    pub fn axes(&self) -> ([usize; 2], Option<usize>) {
        axes(self.plane.is_some(), self.rows_first)
    }
}

/// Returns the axes of rows and of columns, and that of planes, which stands before the rows or behind them.
pub fn axes(has_planes: bool, rows_first: bool) -> ([usize; 2], Option<usize>) {
    match (has_planes, rows_first) {
        (false, _) => ([0, 1], None),
        (true, false) => ([1, 2], Some(0)),
        (true, true) => ([0, 2], Some(1)),
    }
}

/// Returns the fused group as a product, or `None` if it is not one.
pub fn find(l: &mut LaunchContext, fused: &FusedGroup) -> Option<Product> {
    find_in(l, fused, false, false)
}

/// Returns the fused group as a product of a matrix whose inner index goes through the tree of semantics 5.1, or
/// `None` if it is not one. Of three axes that of planes is the first one, as in a batch, or the second one, as in a
/// convolution of channels.
pub fn find_tree(l: &mut LaunchContext, fused: &FusedGroup) -> Option<Product> {
    match find_in(l, fused, true, false) {
        None if fused.domain.len() == 3 => find_in(l, fused, true, true),
        found => found,
    }
}

fn find_in(l: &mut LaunchContext, fused: &FusedGroup, is_tree: bool, rows_first: bool) -> Option<Product> {
    let items = fused.items.iter().filter(|it| is_store(&l.g, it)).collect::<Vec<_>>();
    let axes = fused.domain.len();
    if !l.facts.nested || items.len() < fused.items.len() || !(1..=3).contains(&axes) {
        return None;
    }
    let sample = l.g.sample_index(3);
    let (outer, plane) = ([sample[0].1, sample[1].1], sample[2].1);
    let index = if rows_first { [outer[0], plane, outer[1]] } else { [plane, outer[0], outer[1]] };
    let index = if axes == 3 { &index[..] } else { &outer[..axes] };
    let roots: Vec<NodeId> = items.iter().map(|it| open(l, it.node, index)).collect::<Option<_>>()?;
    let mut nest = if is_tree { loop_nests::find_likely(l, &roots)? } else { loop_nests::find(l, &roots)? };
    let (k, of) = (nest.k, nest.loops.pop()?);
    let starts = of.order != Order::Sequence || of.inner.iter().all(|i| l.g.is_closed(i.init));
    let fits = match of.order {
        Order::Panels => !is_tree,
        Order::Sequence => !is_tree && axes == 2,
        Order::Tree => is_tree && axes >= 2 && of.inner.iter().all(|i| identity::of(&l.g, i.node).is_some()),
    };
    if !nest.loops.is_empty() || of.inner.len() > 1 || !fits || !starts {
        return None;
    }
    let g = &l.g;
    let mut known = HashSet::default();
    let mut side = |own: NodeId, alone: bool| {
        let parts = of.parts(g, &mut known, |g, n| {
            let of_k = loop_nests::depends(g, n, &[k, plane]);
            loop_nests::depends(g, n, &[k, own, plane]) && (alone || !of_k) && loop_nests::reads(g, n)
        });
        let invariants = of.parts(g, &mut known, |g, n| loop_nests::depends(g, n, &[own, plane]));
        let last =
            |n: NodeId| matches!(g.op(n), Op::Elem(_, index) | Op::At(_, index) if index.last() == Some(&k));
        let along_k = g.reachable(parts.iter().copied()).into_iter().any(last);
        Side { parts, invariants, along_k }
    };
    // values that depend on the inner index alone belong to the rows of a matrix product; in matrix times vector they
    // are the column
    let sides = if axes == 1 {
        let rows = side(outer[0], false);
        [rows, side(outer[1], true)]
    } else {
        let columns = side(outer[1], false);
        [side(outer[0], true), columns]
    };
    let rest = of.parts(g, &mut known, |g, n| matches!(g.op(n), Op::Elem(..) | Op::At(..)));
    let body = g.reachable(of.roots()).into_iter().filter(|n| !g.is_closed(*n)).count();
    let inside: usize = sides.iter().map(|s| g.reachable(s.parts.iter().copied()).len()).sum();
    let fits = |s: &Side| !s.parts.is_empty() && s.parts.len() <= MAX_PARTS;
    if !rest.is_empty() || !sides.iter().all(fits) || body.saturating_sub(inside) > MAX_BODY {
        return None;
    }
    let may_record = may_record_here(g, roots.iter().copied());
    if may_record && !only_parts_record(g, &roots, &of, &sides) {
        return None;
    }
    let (plane, is_matrix) = ((axes == 3).then_some(plane), axes >= 2);
    Some(Product { outer, plane, k, roots, of, sides, rows_first, is_matrix, may_record })
}

/// Whether all error records of a product are left by the parts of its sides.
fn only_parts_record(g: &Graph, roots: &[NodeId], of: &Loop, sides: &[Side; 2]) -> bool {
    let is_known = |n: NodeId| g.is_closed(n) && g.op(n).needs_launch();
    let is_part = |n: NodeId| sides.iter().any(|s| s.parts.contains(&n));
    let is_loop = |n: NodeId| of.inner.iter().any(|i| i.node == n);
    let outside = g.reachable_until(roots.iter().copied(), |n| is_known(n) || is_loop(n));
    let inside = g.reachable_until(of.roots(), |n| is_known(n) || is_part(n));
    let outside = outside.into_iter().filter(|n| !is_loop(*n));
    let inside = inside.into_iter().filter(|n| !is_part(*n));
    !outside.chain(inside).any(|n| g.op(n).may_record(g))
}

/// Returns the number of inner indices of a product by panels, by which the launch policy chooses a
/// GPU variant. Returns `None` for any other fused group.
pub fn length(l: &mut LaunchContext, fused: &FusedGroup) -> Option<NodeId> {
    find(l, fused).filter(|p| p.of.order == Order::Panels).map(|p| p.of.extent)
}

/// Returns the element of an item's array at these indices.
fn open(l: &mut LaunchContext, array: NodeId, index: &[NodeId]) -> Option<NodeId> {
    match l.g.op(array).clone() {
        Op::Generate(_, lambda) => Some(l.g.open(&lambda, index)),
        Op::Materialize(x) => open(l, x, index),
        _ => None,
    }
}
