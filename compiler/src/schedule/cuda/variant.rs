//! The variants of a kernel as values: the strategy with its parameters, the guards, and when a
//! variant is profitable. `select.rs` lists them, `mod.rs` emits them, and reports read them.

use super::segments;
use super::shape::Shape;
use super::{cooperative_nest, map, product, register_tiling, temporal_blocking};
use crate::core::StencilHint;
pub use crate::plan::gpu::Guards;
use crate::plan::gpu::Profit;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::groups::FusedGroup;
use crate::schedule::stencil::Kept;
use crate::schedule::strategy::Strategy;
use std::rc::Rc;

/// What the code of a variant is, with all that was decided about it.
pub enum Choice {
    /// One thread computes scalars.
    Scalars,
    /// Several steps of an iteration in one launch.
    TemporalBlocking(temporal_blocking::TemporalBlockingParams),
    /// Reductions of neighbouring sequences.
    Segmented(segments::Way, Strategy),
    /// A matrix product, or one of the two launches of a split-K product.
    Product(product::ProductParams),
    /// One block in index order.
    SequentialFold,
    /// A map of few elements, one a thread.
    SmallMap,
    /// The fixed tree.
    Reduction,
    /// Loops of a block's elements through shared memory.
    CooperativeNest(cooperative_nest::Tiled),
    /// A stencil of two dimensions or more: rows in registers, or a tile of shared memory.
    RegisterTiling(register_tiling::RegisterTilingParams),
    /// A map or a stencil of vectors. The stencil's storage, if there is one.
    Map(map::MapParams, Option<StencilHint>),
}

/// One variant of a kernel.
pub struct Variant {
    /// Follows the kernel's name in its own.
    pub suffix: String,
    pub guards: Guards,
    pub profit: Profit,
    /// What the code may assume of the arrays: no output overlaps another array.
    pub noalias: bool,
}

/// Variants with one body: they differ in what may be assumed of it.
pub struct VariantGroup {
    pub shape: Shape,
    pub choice: Choice,
    /// What full blocks compute.
    pub inner: Rc<Interior>,
    pub variants: Vec<Variant>,
    /// Whether variants are left out where a function has too much code already.
    pub may_be_left_out: bool,
    /// What was decided of its stencils.
    pub stencils: Vec<Kept>,
}

impl Choice {
    /// The strategy, in the words of reports.
    pub fn strategy(&self, fused: &FusedGroup, nested: bool) -> Strategy {
        match self {
            Choice::Scalars => Strategy::Scalars,
            Choice::TemporalBlocking(_) => Strategy::TemporalBlocking,
            Choice::Segmented(_, strategy) => *strategy,
            Choice::Product(_) => Strategy::Product,
            Choice::SequentialFold => Strategy::SequentialFold,
            Choice::SmallMap => Strategy::Map,
            Choice::Reduction => Strategy::Reduction,
            Choice::CooperativeNest(_) => Strategy::CooperativeNest,
            Choice::RegisterTiling(params) => Strategy::Stencil(params.strategy(), fused.domain.len() as u8),
            Choice::Map(_, Some(storage)) => Strategy::Stencil(*storage, fused.domain.len() as u8),
            Choice::Map(_, None) if nested => Strategy::ElementLoops,
            Choice::Map(_, None) => Strategy::Map,
        }
    }
}

impl VariantGroup {
    /// A group of one variant, which is never left out.
    pub fn of(
        (choice, stencils): (Choice, Vec<Kept>),
        shape: Shape,
        inner: &Rc<Interior>,
        variant: Variant,
    ) -> VariantGroup {
        let (inner, variants) = (inner.clone(), vec![variant]);
        VariantGroup { shape, choice, inner, variants, may_be_left_out: false, stencils }
    }
}
