//! Rows and columns: some fused groups reduce the rows of a matrix, and another one reduces its columns and needs the
//! values of the rows. One launch computes all of them, and reads the matrix once.
//!
//! ```text
//! for all rows i: t[i] = sum over j of a[i, j] * x[j]         for some rows i:  load the row
//! for all columns j: y[j] = sum over i of a[i, j] * t[i]  ->    t = sum over j of a[i, j] * x[j]
//!                                                               sums[j] += a[i, j] * t
//!                                                             then for all columns j: y[j] = the sums of all blocks
//! ```
//!
//! The launch is an alternative like that of [`super::resident_segments`], for GPUs only. A block has tree columns of
//! a tile of 2048 rows (semantics 5.1), so its results are subtrees, which a second kernel joins. Rows and columns
//! have the order of semantics 5.1, as if they were alone.

use super::resident_segments::{MAX_GROUPS, may_share};
use crate::core::{Graph, NodeId, Op};
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::element::opened;
use crate::schedule::element::reduction::Reduction;
use crate::schedule::facts::along::Along;
use crate::schedule::facts::{ResidentSegments, RowsAndColumns, Segments, Stage};
use crate::schedule::facts::{segments, work};
use crate::schedule::groups::{self, FusedGroup, Item, is_store};
use rustc_hash::FxHashSet as HashSet;
use std::rc::Rc;

/// Returns the number of groups from the first one on that may go over the same rows and then columns: at least 2, of
/// which the last reduces columns. Only the index spaces are looked at.
pub fn chain(g: &Graph, all: &[FusedGroup], scalars: &[Vec<u32>]) -> Option<usize> {
    let rows = &all.first()?.domain;
    let reduces = |fused: &FusedGroup| {
        fused.domain.len() == 1 && fused.items.iter().all(|it| is_store(g, it) && groups::is_nested(g, it))
    };
    let may = |at: usize| may_share(&all[at], &scalars[at]) && reduces(&all[at]);
    let most = all.len().min(MAX_GROUPS);
    let count = (0..most).take_while(|at| may(*at) && all[*at].domain == *rows).count();
    // a square matrix has the same extent along both axes
    match count {
        0 => None,
        _ if count < most && may(count) => Some(count + 1),
        _ => (count > 1).then_some(count),
    }
}

/// Returns the group of a launch that computes all groups of a chain: its items are the results, and values that are
/// `needed` later.
pub fn joined(chain: &[FusedGroup], needed: &HashSet<NodeId>) -> FusedGroup {
    let is_stored = |it: &&Item| it.result.is_some() || needed.contains(&it.node);
    let items = chain.iter().flat_map(|fused| &fused.items).filter(is_stored).cloned().collect();
    FusedGroup { domain: chain[0].domain.clone(), sequential: false, iteration: None, items }
}

impl LaunchContext<'_, '_> {
    /// Finds the facts about a launch that reduces the columns of the rows that it keeps: `fused` computes the groups
    /// of `chain`. Returns `None` if such a launch is not possible, or if it would read no array fewer times.
    pub(in crate::schedule) fn find_rows_and_columns(
        &mut self,
        fused: &FusedGroup,
        chain: &[FusedGroup],
    ) -> Option<()> {
        let (last, of_rows) = chain.split_last()?;
        let (mut rows, _) = self.kept_segments(Along::Rows, of_rows, &fused.items, &HashSet::default())?;
        // several blocks have rows of the same columns, so the launch must leave no records
        if rows.recording.is_some() {
            return None;
        }
        let kept: HashSet<NodeId> = fused.items.iter().map(|it| it.node).collect();
        // a value of a row is stored if another launch needs it
        let all = of_rows.iter().flat_map(|of| &of.items);
        let mut items = all.filter(|it| kept.contains(&it.node));
        for stage in &mut rows.stages {
            let Stage::Reduce { values, .. } = stage else { return None };
            for v in values {
                let Op::Elem(x, _) = *self.g.op(v.read) else { return None };
                v.stored = items.clone().find(|it| it.node == x).cloned();
            }
        }
        if items.any(|it| it.result.is_some() && !self.is_stored_row(&rows, it)) {
            return None;
        }
        let read: HashSet<NodeId> = self.facts.accesses.own.iter().copied().collect();
        let index = rows.element;
        let bodies: Vec<NodeId> =
            last.items.iter().map(|it| opened(&mut self.g, it.node, &[index])).collect();
        let columns = segments::of_bodies(self, index, bodies)?;
        if columns.along != Along::Columns
            || columns.may_record
            || last.domain[0] != rows.length
            || columns.length != of_rows[0].domain[0]
        {
            return None;
        }
        let known: HashSet<NodeId> = rows.stages.iter().flat_map(values_of).collect();
        let (elements, inits) = self.of_columns(&columns, rows.segment)?;
        let place = [rows.segment, index];
        let is_item = |x: &NodeId| chain.iter().flat_map(|of| &of.items).any(|it| it.node == *x);
        let mut shares = false;
        for n in self.g.reachable_until(elements, |n| known.contains(&n)) {
            match self.g.op(n) {
                Op::Elem(..) if known.contains(&n) => {}
                Op::Elem(x, _) if is_item(x) => return None,
                Op::Elem(x, at) if at[..] == place => shares |= read.contains(x),
                Op::Elem(x, _) => drop(self.facts.accesses.elsewhere.insert(*x)),
                _ => {}
            }
        }
        let results: Vec<NodeId> = columns.bodies.iter().copied().chain(inits).collect();
        for n in self.g.reachable_until(results, |n| self.g.op(n).is_reduction()) {
            match self.g.op(n) {
                Op::Elem(x, _) if is_item(x) => return None,
                Op::Elem(x, _) => drop(self.facts.accesses.elsewhere.insert(*x)),
                _ => {}
            }
        }
        let nodes: Vec<NodeId> = last.items.iter().map(|it| it.node).collect();
        let of_columns = work::of_element(&mut self.g, last, &nodes);
        self.facts.cost = self.facts.cost.saturating_add(of_columns);
        let items = last.items.clone();
        self.facts.rows_and_columns = Some(Rc::new(RowsAndColumns { rows, columns, items }));
        shares.then_some(())
    }

    /// Whether the launch stores the value of a row that an item would store.
    fn is_stored_row(&self, rows: &ResidentSegments, it: &Item) -> bool {
        let values = rows.stages.iter().filter_map(|s| match s {
            Stage::Reduce { values, .. } => Some(values),
            Stage::Store { .. } => None,
        });
        values.flatten().any(|v| v.stored.as_ref().is_some_and(|s| s.result == it.result))
    }

    /// Returns the nodes that the reductions of columns need of an element in the row `row`, and their initial
    /// values.
    fn of_columns(&mut self, columns: &Segments, row: NodeId) -> Option<(Vec<NodeId>, Vec<NodeId>)> {
        let (mut elements, mut inits) = (Vec::new(), Vec::new());
        for n in &columns.nested {
            let r = Reduction::nested(self, *n);
            // the accumulators of all columns are in registers, so there must be few of them
            if r.is_counted() {
                return None;
            }
            inits.extend(r.init(self));
            elements.extend(r.elements(self, row));
        }
        Some((elements, inits))
    }
}

/// Returns the reads of the values of a stage.
fn values_of(stage: &Stage) -> Vec<NodeId> {
    match stage {
        Stage::Reduce { values, .. } => values.iter().map(|v| v.read).collect(),
        Stage::Store { .. } => Vec::new(),
    }
}
