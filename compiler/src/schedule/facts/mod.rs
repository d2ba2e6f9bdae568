//! The facts about a fused group, as values. They follow from the graph alone and are found before any code is
//! generated (`find.rs`). The strategies of all targets read them, so that the analyses are made once.

pub mod accesses;
pub mod along;
pub mod bins;
pub mod destinations;
pub mod filter;
pub(super) mod find;
mod find_reductions;
pub mod in_order;
pub mod loop_nests;
pub(super) mod merge_reductions;
pub mod needed_range;
pub(super) mod needed_reductions;
pub mod order_free;
pub(super) mod partition;
pub mod placed;
pub mod products;
pub mod put;
pub mod radix;
pub mod row_folds;
pub mod scan_reductions;
pub mod scans;
pub mod scatter;
pub mod segments;
pub mod stencil;
pub mod thread_rows;
pub mod transposed;
pub mod whole_sort;
pub mod work;

use super::boundary::interior::Interior;
use super::groups::{FusedGroup, Item};
use crate::core::NodeId;
use along::Along;
use filter::Filter;
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use scan_reductions::ScanReductions;
use scans::Scan;
use scatter::Scatter;
use std::rc::Rc;
use stencil::Stencil;
use whole_sort::WholeSort;

/// The facts about a fused group, which are found before any code is generated.
pub struct Facts {
    /// Estimated number of operations of one element ([`work`]).
    pub cost: u32,
    /// The arrays that the group reads.
    pub accesses: Accesses,
    /// Whether some element may leave an error record.
    pub may_record: bool,
    /// Whether elements have reductions or folds of their own.
    pub nested: bool,
    /// If the group is a segmented reduction.
    pub segments: Option<Rc<Segments>>,
    /// If each element folds a row of its own.
    pub row_fold: Option<Rc<RowFold>>,
    /// If each element is computed from reductions of one length whose reads follow no axis ([`segments::Found`]).
    pub long_loops: Option<Rc<Segments>>,
    /// If the segments' elements leave records only where reads are out of bounds: the reductions with reads that are
    /// not tested, and the condition that all of them are in bounds.
    pub in_bounds: Option<Rc<InBounds>>,
    /// If the group reduces segments of vectors whose lengths are data (ragged arrays): the length depends on the
    /// segment.
    pub ragged: Option<Rc<Segments>>,
    /// If the group is a segmented reduction of columns that a CPU computes by strips of columns.
    pub strips: Option<Rc<Strips>>,
    /// If a segmented reduction also stores the elements that it reduces. Such a launch replaces others.
    pub stored_columns: Option<Rc<StoredColumns>>,
    /// If the launch computes several groups row by row, or column by column, and holds each row or column in
    /// registers, shared memory or a cache meanwhile.
    pub resident: Option<Rc<ResidentSegments>>,
    /// If the launch reduces rows, and also reduces columns of values that depend on the reductions of rows.
    pub rows_and_columns: Option<Rc<RowsAndColumns>>,
    /// If the launch is a whole scan, which one thread of a CPU computes, or blocks of a GPU in one pass.
    pub whole_scan: Option<Scan>,
    /// If the launch is a whole filter, which blocks of a GPU compute in one pass.
    pub filter: Option<Rc<Filter>>,
    /// Whether the launch of a whole scan is for CPUs only, because another launch computes it on GPUs.
    pub is_for_cpus: bool,
    /// If the launch is a whole sort, which one thread of a CPU computes.
    pub whole_sort: Option<Rc<WholeSort>>,
    /// If the launch is a whole scatter, which one thread of a CPU does in order.
    pub scatter: Option<Rc<Scatter>>,
    /// If the launch of a whole scan also reduces the scan's results.
    pub scan_reductions: Option<ScanReductions>,
    /// If the launch is a chain of stencils.
    pub stencil_chain: Option<Rc<StencilChain>>,
    /// If each element reduces its own row many times ([`thread_rows`]): the length of the rows.
    pub length_of_rows: Option<NodeId>,
    /// Number of elements in a CPU's unit of work.
    pub grain: u32,
    /// Whether the previous launch accessed an array that this one accesses. The end of the array may still be in the
    /// L2 cache of a GPU, so blocks are numbered from the end of the index space to its beginning.
    pub reuses_previous_arrays: bool,
}

/// The arrays that a fused group reads.
#[derive(Default)]
pub struct Accesses {
    /// The arrays that are read at the element's own index, in the order in which an element reads
    /// them: first on its fast path, then on its slow path.
    pub(super) own: IndexSet<NodeId, FxBuildHasher>,
    /// The arrays that are read at another index, or by a nested operation.
    pub(super) elsewhere: IndexSet<NodeId, FxBuildHasher>,
    /// Whether the group is a map over several dimensions that is computed row by row, because its elements need
    /// their indices. Any other group numbers its elements in row-major order: a read at the element's own indices is
    /// a read at its number.
    pub(super) by_rows: bool,
    /// Whether the group is a matrix product.
    pub(super) is_product: bool,
}

/// Values without total reads, and the condition under which they are the program's.
pub struct InBounds {
    /// The values.
    pub roots: Vec<NodeId>,
    /// The condition.
    pub condition: NodeId,
}

/// A fused group that is a segmented reduction.
#[derive(Clone)]
pub struct Segments {
    /// The variable of the segment's index.
    pub index: NodeId,
    /// The value of the element of each stored item.
    pub bodies: Vec<NodeId>,
    /// The nested reductions.
    pub nested: Vec<NodeId>,
    /// The length of a segment, which is the extent of all nested reductions.
    pub length: NodeId,
    /// Which elements are contiguous.
    pub along: Along,
    /// Whether segments are parts of a vector that lie apart, whatever the order in which their elements are read.
    pub are_parts: bool,
    /// Whether some element may leave an error record.
    pub may_record: bool,
}

/// A fold of each element's row.
pub struct RowFold {
    /// The index of an element.
    pub index: NodeId,
    /// The fold's nodes: several if more than one component of a tuple is needed.
    pub nodes: Vec<NodeId>,
    /// The number of elements of a row, which is the same for all rows.
    pub length: NodeId,
}

/// Matrices that the launch stores while it reduces their columns ([`super::alternatives::stored_columns`]).
pub struct StoredColumns {
    /// The variable of an element's row. The variable of its column is the index of the segment.
    pub row: NodeId,
    /// The items.
    pub items: Vec<Item>,
    /// The value of an element of each item.
    pub values: Vec<NodeId>,
}

/// A segmented reduction of columns whose elements leave no error records.
pub struct Strips {
    /// The reduction.
    pub segments: Rc<Segments>,
    /// The condition that all reads are in bounds; `None` if they always are. Where it does not hold,
    /// the program's own code runs.
    pub condition: Option<NodeId>,
}

/// A launch that computes several fused groups row by row, or column by column. In the comments of the fields, "row"
/// stands for a column, too. The same stages are described twice, for the two places where a row may be held.
pub struct ResidentSegments {
    /// Whether they are rows or columns.
    pub along: Along,
    /// The variable of the row's number. For columns: the variable of the column's index along the last axis.
    pub segment: NodeId,
    /// The row's indices along all axes but that of its elements, as functions of its number. For columns these are
    /// variables, the last of which is `segment`.
    pub outer: Vec<NodeId>,
    /// The variable of an element's index in the row.
    pub element: NodeId,
    /// The length of the rows.
    pub length: NodeId,
    /// What is computed of a row that is held in registers, in order. An element of a stored array is computed again
    /// in each stage that needs it, and stored last.
    pub stages: Vec<Stage>,
    /// What is computed of a row that is held in a cache, in order. Each stage stores its arrays, and later stages
    /// read them from memory.
    pub in_memory: Vec<Stage>,
    /// The number of the stage in `stages` that may leave error records, if there is one.
    pub recording: Option<usize>,
}

impl ResidentSegments {
    /// Returns the indices of an element, outermost first.
    pub fn index(&self) -> Vec<NodeId> {
        self.along.index(&self.outer, self.element)
    }
}

/// A launch that holds each row while it reduces it, and also reduces columns of values of these rows.
pub struct RowsAndColumns {
    /// The rows: reductions, and values that follow from them.
    pub rows: ResidentSegments,
    /// The columns. Their index is that of the row's elements.
    pub columns: Segments,
    /// The items that store values of columns.
    pub items: Vec<Item>,
}

/// What one fused group computes of a row.
pub enum Stage {
    /// Reductions of the row, and values that follow from them.
    Reduce {
        /// The reductions. For rows in memory this is empty, and the values contain the reductions.
        reductions: Vec<NodeId>,
        /// The value of each item, and the read by which later stages get it.
        values: Vec<RowValue>,
    },
    /// Arrays of elements of the row.
    Store {
        /// The arrays.
        arrays: Vec<RowArray>,
    },
}

/// An array of elements of the row.
pub struct RowArray {
    /// The array, as its elements are computed here.
    pub computed: NodeId,
    /// The item that is stored.
    pub item: Item,
}

/// A value of a row.
pub struct RowValue {
    /// The read of it in later stages.
    pub read: NodeId,
    /// The value.
    pub value: NodeId,
    /// The item, if its array is stored.
    pub stored: Option<Item>,
}

/// A launch that computes several fused groups, the stages, one after another in tiles: temporal blocking of
/// different stencils. Each stage reads what earlier stages compute, around its own indices
/// ([`super::alternatives::stencil_chain`]).
pub struct StencilChain {
    /// The groups. Only the last one stores arrays in memory.
    pub stages: Vec<ChainStage>,
    /// The minimum length of each axis of the index space, so that the arrays of all stages have elements.
    pub least: i64,
    /// Whether the kernel also has variants that compute the earlier stages again for each element, for calls that
    /// the variants of the chain do not serve. If not, such calls run one launch for each stage: this launch is an
    /// alternative to these (`Step::Instead`).
    pub has_recomputing_variants: bool,
    /// Whether a GPU has tiles for the chain that are faster than those variants.
    pub has_faster_gpu_tiles: bool,
}

/// One fused group of a chain of stencils.
pub struct ChainStage {
    /// The group.
    pub fused: FusedGroup,
    /// Its interior.
    pub inner: Interior,
    /// The arrays that the interior reads at constant distances.
    pub stencils: Vec<Stencil>,
    /// Estimated number of operations of an element.
    pub cost: u32,
    /// Whether elements outside of the interior have code of their own, which reads arrays in memory only and
    /// computes earlier stages again, because the halo of the tiles does not suffice for them.
    pub has_edges: bool,
    /// For each array that the stage computes, its values in bounds and beyond the edges, as expressions of arrays in
    /// memory. Empty for the last stage if its `has_edges` is false.
    pub beyond: Vec<BeyondEdges>,
}

impl ChainStage {
    /// Whether no later stage reads beyond the edges of the arrays that this one computes.
    pub fn is_plain(&self) -> bool {
        self.beyond.iter().all(|b| b.is_plain)
    }
}

/// The values of an array in bounds and beyond its edges, computed from arrays in memory.
pub struct BeyondEdges {
    /// The variables of the indices.
    pub at: Vec<NodeId>,
    /// The value.
    pub value: NodeId,
    /// Estimated number of its operations.
    pub operations: u32,
    /// Whether no stage reads beyond the edges, so that `value` need only be right in bounds.
    pub is_plain: bool,
}
