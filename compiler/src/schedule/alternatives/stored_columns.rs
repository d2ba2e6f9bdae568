//! Stored columns: some fused groups store matrices, and another one reduces the columns of what they store or read.
//! One launch computes all of them, and reads the matrix once.
//!
//! ```text
//! for all i, j: b[i, j] = a[i, j] + u[i] * v[j]          for all strips of columns, for all rows:
//! for all j: x[j] = sum over i of b[i, j] * y[i]    ->     b[i, j] = a[i, j] + u[i] * v[j]
//!                                                          x[j] += b[i, j] * y[i]
//! ```
//!
//! The launch is an alternative like that of [`super::resident_segments`]: it runs instead of those of the groups
//! where a strategy goes through strips of columns. The thread that adds an element to its column computes it and
//! stores it, so each element is computed once, and an output may be a matrix that is read at the element's own index
//! only. The columns have the order of semantics 5.1, as if they were alone.

use super::resident_segments::{MAX_GROUPS, may_share, recomputed};
use crate::core::{Graph, NodeId, Op};
use crate::plan::GUESSED_LENGTH;
use crate::scalar::Ty;
use crate::schedule::cpu::segmented_columns;
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::element::opened;
use crate::schedule::element::reduction::Reduction;
use crate::schedule::facts::along::Along;
use crate::schedule::facts::{Accesses, StoredColumns, Strips};
use crate::schedule::facts::{segments, work};
use crate::schedule::groups::{self, FusedGroup, Item, is_store};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::rc::Rc;

/// Returns the number of groups from the first one on, at least 2, that may go over the same columns; only the index
/// spaces are looked at. `scalars` are the scalar results of each group.
pub fn chain(g: &Graph, all: &[FusedGroup], scalars: &[Vec<u32>]) -> Option<usize> {
    let reduces = |fused: &&FusedGroup| reduces(g, fused);
    let columns = &all.iter().take(MAX_GROUPS).find(reduces)?.domain;
    let belongs = |of: &(&FusedGroup, &Vec<u32>)| {
        may_share(of.0, of.1) && (of.0.domain == *columns && reduces(&of.0) || stores(g, of.0, columns))
    };
    let count = all.iter().zip(scalars).take(MAX_GROUPS).take_while(belongs).count();
    all[..count].iter().any(|fused| stores(g, fused, columns)).then_some(count)
}

/// Whether a group computes values of the elements of a vector that have reductions.
fn reduces(g: &Graph, fused: &FusedGroup) -> bool {
    fused.domain.len() == 1 && fused.items.iter().all(|it| is_store(g, it) && groups::is_nested(g, it))
}

/// Whether a group does nothing but store matrices with these columns, element by element.
fn stores(g: &Graph, fused: &FusedGroup, columns: &[NodeId]) -> bool {
    fused.domain.len() == 2
        && fused.domain[1..] == *columns
        && fused.items.iter().all(|it| is_store(g, it) && !groups::is_nested(g, it))
}

/// Returns the group of a launch that computes all groups of a chain: its items are the results, and values that are
/// `needed` later. Returns `None` if a matrix is needed that is not a result.
pub fn joined(g: &Graph, chain: &[FusedGroup], needed: &HashSet<NodeId>) -> Option<FusedGroup> {
    let domain = chain.iter().find(|fused| reduces(g, fused))?.domain.clone();
    let is_stored = |it: &&Item| it.result.is_some() || needed.contains(&it.node);
    let items = chain.iter().flat_map(|fused| &fused.items).filter(is_stored).cloned().collect();
    Some(FusedGroup { domain, sequential: false, iteration: None, items })
}

/// Returns the items of such a group that are values of columns.
pub fn of_columns(g: &Graph, fused: &FusedGroup) -> FusedGroup {
    let items = fused.items.iter().filter(|it| groups::domain(g, it.node).len() == fused.domain.len());
    FusedGroup { items: items.cloned().collect(), ..fused.clone() }
}

impl LaunchContext<'_, '_> {
    /// Finds the facts about a launch that stores matrices and reduces their columns: `fused` computes the groups of
    /// `chain`. Returns `None` if such a launch is not possible, or if it would read no matrix fewer times.
    pub(in crate::schedule) fn find_stored_columns(
        &mut self,
        fused: &FusedGroup,
        chain: &[FusedGroup],
    ) -> Option<()> {
        let [index, row] = [(); 2].map(|()| self.g.fresh_var(Ty::I64).1);
        let at = [row, index];
        let (mut bodies, mut written) = (Vec::new(), HashMap::default());
        let (mut items, mut values) = (Vec::new(), Vec::new());
        let (mut cost, mut extent) = (0u32, None);
        let kept: HashSet<NodeId> = fused.items.iter().map(|it| it.node).collect();
        for of in chain {
            let own: Vec<NodeId> = of.items.iter().map(|it| it.node).collect();
            let nodes: Vec<NodeId> = own.iter().map(|n| recomputed(&mut self.g, *n, &written)).collect();
            let of_element = work::of_element(&mut self.g, of, &own);
            if let [rows, _] = of.domain[..] {
                if *extent.get_or_insert(rows) != rows {
                    return None;
                }
                cost = cost.saturating_add(of_element.saturating_mul(GUESSED_LENGTH));
                for (it, node) in of.items.iter().zip(&nodes).filter(|(it, _)| kept.contains(&it.node)) {
                    items.push(it.clone());
                    values.push(opened(&mut self.g, *node, &at));
                }
                written.extend(own.into_iter().zip(nodes));
            } else {
                cost = cost.saturating_add(of_element);
                let is_kept = |(it, _): &(&Item, &NodeId)| kept.contains(&it.node);
                let of_results = of.items.iter().zip(&nodes).filter(is_kept);
                bodies.extend(of_results.map(|(_, n)| opened(&mut self.g, *n, &[index])));
            }
        }
        let is_item = |n: &NodeId| chain.iter().flat_map(|of| &of.items).any(|it| it.node == *n);
        let s = segments::of_bodies(self, index, bodies)?;
        if items.is_empty()
            || Some(s.length) != extent
            || s.along != Along::Columns
            || s.may_record
            || segments::nested(self, &values).is_some()
        {
            return None;
        }
        let (mut inits, mut elements) = (Vec::new(), Vec::new());
        for n in &s.nested {
            let r = Reduction::nested(self, *n);
            inits.extend(r.init(self));
            elements.extend(r.elements(self, row));
        }
        // the reads at an element's own place, both by its column's reductions and by the values that are stored
        let mut accesses = Accesses::default();
        let mut read = |l: &Self, roots: Vec<NodeId>, at: &[NodeId]| {
            let mut own = HashSet::default();
            for n in l.g.reachable_until(roots, |n| l.g.op(n).is_reduction()) {
                match l.g.op(n) {
                    op if op.may_record(&l.g) => return None,
                    Op::Elem(x, _) if is_item(x) => return None,
                    Op::Elem(x, index) if index[..] == *at => drop(own.insert(*x)),
                    Op::Elem(x, _) => drop(accesses.elsewhere.insert(*x)),
                    _ => {}
                }
            }
            let mut list: Vec<NodeId> = own.iter().copied().collect();
            list.sort_unstable();
            accesses.own.extend(list);
            Some(own)
        };
        let stored = read(self, values.clone(), &at)?;
        let reduced = read(self, elements, &at)?;
        let results = s.bodies.iter().copied().chain(inits).collect();
        read(self, results, &[index])?;
        if stored.is_disjoint(&reduced) {
            return None;
        }
        let s = Rc::new(s);
        self.facts.cost = cost;
        self.facts.grain = segmented_columns::STRIP;
        self.facts.accesses = accesses;
        self.facts.strips = Some(Rc::new(Strips { segments: s.clone(), condition: None }));
        self.facts.segments = Some(s);
        self.facts.stored_columns = Some(Rc::new(StoredColumns { row, items, values }));
        Some(())
    }
}
