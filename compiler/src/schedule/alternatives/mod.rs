//! Launches that compute several groups at once. They run in place of the launches of these groups where a device has
//! code that serves the call ([`crate::plan::Step::Instead`]).

pub mod resident_segments;
pub mod resident_vector;
pub mod rows_and_columns;
pub mod stencil_chain;
pub mod stored_columns;
mod whole_sort;

use super::facts::along::Along;
use super::facts::bins::Bins;
use super::facts::filter;
use super::facts::scans::Scan;
use super::groups::items::{self, Item};
use super::groups::{self, FusedGroup};
use super::kernels::KernelVariants;
use super::scheduler::{Refusal, Scheduler};
use crate::core::{Function, Graph, NodeId};
use crate::error::Result;
use crate::plan::{Launch, Step};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// What a launch that computes several groups does.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Alternative {
    /// Rows or columns that stay in registers or caches, [`resident_segments`].
    ResidentSegments(Along),
    /// The parts of a scan, [`super::facts::scans`].
    Scan,
    /// The same for CPUs, where GPUs have `ScanAndReductions`.
    ScanOnCpus,
    /// The parts of a scan, and reductions of what it gives, [`super::facts::scan_reductions`].
    ScanAndReductions,
    /// A whole filter, [`super::facts::filter`].
    Filter,
    /// A whole scatter, [`super::facts::scatter`].
    Scatter,
    /// A vector that stays in registers or caches, [`resident_vector`].
    ResidentVector,
    /// Matrices that it stores and whose columns it reduces, [`stored_columns`].
    StoredColumns,
    /// Rows, and reductions of their columns, [`rows_and_columns`].
    RowsAndColumns,
    /// Matrices of which each is a stencil of those before it, [`stencil_chain`].
    Stencils,
    /// The same for more matrices than a GPU's shared memory can hold.
    StencilsOnCpus,
}

/// Returns for each node that a launch computes the number of the last group that needs it, or that computes scalar
/// results from it.
pub(super) fn last_readers(
    f: &Function,
    groups: &[FusedGroup],
    scalars: &[Vec<u32>],
) -> HashMap<NodeId, usize> {
    let (g, mut last) = (&f.graph, HashMap::default());
    for (i, (fused, scalars)) in groups.iter().zip(scalars).enumerate() {
        let of_items = fused.items.iter().flat_map(|it| groups::needs_of_item(g, it));
        let values = scalars.iter().map(|r| f.results[*r as usize].value);
        let needed = of_items.chain(values.flat_map(|n| groups::needs(g, n)));
        last.extend(needed.map(|n| (n, i)));
    }
    last
}

/// Returns for each group the number of the first one, from it on, that must have a launch of its own. That holds for
/// groups that store parts of scans and sorts, bins, or elements at destinations, and for what the latter replace,
/// whose elements are computed at other indices.
pub(super) fn plain_until(g: &Graph, groups: &[FusedGroup]) -> Vec<usize> {
    let is_apart = |it: &Item| it.into.is_some() || g.op(items::array(g, it)).is_stored_apart();
    let is_plain = |fused: &FusedGroup| !fused.items.iter().any(is_apart);
    let mut until: Vec<usize> = (0..groups.len()).collect();
    for (i, _) in groups.iter().enumerate().rev().filter(|(_, fused)| is_plain(fused)) {
        until[i] = until.get(i + 1).copied().unwrap_or(groups.len());
    }
    until
}

impl Scheduler<'_> {
    /// Tries to replace the launches from group `first` on by one launch. Returns the number of the last group that
    /// it replaces, and its kind. `enclosing` is the alternative that replaces group `first` already. If its columns
    /// are too long for registers, some of its groups may still share a launch of kind `StoredColumns`.
    pub(super) fn alternative(
        &mut self,
        first: usize,
        fused_groups: &[FusedGroup],
        scalars: &[Vec<u32>],
        kernel: u32,
        enclosing: Option<(usize, Alternative)>,
    ) -> Result<Option<(usize, Alternative)>> {
        let end = match enclosing {
            None => fused_groups.len(),
            Some((last, Alternative::ResidentSegments(along))) if along.has_strips() => last + 1,
            Some((_, Alternative::ScanAndReductions)) => {
                return self.whole_scan(first, fused_groups, kernel, true);
            }
            Some(_) => return Ok(None),
        };
        if enclosing.is_none()
            && let Some(found) = self.scan_and_reductions(first, fused_groups, scalars, kernel)?
        {
            return Ok(Some(found));
        }
        if enclosing.is_none()
            && let Some(found) = self.filter(first, fused_groups, scalars, kernel)?
        {
            return Ok(Some(found));
        }
        if enclosing.is_none()
            && let Some(found) = self.scatter(first, fused_groups, scalars, kernel)?
        {
            return Ok(Some(found));
        }
        if let Some(found) = self.whole_scan(first, fused_groups, kernel, false)? {
            return Ok(Some(found));
        }
        let g = &self.f.graph;
        let end = end.min(self.plain_until[first]);
        let (groups, scalars) = (&fused_groups[first..end], &scalars[first..end]);
        let segments = |along| {
            (resident_segments::chain(g, along, groups, scalars), Alternative::ResidentSegments(along))
        };
        let chains = [
            segments(Along::Rows),
            (resident_vector::chain(groups, scalars), Alternative::ResidentVector),
            segments(Along::Columns),
            segments(Along::Planes),
            (stored_columns::chain(g, groups, scalars), Alternative::StoredColumns),
            (rows_and_columns::chain(g, groups, scalars), Alternative::RowsAndColumns),
            (stencil_chain::chain(g, groups, scalars), Alternative::Stencils),
            (stencil_chain::chain(g, groups, scalars), Alternative::StencilsOnCpus),
        ];
        let scope = self.scope;
        let may_be = |what: &Alternative| match what {
            // without one of the targets, this is the same as the kind before, or has no target at all
            Alternative::StencilsOnCpus => enclosing.is_none() && scope.has_cpu() && scope.has_gpu(),
            _ => enclosing.is_none() || *what == Alternative::StoredColumns,
        };
        // the last group of the chain of stencils that was refused last, which is the shortest one
        let mut refused = None;
        for (most, what) in chains.into_iter().filter(|(_, what)| may_be(what)) {
            for count in (2..=most.unwrap_or(0).min(end - first)).rev() {
                let chain = &groups[..count];
                let is_needed = |n: &NodeId| self.last_readers.get(n).is_some_and(|i| *i >= first + count);
                let items = chain.iter().flat_map(|fused| &fused.items).map(|it| it.node);
                let needed: HashSet<NodeId> = items.filter(is_needed).collect();
                let joined = match what {
                    Alternative::ResidentSegments(_) => resident_segments::joined(g, chain, &needed),
                    Alternative::ResidentVector => resident_vector::joined(g, self.one, chain, &needed),
                    Alternative::Scan
                    | Alternative::ScanOnCpus
                    | Alternative::ScanAndReductions
                    | Alternative::Filter
                    | Alternative::Scatter => None,
                    Alternative::StoredColumns => stored_columns::joined(g, chain, &needed),
                    Alternative::RowsAndColumns => Some(rows_and_columns::joined(chain, &needed)),
                    Alternative::Stencils | Alternative::StencilsOnCpus => {
                        stencil_chain::joined(g, chain, &needed)
                            .map_err(|why| refused = Some((count, why)))
                            .ok()
                    }
                };
                let Some(fused) = joined else { continue };
                let before = self.previous_arrays.clone();
                let suffix = match what {
                    Alternative::ResidentSegments(Along::Columns | Along::Planes) => "strips",
                    Alternative::StoredColumns => "columns",
                    Alternative::RowsAndColumns => "both",
                    Alternative::Stencils | Alternative::StencilsOnCpus => "chain",
                    Alternative::ResidentSegments(Along::Rows)
                    | Alternative::ResidentVector
                    | Alternative::Scan
                    | Alternative::ScanOnCpus
                    | Alternative::ScanAndReductions
                    | Alternative::Filter
                    | Alternative::Scatter => "rows",
                };
                let name = format!("{}_{first}_{suffix}", self.name);
                let made = self.launch(name, &fused, &[], kernel, Some((what, chain, &needed)))?;
                self.previous_arrays = before;
                refused = self.refusal.take().map(|why| (count, why)).or(refused);
                // a launch that waits for a scalar of another one cannot replace others
                let Some((launch, variants)) = made.filter(|(launch, _)| launch.slots.is_empty()) else {
                    continue;
                };
                self.instead(launch, variants);
                self.refuse(first, refused);
                return Ok(Some((first + count - 1, what)));
            }
        }
        self.refuse(first, refused);
        Ok(None)
    }

    /// Returns the whole scan of which three groups are the parts, if there is one.
    fn scan_of(&self, parts: &[FusedGroup]) -> Option<Scan> {
        let [totals, before, tiles] = parts else { return None };
        Scan::whole(&self.f.graph, [totals, before, tiles].map(|fused| &fused.items[..]))
    }

    /// Adds the launch of a whole scan, if group `first` and those after it are its parts and a target has code. It
    /// may be for CPUs alone.
    fn whole_scan(
        &mut self,
        first: usize,
        fused_groups: &[FusedGroup],
        kernel: u32,
        on_cpus: bool,
    ) -> Result<Option<(usize, Alternative)>> {
        let last = first + 2;
        let is_one = |parts: &&[FusedGroup]| {
            let has_gpu_code = |scan: &Scan| !on_cpus && scan.is_one_pass(false);
            self.scan_of(parts).is_some_and(|scan| self.scope.has_cpu() || has_gpu_code(&scan))
        };
        let found = fused_groups.get(first..=last).filter(is_one);
        let Some(parts) = found else { return Ok(None) };
        // a whole scan does not store the totals, nor what stands before tiles
        let mut left_out = parts[..2].iter().flat_map(|part| &part.items);
        if left_out.any(|it| self.is_read_after(it, last)) {
            return Ok(None);
        }
        let fused = FusedGroup { sequential: true, ..parts[2].clone() };
        let what = if on_cpus { Alternative::ScanOnCpus } else { Alternative::Scan };
        self.one_launch((first, "whole"), (&fused, &[]), kernel, (what, parts))
    }

    /// Adds the launch of a whole scan and of the reductions of what it gives, if group `first` and those after it
    /// are the parts of a scan and then reductions. What is stored is what later groups need, and results.
    fn scan_and_reductions(
        &mut self,
        first: usize,
        fused_groups: &[FusedGroup],
        scalars: &[Vec<u32>],
        kernel: u32,
    ) -> Result<Option<(usize, Alternative)>> {
        let (g, last) = (&self.f.graph, first + 3);
        let Some(chain) = fused_groups.get(first..=last).filter(|_| self.scope.has_gpu()) else {
            return Ok(None);
        };
        let (parts, group) = (&chain[..3], &chain[3]);
        let is_reduction = |it: &Item| g.ty(it.node).is_scalar() && g.op(it.node).is_reduction();
        if !group.items.iter().all(is_reduction)
            || self.scan_of(parts).is_none_or(|scan| !scan.is_one_pass(true))
        {
            return Ok(None);
        }
        let all: HashSet<NodeId> = parts.iter().flat_map(|part| &part.items).map(|it| it.node).collect();
        let mut needed =
            scalars[last].iter().flat_map(|r| groups::needs(g, self.f.results[*r as usize].value));
        // the code that ends the launch does not wait for elements that it stores
        if parts[..2].iter().flat_map(|part| &part.items).any(|it| self.is_read_after(it, first + 2))
            || scalars[first..last].iter().any(|scalars| !scalars.is_empty())
            || needed.any(|n| all.contains(&n))
        {
            return Ok(None);
        }
        let is_stored = |it: &&Item| it.result.is_some() || self.is_read_after(it, last);
        let stored = parts[2].items.iter().filter(is_stored);
        let items = stored.chain(&group.items).cloned().collect();
        let fused = FusedGroup { sequential: true, items, ..parts[2].clone() };
        let what = Alternative::ScanAndReductions;
        self.one_launch((first, "reduced"), (&fused, &scalars[last]), kernel, (what, chain))
    }

    /// Adds the launch of a whole filter and of the number of elements that it keeps, if group `first` and those
    /// after it are its parts.
    fn filter(
        &mut self,
        first: usize,
        fused_groups: &[FusedGroup],
        scalars: &[Vec<u32>],
        kernel: u32,
    ) -> Result<Option<(usize, Alternative)>> {
        let Some(parts) = filter::Parts::of(&self.f.graph, &fused_groups[first..]) else { return Ok(None) };
        let last = first + parts.groups - 1;
        let (chain, stored) = (&fused_groups[first..=last], &fused_groups[last]);
        let counting = parts.counting.map(|(at, _)| first + at);
        // a whole filter stores neither conditions, totals, nor what stands before tiles
        let is_left_out = |it: &&Item| parts.counting.is_none_or(|(_, count)| count.node != it.node);
        let mut left_out =
            chain[..parts.groups - 1].iter().flat_map(|fused| &fused.items).filter(is_left_out);
        let mut waiting = (first..=last).filter(|i| Some(*i) != counting).flat_map(|i| &scalars[i]);
        if left_out.any(|it| self.is_read_after(it, last)) || waiting.next().is_some() {
            return Ok(None);
        }
        let items = stored.items.iter().chain(parts.counting.map(|(_, count)| count)).cloned().collect();
        let fused = FusedGroup { sequential: true, items, ..stored.clone() };
        let scalars = counting.map_or(&[][..], |at| &scalars[at]);
        self.one_launch((first, "filter"), (&fused, scalars), kernel, (Alternative::Filter, chain))
    }

    /// Adds the launch of a whole scatter, if group `first` and the one after it are its parts, and no later one reads
    /// the highest indices.
    fn scatter(
        &mut self,
        first: usize,
        fused_groups: &[FusedGroup],
        scalars: &[Vec<u32>],
        kernel: u32,
    ) -> Result<Option<(usize, Alternative)>> {
        let last = first + 1;
        let Some(chain) = fused_groups.get(first..=last).filter(|_| self.scope.has_cpu()) else {
            return Ok(None);
        };
        if Bins::of(&self.f.graph, &chain[0].items).is_none()
            || chain[0].items.iter().any(|it| self.is_read_after(it, last))
            || scalars[first..=last].iter().any(|scalars| !scalars.is_empty())
        {
            return Ok(None);
        }
        // there is a part even if there are no elements, or if they have no destination
        let fused = FusedGroup { sequential: true, domain: chain[0].domain.clone(), ..chain[1].clone() };
        self.one_launch((first, "scatter"), (&fused, &[]), kernel, (Alternative::Scatter, chain))
    }

    /// Whether a group after group `last` reads an item.
    fn is_read_after(&self, it: &Item, last: usize) -> bool {
        self.last_readers.get(&it.node).is_some_and(|reader| *reader > last)
    }

    /// Makes a launch that stores and computes what `fused` and `scalars` say in place of those of a chain from group
    /// `first` on, and adds it. Returns the last group of the chain and what the launch is, if there is such a launch:
    /// it may write scalars, but must not wait for any.
    fn one_launch(
        &mut self,
        (first, suffix): (usize, &str),
        (fused, scalars): (&FusedGroup, &[u32]),
        kernel: u32,
        (what, chain): (Alternative, &[FusedGroup]),
    ) -> Result<Option<(usize, Alternative)>> {
        let before = self.previous_arrays.clone();
        let name = format!("{}_{first}_{suffix}", self.name);
        let made = self.launch(name, fused, scalars, kernel, Some((what, chain, &HashSet::default())))?;
        self.previous_arrays = before;
        let writes = |l: &Launch| l.slots.iter().all(|slot| l.computes.iter().any(|of| of.0 == *slot));
        let Some((launch, variants)) = made.filter(|(launch, _)| writes(launch)) else { return Ok(None) };
        self.instead(launch, variants);
        Ok(Some((first + chain.len() - 1, what)))
    }

    /// Adds a launch that replaces those that follow.
    fn instead(&mut self, launch: Launch, variants: KernelVariants) {
        self.alloc(&launch);
        self.plan.steps.push(Step::Instead(0));
        self.plan.steps.push(Step::Launch(launch));
        self.kernels.push(variants);
    }

    /// Notes why a number of groups from the first one on do not form a chain.
    fn refuse(&mut self, first: usize, refused: Option<(usize, Refusal)>) {
        if let Some((count, why)) = refused {
            self.refused_chains.push((format!("{}_{}", self.name, first + count - 1), why));
        }
    }

    /// Ends the list of launches that the innermost open alternative replaces.
    pub(super) fn end_alternative(&mut self) {
        let steps = &mut self.plan.steps;
        if let Some(at) = steps.iter().rposition(|s| matches!(s, Step::Instead(0))) {
            steps[at] = Step::Instead((steps.len() - at - 2) as u32);
        }
    }
}
