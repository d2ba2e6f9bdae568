//! Elements each of which folds a row of its own (semantics 5.5), such as paths of a simulation whose random numbers
//! are the rows of a matrix.
//!
//! ```text
//! generate m (%i) { fold .. over generate n (%k) { .. elem %x, %i, %k .. } }
//! ```

use super::RowFold;
use crate::core::linear::Linear;
use crate::core::{Graph, NodeId, Op, tuples};
use crate::scalar::Ty;
use crate::schedule::element::folds::Fold;
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::element::opened;
use crate::schedule::groups::{FusedGroup, is_store};

/// Returns the fold, if it is the only loop of an element, its elements are the same whatever was folded before, and
/// neighbours in a row lie side by side in memory.
pub fn find(l: &mut LaunchContext, fused: &FusedGroup) -> Option<RowFold> {
    let is_map = !fused.sequential && fused.items.iter().all(|it| is_store(&l.g, it));
    if !is_map || !l.facts.nested || l.facts.may_record || fused.domain.len() != 1 {
        return None;
    }
    let index = l.g.sample_index(1)[0].1;
    let roots: Vec<NodeId> = fused.items.iter().map(|it| opened(&mut l.g, it.node, &[index])).collect();
    let nodes = loops(&l.g, &roots);
    let (first, others) = nodes.split_first()?;
    let Op::Fold { src, .. } = *l.g.op(*first) else { return None };
    let Op::Generate(extents, _) = l.g.op(src).clone() else { return None };
    if !others.iter().all(|n| tuples::are_components(&l.g, *first, *n)) || !l.is_host(extents[0]) {
        return None;
    }
    let fold = Fold::of(&l.g, *first)?;
    let k = l.g.fresh_var(Ty::I64).1;
    let elements = fold.elements(&mut l.g, k);
    let before: Vec<NodeId> = fold.types.iter().map(|ty| l.g.fresh_var(*ty).1).collect();
    let parts = [fold.init(&l.g), elements.clone(), fold.step(&mut l.g, &before, &elements)].concat();
    let is_found = loops(&l.g, &parts).is_empty() && reads_along(&l.g, &elements, (index, k));
    is_found.then_some(RowFold { index, nodes, length: extents[0] })
}

/// Returns the loops that some values need and that depend on an element.
fn loops(g: &Graph, roots: &[NodeId]) -> Vec<NodeId> {
    let all = g.reachable_until(roots.iter().copied(), |n| g.is_closed(n));
    all.into_iter().filter(|n| g.op(*n).is_loop()).collect()
}

/// Whether the elements at place `k` of row `i` read a matrix, and whatever they read at places that depend on `k`
/// lies along a row.
fn reads_along(g: &Graph, elements: &[NodeId], (i, k): (NodeId, NodeId)) -> bool {
    let depends = |n: NodeId, on: NodeId| match g.op(on) {
        Op::Var(var, _) => g.node(n).free.contains(var),
        _ => false,
    };
    let own = Linear::of(g, k);
    let mut of_rows = 0;
    for n in g.reachable_until(elements.iter().copied(), |n| g.is_closed(n)) {
        let index = match g.op(n) {
            Op::Elem(_, index) | Op::At(_, index) if depends(n, k) => index,
            _ => continue,
        };
        let Some((last, outer)) = index.split_last() else { return false };
        let rest = Linear::of(g, *last).minus(&own);
        if outer.iter().any(|o| depends(*o, k)) || rest.terms.keys().any(|n| depends(*n, k)) {
            return false;
        }
        of_rows += usize::from(outer.iter().any(|o| depends(*o, i)));
    }
    of_rows > 0
}
