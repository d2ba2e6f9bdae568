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
use crate::core::{NodeId, Op};
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
    /// Whether the results are matrices. A vector counts as one column.
    pub is_matrix: bool,
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
}

/// Returns the fused group as a product, or `None` if it is not one.
pub fn find(l: &mut LaunchContext, fused: &FusedGroup) -> Option<Product> {
    find_in(l, fused, false)
}

/// Returns the fused group as a product of a matrix whose inner index goes through the tree of semantics 5.1, or
/// `None` if it is not one.
pub fn find_tree(l: &mut LaunchContext, fused: &FusedGroup) -> Option<Product> {
    find_in(l, fused, true)
}

fn find_in(l: &mut LaunchContext, fused: &FusedGroup, is_tree: bool) -> Option<Product> {
    let items = fused.items.iter().filter(|it| is_store(&l.g, it)).collect::<Vec<_>>();
    let axes = fused.domain.len();
    if !l.facts.nested || items.len() < fused.items.len() || !(1..=3).contains(&axes) {
        return None;
    }
    let sample = l.g.sample_index(3);
    let (outer, plane) = ([sample[0].1, sample[1].1], sample[2].1);
    let index = [plane, outer[0], outer[1]];
    let index = if axes == 3 { &index[..] } else { &outer[..axes] };
    let roots: Vec<NodeId> = items.iter().map(|it| open(l, it.node, index)).collect::<Option<_>>()?;
    let mut nest = loop_nests::find(l, &roots)?;
    let (k, of) = (nest.k, nest.loops.pop()?);
    let starts = of.order != Order::Sequence || of.inner.iter().all(|i| l.g.is_closed(i.init));
    let fits = match of.order {
        Order::Panels => !is_tree,
        Order::Sequence => !is_tree && axes == 2,
        Order::Tree => is_tree && axes == 2 && of.inner.iter().all(|i| identity::of(&l.g, i.node).is_some()),
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
        let last = |n: NodeId| matches!(g.op(n), Op::Elem(_, index) if index.last() == Some(&k));
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
    let rest = of.parts(g, &mut known, |g, n| matches!(g.op(n), Op::Elem(..)));
    let body = g.reachable(of.roots()).into_iter().filter(|n| !g.is_closed(*n)).count();
    let inside: usize = sides.iter().map(|s| g.reachable(s.parts.iter().copied()).len()).sum();
    let fits = |s: &Side| !s.parts.is_empty() && s.parts.len() <= MAX_PARTS;
    if !rest.is_empty() || !sides.iter().all(fits) || body.saturating_sub(inside) > MAX_BODY {
        return None;
    }
    Some(Product { outer, plane: (axes == 3).then_some(plane), k, roots, of, sides, is_matrix: axes >= 2 })
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
