//! Merges reductions of tuples that are equal but for the order of terms in their reads' indices, so that one loop
//! computes the components of both. Such reductions exist because the terms of a sum are ordered by the numbers of
//! their nodes, which differ from one lambda to another.
//!
//! ```text
//! reduce 1 (f) over generate n (%k) { elem %x, %s + %k }, reduce 2 (f) over generate n (%k) { elem %x, %k + %s }
//!     ->
//! reduce 1 (f) over generate n (%k) { elem %x, %s + %k }, reduce 2 (f) over generate n (%k) { elem %x, %s + %k }
//! ```

use crate::core::graph::replace::{Found, replaced_by};
use crate::core::linear::{Linear, is_i64};
use crate::core::simplify::simplify;
use crate::core::{Graph, NodeId, Op};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::element;
use crate::schedule::element::lower::LaunchContext;
use rustc_hash::FxHashMap as HashMap;

/// Returns `bodies` with reductions merged: each of the `nested` reductions that equals an earlier one becomes a
/// component of that one.
pub fn merged(l: &mut LaunchContext, bodies: Vec<NodeId>, nested: &[NodeId]) -> Vec<NodeId> {
    let mut same: HashMap<NodeId, NodeId> = HashMap::default();
    for (at, n) in nested.iter().enumerate() {
        let merged = nested[..at].iter().find_map(|first| component_of(l, *first, *n));
        same.extend(merged.map(|merged| (*n, merged)));
    }
    if same.is_empty() {
        return bodies;
    }
    let mut memo = HashMap::default();
    let mut find = |g: &mut Graph, n: NodeId| Found::of(g, n, same.get(&n).copied());
    let mut replaced = |n: NodeId| replaced_by(&mut l.g, n, &mut find, &mut simplify, &mut memo);
    bodies.into_iter().map(&mut replaced).collect()
}

/// Returns the component of reduction `first` that equals reduction `n`, if both reduce the same elements by the same
/// operator.
fn component_of(l: &mut LaunchContext, first: NodeId, n: NodeId) -> Option<NodeId> {
    let parts = |g: &Graph, n: NodeId| match g.op(n) {
        Op::Reduce { join, init, src, .. } if matches!(g.op(*init), Op::Tuple(_)) => match g.op(*src) {
            Op::Generate(extents, _) => Some((join.clone(), *init, *src, extents.clone())),
            _ => None,
        },
        _ => None,
    };
    let ((join, init, src, extents), other) = (parts(&l.g, first)?, parts(&l.g, n)?);
    if src == other.2 || (&join, init, &extents) != (&other.0, other.1, &other.3) {
        return None;
    }
    let (_, k) = l.g.fresh_var(Ty::I64);
    let [a, b] = [src, other.2].map(|src| {
        let element = element(&mut l.g, src, k);
        normal(&mut l.g, element)
    });
    let op = l.g.op(n).clone();
    let Op::Reduce { which, .. } = op else { return None };
    (a == b).then(|| {
        let before = l.g.set_loc(l.g.node(first).loc.clone());
        let made = l.g.add(Op::Reduce { join, init, src, which });
        l.g.set_loc(before);
        made
    })
}

/// Returns a node with the terms of each sum in one order.
fn normal(g: &mut Graph, n: NodeId) -> NodeId {
    let mut find = |g: &mut Graph, n: NodeId| {
        let is_sum = is_i64(g, n) && matches!(g.op(n), Op::Binary(BinaryOp::Add | BinaryOp::Sub, ..));
        let sum = is_sum.then(|| Linear::of(g, n).node(g));
        Found::of(g, n, sum)
    };
    replaced_by(g, n, &mut find, &mut simplify, &mut HashMap::default())
}
