//! The facts about a fused group, as values. They follow from the graph alone and are found before
//! any code is generated (`find_facts.rs`); every strategy of every target reads them.

pub mod accesses;
pub mod along;
pub mod bins;
pub mod destinations;
pub(super) mod find;
pub(super) mod find_reductions;
pub mod in_order;
pub mod loop_nests;
pub(super) mod merge_reductions;
pub(super) mod needed_reductions;
pub mod order_free;
pub(super) mod partition;
pub mod placed;
pub mod products;
pub mod put;
pub mod radix;
pub mod scan_reductions;
pub mod scans;
pub mod segments;
pub mod stencil;
pub mod thread_rows;
pub mod transposed;
pub mod work;

use super::boundary::interior::Interior;
use super::groups::{FusedGroup, Item};
use crate::core::NodeId;
use along::Along;
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use scan_reductions::ScanReductions;
use scans::Scan;
use std::rc::Rc;
use stencil::Stencil;

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
    /// The group as a segmented reduction, if it is one.
    pub segments: Option<Rc<Segments>>,
    /// The group as reductions of parts of vectors whose lengths are data, if it is that. The length depends on the
    /// segment.
    pub ragged: Option<Rc<Segments>>,
    /// The segmented reduction as one of columns, for CPUs.
    pub strips: Option<Rc<Strips>>,
    /// The elements that a segmented reduction also stores. Such a launch replaces others.
    pub stored_columns: Option<Rc<StoredColumns>>,
    /// The launch as one that keeps the rows or columns of several groups, if it is one.
    pub resident: Option<Rc<ResidentSegments>>,
    /// The launch as one that reduces rows, and then columns of values that depend on these.
    pub rows_and_columns: Option<Rc<RowsAndColumns>>,
    /// The launch as a whole scan, which one thread of a CPU computes, or blocks of a GPU in one pass.
    pub whole_scan: Option<Scan>,
    /// Whether another launch computes the whole scan on GPUs.
    pub is_for_cpus: bool,
    /// The reductions of what a whole scan gives, if the launch computes them, too.
    pub scan_reductions: Option<ScanReductions>,
    /// The launch as a chain of stencils.
    pub stencil_chain: Option<Rc<StencilChain>>,
    /// The length of the rows that elements reduce again and again ([`thread_rows`]).
    pub length_of_rows: Option<NodeId>,
    /// Number of elements in a CPU's unit of work.
    pub grain: u32,
    /// Whether the previous launch accessed an array that this one accesses. The array's end may still be in the L2
    /// cache, so blocks go from the end of the index space to its beginning.
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

/// A fused group that is a segmented reduction.
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
    /// Whether segments are parts of a vector, whose elements are read in any order.
    pub are_parts: bool,
    /// Whether some element may leave an error record.
    pub may_record: bool,
}

/// Matrices that are stored where their columns are reduced ([`super::alternatives::stored_columns`]).
pub struct StoredColumns {
    /// The variable of an element's row; that of its column is the index of the segment.
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

/// A launch that keeps the rows of several fused groups, or their columns: what the code of each group computes.
/// "Row" stands for columns, too.
pub struct ResidentSegments {
    /// Whether they are rows or columns.
    pub along: Along,
    /// The variable of the row's number; for columns, that of the column's index along the last axis.
    pub segment: NodeId,
    /// The row's indices along all axes but that of its elements, as functions of its number. For columns these are
    /// variables, the last of which is `segment`.
    pub outer: Vec<NodeId>,
    /// The variable of an element's index in the row.
    pub element: NodeId,
    /// The length of the rows.
    pub length: NodeId,
    /// What is computed of a row that is in registers, in order. Elements of stored arrays are computed where they
    /// are read, and stored last.
    pub stages: Vec<Stage>,
    /// What is computed of a row that is in memory, in order. Stored arrays are read from there.
    pub in_memory: Vec<Stage>,
    /// The stage of a row in registers that may leave error records, if there is one.
    pub recording: Option<usize>,
}

impl ResidentSegments {
    /// Returns the indices of an element, outermost first.
    pub fn index(&self) -> Vec<NodeId> {
        self.along.index(&self.outer, self.element)
    }
}

/// A launch that reduces the columns of the rows that it keeps.
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
        /// The reductions; for rows in memory they are part of the values.
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

/// A launch that computes several fused groups one after another. Each group reads what those before it store, around
/// its own indices ([`super::alternatives::stencil_chain`]).
pub struct StencilChain {
    /// The groups. Only the last one stores arrays in memory.
    pub stages: Vec<ChainStage>,
    /// The minimum length of the axes of the index space for which every array has elements.
    pub least: i64,
    /// Whether the kernel also has variants that compute the earlier stages again for each element, for calls that
    /// the variants of the chain do not serve. If not, the launch is an alternative to one launch for each stage.
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
    /// What it reads there at constant distances.
    pub stencils: Vec<Stencil>,
    /// Estimated number of operations of an element.
    pub cost: u32,
    /// Whether elements outside of the interior are computed from arrays in memory alone, because what the tiles hold
    /// beyond the edges does not suffice.
    pub has_edges: bool,
    /// For each array that it stores, the values in bounds and beyond the edges. Empty for the last group, if that
    /// computes no elements from arrays in memory alone.
    pub beyond: Vec<BeyondEdges>,
}

impl ChainStage {
    /// Whether nobody reads beyond the edges of the arrays that it stores.
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
    /// Whether nothing needs values beyond the edges, so that the value need only be right in bounds.
    pub is_plain: bool,
}
