//! Accesses: which arrays a fused group reads at the element's own index, and which at other
//! indices. This follows from the graph alone.
//!
//! A GPU thread loads the arrays that are read at the own index by vectors of neighbouring
//! elements. An array that is read nowhere else may also be an output of the launch.

use super::Accesses;
use super::products;
use super::work::joined;
use crate::core::graph::marks::Visited;
use crate::core::{Graph, NodeId, Op};
use crate::plan::Access;
use crate::scalar::Ty;
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::element::nested_loop::invariant_nodes;
use crate::schedule::element::unlikely::arms;
use crate::schedule::element::{element, opened};
use crate::schedule::groups::{FusedGroup, is_store};
use rustc_hash::FxHashSet as HashSet;

/// Whether the elements of an index space of several dimensions need their indices, rather than only their number in
/// row-major order.
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

impl Accesses {
    /// Finds the reads of a fused group. `arrays` are the interior forms of the arrays that its items store.
    pub fn of(l: &mut LaunchContext, fused: &FusedGroup, arrays: &[NodeId]) -> Accesses {
        let is_product = products::find(l, fused).is_some_and(|p| p.is_matrix);
        let is_map = !fused.sequential && fused.items.iter().all(|it| is_store(&l.g, it));
        let by_rows = fused.domain.len() > 1 && is_map && !is_product && needs_indices(l, fused);
        let g = &mut l.g;
        let index: Vec<NodeId> = g.sample_index(fused.domain.len()).iter().map(|v| v.1).collect();
        let items = fused.items.iter().map(|it| it.node).chain(arrays.iter().copied());
        let mut roots = Vec::new();
        for (n, it) in items.zip(fused.items.iter().chain(&fused.items)) {
            match is_store(g, it) {
                true => roots.push(opened(g, n, &index)),
                false => {
                    // an operator may ignore the element, which is loaded nevertheless
                    let (scalars, srcs): (Vec<NodeId>, Vec<NodeId>) =
                        g.op(n).operands().partition(|o| g.ty(*o).is_scalar());
                    roots.push(joined(g, n, &index).0);
                    // the initial value is joined once all elements are stored
                    roots.extend(scalars);
                    roots.extend(srcs.into_iter().map(|src| opened(g, src, &index)));
                }
            }
        }
        let mut found = Accesses { by_rows, is_product, ..Accesses::default() };
        found.walk(l, roots, &index);
        found
    }

    /// Finds the reads of values of an element at its index, and of `others`, none of whose reads count as being at
    /// that index.
    pub fn of_values(l: &mut LaunchContext, own: Vec<NodeId>, others: &[NodeId], index: NodeId) -> Accesses {
        let mut found = Accesses::default();
        found.walk(l, own, &[index]);
        others.iter().for_each(|n| found.elsewhere_of(&l.g, *n, &[]));
        found
    }

    /// Adds the reads of a scalar that is computed once all elements are stored.
    pub fn add_scalar(&mut self, g: &Graph, n: NodeId) {
        self.elsewhere_of(g, n, &[]);
    }

    /// Returns the arrays that are read at the element's own number, which a GPU thread loads by
    /// vectors.
    pub fn pointwise(&self) -> impl Iterator<Item = &NodeId> {
        self.own.iter().filter(|_| !self.by_rows)
    }

    /// Whether the elements of a map of several dimensions need their indices along single axes.
    pub fn needs_indices(&self) -> bool {
        self.by_rows
    }

    /// Returns how an array is read. The tiles of a product are read by several threads, so no
    /// array of a product is pointwise.
    pub fn access(&self, x: NodeId) -> Access {
        let own = !self.is_product && self.own.contains(&x) && !self.elsewhere.contains(&x);
        if own { Access::Pointwise } else { Access::Anywhere }
    }

    /// Whether some array is read at the element's own index only, so that it may be an output as
    /// well.
    pub fn may_be_in_place(&self) -> bool {
        self.own.iter().any(|x| self.access(*x) == Access::Pointwise)
    }

    /// Returns all arrays that are read.
    pub fn arrays(&self) -> impl Iterator<Item = &NodeId> {
        self.own.iter().chain(&self.elsewhere)
    }

    /// Finds the reads of `roots`: first those of the fast path, then those that only the slow path
    /// has.
    fn walk(&mut self, l: &mut LaunchContext, roots: Vec<NodeId>, index: &[NodeId]) {
        let (mut stack, mut slow, mut seen) = (roots, Vec::new(), Visited::begin());
        stack.reverse();
        while let Some(n) = stack.pop().or_else(|| slow.pop()) {
            if !seen.insert(n.0) {
                continue;
            }
            if l.g.is_closed(n) {
                self.elsewhere_of(&l.g, n, index);
                continue;
            }
            if let Some((condition, rare, fast)) = arms(&l.g, n) {
                slow.extend([rare, condition]);
                stack.push(fast);
                continue;
            }
            let first = stack.len();
            l.g.op(n).for_operands(|o| stack.push(o));
            match l.g.op(n) {
                Op::Elem(x, at) if at == index => {
                    self.own.insert(*x);
                }
                Op::Elem(x, at) => {
                    let (x, at) = (*x, at.clone());
                    // an array of several dimensions that is read at the element's number
                    let own = index.len() == 1 && l.number(x, &at) == Some(index[0]);
                    let list = if own { &mut self.own } else { &mut self.elsewhere };
                    list.insert(x);
                }
                Op::At(x, _) => {
                    self.elsewhere.insert(*x);
                }
                op if op.is_loop() => {
                    let op = op.clone();
                    stack.extend(invariant_nodes(&mut l.g, &op));
                    self.elsewhere_of(&l.g, n, index);
                }
                _ => {}
            }
            stack[first..].reverse();
        }
    }

    /// Adds all reads of a nested operation, or of a node that does not depend on the element, to
    /// `elsewhere`. Arrays and reductions that another group stores or computes are not entered.
    fn elsewhere_of(&mut self, g: &Graph, n: NodeId, index: &[NodeId]) {
        let (mut stack, mut seen) = (vec![n], HashSet::default());
        while let Some(n) = stack.pop() {
            if !seen.insert(n) {
                continue;
            }
            let op = g.op(n);
            match op {
                Op::Elem(_, at) if at == index => {}
                Op::Elem(x, _) | Op::At(x, _) => {
                    self.elsewhere.insert(*x);
                }
                _ => {}
            }
            if !(op.needs_launch() && g.is_closed(n)) {
                op.for_operands(|o| stack.push(o));
                stack.extend(op.lambda().map(|l| l.body));
            }
        }
    }
}
