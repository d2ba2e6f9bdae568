//! Temporaries of a plan: arrays and scalars that are stored between launches, and their lifetimes.

use super::groups::{self, FusedGroup};
use super::scheduler::Scheduler;
use crate::core::{NodeId, Op};
use crate::plan::{HostId, Place, Slot, Step};
use rustc_hash::FxHashMap as HashMap;

impl Scheduler<'_> {
    /// Declares the temporaries: materialized arrays, and reductions that a fused group other than their own needs.
    pub(super) fn declare_temps(&mut self, fused_groups: &[FusedGroup], scalars: &[Vec<u32>]) {
        let g = &self.f.graph;
        let items = fused_groups.iter().enumerate();
        let items = items.flat_map(|(i, p)| p.items.iter().map(move |it| (it.node, i)));
        // the first group of each item
        let owner: HashMap<NodeId, usize> = items.rev().collect();
        for (i, fused) in fused_groups.iter().enumerate() {
            let bodies = fused.items.iter().flat_map(|it| groups::needs_of_item(g, it));
            let results = scalars[i].iter().flat_map(|r| groups::needs(g, self.f.results[*r as usize].value));
            for n in bodies.chain(results).filter(|n| owner.get(n) != Some(&i)) {
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
                let extents = self.extents(it.node);
                let place = self.temp(format!("tmp{}", self.plan.temps.len()), g.ty(it.node), extents);
                self.places.insert(it.node, place);
            }
        }
    }

    fn temp(&mut self, name: String, ty: crate::core::Type, extents: Vec<HostId>) -> Place {
        self.plan.temps.push(Slot { name, ty, extents });
        Place::Temp(self.plan.temps.len() as u32 - 1)
    }

    /// Adds a step that frees each allocated temporary after its last use. A temporary that an
    /// iteration uses, or one of two alternatives, is freed after these.
    pub(super) fn free(&mut self) {
        let steps = &self.plan.steps;
        let mut ends: Vec<usize> = (0..steps.len()).collect();
        for (i, step) in steps.iter().enumerate() {
            if step.inside() > 0 && ends[i] == i {
                let end = i + step.inside();
                ends[i..=end].fill(end);
            }
        }
        // the last use of each temporary
        let mut last: HashMap<u32, usize> = HashMap::default();
        for (step, end) in steps.iter().zip(&ends) {
            let mut used = |t: u32| {
                let last = last.entry(t).or_insert(*end);
                *last = (*last).max(*end);
            };
            let mut at = |p: Place| {
                if let Place::Temp(t) = p {
                    used(t)
                }
            };
            match step {
                Step::Launch(l) => l.arrays.iter().for_each(|a| at(a.0)),
                Step::Repeat(r) => {
                    r.check.iter().for_each(|c| at(c.number));
                    r.states.iter().for_each(|s| {
                        [s.from, s.to, Place::Temp(s.spare)].into_iter().for_each(&mut at);
                    });
                }
                _ => {}
            }
        }
        let mut frees: Vec<Vec<u32>> = vec![Vec::new(); steps.len()];
        for t in steps.iter().filter_map(|s| if let Step::Alloc(t) = s { Some(*t) } else { None }) {
            if let Some(last) = last.get(&t) {
                frees[*last].push(t);
            }
        }
        for (step, frees) in std::mem::take(&mut self.plan.steps).into_iter().zip(frees) {
            self.plan.steps.push(step);
            self.plan.steps.extend(frees.into_iter().rev().map(Step::Free));
        }
    }
}
