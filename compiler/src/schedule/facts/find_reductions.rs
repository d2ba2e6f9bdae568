//! Finds the reductions of a whole scan's results that the launch of the scan can compute
//! ([`super::scan_reductions`]), and the arrays that this launch reads.

use super::scan_reductions::ScanReductions;
use super::scans::Scan;
use super::work;
use crate::core::records::may_record_here;
use crate::core::{NodeId, Op, SCAN_TILE, TILE};
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::element::reduction::Reduction;
use crate::schedule::groups::{FusedGroup, Item, is_store};

/// The maximum number of operations for an element, with the joins (`MAX_COST`), and the maximum number of bytes of
/// all accumulators (`MAX_BYTES`). The code of the scan leaves few registers.
const MAX_COST: u32 = 100;
const MAX_BYTES: usize = 24;

impl LaunchContext<'_, '_> {
    /// Finds the facts about a launch of a whole scan and of reductions of its results. `chain` has the three parts
    /// of the scan and the group of the reductions; `fused` has the items of the launch: stored arrays and
    /// reductions.
    pub(in crate::schedule) fn find_scan_and_reductions(
        &mut self,
        fused: &FusedGroup,
        chain: &[FusedGroup],
    ) -> Option<()> {
        let [totals, before, tiles, group] = chain else { return None };
        let scan = Scan::whole(&self.g, [totals, before, tiles].map(|fused| &fused.items[..]))?;
        if !scan.is_one_pass(true) {
            return None;
        }
        let index = self.g.sample_index(1)[0].1;
        let vars: Vec<NodeId> = scan.types.iter().map(|ty| self.g.fresh_var(*ty).1).collect();
        let (found, elements) = self.scan_reductions(&scan, (tiles, group), (index, &vars))?;
        let stores: Vec<Item> = fused.items.iter().filter(|it| is_store(&self.g, it)).cloned().collect();
        let sample = scan.sample(&mut self.g, index);
        let mut others = scan.before(&mut self.g, index);
        let mut own = vec![sample];
        own.extend(scan.of_element(&mut self.g, &stores, index, &vars));
        own.extend(&elements);
        if !stores.is_empty() {
            // reductions read arrays after elements were stored, so no output may be one of these arrays
            others.extend(elements);
        }
        self.find_facts_of_elements((own, &others), index, Some(SCAN_TILE as u32));
        // scratch has a value for each tile of the tree
        self.facts.grain = TILE as u32;
        // the number of elements is known to kernels only through arrays that are read or stored at each element
        if stores.is_empty() && self.facts.accesses.pointwise().next().is_none() {
            return None;
        }
        (self.facts.whole_scan, self.facts.scan_reductions) = (Some(scan), Some(found));
        Some(())
    }

    /// Returns the reductions of a group behind a scan whose last part is `tiles`, with the values of an element at
    /// an index; `results` are the partial results there. Returns `None` if they need more than the values at the
    /// element's own index, or too many registers.
    pub(super) fn scan_reductions(
        &mut self,
        scan: &Scan,
        (tiles, group): (&FusedGroup, &FusedGroup),
        (index, results): (NodeId, &[NodeId]),
    ) -> Option<(ScanReductions, Vec<NodeId>)> {
        let l = self;
        if group.sequential || group.domain[..] != [scan.length(&mut l.g)] {
            return None;
        }
        let nodes: Vec<NodeId> = group.items.iter().map(|it| it.node).collect();
        let by_tree = |n: &NodeId| {
            matches!(l.g.op(*n), Op::Reduce { .. } | Op::Dot { .. } | Op::SquaredDeviations { .. })
        };
        if !nodes.iter().all(by_tree) {
            return None;
        }
        let list = Reduction::all_nested(l, &nodes);
        let bytes: usize = list.iter().flat_map(|r| &r.types).map(|ty| ty.size()).sum();
        let (mut own, mut others, mut steps) = (Vec::new(), Vec::new(), Vec::new());
        for r in &list {
            let elements = r.elements(l, index);
            let columns = [r.variables(l), r.variables(l)];
            steps.extend(r.step_of(l, &columns[0], &elements));
            others.extend(r.join(l, &columns[0], &columns[1]));
            others.extend(r.init(l));
            own.extend(elements);
        }
        others.extend(&steps);
        let found = ScanReductions { items: tiles.items.clone(), nodes, cost: 0, arrays: Vec::new() };
        if bytes > MAX_BYTES || !found.are_at_own_index(&l.g, own.iter().chain(&others), index) {
            return None;
        }
        let own = found.of_results(&mut l.g, scan, own, (index, results));
        let steps = found.of_results(&mut l.g, scan, steps, (index, results));
        let all: Vec<NodeId> = own.iter().chain(&others).copied().collect();
        let in_element = |nodes: &[NodeId]| l.g.reachable_until(nodes.iter().copied(), |n| l.g.is_closed(n));
        if in_element(&all).into_iter().any(|n| l.g.op(n).lambda().is_some()) || may_record_here(&l.g, all) {
            return None;
        }
        let read = |n: NodeId| match l.g.op(n) {
            Op::Elem(x, at) if at[..] == [index] => Some(*x),
            _ => None,
        };
        let arrays = in_element(&own).into_iter().filter_map(read).collect();
        let cost = work::of_roots(&mut l.g, steps, &[]).0;
        (cost <= MAX_COST).then_some((ScanReductions { cost, arrays, ..found }, own))
    }
}
