//! Finds the facts about a fused group ([`crate::schedule::facts`]).

use super::Accesses;
use super::bins::Bins;
use super::filter::Filter;
use super::put::Put;
use super::radix::RadixStep;
use super::scans::Scan;
use super::scatter::Scatter;
use super::segments::Found;
use super::{row_folds, segments, thread_rows, work};
use crate::core::digits::DIGIT_TILE;
use crate::core::{NodeId, SCAN_TILE, ScanPart, TILE};
use crate::kernel::lockstep::LANES;
use crate::scalar::Ty;
use crate::schedule::cpu::{segmented_columns, unrolled_rows};
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::groups::items::has_reductions;
use crate::schedule::groups::{FusedGroup, Item, is_store};
use std::rc::Rc;

/// The number of elements of a part that estimates of work assume: 256 for each of [`crate::plan::GUESSED_LENGTH`]
/// bins. A part has at least 16 elements for each bin, and at least 4096 (`core/bins.rs`).
pub(in crate::schedule) const GUESSED_PART: u32 = 1 << 18;

impl LaunchContext<'_, '_> {
    /// Finds the facts about the fused group.
    pub(in crate::schedule) fn find_facts(&mut self, fused: &FusedGroup) {
        if let Some(scan) = Scan::of(&self.g, &fused.items) {
            return self.find_facts_of_scan(&scan, &fused.items);
        }
        if let Some(bins) = Bins::of(&self.g, &fused.items) {
            return self.find_facts_of_bins(&bins);
        }
        if let Some(put) = Put::of(&self.g, &fused.items) {
            return self.find_facts_of_put(put, &fused.items);
        }
        if let Some(step) = RadixStep::of(&self.g, &fused.items) {
            return self.find_facts_of_sort(&step, &fused.items);
        }
        let interior = self.interior(fused);
        self.facts.cost = work::of_element(&mut self.g, fused, &interior.arrays);
        self.facts.accesses = Accesses::of(self, fused, &interior.arrays);
        self.facts.may_record = fused.items.iter().any(|it| self.may_record_inside(it.node));
        if self.facts.nested && fused.items.iter().all(|it| is_store(&self.g, it)) {
            // an element is a loop
            match segments::of(self, fused) {
                Some(Found::Segments(s)) => self.facts.segments = Some(Rc::new(s)),
                Some(Found::Loops(s)) => self.facts.long_loops = Some(Rc::new(s)),
                None => self.facts.ragged = segments::find_ragged(self, fused).map(Rc::new),
            }
            let segments = self.facts.segments.clone();
            let reduced = segments.clone().or(self.facts.long_loops.clone());
            self.facts.in_bounds = reduced.and_then(|s| s.in_bounds(self)).map(Rc::new);
            self.facts.strips = segments.and_then(|s| segmented_columns::of(self, s)).map(Rc::new);
            self.facts.grain = match &self.facts.strips {
                Some(_) => segmented_columns::STRIP,
                None if fused.items.iter().any(|it| has_reductions(&self.g, it)) => 1,
                None => LANES as u32,
            };
            self.facts.length_of_rows = thread_rows::length(self, fused);
            self.facts.row_fold = row_folds::find(self, fused).map(Rc::new);
        } else if let Some(length) = unrolled_rows::length(self, fused) {
            self.facts.grain = unrolled_rows::grain(length);
        }
    }

    /// Finds the facts about bins, whose unit of work is a part.
    fn find_facts_of_bins(&mut self, bins: &Bins) {
        let index = self.g.sample_index(1)[0].1;
        let own = bins.element(&mut self.g, index);
        // elements may go to any place, so no output may be an input
        let others = own.clone();
        self.find_facts_of_elements((own, &others), index, Some(GUESSED_PART));
    }

    /// Finds the facts about elements that are stored at their destinations.
    fn find_facts_of_put(&mut self, put: Put, items: &[Item]) {
        let index = self.g.sample_index(1)[0].1;
        let own = put.element(&mut self.g, items, index);
        // elements may go to any place, so no output may be an input
        let others = own.clone();
        self.facts.cost = work::of_roots(&mut self.g, own.clone(), &[]).0;
        self.find_facts_of_elements((own, &others), index, None);
    }

    /// Finds the costs and accesses of a launch from sample nodes: `own` are computed for each element at `index`,
    /// `others` are read at other indices. `of_unit` is the number of elements of a unit of work, if the unit is a
    /// tile or a part.
    pub(super) fn find_facts_of_elements(
        &mut self,
        (own, others): (Vec<NodeId>, &[NodeId]),
        index: NodeId,
        of_unit: Option<u32>,
    ) {
        let of_element = work::of_roots(&mut self.g, own.clone(), &[]).0;
        self.facts.accesses = Accesses::of_values(self, own, others, index);
        if let Some(of_unit) = of_unit {
            self.facts.cost = of_element.saturating_mul(of_unit);
            self.facts.grain = 1;
        }
    }

    /// Finds the facts about a whole scan, given its parts.
    pub(in crate::schedule) fn find_whole_scan(&mut self, parts: &[FusedGroup]) -> Option<()> {
        let [totals, before, tiles] = parts else { return None };
        let scan = Scan::whole(&self.g, [totals, before, tiles].map(|fused| &fused.items[..]))?;
        self.find_facts_of_scan(&scan, &tiles.items);
        self.facts.whole_scan = Some(scan);
        Some(())
    }

    /// Finds the facts about a whole filter, given the groups that its launch replaces.
    pub(in crate::schedule) fn find_filter(&mut self, groups: &[FusedGroup]) -> Option<()> {
        let filter = Filter::of(&mut self.g, groups)?;
        let index = self.g.sample_index(1)[0].1;
        let (_, up_to) = self.g.fresh_var(Ty::I64);
        let mut own = vec![filter.scan.sample(&mut self.g, index)];
        own.extend(filter.items.iter().map(|it| filter.value(&mut self.g, it, index, up_to)));
        let mut others = filter.scan.before(&mut self.g, index);
        others.extend(filter.items.iter().map(|it| filter.rest(&mut self.g, it)));
        // elements may go to any place, so no output may be an input
        others.extend(&own);
        self.find_facts_of_elements((own, &others), index, Some(SCAN_TILE as u32));
        // scratch, which holds the number of kept elements, has tiles of the tree
        self.facts.grain = TILE as u32;
        self.facts.filter = Some(Rc::new(filter));
        Some(())
    }

    /// Finds the facts about a whole scatter, given the groups that its launch replaces.
    pub(in crate::schedule) fn find_scatter(&mut self, groups: &[FusedGroup]) -> Option<()> {
        let (g, rules) = self.graph_and_rules();
        let scatter = Scatter::of(g, rules, groups)?;
        let index = self.g.sample_index(1)[0].1;
        let last = self.g.fresh_var(Ty::I64).1;
        let mut all = scatter.bins.element(&mut self.g, last);
        match scatter.joined {
            Some(begin) => all.push(begin),
            None => {
                all.extend(scatter.values_without(&mut self.g, index));
                all.extend(scatter.values(&mut self.g, index, last));
            }
        }
        // elements may go to any place, so no output may be an input
        self.find_facts_of_elements((Vec::new(), &all), index, Some(TILE as u32));
        self.facts.cost = work::of_roots(&mut self.g, all, &[]).0.saturating_mul(TILE as u32);
        self.facts.scatter = Some(Rc::new(scatter));
        Some(())
    }

    /// Finds the facts about a part of a scan, whose unit of work is a tile.
    fn find_facts_of_scan(&mut self, scan: &Scan, items: &[Item]) {
        let index = self.g.sample_index(1)[0].1;
        let sample = scan.sample(&mut self.g, index);
        let before = scan.before(&mut self.g, index);
        let (mut own, mut others) = (vec![sample], before);
        if scan.placed.is_some() {
            let vars: Vec<NodeId> = scan.types.iter().map(|ty| self.g.fresh_var(*ty).1).collect();
            own.extend(scan.of_element(&mut self.g, items, index, &vars));
        }
        if scan.goes_elsewhere() {
            // elements may go to any place, so no output may be an input
            others.extend(&own);
        }
        let of_unit = (scan.part != ScanPart::Before).then_some(SCAN_TILE as u32);
        self.find_facts_of_elements((own, &others), index, of_unit);
    }

    /// Finds the facts about a step of a radix sort, whose unit of work is a tile, or a digit with the counts of all
    /// tiles.
    fn find_facts_of_sort(&mut self, step: &RadixStep, items: &[Item]) {
        let index = self.g.sample_index(1)[0].1;
        let own = step.sample(&mut self.g, items, index);
        // elements may go to any place, so no output may be an input
        let others: Vec<NodeId> = own.iter().copied().chain(step.end(&mut self.g, index)).collect();
        self.find_facts_of_elements((own, &others), index, Some(DIGIT_TILE as u32));
    }
}
