//! The launch that one thread of a CPU runs instead of an iteration that sorts by digits
//! ([`crate::schedule::facts::whole_sort`]).

use crate::core::length::Length;
use crate::core::{Form, Function, NodeId, Op, TILE};
use crate::error::Result;
use crate::plan::{ANY_LENGTH, Launch, Place, State};
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::facts::whole_sort::{Sorted, WholeSort, is_sort};
use crate::schedule::groups::FusedGroup;
use crate::schedule::kernels::KernelVariants;
use crate::schedule::scheduler::Scheduler;
use crate::schedule::{cpu, cuda};
use std::rc::Rc;

/// The estimated number of operations of an element: it is counted and moved for each of a few digits.
const COST: u32 = 32;

impl Scheduler<'_> {
    /// Returns the launch that does all steps of an iteration, if these sort and code for CPUs is wanted.
    pub(in crate::schedule) fn whole_sort(
        &mut self,
        (iteration, step): (&FusedGroup, &Function),
        (form, args, digits): (Form, &[NodeId], NodeId),
        states: &[State],
        kernel: u32,
    ) -> Result<Option<(Launch, KernelVariants)>> {
        if !self.scope.has_cpu() || !is_sort(step, form) {
            return Ok(None);
        }
        let args = &args[..step.results.len()];
        let Some(length) = self.length(args[0], 0) else { return Ok(None) };
        // without steps, the iteration orders as well, by another function
        let digits = if let Form::Or(_) = form { None } else { Some(digits) };
        let sorted = args.iter().zip(states).map(|(from, s)| Sorted {
            from: *from,
            to: s.to,
            spare: Place::Temp(s.spare),
        });
        let sort = WholeSort { arrays: sorted.collect(), digits };
        let fused = FusedGroup {
            domain: vec![length],
            sequential: true,
            iteration: None,
            items: iteration.items.clone(),
        };
        let name = format!("{}__sort{}", self.name, self.steps - 1);
        let has_gpu = self.scope.has_gpu();
        let mut c = LaunchContext::new(self, &fused);
        (c.facts.cost, c.facts.whole_sort) = (COST, Some(Rc::new(sort)));
        let (code, flat) = cpu::kernels(&mut c, &name, &fused, &[])?;
        let gpu = if has_gpu { Some(cuda::kernels(&mut c, &name, &fused, &[])?) } else { None };
        let LaunchContext { signature, facts, .. } = c;
        let launch = Launch {
            kernel,
            name: name.clone(),
            domain: fused.domain.iter().map(|n| self.host.of(&self.graph, *n)).collect(),
            segment: None,
            sequential: true,
            cost: facts.cost,
            grain: TILE as u32,
            lengths: ANY_LENGTH,
            arrays: signature.arrays.iter().map(|(operand, a)| (operand.place(), a.access)).collect(),
            flat,
            scalars: signature.ins.keys().copied().collect(),
            slots: Vec::new(),
            scratch: Vec::new(),
            computes: self.computes(&fused, &[]),
            sites: Vec::new(),
            finish: false,
            guarded: self.guarded,
        };
        Ok(Some((launch, KernelVariants { name, cpu: Some(code), gpu })))
    }

    /// Returns the length of a stored array along an axis, if a node says it. It is not the number of elements over
    /// which the launch that stores the array runs: these may be tiles, or the elements of a vector that are put
    /// there.
    fn length(&self, x: NodeId, axis: u8) -> Option<NodeId> {
        let g = &self.f.graph;
        match (Length::of(g.op(x), axis), g.op(x)) {
            (Length::Of(x, axis), _) => self.length(x, axis),
            (Length::Is(n), _) => Some(n),
            (_, Op::Param(_)) => g.find(&Op::Len(x, axis)),
            _ => None,
        }
    }
}
