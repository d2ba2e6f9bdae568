//! Resident rows and columns: fused groups go over the same rows one after another, because each needs a reduction of
//! the row that the one before computes. One launch computes all of them, and reads each row from memory once. What
//! is said of rows holds for columns, too.
//!
//! ```text
//! for all rows: max                         for all rows:  load the row
//! for all rows: sum (exp (x - max))   ->                   max, then sum (exp (x - max)), then exp (x - max) / sum
//! for all rows: exp (x - max) / sum                        store the row
//! ```
//!
//! The launch is an alternative: in the plan it stands before the launches of the groups and runs
//! instead of them where the device can keep the rows of the call ([`crate::plan::Step::Instead`]).
//! On GPUs the row lies in the registers of some lanes, of a warp or of a block, on CPUs in a cache. Columns lie in
//! the registers of a block, which has a strip of neighbouring ones, or in the caches of a CPU. So do the columns of
//! the planes of an array of three dimensions, and the segments that go through its planes. Every reduction has the
//! order of semantics 5.1, as if it were alone.
//!
//! If a group reads what an earlier one stores at the same row, it reads the stored row on a CPU. On a GPU it
//! computes the element itself, which is kept in a register: no group waits for a store, and stores come last. Arrays
//! that only these groups read are then not stored.
//!
//! One of the groups may leave error records. Which record a call reports depends first on the order of the launches,
//! then on the elements (semantics 6), and one launch has one index space of records. The record of a group that
//! reduces names the number of the row, that of a group that stores the rows the number of the element. Reads that a
//! condition keeps in bounds, as in values whose records are kept beside them, leave none.

mod collect;

use crate::core::{Graph, NodeId, Op};
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::element::opened;
use crate::schedule::element::reduction::Reduction;
use crate::schedule::facts::along::Along;
use crate::schedule::facts::{ResidentSegments, Stage};
use crate::schedule::groups::{self, FusedGroup, Item, is_store};
use crate::schedule::{element::error_records, facts::segments};
use collect::Collected;
pub(in crate::schedule) use collect::recomputed;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::rc::Rc;

/// The maximum number of groups that one launch computes.
pub(in crate::schedule) const MAX_GROUPS: usize = 8;

/// Returns the number of groups from the first one on, at least 2, that may go over the same rows or columns; only
/// the index spaces are looked at. `scalars` are the scalar results of each group.
pub fn chain(g: &Graph, along: Along, all: &[FusedGroup], scalars: &[Vec<u32>]) -> Option<usize> {
    let domain = domain(g, all)?;
    let rank = domain.len();
    if !along.others().contains(&rank) {
        return None;
    }
    let of_rows = |fused: &FusedGroup| {
        let others = |axis: &usize| *axis != along.axis(rank);
        fused.domain == domain
            || fused.domain.len() == rank + 1
                && (0..=rank).filter(others).map(|axis| fused.domain[axis]).eq(domain.iter().copied())
    };
    let stores = |fused: &FusedGroup| fused.items.iter().all(|it| is_store(g, it));
    let belongs = |of: &(&FusedGroup, &Vec<u32>)| may_share(of.0, of.1) && stores(of.0) && of_rows(of.0);
    let count = all.iter().zip(scalars).take(MAX_GROUPS).take_while(belongs).count();
    (count > 1).then_some(count)
}

/// Whether a group may share the launch of others: it must not be a fold or an iteration, and no scalar result may
/// depend on it.
pub(in crate::schedule) fn may_share(fused: &FusedGroup, scalars: &[u32]) -> bool {
    !fused.sequential && fused.iteration.is_none() && scalars.is_empty()
}

/// Returns the index space of the rows: that of the first group with a reduction of rows.
fn domain<'a>(g: &Graph, all: &'a [FusedGroup]) -> Option<&'a [NodeId]> {
    let has_reductions = |fused: &&FusedGroup| fused.items.iter().any(|it| groups::is_nested(g, it));
    all.iter().take(MAX_GROUPS).find(has_reductions).map(|fused| &fused.domain[..])
}

/// Returns the group of a launch that computes all groups of a chain. Its items are the results, values `needed`
/// by other launches, and the arrays of elements that only the chain reads, because a CPU has no other memory for
/// these.
pub fn joined(g: &Graph, chain: &[FusedGroup], needed: &HashSet<NodeId>) -> Option<FusedGroup> {
    let domain = domain(g, chain)?.to_vec();
    let is_stored = |of: &(&FusedGroup, &Item)| {
        of.1.result.is_some() || needed.contains(&of.1.node) || of.0.domain != domain
    };
    let all = chain.iter().flat_map(|fused| fused.items.iter().map(move |it| (fused, it)));
    let items = all.filter(is_stored).map(|(_, it)| it.clone()).collect();
    Some(FusedGroup { domain, sequential: false, iteration: None, items })
}

impl LaunchContext<'_, '_> {
    /// Makes inputs of those arrays among `written` from which these values are computed: a CPU reads them again.
    /// They are inputs whether or not code for CPUs is wanted, because the plan is the same. Returns `None` if a
    /// value reads another element of the row than its own, or another row, whose elements may not be stored yet.
    pub(in crate::schedule) fn read_again(
        &mut self,
        along: Along,
        values: &[NodeId],
        outer: &[NodeId],
        written: &HashMap<NodeId, NodeId>,
    ) -> Option<()> {
        if written.is_empty() {
            return Some(());
        }
        for n in self.g.reachable(values.iter().copied()) {
            let Op::Elem(x, at) = self.g.op(n).clone() else { continue };
            if !written.contains_key(&x) {
                continue;
            }
            let element = at[along.axis(outer.len())];
            if at != along.index(outer, element) || !matches!(self.g.op(element), Op::Var(..)) {
                return None;
            }
            self.input(x);
        }
        Some(())
    }

    /// Finds the facts about a launch that keeps the rows or columns of a chain of groups, whose items are those of
    /// `joined`. A GPU stores those that are results or `needed` after the chain, and no others. Returns `None` if
    /// such a launch is not possible, or if it would read no array fewer times.
    pub(in crate::schedule) fn find_resident_segments(
        &mut self,
        along: Along,
        chain: &[FusedGroup],
        joined: &FusedGroup,
        needed: &HashSet<NodeId>,
    ) -> Option<()> {
        let (rows, shares) = self.kept_segments(along, chain, &joined.items, needed)?;
        // columns that are reduced where they are computed need not be kept ([`super::stored_columns`])
        let pays = shares && (along == Along::Rows || self.needs_values_again(&rows));
        self.facts.resident = Some(Rc::new(rows));
        pays.then_some(())
    }

    /// Whether an element of some stage needs a value of its row or column that is only known when all elements of
    /// this have been read.
    fn needs_values_again(&mut self, kept: &ResidentSegments) -> bool {
        let mut known = HashSet::default();
        for stage in &kept.stages {
            let roots: Vec<NodeId> = match stage {
                Stage::Reduce { reductions, .. } => {
                    let of = |n: &NodeId| Reduction::nested(self, *n).elements(self, kept.element);
                    reductions.iter().flat_map(of).collect()
                }
                Stage::Store { arrays } => {
                    arrays.iter().map(|a| opened(&mut self.g, a.computed, &kept.index())).collect()
                }
            };
            if self.g.reachable(roots).iter().any(|n| known.contains(n)) {
                return true;
            }
            if let Stage::Reduce { values, .. } = stage {
                known.extend(values.iter().map(|v| v.read));
            }
        }
        false
    }

    /// Returns what a launch that keeps the rows of a chain of groups, and stores some `items` of them, computes of a
    /// row, and whether it reads an array fewer times. It also sets the launch's accesses and its cost.
    pub(in crate::schedule) fn kept_segments(
        &mut self,
        along: Along,
        chain: &[FusedGroup],
        items: &[Item],
        needed: &HashSet<NodeId>,
    ) -> Option<(ResidentSegments, bool)> {
        let domain = domain(&self.g, chain)?;
        let mut collected = Collected::new(self, along, domain, chain, items, needed);
        for fused in chain {
            collected.group(self, fused)?;
        }
        collected.finish(self)
    }

    /// Whether the values of a group, or the elements that its reductions need, leave error records.
    fn leaves_records(&mut self, roots: &[NodeId]) -> bool {
        let conditions = error_records::conditions(&mut self.g, roots);
        conditions.into_keys().any(|n| self.g.op(n).may_record(&self.g))
    }

    /// Returns the nodes that reductions need of one element of a row or column. All reductions must go along these,
    /// have one length and have an identity.
    fn kept_reductions(
        &mut self,
        along: Along,
        reductions: &[NodeId],
        (segment, element): (NodeId, NodeId),
        length: &mut Option<NodeId>,
    ) -> Option<Vec<NodeId>> {
        let Op::Var(segment, _) = *self.g.op(segment) else { return None };
        if reductions.is_empty() {
            return Some(Vec::new());
        }
        let mut needed = Vec::new();
        for n in reductions {
            let (init, src) = match *self.g.op(*n) {
                Op::Reduce { init, src, .. } => (init, src),
                Op::Dot { init, a, .. } => (init, a),
                Op::SquaredDeviations { init, src } => (init, src),
                _ => return None,
            };
            let Op::Generate(extents, _) = self.g.op(src) else { return None };
            let extent = extents[0];
            let r = Reduction::nested(self, *n);
            if *length.get_or_insert(extent) != extent
                || !self.g.is_closed(extent)
                || !r.has_identity(self)
                || self.may_record(init)
                || segments::nested(self, &[init]).is_some()
            {
                return None;
            }
            needed.push(init);
            needed.extend(r.elements(self, element));
        }
        let found = segments::along(self, reductions, segment)?;
        (found.has_strips() == along.has_strips()).then_some(needed)
    }
}
