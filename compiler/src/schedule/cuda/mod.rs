//! GPU strategies: every element on its own (`map`), 128 threads a tile of the fixed tree (`reduce`, joined by `tree` and completed by `levels`), one block in
//! order (`fold`). Each makes the body of one thread; this file makes the versions.
//!
//! In a map threads hold `v` neighbouring elements, so that the widest array is accessed by 16 bytes a thread. All loads are in flight before the
//! first is used. A version without vector accesses serves every alignment and stride. Figures: `bench/NOTES.md`.

mod access;
mod choice;
mod edges;
mod elements;
mod ends;
mod fold;
mod levels;
mod map;
mod nest;
mod patch;
mod plane;
mod product;
mod reduce;
mod rows;
mod segments;
mod short;
mod stages;
mod steps;
mod tile;
mod tree;
mod window;

use super::Scope;
use super::element::named as bind;
use super::form::Form;
use super::inside::Inner;
use super::items::{Pass, has_reduction, is_store};
use super::lower::Lower;
use super::products;
use super::reduction::tiles;
use super::scalars;
use super::stencil::{self, Kept, Stencil};
use crate::core::StencilHint;
use crate::error::Result;
use crate::interrupt;
use crate::kernel::parts::operations;
use crate::kernel::{Expr, Gpu, Kernel, Stmt, WARP, pipeline};
use crate::plan::gpu::{GpuKernel, GpuVersion, Grid, Pays};
use crate::scalar::{BinaryOp, Ty};
use std::sync::Arc;

/// A body of more operations than this is not repeated to keep more loads in flight.
const MAX_UNROLLED: u32 = 512;

/// Bytes of parameters that a kernel may have on every device that we serve; each of ours takes 8.
const MAX_PARAMETERS: usize = 4096 / 8;

/// The GPU's side of one pass.
pub struct GpuPass {
    /// How its versions are launched.
    pub launch: GpuKernel,
    /// Their code, in the same order.
    pub kernels: Vec<Draft>,
    /// Their forms, for reports.
    pub forms: Vec<Form>,
    /// What was decided of its stencils, where arrays are contiguous.
    pub stencils: Vec<Kept>,
}

/// A kernel as it was lowered. What follows takes as long again, and only what is launched needs it.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Versions of one body share it.
    kernel: Arc<Kernel>,
    name: String,
    /// Of all arrays.
    noalias: bool,
    narrow: bool,
    /// What the launch hands over, the same for all versions.
    ins: Vec<(String, Ty)>,
}

impl Draft {
    /// The kernel behind the passes over kernels, verified.
    pub fn finish(self) -> Result<Kernel> {
        let mut k = Kernel { name: self.name, ins: self.ins, ..Arc::unwrap_or_clone(self.kernel) };
        k.arrays.iter_mut().for_each(|a| a.noalias = self.noalias);
        pipeline::run(&mut k, self.narrow)?;
        Ok(k)
    }

    /// What the launch hands over, the same for all versions.
    pub(super) fn takes(&mut self, ins: &[(String, Ty)]) {
        self.ins = ins.to_vec();
    }
}

/// How the elements of a pass lie in a thread's registers.
#[derive(Clone, Copy, Default)]
struct Shape {
    /// Neighbours of each thread, accessed at once.
    v: i64,
    /// Of planes: a thread's columns are as far apart as a warp is wide, so that a warp's accesses are one line of memory at any alignment.
    unaligned: bool,
    /// Strided arrays, else contiguous.
    strided: bool,
    /// Threads of a block.
    threads: u32,
    /// Blocks count from the end of the index space.
    descending: bool,
    /// A product's blocks have the largest square.
    large: bool,
    /// A map's threads have one element each.
    short: bool,
}

/// All versions of the kernel of one pass. `cost` is the estimated cost of one element.
pub fn kernels(l: &mut Lower, name: &str, pass: &Pass, scalars: &[u32], cost: u32) -> Result<GpuPass> {
    let launch = GpuKernel { name: name.into(), ..GpuKernel::default() };
    let mut out = GpuPass { launch, kernels: vec![], forms: vec![], stencils: vec![] };
    out.launch.absent = absent(l);
    if out.launch.absent.is_some() {
        return Ok(out);
    }
    if pass.domain.is_empty() {
        let draft = draft(alone(l, scalars)?, name.into(), false);
        push(&mut out, draft, Grid::One, Conditions::default(), Form::Scalars, Vec::new(), None);
        return Ok(out);
    }
    if segments::kernels(l, name, pass, cost, &mut out)? {
        // only what no other version takes goes by threads
        l.warnings.clear();
        return Ok(out);
    }
    let writes = pass.items.iter().any(|it| is_store(&l.g, it));
    let inner = inner(l, pass);
    let cost = cost.saturating_sub(inner.saved);
    let v = neighbours(l, pass, cost);
    if let Some(mut plan) = steps::Plan::of(l, pass, &inner) {
        for n in plan.versions.clone() {
            plan = plan.with(n);
            several_steps(l, name, pass, &plan, n, &mut out)?;
        }
    }
    let product = products::plan(l, pass);
    if let Some(p) = &product {
        product::kernels(l, name, pass, p, &mut out)?;
    }
    let matrix = product.filter(|p| p.is_matrix);
    let squares = matrix.map_or(0, |p| product::squares(l, &p).len());
    let plane = v > 1 && squares == 0 && in_rows(l, pass, &inner, v);
    let (mut lowered, mut written): (Option<Lowered>, _) = (None, 0);
    let short = v > 1 && short::serves(l, pass, &inner, cost);
    for (suffix, conditions) in versions(l, writes, pass.sequential, squares > 1, plane, short) {
        interrupt::check()?;
        // versions of one shape have one body: they differ in what may be assumed of it
        let body = match &lowered {
            Some(done) if done.shape == conditions.shape() => done,
            _ => {
                let shape = Shape {
                    v: if conditions.contiguous && !conditions.short { v } else { 1 },
                    unaligned: conditions.unaligned,
                    strided: !conditions.contiguous,
                    descending: l.follows,
                    large: conditions.large,
                    short: conditions.short,
                    threads: match pass.sequential {
                        true => fold::THREADS,
                        false if has_reduction(&l.g, pass) => reduce::THREADS,
                        false => map::THREADS,
                    },
                };
                let (k, grid) = body(l, (pass, &inner), scalars, shape, cost)?;
                let flat: Vec<u32> = l.flat.drain(..).collect();
                let (shape, form) = (conditions.shape(), l.form);
                // a product's registers are written out because that pays
                let mut size = k.main.as_deref().map_or(0, operations);
                if form == Form::Product {
                    *l.in_products() += std::mem::take(&mut size);
                }
                lowered.insert(Lowered { shape, k: Arc::new(k), grid, form, flat, size })
            }
        };
        if is_too_much(body.size, *l.in_versions() + 4 * body.size, &conditions, l.scope) {
            continue;
        }
        written += body.size;
        let draft = draft(body.k.clone(), format!("{name}{suffix}"), !writes || conditions.separate);
        push(&mut out, draft, body.grid, conditions, body.form, body.flat.clone(), None);
    }
    *l.in_versions() += written;
    out.stencils = std::mem::take(&mut l.kept);
    if out.launch.versions.iter().any(|v| matches!(v.grid, Grid::Panels(..))) {
        // only what panels do not take goes by threads
        l.warnings.clear();
    }
    Ok(out)
}

/// The version that makes so many steps of an iteration at once.
fn several_steps(
    l: &mut Lower,
    name: &str,
    pass: &Pass,
    plan: &steps::Plan,
    steps: i64,
    out: &mut GpuPass,
) -> Result<()> {
    l.begin("", false);
    (l.k.threads, l.k.steps) = (steps::THREADS, true);
    l.k.blocks = plan.blocks(l);
    let rest = steps::main(l, pass, plan)?;
    let draft = draft(finished(l, rest, false), format!("{name}_steps{steps}"), true);
    let [rows, columns] = plan.block().map(|n| n as u32);
    let (steps, extent) = (steps as u32, plan.least() as u32);
    let conditions =
        Conditions { contiguous: true, narrow: true, separate: true, steps, extent, ..Conditions::default() };
    push(out, draft, Grid::Plane(rows, columns), conditions, Form::Steps, Vec::new(), None);
    Ok(())
}

/// A body that several versions may have.
struct Lowered {
    shape: [bool; 4],
    k: Arc<Kernel>,
    grid: Grid,
    form: Form,
    flat: Vec<u32>,
    /// Operations that it is written with.
    size: usize,
}

#[derive(Clone, Copy, Default)]
struct Conditions {
    contiguous: bool,
    unaligned: bool,
    narrow: bool,
    separate: bool,
    /// The largest squares of a product.
    large: bool,
    /// One element a thread of a map.
    short: bool,
    /// Steps of an iteration at once, and the least extent for it.
    steps: u32,
    extent: u32,
    pays: Pays,
}

impl Conditions {
    /// Versions that agree in this have one body.
    fn shape(self) -> [bool; 4] {
        [self.contiguous, self.unaligned, self.large, self.short]
    }
}

/// Blocks whose threads have the most results only where they keep all multiprocessors of a large device busy.
const MANY_BLOCKS: u32 = 256;

/// A version of a kernel with that body. `noalias`: no output overlaps another array.
fn draft(kernel: impl Into<Arc<Kernel>>, name: String, noalias: bool) -> Draft {
    let kernel = kernel.into();
    Draft { name, noalias, narrow: false, ins: kernel.ins.clone(), kernel }
}

/// Adds a version.
fn push(
    out: &mut GpuPass,
    mut draft: Draft,
    grid: Grid,
    c: Conditions,
    form: Form,
    flat: Vec<u32>,
    longest: Option<u32>,
) {
    let k = &draft.kernel;
    let aligned: Vec<u32> = k.arrays.iter().zip(0..).filter(|(a, _)| a.aligned).map(|(_, i)| i).collect();
    // elsewhere neighbours are counted through, from one row to the next
    let of_rows = matches!(form, Form::SegmentedRows | Form::SegmentedColumns | Form::Nest | Form::Product);
    let rows = aligned.iter().filter(|i| of_rows && flat.contains(i)).copied().collect();
    out.launch.versions.push(GpuVersion {
        entry: draft.name.clone(),
        threads: k.threads,
        grid,
        pays: c.pays,
        contiguous: c.contiguous,
        flat,
        aligned,
        narrow: c.narrow,
        longest,
        separate: c.separate,
        steps: c.steps,
        extent: c.extent,
        rows,
    });
    draft.narrow = c.narrow;
    out.kernels.push(draft);
    out.forms.push(form);
}

/// The versions of a kernel, in order of preference: suffixes of the name, and conditions.
fn versions(
    l: &Lower,
    writes: bool,
    sequential: bool,
    large: bool,
    plane: bool,
    short: bool,
) -> Vec<(&'static str, Conditions)> {
    let unit = |narrow, separate| Conditions { contiguous: true, narrow, separate, ..Conditions::default() };
    let any = |narrow| Conditions { narrow, ..Conditions::default() };
    if short && l.scope == Scope::ShortGpu {
        return vec![("_short", short::conditions())];
    }
    let mut list = Vec::new();
    if short && l.scope != Scope::ContiguousGpu {
        list.push(("_short", short::conditions()));
    }
    if !sequential {
        if large {
            let pays = Pays { least: Some(MANY_BLOCKS), ..Pays::default() };
            list.push(("_large", Conditions { large: true, pays, ..unit(true, writes) }));
        }
        list.push(("", unit(true, writes)));
        // only what is read at the element's own index may be an output, too
        if writes && !l.pointwise_inputs().is_empty() {
            list.push(("_in_place", unit(true, false)));
        }
        list.push(("_wide", unit(false, false)));
        if plane {
            list.push(("_unaligned", Conditions { unaligned: true, ..unit(true, writes) }));
        }
    }
    if !matches!(l.scope, Scope::ContiguousGpu | Scope::ShortGpu) || list.is_empty() {
        list.extend([("_any", any(true)), ("_any_wide", any(false))]);
    }
    list
}

/// Operations of a function's kernels, from which on no pass has versions of its own for 32-bit indices or for outputs apart from all else: what they save is little
/// of a long body.
const MANY: usize = 24_000;
/// And a body of more than this has none for contiguous arrays.
const LONG: usize = 3_000;

/// Whether a version of so many operations is left out because the code would become too long. Other versions serve its calls: those with fewer conditions.
fn is_too_much(size: usize, so_far: usize, c: &Conditions, scope: Scope) -> bool {
    let has_conditions = c.narrow || c.separate;
    let is_last = !has_conditions && (!c.contiguous || scope == Scope::ContiguousGpu);
    !is_last && so_far > MANY && (has_conditions || size > LONG)
}

/// Why a pass has no code for GPUs: too many parameters.
fn absent(l: &Lower) -> Option<String> {
    let s = &l.signature;
    // an address and a stride for each array; counters, records and span come on top
    let parameters = 2 * s.arrays.len() + s.ins.len() + s.slots.len() + s.scratch.len() + 3;
    let too_many = parameters > MAX_PARAMETERS;
    too_many
        .then(|| format!("it takes up to {parameters} parameters, a kernel has room for {MAX_PARAMETERS}"))
}

/// How many neighbours a thread of a map takes: the widest array's share is 16 bytes, unless the body is too large to be repeated.
fn neighbours(l: &Lower, pass: &Pass, cost: u32) -> i64 {
    if pass.sequential || has_reduction(&l.g, pass) {
        return 1;
    }
    let reads = l.pointwise.iter().map(|x| l.g.ty(*x).elem.size());
    let widest = reads.chain(pass.items.iter().map(|it| l.g.ty(it.node).elem.size())).max().unwrap_or(4);
    let affordable = (4 * MAX_UNROLLED / cost.max(1)).max(1);
    (16 / widest as i64).min(1 << affordable.ilog2())
}

/// The kernel of a shape, without a name, and its grid.
fn body(
    l: &mut Lower,
    (pass, inner): (&Pass, &Inner),
    scalars: &[u32],
    shape: Shape,
    cost: u32,
) -> Result<(Kernel, Grid)> {
    l.begin("", shape.strided);
    l.k.threads = shape.threads;
    let (rest, grid) = if pass.sequential {
        l.form = Form::Fold;
        (fold::main(l, pass, scalars)?, Grid::One)
    } else if shape.short {
        l.form = Form::Map;
        (short::main(l, pass)?, Grid::Elements(map::THREADS))
    } else if has_reduction(&l.g, pass) {
        l.form = Form::Reduction;
        let sizes = pass.items.iter().map(|it| l.g.ty(it.node).elem.size());
        l.k.blocks = reduce::blocks(cost, sizes.sum(), shape.strided);
        (reduce::main(l, pass, scalars, shape, cost)?, Grid::Tiles(1, reduce::most_span(l, shape)))
    } else if let Some(p) = products::plan(l, pass).filter(|p| p.is_matrix) {
        l.form = Form::Product;
        product::main_of(l, pass, &p, shape.large, shape.strided)?
    } else if let Some(tiled) = nest::plan(l, pass) {
        l.form = Form::Nest;
        l.k.threads = nest::THREADS;
        // left alone, the assembler takes 32 registers, and pairs wait for each other: 31.6 TFLOP/s of bodies in order, with 74 registers 37.2
        l.k.blocks = 2;
        (nest::main(l, pass, &tiled, shape.strided)?, Grid::Elements(nest::THREADS))
    } else {
        map(l, pass, inner, shape, cost)?
    };
    let mut k = finished(l, rest, shape.strided);
    if !matches!(grid, Grid::Tiles(..)) {
        k.scratch.clear();
    }
    Ok((k, grid))
}

/// The kernel with that body behind what is computed before it.
fn finished(l: &mut Lower, mut rest: Vec<Stmt>, strided: bool) -> Kernel {
    let mut all = std::mem::take(&mut l.prologue);
    all.append(&mut rest);
    l.k.main = Some(all);
    let accessed = std::mem::take(&mut l.vectors);
    let mut k = l.finished(strided, false);
    for i in accessed {
        k.arrays[i as usize].aligned = true;
    }
    k
}

/// What of a map's elements full blocks compute: away from the edges, where that shows what neighbours share. Else there is nothing to gain by it.
fn inner(l: &mut Lower, pass: &Pass) -> Inner {
    if pass.sequential || !pass.items.iter().all(|it| is_store(&l.g, it)) {
        return Inner::everywhere(pass);
    }
    let inner = Inner::of(&mut l.g, pass);
    if inner.is_everywhere(pass) {
        return inner;
    }
    let stencils = stencil::stencils(&mut l.g, &pass.domain, &inner.arrays);
    if stencils.iter().any(|s| !s.is_pointwise()) { inner } else { Inner::everywhere(pass) }
}

/// Whether a map goes by rows in registers where arrays lie as they may.
fn in_rows(l: &mut Lower, pass: &Pass, inner: &Inner, v: i64) -> bool {
    if pass.domain.len() < 2 || has_reduction(&l.g, pass) || nest::plan(l, pass).is_some() {
        return false;
    }
    let stencils = stencil::stencils(&mut l.g, &pass.domain, &inner.arrays);
    let shape = Shape { v, unaligned: true, threads: map::THREADS, ..Shape::default() };
    rows::Plan::of(l, (pass, inner), &stencils, choice::strategy(l, &stencils, false).0, shape).is_ok()
}

/// A map, with what is read around its elements kept as the author or the cost model says.
fn map(l: &mut Lower, pass: &Pass, inner: &Inner, shape: Shape, cost: u32) -> Result<(Vec<Stmt>, Grid)> {
    let stencils = stencil::stencils(&mut l.g, &pass.domain, &inner.arrays);
    let (strategy, why) = choice::strategy(l, &stencils, inner.has_margins());
    let plan = rows::Plan::of(l, (pass, inner), &stencils, strategy, shape);
    let why = if let Err(Some(why)) = plan { why.into() } else { why };
    if let Ok(plan) = plan {
        keep(l, &stencils, shape, |l, s| (plan.strategy(), plan.loaded(l, s)), &why);
        l.form = Form::Stencil(plan.strategy(), pass.domain.len() as u8);
        let (rows, columns) = plan.block();
        let others = map::blocks(cost, rows * columns / i64::from(shape.threads));
        l.k.blocks = plan.blocks(l, inner, shape).unwrap_or(others);
        return Ok((rows::main(l, pass, inner, shape, &plan)?, Grid::Plane(rows as u32, columns as u32)));
    }
    let plan = map::Plan::of(l, (pass, inner), &stencils, strategy, shape, cost);
    keep(l, &stencils, shape, |l, s| plan.loaded(l, s, shape), &why);
    let ways: Vec<StencilHint> =
        stencils.iter().filter(|s| s.overlaps()).map(|s| plan.loaded(l, s, shape).0).collect();
    l.form = match ways.iter().find(|s| **s != StencilHint::Direct).or(ways.first()) {
        Some(way) => Form::Stencil(*way, pass.domain.len() as u8),
        None if l.nested => Form::Loops,
        None => Form::Map,
    };
    l.k.blocks = map::blocks(cost, plan.per_block / i64::from(shape.threads));
    Ok((map::main(l, pass, shape, &plan)?, Grid::Elements(plan.per_block as u32)))
}

/// Notes what was decided of the stencils of contiguous arrays that lie well.
fn keep(
    l: &mut Lower,
    stencils: &[Stencil],
    shape: Shape,
    how: impl Fn(&Lower, &Stencil) -> (StencilHint, f64),
    why: &str,
) {
    for s in stencils.iter().filter(|s| s.overlaps() && !shape.strided && !shape.unaligned) {
        let (strategy, loaded) = how(l, s);
        let kept = Kept::of(&l.g, s, &l.array_name(s.array), strategy, loaded, why);
        l.kept.push(kept);
    }
}

/// Scalars only: one thread.
fn alone(l: &mut Lower, scalars: &[u32]) -> Result<Kernel> {
    l.begin("", true);
    l.k.threads = WARP;
    l.in_finish = true;
    let mut body = Vec::new();
    scalars::store(l, &[], scalars, &mut body)?;
    let first = Expr::binary(BinaryOp::Eq, thread(), int32(0));
    l.k.main = Some(vec![Stmt::If(first, body, vec![])]);
    // it may read elements of arrays of any stride
    Ok(l.finished(true, false))
}

fn thread() -> Expr {
    Expr::Place(Gpu::Thread)
}

fn int32(x: i32) -> Expr {
    Expr::Lit(crate::scalar::Lit::i32(x))
}

fn wide(e: Expr) -> Expr {
    Expr::Cast(Ty::I64, Box::new(e))
}
