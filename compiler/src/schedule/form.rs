//! What a pass becomes on a target, in the field's terms: for reports. Who decides notes it ([`Lower::form`](super::lower::Lower)).

use crate::core::StencilHint;
use std::fmt;

/// The form of one version of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Form {
    /// Scalars only, no pass over data.
    #[default]
    Scalars,
    /// Every element on its own.
    Map,
    /// Every element on its own, each with loops.
    Loops,
    /// A map whose elements share what they read of an array of that rank.
    Stencil(StencilHint, u8),
    /// All elements are joined by the fixed tree.
    Reduction,
    /// Reductions of sequences whose neighbours lie side by side.
    SegmentedRows,
    /// Reductions of sequences that lie side by side.
    SegmentedColumns,
    /// Loops that all elements walk together, tile by tile.
    Nest,
    /// A matrix product: squares of results from tiles of both sides.
    Product,
    /// In order, one element after another.
    Fold,
    /// Several steps of an iteration, whose elements stay in registers in between.
    Steps,
}

impl Form {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Form::Scalars => "scalars",
            Form::Map => "map",
            Form::Loops => "loops",
            Form::Stencil(StencilHint::Direct, _) => "stencil-direct",
            Form::Stencil(StencilHint::Window, _) => "stencil-window",
            Form::Stencil(StencilHint::Tile, 0 | 1) => "stencil-tile",
            Form::Stencil(StencilHint::Tile, _) => "stencil-patch",
            Form::Stencil(StencilHint::Rows, _) => "stencil-rows",
            Form::Reduction => "reduction",
            Form::SegmentedRows => "segmented-rows",
            Form::SegmentedColumns => "segmented-columns",
            Form::Nest => "nest",
            Form::Product => "product",
            Form::Fold => "fold",
            Form::Steps => "steps",
        }
    }
}

impl fmt::Display for Form {
    /// In words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Form::Scalars => "scalars only, no pass over data",
            Form::Map => "map",
            Form::Loops => "map with a loop in each element",
            Form::Stencil(StencilHint::Direct, _) => "stencil, each element with loads of its own",
            Form::Stencil(StencilHint::Window, _) => "stencil by a window of registers",
            Form::Stencil(StencilHint::Tile, 0 | 1) => "stencil by a tile of shared memory",
            Form::Stencil(StencilHint::Tile, _) => "stencil by a patch of shared memory",
            Form::Stencil(StencilHint::Rows, _) => "stencil by rows of registers",
            Form::Reduction => "reduction by the fixed tree",
            Form::SegmentedRows => "segmented reduction by rows",
            Form::SegmentedColumns => "segmented reduction by columns",
            Form::Nest => "tiled loop nest",
            Form::Product => "matrix product by tiles",
            Form::Fold => "sequential fold",
            Form::Steps => "several steps of a stencil in registers",
        })
    }
}
