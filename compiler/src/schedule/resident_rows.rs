//! Resident rows: fused groups that go over the same rows one after another, because each needs a
//! reduction of the row that the one before computes, in one launch that reads each row from memory
//! once.
//!
//! ```text
//! for all rows: max                         for all rows:  load the row
//! for all rows: sum (exp (x - max))   ->                   max, then sum (exp (x - max)), then exp (x - max) / sum
//! for all rows: exp (x - max) / sum                        store the row
//! ```
//!
//! The launch is an alternative: in the plan it stands before the launches of the groups and runs
//! instead of them where the device can keep the rows of the call ([`crate::plan::Step::Instead`]).
//! On GPUs the row lies in the registers of some lanes, of a warp or of a block, on CPUs in a cache.
//! Every reduction has the order of semantics 5.1, as if it were alone.

use super::element::opened;
use super::facts::{Accesses, Along, ResidentRows, RowValue, Stage};
use super::groups::{self, FusedGroup, Item, is_store};
use super::lower::LaunchContext;
use super::reduction::Reduction;
use super::{segments, work};
use crate::core::index_space::indices;
use crate::core::{Function, Graph, MAX_RANK, NodeId, Op};
use crate::plan::GUESSED_LENGTH;
use crate::scalar::Ty;
use rustc_hash::FxHashSet as HashSet;
use std::rc::Rc;

/// The most groups that one launch computes.
const MOST_GROUPS: usize = 8;

/// Returns the number of groups from the first one on that may go over the same rows, as far as the
/// index spaces tell: at least 2. `scalars` are the scalar results of each group.
pub fn chain(g: &Graph, all: &[FusedGroup], scalars: &[Vec<u32>]) -> Option<usize> {
    let first = all.first()?;
    let is_plain = |(fused, scalars): (&FusedGroup, &Vec<u32>)| {
        !fused.sequential
            && fused.iteration.is_none()
            && scalars.is_empty()
            && fused.items.iter().all(|it| is_store(g, it))
    };
    let rank = first.domain.len();
    let is_nested = first.items.iter().any(|it| groups::is_nested(g, it));
    if rank == 0 || rank >= MAX_RANK || !is_nested {
        return None;
    }
    let of_rows = |fused: &FusedGroup| {
        let over_rows = fused.domain == first.domain;
        over_rows || fused.domain.len() == rank + 1 && fused.domain[..rank] == first.domain[..]
    };
    let belongs = |of: &(&FusedGroup, &Vec<u32>)| is_plain(*of) && of_rows(of.0);
    let count = all.iter().zip(scalars).take(MOST_GROUPS).take_while(belongs).count();
    (count > 1).then_some(count)
}

/// Returns the group of a launch that computes all groups of a chain: its items are the results. Returns
/// `None` if later groups, or the scalar results that follow from them, need an array that would not be
/// stored then.
pub fn joined(
    f: &Function,
    chain: &[FusedGroup],
    later: &[FusedGroup],
    scalars: &[Vec<u32>],
) -> Option<FusedGroup> {
    let g = &f.graph;
    let values = scalars.iter().flatten().map(|i| f.results[*i as usize].value);
    let of_scalars: HashSet<NodeId> = values.flat_map(|n| groups::needs(g, n)).collect();
    let needed = |node: NodeId| {
        let needs = |it: &Item| groups::needs_of_item(g, it).contains(&node);
        of_scalars.contains(&node) || later.iter().flat_map(|fused| &fused.items).any(needs)
    };
    let mut items = Vec::new();
    for it in chain.iter().flat_map(|fused| &fused.items) {
        if it.result.is_none() && needed(it.node) {
            return None;
        }
        items.extend(it.result.map(|_| it.clone()));
    }
    let domain = chain.first()?.domain.clone();
    Some(FusedGroup { domain, sequential: false, iteration: None, items })
}

impl LaunchContext<'_, '_> {
    /// Finds the facts about a launch that keeps the rows of a chain of groups. Returns `None` if it
    /// cannot, or if no array would be read fewer times.
    pub(super) fn find_resident_rows(&mut self, chain: &[FusedGroup]) -> Option<()> {
        let domain = chain.first()?.domain.clone();
        let [row, element] = [(); 2].map(|()| self.g.fresh_var(Ty::I64).1);
        let outer = match domain.len() {
            1 => vec![row],
            _ => indices(&mut self.g, row, &domain),
        };
        let index: Vec<NodeId> = outer.iter().copied().chain([element]).collect();
        let (mut stages, mut length, mut cost) = (Vec::new(), None, 0u32);
        let (mut known, mut written) = (HashSet::default(), HashSet::default());
        let (mut accesses, mut read, mut shares) = (Accesses::default(), HashSet::default(), false);
        for fused in chain {
            let nodes: Vec<NodeId> = fused.items.iter().map(|it| it.node).collect();
            let of_element = work::of_element(&mut self.g, fused, &nodes);
            let roots = if fused.domain == domain {
                let bodies: Vec<NodeId> =
                    fused.items.iter().map(|it| opened(&mut self.g, it.node, &outer)).collect();
                let reductions = segments::nested(self, &bodies).unwrap_or_default();
                let of_reductions = self.row_reductions(&reductions, (row, element), &mut length)?;
                let values = fused.items.iter().zip(&bodies).map(|(it, value)| {
                    let read = self.g.add(Op::Elem(it.node, outer.clone()));
                    known.insert(read);
                    RowValue { read, value: *value, stored: it.result.map(|_| it.clone()) }
                });
                let values = values.collect();
                cost = cost.saturating_add(of_element);
                stages.push(Stage::Reduce { reductions, values });
                bodies.into_iter().chain(of_reductions).collect::<Vec<_>>()
            } else {
                if length != fused.domain.last().copied() {
                    return None;
                }
                let bodies: Vec<NodeId> =
                    fused.items.iter().map(|it| opened(&mut self.g, it.node, &index)).collect();
                if segments::nested(self, &bodies).is_some() {
                    return None;
                }
                cost = cost.saturating_add(of_element.saturating_mul(GUESSED_LENGTH));
                stages.push(Stage::Store { items: fused.items.clone() });
                bodies
            };
            let mut of_stage = HashSet::default();
            let stops = |n: NodeId| known.contains(&n) || self.g.op(n).is_reduction();
            for n in self.g.reachable_until(roots, stops) {
                match self.g.op(n) {
                    op if op.may_record(&self.g) => return None,
                    // what an earlier stage stores is known at the row, and nowhere else
                    Op::Elem(x, _) if written.contains(x) => return None,
                    Op::Elem(x, at) if *at == index => drop(of_stage.insert(*x)),
                    Op::Elem(x, _) => drop(accesses.elsewhere.insert(*x)),
                    _ => {}
                }
            }
            shares |= of_stage.iter().any(|x| read.contains(x));
            read.extend(of_stage.iter().copied());
            written.extend(nodes);
        }
        if !shares {
            return None;
        }
        let mut own: Vec<NodeId> = read.into_iter().collect();
        own.sort_unstable();
        accesses.own.extend(own);
        self.facts.cost = cost;
        self.facts.grain = 1;
        self.facts.accesses = accesses;
        self.facts.resident_rows =
            Some(Rc::new(ResidentRows { row, outer, element, length: length?, stages }));
        Some(())
    }

    /// Returns what reductions of a row need for one of its elements, if all of them go along rows
    /// of one length and have an identity.
    fn row_reductions(
        &mut self,
        reductions: &[NodeId],
        (row, element): (NodeId, NodeId),
        length: &mut Option<NodeId>,
    ) -> Option<Vec<NodeId>> {
        let Op::Var(row, _) = *self.g.op(row) else { return None };
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
                || r.identity(self).is_none()
                || segments::nested(self, &[init]).is_some()
            {
                return None;
            }
            needed.push(init);
            needed.extend(r.elements(self, element));
        }
        (segments::along(self, reductions, row) == Some(Along::Rows)).then_some(needed)
    }
}
