//! The strategies of launches. A target's `select` chooses a strategy for each variant of a kernel
//! before any code is generated; the code, the launch and the reports follow from it.

use crate::core::StencilHint;
use std::fmt;

/// The strategy of one variant of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Strategy {
    /// Only scalars are computed; there is no loop over data.
    #[default]
    Scalars,
    /// Every element is computed independently.
    Map,
    /// Every element is computed independently, by code that has loops.
    ElementLoops,
    /// A map whose elements share the reads of a neighbourhood. The number is the rank of the
    /// arrays that are read.
    Stencil(StencilHint, u8),
    /// A map that reads matrices transposed, mirrored or not, through tiles in shared memory.
    TransposedTile,
    /// All elements are joined by the fixed tree (semantics 5.1).
    Reduction,
    /// A segmented reduction of rows: the elements of one segment are contiguous.
    SegmentedRows,
    /// A segmented reduction of columns: the elements of neighbouring segments at one position are
    /// contiguous.
    SegmentedColumns,
    /// A reduction of segments whose lengths are data, each by a warp or by a lane.
    Ragged,
    /// Each thread has a whole row in its registers, which its element reduces again and again.
    ThreadRows,
    /// Several reductions and maps of each row, which is read from memory once.
    ResidentRows,
    /// Several reductions and maps of each strip of columns, which is read from memory once.
    ResidentColumns,
    /// Loops that all elements of a block walk together, tile by tile through shared memory.
    CooperativeNest,
    /// A tiled contraction: elements that reduce values of their row and values of their column over
    /// one inner index, in block tiles that share what they read.
    Contraction,
    /// A matrix product: block tiles of results are computed from tiles of both factors.
    Product,
    /// A matrix product by tensor cores, where the author allows them.
    TensorProduct,
    /// A fold in index order. One thread folds; on a GPU the other threads of its block compute the
    /// elements.
    SequentialFold,
    /// A part of a scan: the totals of its tiles, what stands before each, or their scans after that.
    Scan,
    /// A whole scan, in one launch that reads each element once.
    OnePassScan,
    /// A whole filter, in one launch that reads each element once.
    OnePassFilter,
    /// A reduction into bins: each part of the elements has bins of its own, to which its elements are joined.
    Bins,
    /// Elements that are stored at their destinations.
    Put,
    /// A step of a radix sort: the counts of digits in each tile, or the moves of its elements.
    RadixSort,
    /// A whole radix sort, by one thread.
    WholeSort,
    /// Several steps of an iterated stencil in one launch; elements stay in registers between
    /// steps.
    TemporalBlocking,
    /// Several stencils one after another in one launch; the results of all but the last are in shared-memory tiles,
    /// on a CPU in rolling buffers of rows.
    StencilChain,
}

impl Strategy {
    /// Returns the strategy's name in JSON.
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
            Strategy::Stencil(StencilHint::Planes, _) => "stencil-planes",
            Strategy::TransposedTile => "transposed-tile",
            Strategy::Reduction => "reduction",
            Strategy::SegmentedRows => "segmented-rows",
            Strategy::SegmentedColumns => "segmented-columns",
            Strategy::Ragged => "segments",
            Strategy::ThreadRows => "thread-rows",
            Strategy::ResidentRows => "resident-rows",
            Strategy::ResidentColumns => "resident-columns",
            Strategy::CooperativeNest => "nest",
            Strategy::Contraction => "contraction",
            Strategy::Product => "product",
            Strategy::TensorProduct => "tensor-product",
            Strategy::SequentialFold => "fold",
            Strategy::Scan => "scan",
            Strategy::OnePassScan => "one-pass-scan",
            Strategy::OnePassFilter => "one-pass-filter",
            Strategy::Bins => "bins",
            Strategy::Put => "put",
            Strategy::RadixSort => "radix-sort",
            Strategy::WholeSort => "whole-sort",
            Strategy::TemporalBlocking => "steps",
            Strategy::StencilChain => "stencil-chain",
        }
    }

    /// Whether the code reads whole rows separately, so that each row of an array must be aligned,
    /// not only its first element.
    pub fn is_row_aligned(self) -> bool {
        use Strategy::*;
        match self {
            SegmentedRows | SegmentedColumns | ThreadRows | ResidentRows | ResidentColumns
            | CooperativeNest | Product | TensorProduct | TransposedTile => true,
            Scalars | Map | ElementLoops | Stencil(..) | Reduction | Contraction | SequentialFold | Scan
            | OnePassScan | OnePassFilter | Bins | Put | RadixSort | WholeSort | Ragged
            | TemporalBlocking | StencilChain => false,
        }
    }
}

impl fmt::Display for Strategy {
    /// Writes the strategy in words.
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
            Strategy::Stencil(StencilHint::Planes, _) => "stencil of volumes, plane by plane",
            Strategy::TransposedTile => "map, with transposed reads through a shared-memory tile",
            Strategy::Reduction => "reduction by the fixed tree",
            Strategy::SegmentedRows => "segmented reduction by rows",
            Strategy::SegmentedColumns => "segmented reduction by columns",
            Strategy::Ragged => "reduction of segments of any lengths",
            Strategy::ThreadRows => "rows in the registers of threads",
            Strategy::ResidentRows => "all reductions and maps of a row at once",
            Strategy::ResidentColumns => "all reductions and maps of a strip of columns at once",
            Strategy::CooperativeNest => "cooperative loop nest",
            Strategy::Contraction => "tiled contraction",
            Strategy::Product => "matrix product by tiles",
            Strategy::TensorProduct => "matrix product by tensor cores",
            Strategy::SequentialFold => "sequential fold",
            Strategy::Scan => "scan by tiles",
            Strategy::OnePassScan => "scan in one pass",
            Strategy::OnePassFilter => "filter in one pass",
            Strategy::Bins => "bins of parts",
            Strategy::Put => "stores at destinations",
            Strategy::RadixSort => "radix sort by tiles",
            Strategy::WholeSort => "radix sort of the whole vector",
            Strategy::TemporalBlocking => "temporal blocking",
            Strategy::StencilChain => "chain of stencils, stage by stage",
        })
    }
}
