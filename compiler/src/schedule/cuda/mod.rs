//! GPU strategies: every element on its own (`map`), 128 threads a tile of the fixed tree
//! (`reduce`, joined by `tree` and completed by `levels`), one block in order (`fold`). Each makes
//! the body of one thread; this file makes the variants.
//!
//! In a map threads hold `v` neighbouring elements, so that the widest array is accessed by 16
//! bytes a thread. All loads are in flight before the first is used. A variant without vector
//! accesses serves every alignment and stride. Figures: `bench/NOTES.md`.

mod access;
mod boundary_blocks;
mod boundary_elements;
mod cooperative_nest;
mod elements;
mod expressions;
mod fold;
mod levels;
mod map;
mod product;
mod reduce;
mod register_pressure;
mod register_tiling;
mod register_window;
mod segments;
mod select;
mod select_elements;
mod shape;
mod shared_tile_1d;
mod shared_tile_2d;
mod small_map;
mod stencil_cost;
mod temporal_blocking;
mod tree;
mod variant;

use super::groups::FusedGroup;
use super::kernels::{Draft, GpuVariants};
use super::lower::{KernelBuilder, LaunchContext, Lower, Signature, Target};
use super::scalars;
use super::scheduler::Scope;
use super::strategy::Strategy;
use crate::error::Result;
use crate::interrupt;
use crate::kernel::parts::operations;
use crate::kernel::{Expr, Stmt, WARP, dce};
use crate::plan::gpu::{GpuKernel, GpuVariant, Grid};
use crate::scalar::BinaryOp;
use expressions::{int32, thread};
use std::num::NonZeroU32;
use std::sync::Arc;
use variant::{Choice, Guards, VariantGroup};

/// Bytes of parameters that a kernel may have on every device that we serve; each of ours takes 8.
const MAX_PARAMETERS: usize = 4096 / 8;

/// All variants of the kernel of one fused group.
pub fn kernels(
    c: &mut LaunchContext,
    name: &str,
    fused: &FusedGroup,
    scalars: &[u32],
) -> Result<GpuVariants> {
    let (mut written, mut added) = (Vec::new(), 0);
    for mut group in select::variants(c, fused) {
        interrupt::check()?;
        let (k, grid) = emit(c, fused, scalars, &group)?;
        let strategy = group.choice.strategy(fused, c.facts.nested);
        // a product is written out for its registers: its size does not count
        let mut size = k.kernel.main.as_deref().map_or(0, operations);
        if strategy == Strategy::Product {
            *c.in_products() += std::mem::take(&mut size);
        }
        if group.may_be_left_out {
            let (so_far, wanted) = (*c.variant_operations() + 4 * size, c.wanted);
            group.variants.retain(|v| !is_too_much(size, so_far, &v.guards, wanted));
            added += size * group.variants.len();
        }
        written.push(Written { k, grid, strategy, group });
    }
    let mut launch = GpuKernel { name: name.into(), absent: absent(c), ..GpuKernel::default() };
    let (mut kernels, mut stencils) = (Vec::new(), Vec::new());
    if launch.absent.is_some() {
        return Ok(GpuVariants { kernel: launch, drafts: kernels, stencils });
    }
    *c.variant_operations() += added;
    // the signature is complete: now kernels are finished
    for mut w in written {
        stencils.append(&mut w.group.stencils);
        w.finish(&c.signature, &mut launch, &mut kernels);
    }
    // a loop in each thread is the last resort of these: only what no other variant takes goes by
    // it
    let is_segmented = c.facts.segments.is_some();
    if is_segmented || launch.variants.iter().any(|v| matches!(v.grid, Grid::Panels { .. })) {
        c.warnings.clear();
    }
    Ok(GpuVariants { kernel: launch, drafts: kernels, stencils })
}

/// The kernel of a group of variants, as it was written.
struct Written {
    k: KernelBuilder,
    grid: Grid,
    strategy: Strategy,
    group: VariantGroup,
}

impl Written {
    /// Adds the variants, with what the launch hands to all of them.
    fn finish(self, s: &Signature, launch: &mut GpuKernel, kernels: &mut Vec<Draft>) {
        let flat: Vec<u32> = self.k.dense.iter().copied().collect();
        let mut k = self.k.finished(s, false);
        if !self.grid.has_scratch() {
            k.scratch.clear();
        }
        let k = Arc::new(k);
        let aligned: Vec<u32> = k.arrays.iter().zip(0..).filter(|(a, _)| a.aligned).map(|(_, i)| i).collect();
        // elsewhere neighbours are counted through, from one row to the next
        let by_rows = self.strategy.is_row_aligned();
        let rows: Vec<u32> = aligned.iter().filter(|i| by_rows && flat.contains(i)).copied().collect();
        let steps = match &self.group.choice {
            Choice::TemporalBlocking(params) => NonZeroU32::new(params.steps as u32),
            _ => None,
        };
        for variant in self.group.variants {
            let (guards, name) = (variant.guards, format!("{}{}", launch.name, variant.suffix));
            launch.variants.push(GpuVariant {
                entry: name.clone(),
                threads: k.threads,
                grid: self.grid,
                profit: variant.profit,
                guards,
                flat: flat.clone(),
                aligned: aligned.clone(),
                steps_per_launch: steps,
                row_aligned: rows.clone(),
            });
            let (kernel, noalias, narrow) = (k.clone(), variant.noalias, guards.narrow);
            kernels.push(Draft { kernel, name, noalias, narrow, strategy: self.strategy });
        }
    }
}

/// Writes the kernel of a group of variants.
fn emit(
    c: &mut LaunchContext,
    fused: &FusedGroup,
    scalars: &[u32],
    group: &VariantGroup,
) -> Result<(KernelBuilder, Grid)> {
    let (shape, inner, cost) = (group.shape, &*group.inner, c.facts.cost);
    // what only computes scalars may read elements of arrays of any stride
    let strided = shape.strided || matches!(group.choice, Choice::Scalars);
    let mut lower = Lower::new(c, "", Target::Gpu, strided);
    let l = &mut lower;
    l.k.kernel.threads = shape.threads;
    let (body, grid) = match &group.choice {
        Choice::Scalars => (alone(l, scalars)?, Grid::One),
        Choice::TemporalBlocking(params) => {
            (l.k.kernel.threads, l.k.kernel.is_multi_step, l.k.kernel.min_resident_blocks) =
                (temporal_blocking::THREADS, true, params.blocks(l.launch));
            let [rows, columns] = params.block().map(|n| n as u32);
            (temporal_blocking::main(l, fused, params)?, Grid::Plane { rows, columns })
        }
        Choice::Segmented(way, _) => segments::main(l, fused, *way, shape.strided)?,
        Choice::Product(params) => product::emit(l, fused, params, shape.strided)?,
        Choice::SequentialFold => (fold::main(l, fused, scalars)?, Grid::One),
        Choice::SmallMap => (small_map::main(l, fused)?, Grid::Elements(map::THREADS)),
        Choice::Reduction => {
            let sizes = fused.items.iter().map(|it| l.launch.g.ty(it.node).elem.size());
            l.k.kernel.min_resident_blocks = reduce::blocks(cost, sizes.sum(), shape.strided);
            (
                reduce::main(l, fused, scalars, shape, cost)?,
                Grid::Tiles { min_span: 1, max_span: reduce::most_span(l.launch, shape) },
            )
        }
        Choice::CooperativeNest(tiled) => {
            l.k.kernel.threads = cooperative_nest::THREADS;
            // left alone, the assembler takes 32 registers, and pairs wait for each other: 31.6
            // TFLOP/s of bodies in order, with 74 registers 37.2
            l.k.kernel.min_resident_blocks = 2;
            (
                cooperative_nest::main(l, fused, tiled, shape.strided)?,
                Grid::Elements(cooperative_nest::THREADS),
            )
        }
        Choice::RegisterTiling(params) => {
            let (rows, columns) = params.block();
            let others = map::blocks(cost, rows * columns / i64::from(shape.threads));
            l.k.kernel.min_resident_blocks = params.blocks(l.launch, inner, shape).unwrap_or(others);
            (
                register_tiling::main(l, fused, inner, shape, params)?,
                Grid::Plane { rows: rows as u32, columns: columns as u32 },
            )
        }
        Choice::Map(params, _) => {
            l.k.kernel.min_resident_blocks = map::blocks(cost, params.per_block / i64::from(shape.threads));
            (map::main(l, fused, shape, params)?, Grid::Elements(params.per_block as u32))
        }
    };
    l.k.kernel.main = Some(l.k.with_prologue(body));
    let mut k = lower.k;
    dce::run(&mut k.kernel);
    Ok((k, grid))
}

/// Operations of a function's kernels, from which on no fused group has variants of its own for
/// 32-bit indices or for outputs apart from all else: what they save is little of a long body.
const MANY: usize = 24_000;
/// And a body of more than this has none for contiguous arrays.
const LONG: usize = 3_000;

/// Whether a variant of so many operations is left out because the code would become too long.
/// Other variants serve its calls: those with fewer conditions.
fn is_too_much(size: usize, so_far: usize, c: &Guards, scope: Scope) -> bool {
    let has_conditions = c.narrow || c.noalias;
    let is_last = !has_conditions && (!c.contiguous || scope == Scope::ContiguousGpu);
    !is_last && so_far > MANY && (has_conditions || size > LONG)
}

/// Why a fused group has no code for GPUs: too many parameters.
fn absent(l: &LaunchContext) -> Option<String> {
    let s = &l.signature;
    // an address and a stride for each array; counters, records and span come on top
    let parameters = 2 * s.arrays.len() + s.ins.len() + s.slots.len() + s.scratch.len() + 3;
    let too_many = parameters > MAX_PARAMETERS;
    too_many
        .then(|| format!("it takes up to {parameters} parameters, a kernel has room for {MAX_PARAMETERS}"))
}

/// Scalars only: one thread.
fn alone(l: &mut Lower, scalars: &[u32]) -> Result<Vec<Stmt>> {
    l.k.kernel.threads = WARP;
    l.k.once = true;
    let mut body = Vec::new();
    scalars::store(l, &[], scalars, &mut body)?;
    let first = Expr::binary(BinaryOp::Eq, thread(), int32(0));
    Ok(vec![Stmt::If(first, body, vec![])])
}
