//! Temporaries of a plan: arrays and scalars that are stored between launches, and their lifetimes.

use super::groups::{self, FusedGroup};
use super::scheduler::Scheduler;
use crate::core::{NodeId, Op};
use crate::plan::{HostId, Place, Slot, Step};

impl Scheduler<'_> {
    /// Declares the temporaries: materialized arrays, and reductions that are needed by another
    /// fused group than their own.
    pub(super) fn declare_temps(&mut self, fused_groups: &[FusedGroup], scalars: &[Vec<u32>]) {
        let g = &self.f.graph;
        let owner = |n: NodeId| fused_groups.iter().position(|p| p.items.iter().any(|it| it.node == n));
        for (i, fused) in fused_groups.iter().enumerate() {
            let bodies = fused.items.iter().flat_map(|it| groups::needs_of_item(g, it));
            let results = scalars[i].iter().flat_map(|r| groups::needs(g, self.f.results[*r as usize].value));
            for n in bodies.chain(results).filter(|n| owner(*n) != Some(i)) {
                if g.ty(n).is_scalar() && !self.places.contains_key(&n) {
                    let place = self.temp(format!("s{}", self.plan.temps.len()), g.ty(n), Vec::new());
                    self.places.insert(n, place);
                }
            }
            // an iteration declares its states itself
            for it in fused.items.iter().filter(|it| matches!(g.op(it.node), Op::Materialize(_))) {
                if let Some(r) = it.result {
                    self.places.insert(it.node, Place::Result(r));
                    continue;
                }
                let extents = fused.domain.iter().map(|n| self.host.of(g, *n)).collect();
                let place = self.temp(format!("tmp{}", self.plan.temps.len()), g.ty(it.node), extents);
                self.places.insert(it.node, place);
            }
        }
    }

    fn temp(&mut self, name: String, ty: crate::core::Type, extents: Vec<HostId>) -> Place {
        self.plan.temps.push(Slot { name, ty, extents });
        Place::Temp(self.plan.temps.len() as u32 - 1)
    }

    /// Adds a step that frees each allocated temporary behind its last use. A temporary that an
    /// iteration uses is freed behind the iteration.
    pub(super) fn free(&mut self) {
        let steps = &self.plan.steps;
        let mut ends: Vec<usize> = (0..steps.len()).collect();
        for (i, step) in steps.iter().enumerate() {
            if let (Step::Repeat(r), true) = (step, ends[i] == i) {
                let end = i + r.inside();
                ends[i..=end].fill(end);
            }
        }
        let mut frees: Vec<(usize, u32)> = Vec::new();
        for t in steps.iter().filter_map(|s| if let Step::Alloc(t) = s { Some(*t) } else { None }) {
            let is = |p: Place| p == Place::Temp(t);
            let uses = |s: &Step| match s {
                Step::Launch(l) => l.arrays.iter().any(|a| is(a.0)),
                Step::Repeat(r) => r.states.iter().any(|s| is(s.from) || is(s.to) || s.spare == t),
                _ => false,
            };
            let last = steps.iter().zip(&ends).filter(|(s, _)| uses(s)).map(|(_, end)| *end).max();
            frees.extend(last.map(|last| (last, t)));
        }
        // insert from the last position to the first, so that the other positions stay valid
        frees.sort_by_key(|(last, _)| std::cmp::Reverse(*last));
        for (last, t) in frees {
            self.plan.steps.insert(last + 1, Step::Free(t));
        }
    }
}
