//! The variants of a kernel as values: the strategy with its parameters, the guards and the profit.
//! `select.rs` lists them, `emit` in `mod.rs` writes their code, and reports read them.

use super::segments;
use super::thread_layout::ThreadLayout;
use super::{
    bins, contraction, cooperative_nest, map, plane_steps, plane_stream, plane_walk, product, reduce,
    register_tiling, resident_columns, resident_rows, row_folds, stencil_chain, temporal_blocking,
    tensor_product, thread_rows, transposed_tile,
};
use crate::core::StencilHint;
pub use crate::plan::gpu::Guards;
use crate::plan::gpu::Profit;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::facts::bins::Bins;
use crate::schedule::facts::filter::Filter;
use crate::schedule::facts::put::Put;
use crate::schedule::facts::radix::RadixStep;
use crate::schedule::facts::scans::Scan;
use crate::schedule::facts::stencil::Kept;
use crate::schedule::facts::transposed::TiledArray;
use crate::schedule::groups::FusedGroup;
use crate::schedule::strategy::Strategy;
use std::rc::Rc;

/// A strategy with all parameters that were chosen for it.
pub enum Choice {
    /// One thread computes scalars.
    Scalars,
    /// Several steps of an iterated stencil of vectors or matrices in one launch.
    TemporalBlocking(temporal_blocking::TemporalBlockingParams),
    /// Several steps of an iterated stencil of volumes, whose planes pass through registers and shared memory.
    PlaneSteps(plane_steps::PlaneStepsParams),
    /// A segmented reduction: how segments are mapped to threads, and the name in reports.
    Segmented(segments::SegmentMapping, Strategy),
    /// Reductions of segments whose lengths are data, each by a warp, or short ones by lanes.
    Ragged { by_lanes: bool },
    /// Elements that reduce a row of their own again and again, which lies in a thread's registers.
    ThreadRows(thread_rows::ThreadRowsParams),
    /// Elements that each fold a row of their own.
    RowFolds(row_folds::RowFoldsParams),
    /// Several reductions and maps of rows that lie in registers.
    ResidentRows(resident_rows::ResidentRowsParams),
    /// Several reductions and maps of rows that lie in shared memory.
    StagedRows(resident_rows::StagedRowsParams),
    /// Several reductions and maps of strips of columns that lie in registers.
    ResidentColumns(resident_columns::ResidentColumnsParams),
    /// Rows in registers, and partial reductions of their columns.
    RowsAndColumns(resident_rows::ColumnsParams),
    /// The second kernel of `RowsAndColumns`, which joins the partial reductions.
    JoinedParts(resident_rows::ColumnsParams),
    /// A matrix product, or one of the two launches of a split-K product.
    Product(product::ProductParams),
    /// A matrix product by tensor cores.
    TensorProduct(tensor_product::TensorProductParams),
    /// A reduction into bins: each part of the elements has bins of its own, to which its elements are joined.
    Bins(Bins, bins::place::BinMemory),
    /// Elements that are stored at their destinations.
    Put(Put),
    /// A part of a scan.
    Scan(Scan),
    /// A whole scan, in one launch.
    WholeScan(Scan),
    /// A whole filter.
    Filter(Rc<Filter>),
    /// A step of a radix sort.
    RadixSort(RadixStep),
    /// Folds in index order, in one block.
    SequentialFold,
    /// A map with one element per thread, for few elements.
    SmallMap,
    /// Reductions by the fixed tree.
    Reduction,
    /// Reductions of few long elements by the fixed tree: one of the two kernels.
    StoredReduction(reduce::StoredKernel),
    /// Reductions of narrow elements in any order, which load `batch` tiles together.
    PackedReduction { batch: u32 },
    /// Loops that all elements of a block run together, tile by tile through shared memory.
    CooperativeNest(cooperative_nest::CooperativeNestParams),
    /// A stencil of two or more dimensions, with rows in registers or a tile in shared memory.
    RegisterTiling(register_tiling::RegisterTilingParams),
    /// A stencil of volumes, whose planes pass through registers.
    PlaneStream(plane_stream::PlaneStreamParams),
    /// A stencil of volumes, whose blocks walk through planes.
    PlaneWalk(plane_walk::PlaneWalkParams),
    /// Several stencils one after another, through tiles in shared memory.
    StencilChain(stencil_chain::ChainTiles),
    /// A map that reads matrices transposed, through tiles in shared memory.
    TransposedTile(transposed_tile::TransposedTileParams),
    /// Reductions over k of values at (i, k) and values at (j, k), with register tiles.
    Contraction(contraction::ContractionParams),
    /// A map, or a stencil of vectors. The hint says where the stencil's values are kept, if there
    /// is a stencil.
    Map(map::MapParams, Option<StencilHint>),
}

/// One variant of a kernel.
pub struct Variant {
    /// The suffix of the variant's name after the kernel's name.
    pub suffix: String,
    pub guards: Guards,
    pub profit: Profit,
    /// Whether the code may assume that no output overlaps another array.
    pub noalias: bool,
}

/// Variants that share one body. They differ in their guards, and in what the kernel passes may assume of them.
pub struct VariantGroup {
    pub layout: ThreadLayout,
    pub choice: Choice,
    /// The elements that full blocks compute.
    pub inner: Rc<Interior>,
    pub variants: Vec<Variant>,
    /// Whether variants may be left out if the function has too much code already.
    pub may_be_left_out: bool,
    /// What was decided about its stencils, for reports.
    pub stencils: Vec<Kept>,
    /// What was decided about the arrays that it reads transposed, for reports.
    pub transposed: Vec<TiledArray>,
}

impl Choice {
    /// Returns the strategy as reports name it.
    pub fn strategy(&self, fused: &FusedGroup, nested: bool) -> Strategy {
        match self {
            Choice::Scalars => Strategy::Scalars,
            Choice::TemporalBlocking(_) | Choice::PlaneSteps(_) => Strategy::TemporalBlocking,
            Choice::Segmented(_, strategy) => *strategy,
            Choice::Ragged { .. } => Strategy::Ragged,
            Choice::ThreadRows(_) => Strategy::ThreadRows,
            Choice::ResidentRows(_)
            | Choice::StagedRows(_)
            | Choice::RowsAndColumns(_)
            | Choice::JoinedParts(_) => Strategy::ResidentRows,
            Choice::ResidentColumns(_) => Strategy::ResidentColumns,
            Choice::Product(_) => Strategy::Product,
            Choice::TensorProduct(_) => Strategy::TensorProduct,
            Choice::Bins(..) => Strategy::Bins,
            Choice::Put(_) => Strategy::Put,
            Choice::Scan(_) => Strategy::Scan,
            Choice::WholeScan(_) => Strategy::OnePassScan,
            Choice::Filter(_) => Strategy::OnePassFilter,
            Choice::RadixSort(_) => Strategy::RadixSort,
            Choice::SequentialFold => Strategy::SequentialFold,
            Choice::SmallMap => Strategy::Map,
            Choice::Reduction | Choice::PackedReduction { .. } | Choice::StoredReduction(_) => {
                Strategy::Reduction
            }
            Choice::Contraction(_) => Strategy::Contraction,
            Choice::CooperativeNest(_) => Strategy::CooperativeNest,
            Choice::RegisterTiling(params) => Strategy::Stencil(params.strategy(), fused.domain.len() as u8),
            Choice::PlaneStream(_) | Choice::PlaneWalk(_) => {
                Strategy::Stencil(StencilHint::Planes, fused.domain.len() as u8)
            }
            Choice::StencilChain(_) => Strategy::StencilChain,
            Choice::TransposedTile(_) => Strategy::TransposedTile,
            Choice::Map(_, Some(storage)) => Strategy::Stencil(*storage, fused.domain.len() as u8),
            Choice::RowFolds(_) => Strategy::ElementLoops,
            Choice::Map(_, None) if nested => Strategy::ElementLoops,
            Choice::Map(_, None) => Strategy::Map,
        }
    }
}

impl VariantGroup {
    /// Returns a group of one variant, which is never left out.
    pub fn of(
        (choice, stencils): (Choice, Vec<Kept>),
        layout: ThreadLayout,
        inner: &Rc<Interior>,
        variant: Variant,
    ) -> VariantGroup {
        let (inner, variants) = (inner.clone(), vec![variant]);
        let transposed = Vec::new();
        VariantGroup { layout, choice, inner, variants, may_be_left_out: false, stencils, transposed }
    }

    /// Returns a group of variants for all lengths, which have these suffixes and guards.
    pub fn guarded(
        choice: Choice,
        layout: ThreadLayout,
        inner: &Rc<Interior>,
        list: &[(&str, Guards)],
    ) -> VariantGroup {
        let variant = |(suffix, guards): &(&str, Guards)| Variant {
            suffix: suffix.to_string(),
            guards: *guards,
            profit: Profit::default(),
            noalias: guards.noalias,
        };
        let (inner, variants) = (inner.clone(), list.iter().map(variant).collect());
        let (stencils, transposed) = (Vec::new(), Vec::new());
        VariantGroup { layout, choice, inner, variants, may_be_left_out: true, stencils, transposed }
    }
}
