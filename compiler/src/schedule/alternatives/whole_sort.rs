//! The launch that one thread of a CPU runs instead of an iteration that sorts by digits
//! ([`crate::schedule::facts::whole_sort`]).

use crate::core::{Form, Function, NodeId, Op, TILE};
use crate::error::Result;
use crate::plan::{ANY_LENGTH, Launch, Place, State};
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::facts::whole_sort::{Sorted, WholeSort, is_sort};
use crate::schedule::groups::{FusedGroup, domain};
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
        // the length of a parameter is no node of the graph
        let is_made = |x: &NodeId| matches!(self.f.graph.op(*x), Op::Materialize(_));
        if !self.scope.has_cpu() || !is_sort(step, form, args.len()) || !args.iter().all(is_made) {
            return Ok(None);
        }
        let sorted = args.iter().zip(states).map(|(from, s)| Sorted {
            from: *from,
            to: s.to,
            spare: Place::Temp(s.spare),
        });
        let sort = WholeSort { arrays: sorted.collect(), digits };
        let domain = domain(&self.f.graph, args[0]);
        let fused = FusedGroup { domain, sequential: true, iteration: None, items: iteration.items.clone() };
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
}
