//! What a launch can be, in the field's terms. A target's `select` chooses a strategy for each
//! variant of a kernel before any code is written; the code, the launch and the reports follow from
//! the choice.

use crate::core::StencilHint;
use std::fmt;

/// The strategy of one variant of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Strategy {
    /// Scalars only, no pass over data.
    #[default]
    Scalars,
    /// Every element on its own.
    Map,
    /// Every element on its own, each with loops.
    ElementLoops,
    /// A map whose elements share what they read of arrays of that rank.
    Stencil(StencilHint, u8),
    /// All elements are joined by the fixed tree (semantics 5.1).
    Reduction,
    /// Row sums: the elements of one segment are contiguous.
    SegmentedRows,
    /// Column sums: the same element of adjacent segments is contiguous.
    SegmentedColumns,
    /// Loops that the elements of a block walk together, tile by tile through shared memory.
    CooperativeNest,
    /// A matrix product: block tiles of results from tiles of both sides.
    Product,
    /// In order, one element after another.
    SequentialFold,
    /// Several steps of a stencil in one launch, whose elements stay in registers in between.
    TemporalBlocking,
}

impl Strategy {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::Scalars => "scalars",
            Strategy::Map => "map",
            Strategy::ElementLoops => "loops",
            Strategy::Stencil(StencilHint::Direct, _) => "stencil-direct",
            Strategy::Stencil(StencilHint::Window, _) => "stencil-window",
            Strategy::Stencil(StencilHint::Tile, 0 | 1) => "stencil-tile",
            Strategy::Stencil(StencilHint::Tile, _) => "stencil-patch",
            Strategy::Stencil(StencilHint::Rows, _) => "stencil-rows",
            Strategy::Reduction => "reduction",
            Strategy::SegmentedRows => "segmented-rows",
            Strategy::SegmentedColumns => "segmented-columns",
            Strategy::CooperativeNest => "nest",
            Strategy::Product => "product",
            Strategy::SequentialFold => "fold",
            Strategy::TemporalBlocking => "steps",
        }
    }

    /// Whether the code reads whole rows one by one, so that an array's alignment is that of each
    /// of its rows.
    pub fn is_row_aligned(self) -> bool {
        use Strategy::{CooperativeNest, Product, SegmentedColumns, SegmentedRows};
        matches!(self, SegmentedRows | SegmentedColumns | CooperativeNest | Product)
    }
}

impl fmt::Display for Strategy {
    /// In words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Strategy::Scalars => "scalars only",
            Strategy::Map => "map",
            Strategy::ElementLoops => "map with a loop in each element",
            Strategy::Stencil(StencilHint::Direct, _) => "stencil, each element with loads of its own",
            Strategy::Stencil(StencilHint::Window, _) => "stencil by a register window",
            Strategy::Stencil(StencilHint::Tile, 0 | 1) => "stencil by a shared-memory tile",
            Strategy::Stencil(StencilHint::Tile, _) => "stencil by a shared-memory tile of two dimensions",
            Strategy::Stencil(StencilHint::Rows, _) => "stencil by register tiling",
            Strategy::Reduction => "reduction by the fixed tree",
            Strategy::SegmentedRows => "segmented reduction by rows",
            Strategy::SegmentedColumns => "segmented reduction by columns",
            Strategy::CooperativeNest => "cooperative loop nest",
            Strategy::Product => "matrix product by tiles",
            Strategy::SequentialFold => "sequential fold",
            Strategy::TemporalBlocking => "temporal blocking in registers",
        })
    }
}
