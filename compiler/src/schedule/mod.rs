//! The schedule: what is a kernel, in which strategy, and the plan that runs it. Every decision is
//! made here; backends print.
//!
//! 1. [`groups`] finds what must be computed over an index space: results and `materialize`d arrays
//!    that are stored, reductions, folds.
//!    Items over one symbolic domain that do not wait for each other share a fused group.
//! 2. Each fused group becomes a launch and its kernel variants ([`cpu`], [`cuda`]), lowered from
//!    core IR by [`lower`].
//! 3. Iterations ([`iterate`]) call a function that is scheduled by itself; its steps become the
//!    plan's.
//! 4. Scalars that follow from reductions (`sqrt(sum / n)`) are computed in the `finish` of the
//!    last pass they need.

pub mod accesses;
mod approximate;
pub mod boundary;
pub mod counter;
pub mod cpu;
pub mod cuda;
mod division;
pub mod element;
mod error_records;
pub mod groups;
pub mod host;
mod iterate;
pub mod loop_nests;
pub mod lower;
pub mod nested_loop;
pub mod products;
pub mod reduction;
pub mod scalars;
pub mod segments;
mod slots;
pub mod slow_path;
pub mod stencil;
pub mod strategy;
mod temporaries;
pub mod work;

use crate::core::equations::Equations;
use crate::core::{Function, NodeId, Op, Rule};
use crate::error::Result;
use crate::interrupt;
use crate::kernel::Kernel;
use crate::plan::{Access, HostRule, Launch, Place, Plan, Slot, Step};
use groups::{FusedGroup, Item};
use lower::LaunchContext;
use rustc_hash::FxHashMap as HashMap;
use strategy::Strategy;

/// The variants of one kernel; which runs is chosen at each launch (`docs/c-abi.md`,
/// `agpu_cpu_kernel`).
#[derive(Clone, Debug)]
pub struct CpuVariants {
    /// Strides 1, no output overlaps an input. Holds the `finish` part of all variants.
    pub contiguous: Kernel,
    /// Strides 1, outputs may be inputs read at the same index. None without stored vectors:
    /// then it is `contiguous`.
    pub in_place: Option<Kernel>,
    /// Any strides, otherwise as `in_place`. None without an index space.
    pub strided: Option<Kernel>,
    /// The strategies of the three.
    pub strategies: [Strategy; 3],
}

/// Which code of a function is wanted. The plan is the same for all but the scalars of kernels,
/// which follow from the variants that there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// For processors.
    Cpu,
    /// For GPUs.
    Gpu,
    /// For GPUs, the variants for contiguous arrays only, of any length.
    ContiguousGpu,
    /// As `ContiguousGpu`, but for kernels that have a variant for few elements only that one.
    ShortGpu,
    /// For processors and GPUs.
    All,
}

impl Scope {
    /// Whether there is code for GPUs in it.
    pub fn has_gpu(self) -> bool {
        self != Scope::Cpu
    }

    /// Whether there is code for processors in it.
    pub fn has_cpu(self) -> bool {
        matches!(self, Scope::Cpu | Scope::All)
    }
}

impl CpuVariants {
    /// Stands for the code of a function that is compiled for GPUs only.
    fn absent(name: &str) -> CpuVariants {
        let contiguous = Kernel { name: name.into(), ..Kernel::default() };
        CpuVariants { contiguous, in_place: None, strided: None, strategies: Default::default() }
    }

    /// The kernel that `finish` belongs to: it is one for all variants, so it reads vectors at any
    /// stride. The addresses of matrices are written out so.
    pub fn finish(&self) -> Option<Kernel> {
        self.contiguous.finish.as_ref()?;
        let mut k = Kernel { main: None, ..self.contiguous.clone() };
        if let Some(strided) = &self.strided {
            k.arrays.clone_from(&strided.arrays);
        }
        k.arrays.iter_mut().for_each(|a| a.noalias = false);
        Some(k)
    }
}

/// What the schedule makes of one function.
pub struct Scheduled {
    /// The plan; its launches count kernels from `first_kernel`.
    pub plan: Plan,
    /// One entry a launch, in order.
    pub kernels: Vec<CpuVariants>,
    /// The kernels for GPUs, one entry a launch, if they were asked for.
    pub gpu: Vec<cuda::GpuVariants>,
    /// What the author should know.
    pub warnings: Vec<String>,
}

/// Schedules a function in fused form, for the CPU and, if asked for, for GPUs: one plan serves
/// both. Its kernels are numbered from `first_kernel` on in the module.
pub fn schedule(f: &Function, first_kernel: u32, scope: Scope) -> Result<Scheduled> {
    scheduled(f, f.name.clone(), first_kernel, scope, false)
}

/// `name`: what the names of kernels begin with. `repeated`: it is the step of an iteration.
fn scheduled(
    f: &Function,
    name: String,
    first_kernel: u32,
    scope: Scope,
    repeated: bool,
) -> Result<Scheduled> {
    let mut fused_groups = groups::fused_groups(f)?;
    let mut equations = Equations::default();
    for r in f.requires.iter().filter(|r| r.rule == Rule::Same) {
        equations.add(&f.graph, r.a, r.b);
    }
    let mut s = Scheduler {
        f,
        name,
        steps: 0,
        plan: Plan::default(),
        host: host::Hosts::default(),
        places: HashMap::default(),
        slots: HashMap::default(),
        equations,
        scope,
        // only what is alone can be done several times in one launch
        repeated: repeated && fused_groups.len() == 1,
        kernels: Vec::new(),
        gpu: Vec::new(),
        previous_arrays: Vec::new(),
        warnings: Vec::new(),
        written: [0; 2],
        variant_operations: 0,
        in_products: 0,
    };
    s.head();
    let (mut scalars, alone) = s.assign_scalars(&fused_groups);
    if fused_groups.is_empty() || !alone.is_empty() {
        fused_groups.push(FusedGroup { domain: vec![], sequential: false, iteration: None, items: vec![] });
        scalars.push(alone);
    }
    s.declare_temps(&fused_groups, &scalars);
    for (i, fused) in fused_groups.iter().enumerate() {
        interrupt::check()?;
        let next = first_kernel + s.kernels.len() as u32;
        if let Some(iteration) = &fused.iteration {
            s.repeat(fused, iteration, next)?;
            continue;
        }
        let name = format!("{}_{i}", s.name);
        let (launch, variants) = s.launch(name, fused, &scalars[i], next)?;
        s.step(launch);
        s.kernels.push(variants);
    }
    s.free();
    s.plan.host = s.host.into_list();
    Ok(Scheduled { plan: s.plan, kernels: s.kernels, gpu: s.gpu, warnings: s.warnings })
}

/// State of scheduling one function.
pub struct Scheduler<'a> {
    f: &'a Function,
    /// What the names of its kernels begin with.
    name: String,
    /// Iterations so far.
    steps: u32,
    plan: Plan,
    host: host::Hosts,
    /// Where arrays are that kernels read: parameters and stored temporaries.
    places: HashMap<NodeId, Place>,
    /// Reductions that other fused groups need: their scalar temporaries.
    slots: HashMap<NodeId, Place>,
    /// What the shape rules say about lengths.
    equations: Equations,
    /// Which code is wanted.
    scope: Scope,
    /// The function is the step of an iteration, in one fused group.
    repeated: bool,
    kernels: Vec<CpuVariants>,
    gpu: Vec<cuda::GpuVariants>,
    /// The arrays of the launch before, if it goes from their beginning to their end.
    previous_arrays: Vec<Place>,
    warnings: Vec<String>,
    /// Operations written so far, for processors and for GPUs.
    written: [usize; 2],
    /// Operations in the variants of GPU kernels so far.
    variant_operations: usize,
    /// Operations in the variants of matrix products so far, whose register tiles are unrolled; not
    /// in `variant_operations`.
    in_products: usize,
}

impl Scheduler<'_> {
    /// Parameters, results, shape rules.
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

    /// For each fused group the scalar results that its `finish` computes: those whose last
    /// reduction it has. What waits for no reduction goes to the last group. The threads of a GPU's
    /// map do not wait for one another, so what would go to a map needs a launch of its own: the
    /// second part.
    fn assign_scalars(&self, fused_groups: &[FusedGroup]) -> (Vec<Vec<u32>>, Vec<u32>) {
        let g = &self.f.graph;
        let (mut out, mut alone) = (vec![Vec::new(); fused_groups.len()], Vec::new());
        for (r, i) in self.f.results.iter().zip(0..) {
            if !g.ty(r.value).is_scalar() {
                continue;
            }
            let needs = groups::needs(g, r.value);
            let last = fused_groups.iter().rposition(|p| p.items.iter().any(|it| needs.contains(&it.node)));
            let at = last.or(fused_groups.len().checked_sub(1));
            match at.filter(|at| fused_groups[*at].sequential || groups::has_reduction(g, &fused_groups[*at]))
            {
                Some(at) => out[at].push(i),
                None => alone.push(i),
            }
        }
        (out, alone)
    }

    /// Where a stored item goes.
    fn destination(&self, it: &Item) -> Place {
        match it.result {
            Some(r) => Place::Result(r),
            None => self.places[&it.node],
        }
    }

    fn launch(
        &mut self,
        name: String,
        fused: &FusedGroup,
        scalars: &[u32],
        kernel: u32,
    ) -> Result<(Launch, CpuVariants)> {
        let (scope, before) = (self.scope, std::mem::take(&mut self.previous_arrays));
        let mut c = LaunchContext::new(self, fused);
        c.find_facts(fused);
        let arrays = c.arrays(fused);
        // what the launch before read last is still in the caches
        c.facts.follows = before.iter().any(|p| arrays.contains(p));
        let (variants, dense) = match scope.has_cpu() {
            true => cpu::kernels(&mut c, &name, fused, scalars)?,
            false => (CpuVariants::absent(&name), Vec::new()),
        };
        let gpu = match scope.has_gpu() {
            true => Some(cuda::kernels(&mut c, &name, fused, scalars)?),
            false => None,
        };
        let segment = c.facts.segments.as_ref().map(|s| s.length);
        let segment = segment.or_else(|| products::length(&mut c, fused));
        let LaunchContext { signature, facts, warnings, .. } = c;
        let segment = segment.map(|n| self.host.of(&self.f.graph, n));
        let computes = self.computes(fused, scalars);
        let finish =
            !scalars.is_empty() || fused.items.iter().any(|it| self.f.graph.op(it.node).is_reduction());
        debug_assert!(
            !scope.has_cpu() || variants.contiguous.finish.is_some() == finish,
            "{name}: what ends the launch"
        );
        self.previous_arrays = if facts.follows { Vec::new() } else { arrays };
        self.gpu.extend(gpu);
        self.warnings.extend(warnings);
        let launch = Launch {
            kernel,
            name,
            domain: fused.domain.iter().map(|n| self.host.of(&self.f.graph, *n)).collect(),
            segment,
            sequential: fused.sequential,
            cost: facts.cost,
            grain: facts.grain,
            arrays: signature.arrays.iter().map(|(k, a)| (k.0, a.access)).collect(),
            flat: dense,
            scalars: signature.ins.keys().copied().collect(),
            slots: signature.slots.iter().map(|(k, _)| k.0).collect(),
            scratch: signature.scratch.iter().map(|s| s.1).collect(),
            computes,
            sites: signature.sites.iter().cloned().collect(),
            finish,
        };
        Ok((launch, variants))
    }

    /// What a launch computes, and where the author wrote it: the items that go to memory, and
    /// scalar results.
    fn computes(&self, fused: &FusedGroup, scalars: &[u32]) -> Vec<(Place, String)> {
        let g = &self.f.graph;
        let line = |n: NodeId| g.node(n).loc.first().map(|loc| loc.to_string());
        let of_item = |it: &Item| {
            let stored = groups::is_store(g, it);
            let place = if stored { Some(self.destination(it)) } else { self.slots.get(&it.node).copied() };
            let array = if let Op::Materialize(x) = *g.op(it.node) { x } else { it.node };
            let element = g.op(array).lambda().filter(|_| stored).and_then(|l| line(l.body));
            Some((place?, element.or_else(|| line(it.node)).unwrap_or_default()))
        };
        let results = scalars.iter().map(|r| {
            let value = self.f.results[*r as usize].value;
            (Place::Result(*r), line(value).unwrap_or_default())
        });
        fused.items.iter().filter_map(of_item).chain(results).collect()
    }

    /// The launch, with the temporaries that it writes allocated before.
    fn step(&mut self, launch: Launch) {
        let written = launch.arrays.iter().filter(|(_, access)| *access == Access::Write);
        let temps =
            written.filter_map(|(p, _)| if let Place::Temp(t) = p { Some(Step::Alloc(*t)) } else { None });
        self.plan.steps.extend(temps);
        self.plan.steps.push(Step::Launch(launch));
    }
}
