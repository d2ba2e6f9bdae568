//! GPU strategies. Each strategy has a file that writes the code of one thread. `select.rs` lists
//! the variants of a kernel, `variant.rs` has their types, and `emit` below calls the file of a
//! variant's strategy. Measurements are in `bench/NOTES.md`.
//!
//! | file | strategy |
//! |---|---|
//! | `map.rs` | every element on its own: vector accesses, unrolling; stencils of vectors |
//! | `small_map.rs` | one element per thread, for maps of few elements |
//! | `register_window.rs`, `shared_tile_1d.rs`, `interleaved.rs` | vector stencils in maps, interleaved channels |
//! | `register_tiling.rs`, `line_sums.rs`, `shared_tile_2d.rs` | stencils of matrices |
//! | `plane_stream/` | stencils of volumes, whose planes pass through registers |
//! | `plane_walk/` | stencils of volumes, plane by plane |
//! | `transposed_tile/` | maps that read a matrix transposed, mirrored or not |
//! | `stencil_chain/` | several stencils one after another, through shared memory |
//! | `temporal_blocking/` | several steps of an iterated stencil of vectors or matrices in one launch |
//! | `plane_steps/` | several steps of an iterated stencil of volumes in one launch |
//! | `reduce.rs`, `tree.rs`, `levels.rs` | reductions by the fixed tree, in one launch |
//! | `packed_reduction.rs` | reductions of narrow elements to integers, whose order is free |
//! | `segments/` | segmented reductions: of rows, of columns, or of parts whose lengths are data |
//! | `thread_rows.rs` | rows that a thread's registers hold, for elements that reduce them again and again |
//! | `resident_rows/` | several reductions and maps of rows that lie in registers; their columns then |
//! | `resident_columns/`, `resident_segments/` | the same with columns in registers; what rows and columns share |
//! | `product/` | matrix products and the like, with split-K |
//! | `tensor_product/` | matrix products by tensor cores, where the author allows them |
//! | `contraction/` | reductions over k of values at (i, k) and (j, k), with register tiles |
//! | `cooperative_nest.rs` | all-pairs loops through shared memory |
//! | `fold.rs`, `scan.rs` | folds in index order, by one block; the parts of a scan |
//! | `scan/one_pass.rs`, `scan/one_pass/filter.rs` | whole scans and whole filters in one launch |
//! | `row_folds.rs` | elements that each fold a row of their own, 32 of them by a block |
//! | `bins.rs` | reductions into bins, in shared memory or in the result |
//! | `put.rs` | elements that are stored at their destinations |
//! | `radix_sort.rs` | the steps of a radix sort, a block for each tile |

mod access;
mod bins;
mod boundary_blocks;
mod boundary_elements;
mod code_size;
mod contraction;
mod cooperative_nest;
mod coordinates;
mod divided_number;
mod elements;
mod expressions;
mod fold;
mod interleaved;
mod levels;
mod line_sums;
mod map;
mod packed_reduction;
mod partial_tile;
mod paths;
mod plane_steps;
mod plane_stream;
mod plane_variants;
mod plane_walk;
mod product;
mod put;
mod radix_sort;
mod reduce;
mod register_pressure;
mod register_tiling;
mod register_window;
mod resident_columns;
mod resident_rows;
mod resident_segments;
mod row_folds;
mod scan;
mod segments;
mod select;
mod select_elements;
mod shared_tile_1d;
mod shared_tile_2d;
mod small_map;
pub mod stencil_chain;
mod stencil_cost;
mod temporal_blocking;
mod tensor_product;
mod thread_layout;
mod thread_rows;
mod transposed_tile;
mod tree;
mod variant;

use super::element::lower::{KernelBuilder, LaunchContext, Lower, Signature, Target};
use super::element::scalars;
use super::groups::FusedGroup;
use super::kernels::{Draft, GpuVariants, Origin};
use super::strategy::Strategy;
use crate::error::Result;
use crate::interrupt;
use crate::kernel::parts::{has, operations};
use crate::kernel::{Expr, Kernel, Stmt, WARP, dce};
use crate::plan::gpu::{GpuKernel, GpuVariant, Grid};
use crate::scalar::{BinaryOp, Ty};
use code_size::is_left_out;
use expressions::{int32, thread};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroU32;
use std::sync::Arc;
use variant::{Choice, Guards, Variant, VariantGroup};

/// The maximum number of parameters of a kernel. Every supported device takes 4096 bytes, and each of ours has 8.
const MAX_PARAMETERS: usize = 4096 / 8;

/// Writes all variants of the kernel of one fused group.
pub fn kernels(
    c: &mut LaunchContext,
    name: &str,
    fused: &FusedGroup,
    scalars: &[u32],
) -> Result<GpuVariants> {
    let (mut written, mut added) = (Vec::new(), 0);
    for mut group in select::variants(c, fused) {
        interrupt::check()?;
        let is_last =
            |v: &Variant| v.guards == Guards { contiguous: v.guards.contiguous, ..Guards::default() };
        let is_general = group.variants.iter().any(is_last);
        let (k, grid) = match emit(c, fused, scalars, &group) {
            // a variant with fewer guards serves the calls of one with too much code
            Err(e) if e.code == "E0405" && !is_general => continue,
            written => written?,
        };
        // if the variant that leaves partial results was left out, there is nothing to join
        let leaves_parts = |w: &Written| w.grid.leaves_parts() && !w.group.variants.is_empty();
        if grid.follows() && !written.last().is_some_and(leaves_parts) {
            continue;
        }
        let strategy = group.choice.strategy(fused, c.facts.nested);
        // the size of a product does not count: its code is long because thread tiles are unrolled
        let mut size = k.kernel.main.as_deref().map_or(0, operations);
        if matches!(strategy, Strategy::Product | Strategy::TensorProduct) {
            let suffix = group.variants.iter().map(|v| v.suffix.as_str()).collect();
            let types = c.signature.arrays.values().map(|a| a.ty.elem).collect();
            let mut hasher = DefaultHasher::new();
            k.kernel.main.hash(&mut hasher);
            let (code, own) = (c.code_size(), std::mem::take(&mut size));
            if code.known_products.insert((suffix, hasher.finish(), types)) {
                code.products += own;
            }
        }
        if group.may_be_left_out {
            let (before, wanted) = (c.code_size().variants, c.wanted);
            group.variants.retain(|v| !is_left_out(size, before, &v.guards, wanted));
            added += size * group.variants.len();
        }
        written.push(Written { k, grid, strategy, group });
    }
    let mut launch = GpuKernel { name: name.into(), absent: absent(c), ..GpuKernel::default() };
    let (mut kernels, mut stencils, mut transposed) = (Vec::new(), Vec::new(), Vec::new());
    if launch.absent.is_some() {
        let (limit, shared) = (None, None);
        return Ok(GpuVariants { kernel: launch, drafts: kernels, stencils, transposed, limit, shared });
    }
    c.code_size().variants += added;
    // the launch policy looks at the first kernel of a pair only, which so has the conditions of the second one
    for at in 1..written.len() {
        let [first, second] = &mut written[at - 1..=at] else { continue };
        if first.grid.leaves_parts() {
            first.k.dense.extend(&second.k.dense);
            first.k.vectors.extend(&second.k.vectors);
        }
    }
    // the signature is complete now, so the kernels can be finished
    for mut w in written {
        stencils.append(&mut w.group.stencils);
        transposed.append(&mut w.group.transposed);
        w.finish(&c.signature, &mut launch, &mut kernels);
    }
    // the warnings say that each thread runs a loop; here that is true of the last variant in the list alone, which
    // runs if no other variant can
    let is_segmented = c.facts.segments.is_some() || c.facts.ragged.is_some();
    if is_segmented || launch.variants.iter().any(|v| matches!(v.grid, Grid::Panels { .. })) {
        c.warnings.clear();
    }
    let limit = resident_rows::limit(c).or_else(|| resident_columns::limit(c));
    let shared = stencil_chain::described(c);
    Ok(GpuVariants { kernel: launch, drafts: kernels, stencils, transposed, limit, shared })
}

/// A kernel as it was lowered, which the variants of a group share.
struct Written {
    k: KernelBuilder,
    grid: Grid,
    strategy: Strategy,
    group: VariantGroup,
}

impl Written {
    /// Adds the variants to `launch` and their kernels to `kernels`. `s` is what the launch hands
    /// to all of them.
    fn finish(self, s: &Signature, launch: &mut GpuKernel, kernels: &mut Vec<Draft>) {
        let origin = Origin { strategy: self.strategy, batches: self.k.batches };
        let flat: Vec<u32> = self.k.dense.iter().copied().collect();
        let mut k = self.k.finished(s, false);
        if !self.grid.has_scratch() {
            k.scratch.clear();
        }
        let k = Arc::new(k);
        let shared = k.shared_layout().dynamic();
        let aligned: Vec<u32> = k.arrays.iter().zip(0..).filter(|(a, _)| a.aligned).map(|(_, i)| i).collect();
        // only these strategies read whole rows; the others number neighbours across the ends of rows
        let by_rows = self.strategy.is_row_aligned() && !matches!(self.group.choice, Choice::StagedRows(_));
        let rows: Vec<u32> = aligned.iter().filter(|i| by_rows && flat.contains(i)).copied().collect();
        let steps = match &self.group.choice {
            Choice::TemporalBlocking(params) => NonZeroU32::new(params.steps as u32),
            Choice::PlaneSteps(params) => NonZeroU32::new(params.steps as u32),
            _ => None,
        };
        for variant in self.group.variants {
            let (guards, name) = (variant.guards, format!("{}{}", launch.name, variant.suffix));
            launch.variants.push(GpuVariant {
                entry: name.clone(),
                threads: k.threads,
                shared,
                grid: self.grid,
                profit: variant.profit,
                guards,
                flat: flat.clone(),
                aligned: aligned.clone(),
                steps_per_launch: steps,
                row_aligned: rows.clone(),
            });
            let (kernel, noalias, narrow) = (k.clone(), variant.noalias, guards.narrow);
            kernels.push(Draft { kernel, name, noalias, narrow, origin });
        }
    }
}

/// Lowers the kernel of a group of variants, and returns it with its grid. Each strategy decides on the threads of a
/// block and on the bound of its registers where they are not those of the layout.
fn emit(
    c: &mut LaunchContext,
    fused: &FusedGroup,
    scalars: &[u32],
    group: &VariantGroup,
) -> Result<(KernelBuilder, Grid)> {
    let (layout, inner) = (group.layout, &*group.inner);
    // a kernel that computes only scalars may read elements of arrays with any strides
    let strided = layout.strided || matches!(group.choice, Choice::Scalars);
    let mut lower = Lower::new(c, "", Target::Gpu, strided);
    let l = &mut lower;
    l.k.kernel.threads = layout.threads;
    let (body, grid) = match &group.choice {
        Choice::Scalars => (scalars_only(l, scalars)?, Grid::One),
        Choice::TemporalBlocking(params) => (temporal_blocking::main(l, fused, params)?, params.grid()),
        Choice::PlaneSteps(params) => (plane_steps::main(l, fused, inner, layout, params)?, params.grid()),
        Choice::Segmented(mapping, _) => segments::main(l, fused, *mapping, layout.strided)?,
        Choice::Ragged { by_lanes } => segments::ragged::main(l, fused, *by_lanes)?,
        Choice::ThreadRows(params) => {
            (thread_rows::main(l, fused, params)?, Grid::Elements(params.per_block()))
        }
        Choice::RowFolds(params) => (row_folds::main(l, fused, *params)?, Grid::Elements(row_folds::ROWS)),
        Choice::ResidentRows(params) => {
            let rows = l.launch.facts.resident.clone().expect("a launch with resident rows");
            (resident_rows::main(l, &rows, params)?, params.grid())
        }
        Choice::StagedRows(params) => {
            let rows = l.launch.facts.resident.clone().expect("a launch with resident rows");
            (resident_rows::main_of_staged(l, &rows, params)?, params.grid())
        }
        Choice::ResidentColumns(params) => {
            let kept = l.launch.facts.resident.clone().expect("a launch with resident columns");
            (resident_columns::main(l, &kept, params)?, params.grid())
        }
        Choice::RowsAndColumns(params) => {
            let facts = l.launch.facts.rows_and_columns.clone().expect("a launch of rows and columns");
            (resident_rows::main_of_columns(l, &facts, params)?, params.grid())
        }
        Choice::JoinedParts(params) => {
            let facts = l.launch.facts.rows_and_columns.clone().expect("a launch of rows and columns");
            (resident_rows::join_parts(l, &facts, params)?, Grid::Joins(resident_rows::COLUMNS_OF_BLOCK))
        }
        Choice::Product(params) => product::emit(l, fused, params, layout.strided)?,
        Choice::TensorProduct(params) => tensor_product::emit(l, fused, params)?,
        Choice::Scan(scan) => scan::main(l, fused, scan, layout)?,
        Choice::WholeScan(scan) => scan::one_pass::main(l, fused, (scan, scalars), layout)?,
        Choice::Filter(filter) => scan::one_pass::filter::main(l, fused, (filter, scalars), layout)?,
        Choice::Bins(bins, place) => bins::main(l, fused, (bins, *place), layout)?,
        Choice::Put(put) => put::main(l, fused, put, layout)?,
        Choice::RadixSort(step) => radix_sort::main(l, fused, step, layout)?,
        Choice::SequentialFold => (fold::main(l, fused, scalars)?, Grid::One),
        Choice::SmallMap => (small_map::main(l, fused)?, Grid::Elements(map::THREADS)),
        Choice::Reduction => reduce::main(l, fused, scalars, layout)?,
        Choice::StoredReduction(kernel) => reduce::main_of_stored(l, fused, scalars, *kernel, layout)?,
        Choice::PackedReduction { batch } => (
            packed_reduction::main(l, fused, scalars, *batch)?,
            Grid::Tiles { min_span: *batch, max_span: packed_reduction::MAX_SPAN },
        ),
        Choice::Contraction(params) => (contraction::main(l, fused, params)?, params.grid()),
        Choice::CooperativeNest(params) => (
            cooperative_nest::main(l, fused, params, layout.strided)?,
            Grid::Elements(cooperative_nest::THREADS),
        ),
        Choice::RegisterTiling(params) => {
            let (rows, columns) = params.block();
            (
                register_tiling::main(l, fused, inner, layout, params)?,
                Grid::Plane { rows: rows as u32, columns: columns as u32 },
            )
        }
        Choice::PlaneStream(params) => (plane_stream::main(l, fused, inner, layout, params)?, params.grid()),
        Choice::PlaneWalk(params) => {
            let [planes, rows, columns] = params.block();
            (plane_walk::main(l, fused, inner, layout, params)?, Grid::Volume { planes, rows, columns })
        }
        Choice::StencilChain(tiles) => {
            let [rows, columns] = tiles.block().map(|n| n as u32);
            (stencil_chain::main(l, fused, layout, tiles)?, Grid::Plane { rows, columns })
        }
        Choice::TransposedTile(params) => {
            let side = params.partition.side as u32;
            (transposed_tile::main(l, fused, layout, params)?, Grid::Plane { rows: side, columns: side })
        }
        Choice::Map(params, _) => {
            (map::main(l, fused, layout, params)?, Grid::Elements(params.per_block as u32))
        }
    };
    let body = l.k.with_prologue(body);
    let is_reduction = matches!(group.choice, Choice::Reduction | Choice::PackedReduction { .. });
    if is_reduction && fused.domain.len() == 1 && !divides(&body, &l.k.kernel) {
        // the bounds of indices would only cost registers
        l.k.kernel.in_space.clear();
    } else {
        // rows that stay in registers leave none for bounds of other extents
        let extents = match group.choice {
            Choice::ResidentRows(_) | Choice::StagedRows(_) | Choice::RowsAndColumns(_) => {
                l.launch.extents_of_space()
            }
            _ => l.launch.extents_with_limit(),
        };
        l.k.kernel.in_space.extend(l.launch.passed(&extents));
        l.k.kernel.last_indices = l.launch.last_indices(&extents);
    }
    l.k.kernel.main = Some(body);
    let mut k = lower.k;
    dce::run(&mut k.kernel);
    Ok((k, grid))
}

/// Returns why a fused group has no code for GPUs: it takes too many parameters.
fn absent(l: &LaunchContext) -> Option<String> {
    let s = &l.signature;
    // each array takes an address and a stride; counters, error records and the span take one each
    let parameters = 2 * s.arrays.len() + s.ins.len() + s.slots.len() + s.scratch.len() + 3;
    let too_many = parameters > MAX_PARAMETERS;
    too_many
        .then(|| format!("it takes up to {parameters} parameters, a kernel has room for {MAX_PARAMETERS}"))
}

/// Writes the kernel of a group that computes scalars only, in one thread.
fn scalars_only(l: &mut Lower, scalars: &[u32]) -> Result<Vec<Stmt>> {
    l.k.kernel.threads = WARP;
    l.k.once = true;
    let mut body = Vec::new();
    scalars::store(l, &[], scalars, &mut body)?;
    let first = Expr::binary(BinaryOp::Eq, thread(), int32(0));
    Ok(vec![Stmt::If(first, body, vec![])])
}

/// Whether elements divide indices or what is computed from them. What threads compute about their places has 32
/// bits.
fn divides(body: &[Stmt], k: &Kernel) -> bool {
    let is_long = |e: &Expr| match e {
        Expr::Reg(r) => k.regs[r.0 as usize].1 == Ty::I64,
        Expr::Lit(l) => l.ty == Ty::I64,
        _ => false,
    };
    has(body, &|e| match e {
        Expr::Binary(BinaryOp::Div | BinaryOp::Rem, a, b) => is_long(a) || is_long(b),
        _ => false,
    })
}
