//! The schedule: divides a function in fused form into kernels, chooses a strategy for every
//! variant of each kernel, and makes the plan that runs them. All such decisions are made here;
//! backends only print code.
//!
//! 1. [`groups`] finds everything that is computed over an index space: results and `materialize`d
//!    arrays that are stored, reductions and folds. Items over the same index space that do not
//!    wait for each other share a fused group.
//! 2. Each fused group becomes a launch with its kernel variants ([`cpu`], [`cuda`]), lowered from
//!    core IR by [`element::lower`]. A CPU kernel has up to three variants ([`CpuVariants`]); the runtime's
//!    executor chooses among them at each launch. [`crate::plan::policy`] chooses among the
//!    variants of a GPU kernel. Some groups get one more launch, which computes several of them at
//!    once ([`alternatives`]).
//! 3. An iteration (`iterate.rs`) calls a function that is scheduled separately; the steps of that
//!    function's plan become steps of the caller's plan.
//! 4. Scalars that follow from reductions (`sqrt(sum / n)`) are computed in the `finish` part of
//!    the last launch that they need.
//!
//! | folder | what it has |
//! |---|---|
//! | `groups/` | what shares a launch, and in which order |
//! | `facts/` | what is known of a group before any code is written |
//! | `alternatives/` | launches that compute several groups at once |
//! | `element/` | from scalars of core IR to statements of kernel IR, for both targets |
//! | `boundary/` | the elements at the edges of arrays |
//! | `cpu/`, `cuda/` | strategies: how a target walks through a group's index space |

mod alternatives;
pub mod boundary;
pub mod cpu;
pub mod cuda;
pub mod element;
pub mod facts;
pub mod groups;
pub mod host;
mod identity;
mod iterate;
mod kernels;
mod scheduler;
pub mod strategy;
mod temporaries;

use crate::budget::{self, Budget};
use crate::core::equations::Equations;
use crate::core::{Function, NodeId, Op};
use crate::error::Result;
use crate::interrupt;
use crate::plan::{ANY_LENGTH, Access, HostRule, Launch, Place, Plan, Slot, Step};
use crate::scalar::Lit;
use alternatives::Alternative;
use element::lower::LaunchContext;
pub use element::nested_loop::batches;
use facts::bins::Bins;
use groups::{FusedGroup, Item, items};
pub use kernels::{CpuVariant, CpuVariants, Draft, GpuVariants, KernelVariants, Origin, finish_all};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
pub use scheduler::Scope;
use scheduler::{CodeSize, Scheduler};
use std::sync::Arc;

/// The schedule of one function.
pub struct Scheduled {
    /// The plan. Its launches number their kernels from `first_kernel`.
    pub plan: Plan,
    /// The variants of each launch's kernel, in the order of the launches.
    pub kernels: Vec<KernelVariants>,
    /// Warnings for the author of the program.
    pub warnings: Vec<String>,
    /// The launches that could have formed a chain of stencils with the launch before but do not: the name of each,
    /// and the reason.
    pub refused_chains: Vec<(String, String)>,
}

/// Schedules a function in fused form for the targets in `scope`; one plan serves CPUs and GPUs.
/// The function's kernels are numbered from `first_kernel` in the module.
pub fn schedule(f: &Function, first_kernel: u32, scope: Scope) -> Result<Scheduled> {
    budget::within(Budget::default(), || scheduled(f, f.name.clone(), first_kernel, scope, Role::default()))
}

/// How the caller of a function uses it. The default is a function that is called by the host.
#[derive(Clone, Copy, Default)]
struct Role {
    /// The function is the step of an iteration, and one launch may make several steps.
    repeated: bool,
    /// The function belongs to an iteration that a check may end early ([`Launch::guarded`]).
    guarded: bool,
}

/// Schedules a function whose kernels' names begin with `name`.
fn scheduled(f: &Function, name: String, first_kernel: u32, scope: Scope, role: Role) -> Result<Scheduled> {
    let mut fused_groups = groups::fused_groups(f)?;
    let equations = Equations::of(f);
    let mut graph = f.graph.clone();
    let one = graph.lit(Lit::i64(1));
    let mut s = Scheduler {
        f,
        host: host::Hosts::of_function(graph.len()),
        graph: Arc::new(graph),
        one,
        name,
        steps: 0,
        allocated: Default::default(),
        plan: Plan::default(),
        places: HashMap::default(),
        equations,
        last_readers: HashMap::default(),
        plain_until: Vec::new(),
        scope,
        // several steps can run in one launch only if a step is one fused group
        repeated: role.repeated && fused_groups.len() == 1,
        guarded: role.guarded,
        kernels: Vec::new(),
        previous_arrays: Vec::new(),
        warnings: Vec::new(),
        refusal: None,
        refused_chains: Vec::new(),
        size: CodeSize::default(),
        by_stages: alternatives::stencil_chain::by_stages(f)?,
    };
    s.head();
    let (mut scalars, alone) = s.assign_scalars(&fused_groups);
    if fused_groups.is_empty() || !alone.is_empty() {
        fused_groups.push(FusedGroup { domain: vec![], sequential: false, iteration: None, items: vec![] });
        scalars.push(alone);
    }
    s.last_readers = alternatives::last_readers(f, &fused_groups, &scalars);
    s.plain_until = alternatives::plain_until(&f.graph, &fused_groups);
    s.declare_temps(&fused_groups, &scalars);
    // the alternative launches that replace the group at hand, each with the number of the last group that it
    // replaces
    let mut open = Vec::new();
    for (i, fused) in fused_groups.iter().enumerate() {
        interrupt::check()?;
        let line = fused.items.first().and_then(|it| f.graph.node(it.node).loc.first());
        budget::check().map_err(|e| e.at(line))?;
        let next = first_kernel + s.kernels.len() as u32;
        if let Some(iteration) = &fused.iteration {
            s.repeat(fused, iteration, next)?;
            continue;
        }
        let mut next = next;
        while let Some(found) = s.alternative(i, &fused_groups, &scalars, next, open.last().copied())? {
            open.push(found);
            next = first_kernel + s.kernels.len() as u32;
        }
        let name = format!("{}_{i}", s.name);
        if let Some((launch, variants)) = s.launch(name, fused, &scalars[i], next, None)? {
            s.step(launch);
            s.kernels.push(variants);
        }
        while open.pop_if(|(last, _)| *last == i).is_some() {
            s.end_alternative();
        }
    }
    s.free();
    s.plan.host = s.host.into_list();
    Ok(Scheduled { plan: s.plan, kernels: s.kernels, warnings: s.warnings, refused_chains: s.refused_chains })
}

impl Scheduler<'_> {
    /// Adds parameters, results and shape rules to the plan.
    fn head(&mut self) {
        let (f, g) = (self.f, &self.f.graph);
        self.plan.name = f.name.clone();
        self.plan.params =
            f.params.iter().map(|p| Slot { name: p.name.clone(), ty: p.ty, extents: Vec::new() }).collect();
        for (i, p) in f.params.iter().enumerate() {
            if let (1.., Some(n)) = (p.ty.rank, g.find(&Op::Param(i as u32))) {
                self.places.insert(n, Place::Param(i as u32));
            }
        }
        for r in &f.requires {
            let (a, b) = (self.host.of(g, r.a), self.host.of(g, r.b));
            let loc = r.loc.first().map(|l| l.to_string()).unwrap_or_default();
            self.plan.rules.push(HostRule { rule: r.rule, a, b, subject: r.subject.clone(), loc });
        }
        for r in &f.results {
            let extents = match g.op(r.value) {
                Op::Generate(extents, _) => extents.iter().map(|n| self.host.of(g, *n)).collect(),
                _ => self.extents(r.value),
            };
            self.plan.results.push(Slot { name: r.name.clone(), ty: g.ty(r.value), extents });
        }
    }

    /// Returns, for each fused group, the numbers of the scalar results that its `finish` computes. A result goes to
    /// the group that computes the last reduction it needs, or to the last group if it needs none. A map has no
    /// `finish`, because the threads of a GPU's map do not wait for one another: results that would go to a map are
    /// the second value, and get a launch of their own.
    fn assign_scalars(&self, fused_groups: &[FusedGroup]) -> (Vec<Vec<u32>>, Vec<u32>) {
        let g = &self.f.graph;
        let (mut out, mut alone) = (vec![Vec::new(); fused_groups.len()], Vec::new());
        let items =
            fused_groups.iter().zip(0..).flat_map(|(p, i)| p.items.iter().map(move |it| (it.node, i)));
        // the number of the last group that has each item
        let group: HashMap<NodeId, usize> = items.collect();
        for (r, i) in self.f.results.iter().zip(0..) {
            if !g.ty(r.value).is_scalar() {
                continue;
            }
            let needs = groups::needs(g, r.value);
            let last = needs.iter().filter_map(|n| group.get(n).copied()).max();
            let at = last.or(fused_groups.len().checked_sub(1));
            match at.filter(|at| fused_groups[*at].sequential || groups::has_reduction(g, &fused_groups[*at]))
            {
                Some(at) => out[at].push(i),
                None => alone.push(i),
            }
        }
        (out, alone)
    }

    /// Returns the place to which a stored item is written.
    fn destination(&self, it: &Item) -> Place {
        match it.result {
            Some(r) => Place::Result(r),
            None => self.places[&it.into.unwrap_or(it.node)],
        }
    }

    /// Makes the launch of one fused group and its kernel variants. `scalars` are the scalar results that the
    /// launch's `finish` computes, `kernel` is the kernel's number in the module. If a `chain` is given, makes the
    /// one launch that computes all groups of the chain instead; the set has the nodes of their items that later
    /// launches read. Returns `None` if no such launch is possible.
    fn launch(
        &mut self,
        name: String,
        fused: &FusedGroup,
        scalars: &[u32],
        kernel: u32,
        chain: Option<(Alternative, &[FusedGroup], &HashSet<NodeId>)>,
    ) -> Result<Option<(Launch, KernelVariants)>> {
        let (scope, before) = (self.scope, std::mem::take(&mut self.previous_arrays));
        let stages = alternatives::stencil_chain::stages(&self.f.graph, &self.by_stages, fused);
        let mut refusal = None;
        let mut c = LaunchContext::new(self, fused);
        match chain {
            Some((what, chain, needed)) => {
                let found = match what {
                    Alternative::ResidentSegments(along) => {
                        c.find_resident_segments(along, chain, fused, needed)
                    }
                    Alternative::ResidentVector => c.find_resident_vector(chain, needed),
                    Alternative::Scan => c.find_whole_scan(chain),
                    Alternative::ScanOnCpus => {
                        c.facts.is_for_cpus = true;
                        c.find_whole_scan(chain)
                    }
                    Alternative::Filter => c.find_filter(chain),
                    Alternative::Scatter => c.find_scatter(chain),
                    Alternative::ScanAndReductions => c.find_scan_and_reductions(fused, chain),
                    Alternative::StoredColumns => c.find_stored_columns(fused, chain),
                    Alternative::RowsAndColumns => c.find_rows_and_columns(fused, chain),
                    Alternative::Stencils | Alternative::StencilsOnCpus => {
                        let needs_tiles = what == Alternative::Stencils && scope.has_gpu();
                        c.find_stencil_chain(chain, needs_tiles).map_err(|why| refusal = Some(why)).ok()
                    }
                };
                if found.is_none() {
                    self.refusal = refusal;
                    return Ok(None);
                }
            }
            None => c.find_stages(fused, &stages),
        }
        for r in scalars {
            let value = c.result(*r);
            c.facts.accesses.add_scalar(&c.g, value);
        }
        let arrays = c.arrays(fused);
        // the ends of arrays that the previous launch went through are still in the caches
        c.facts.reuses_previous_arrays = before.iter().any(|p| arrays.contains(p));
        // only GPUs have code for rows and columns in one launch, and for scans with reductions of their results
        let is_for_gpus = c.facts.rows_and_columns.is_some() || c.facts.scan_reductions.is_some();
        let has_cpu_code = scope.has_cpu() && !is_for_gpus && c.has_cpu_chain();
        if chain.is_some() && !has_cpu_code && !scope.has_gpu() {
            return Ok(None);
        }
        let (cpu, dense) = match has_cpu_code {
            true => cpu::kernels(&mut c, &name, fused, scalars).map(|(cpu, dense)| (Some(cpu), dense))?,
            false => (None, Vec::new()),
        };
        let gpu = match scope.has_gpu() {
            true => Some(cuda::kernels(&mut c, &name, fused, scalars)?),
            false => None,
        };
        let segment = c.facts.segments.as_ref().or(c.facts.long_loops.as_ref()).map(|s| s.length);
        let segment = segment.or(c.facts.resident.as_ref().map(|r| r.length));
        let segment = segment.or(c.facts.rows_and_columns.as_ref().map(|r| r.rows.length));
        let segment = segment.or(c.facts.length_of_rows);
        let segment = segment.or(c.facts.row_fold.as_ref().map(|r| r.length));
        let segment = segment.or_else(|| Bins::of(&c.g, &fused.items).map(|bins| bins.count));
        let segment = segment.or_else(|| facts::products::length(&mut c, fused));
        let LaunchContext { signature, facts, warnings, .. } = c;
        let segment = segment.map(|n| self.host.of(&self.f.graph, n));
        let computes = self.computes(fused, scalars);
        let finish =
            !scalars.is_empty() || fused.items.iter().any(|it| self.f.graph.op(it.node).is_reduction());
        debug_assert!(
            cpu.as_ref().is_none_or(|v| v.contiguous.kernel.finish.is_some() == finish),
            "{name}: what ends the launch"
        );
        self.previous_arrays = if facts.reuses_previous_arrays { Vec::new() } else { arrays };
        self.warnings.extend(warnings);
        let variants = KernelVariants { name: name.clone(), cpu, gpu };
        let launch = Launch {
            kernel,
            name,
            domain: fused.domain.iter().map(|n| self.host.of(&self.graph, *n)).collect(),
            segment,
            sequential: fused.sequential,
            cost: facts.cost,
            grain: facts.grain,
            lengths: facts.resident.as_ref().map_or(ANY_LENGTH, |kept| cpu::lengths(kept)),
            arrays: signature.arrays.iter().map(|(operand, a)| (operand.place(), a.access)).collect(),
            flat: dense,
            scalars: signature.ins.keys().copied().collect(),
            slots: signature.slots.keys().map(|operand| operand.place()).collect(),
            scratch: signature.scratch.iter().map(|s| s.1).collect(),
            computes,
            sites: signature.sites.iter().cloned().collect(),
            finish,
            guarded: self.guarded,
        };
        Ok(Some((launch, variants)))
    }

    /// Returns the place of every stored array and scalar result that a launch computes, each with
    /// the author's source location.
    fn computes(&self, fused: &FusedGroup, scalars: &[u32]) -> Vec<(Place, String)> {
        let g = &self.f.graph;
        let line = |n: NodeId| g.node(n).loc.first().map(|loc| loc.to_string());
        let of_item = |it: &Item| {
            let stored = groups::is_store(g, it);
            let place = if stored { Some(self.destination(it)) } else { self.places.get(&it.node).copied() };
            let array = items::array(g, it);
            let element = g.op(array).lambda().filter(|_| stored).and_then(|l| line(l.body));
            Some((place?, element.or_else(|| line(it.node)).unwrap_or_default()))
        };
        let results = scalars.iter().map(|r| {
            let value = self.f.results[*r as usize].value;
            (Place::Result(*r), line(value).unwrap_or_default())
        });
        fused.items.iter().filter_map(of_item).chain(results).collect()
    }

    /// Adds the launch to the plan, after the allocation of the temporaries that it writes.
    fn step(&mut self, launch: Launch) {
        self.alloc(&launch);
        self.plan.steps.push(Step::Launch(launch));
    }

    /// Adds the allocation of the temporaries that a launch writes, unless they have been allocated: a launch that
    /// replaces others comes first in the plan, and writes the same temporaries as these others.
    fn alloc(&mut self, launch: &Launch) {
        for (place, access) in &launch.arrays {
            if let (Place::Temp(t), Access::Write) = (place, access)
                && self.allocated.insert(*t)
            {
                self.plan.steps.push(Step::Alloc(*t));
            }
        }
    }
}
