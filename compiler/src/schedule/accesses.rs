//! Accesses: which arrays a fused group reads at the element's own index. A fact of the graph alone.
//!
//! What is read there is what a GPU's thread loads by vectors of neighbours, and an array that is read nowhere else may
//! be one that the launch writes.

use super::element::{element, opened};
use super::groups::{FusedGroup, is_store};
use super::lower::LaunchContext;
use super::nested_loop::invariant_nodes;
use super::products;
use super::slow_path::arms;
use super::work::joined;
use crate::core::{NodeId, Op};
use crate::scalar::Ty;
use indexmap::IndexSet;
use rustc_hash::FxHashSet as HashSet;

/// Whether a map over several dimensions goes row by row, because its elements need their indices. Else it counts
/// through the elements, and what is read at the element's own indices is read at its number.
pub fn goes_by_rows(l: &mut LaunchContext, fused: &FusedGroup) -> bool {
    let is_map = !fused.sequential && fused.items.iter().all(|it| is_store(&l.g, it));
    fused.domain.len() > 1
        && is_map
        && !products::plan(l, fused).is_some_and(|p| p.is_matrix)
        && needs_indices(l, fused)
}

/// Whether the elements of an index space of several dimensions need their indices.
pub fn needs_indices(l: &mut LaunchContext, fused: &FusedGroup) -> bool {
    let (_, k) = l.g.fresh_var(Ty::I64);
    let mut stack: Vec<NodeId> = fused.items.iter().map(|it| element(&mut l.g, it.node, k)).collect();
    let mut seen = HashSet::default();
    while let Some(n) = stack.pop() {
        if !seen.insert(n) || l.g.is_closed(n) {
            continue;
        }
        if n == k {
            return true;
        }
        let op = l.g.op(n).clone();
        match op {
            Op::Elem(x, index) if l.number(x, &index).is_some() => {}
            op => stack.extend(op.operands().chain(op.lambda().map(|l| l.body))),
        }
    }
    false
}

/// Whether an array of the index space's rank is read at the element's indices, or one of several dimensions at the
/// element's number.
fn is_own(l: &mut LaunchContext, x: NodeId, at: &[NodeId], index: &[NodeId]) -> bool {
    at == index || index.len() == 1 && l.number(x, at) == Some(index[0])
}

/// What a fused group reads.
#[derive(Default)]
pub struct Accesses {
    /// The arrays that are read at the element's own index, in the order in which an element reads them: on its fast
    /// path, then on its slow path.
    own: IndexSet<NodeId>,
    /// The arrays that are read at another index, or at one that a nested operation has.
    elsewhere: HashSet<NodeId>,
    /// It is a map that goes row by row.
    by_rows: bool,
}

impl Accesses {
    /// Of a fused group; `arrays` are what its stored items are in the interior.
    pub fn of(l: &mut LaunchContext, fused: &FusedGroup, arrays: &[NodeId]) -> Accesses {
        let by_rows = goes_by_rows(l, fused);
        let g = &mut l.g;
        let index: Vec<NodeId> = g.sample_index(fused.domain.len()).iter().map(|v| v.1).collect();
        let items = fused.items.iter().map(|it| it.node).chain(arrays.iter().copied());
        let roots: Vec<NodeId> = items
            .zip(fused.items.iter().chain(&fused.items))
            .map(|(n, it)| if is_store(g, it) { opened(g, n, &index) } else { joined(g, n, &index).0 })
            .collect();
        let mut found = Accesses { by_rows, ..Accesses::default() };
        for slow in [false, true] {
            found.own_of(l, &roots, &index, slow);
        }
        found.elsewhere_of(l, roots, &index);
        found
    }

    /// The arrays whose elements at the element's own number a GPU's thread loads.
    pub fn pointwise(&self) -> impl Iterator<Item = &NodeId> {
        self.own.iter().filter(|_| !self.by_rows)
    }

    /// Whether some array is read at the element's own index only: it may be an output, too.
    pub fn may_be_in_place(&self) -> bool {
        self.own.iter().any(|x| !self.elsewhere.contains(x))
    }

    /// Reads at the element's own index, with or without what only the slow path needs.
    fn own_of(&mut self, l: &mut LaunchContext, roots: &[NodeId], index: &[NodeId], slow: bool) {
        let (mut stack, mut seen) = (roots.to_vec(), HashSet::default());
        stack.reverse();
        while let Some(n) = stack.pop() {
            if l.g.is_closed(n) || !seen.insert(n) {
                continue;
            }
            let op = l.g.op(n).clone();
            if let Op::Elem(x, at) = &op
                && is_own(l, *x, at, index)
            {
                self.own.insert(*x);
            }
            let first = stack.len();
            match arms(&l.g, n) {
                Some((_, _, fast)) if !slow => stack.push(fast),
                _ => stack.extend(op.operands()),
            }
            if op.is_reduction() {
                stack.extend(invariant_nodes(&mut l.g, &op));
            }
            stack[first..].reverse();
        }
    }

    /// All other reads.
    fn elsewhere_of(&mut self, l: &mut LaunchContext, mut stack: Vec<NodeId>, index: &[NodeId]) {
        let mut seen = HashSet::default();
        while let Some(n) = stack.pop() {
            if !seen.insert(n) {
                continue;
            }
            let op = l.g.op(n).clone();
            match &op {
                Op::Elem(x, at) if is_own(l, *x, at, index) => {}
                Op::Elem(x, _) | Op::At(x, _) => drop(self.elsewhere.insert(*x)),
                _ => {}
            }
            // what is stored or reduced elsewhere is not read here
            if !(op.is_pass() && l.g.is_closed(n)) {
                stack.extend(op.operands().chain(op.lambda().map(|l| l.body)));
            }
        }
    }
}
