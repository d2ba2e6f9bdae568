//! The parameters of a contraction: its reductions, the values of its sides, and the sizes of its tiles.

use crate::core::{COLUMNS, NodeId, TILE};
use crate::kernel::WARP;
use crate::plan::gpu::Grid;
use crate::schedule::facts::loop_nests::Loop;
use crate::schedule::facts::products;
use rustc_hash::FxHashSet as HashSet;

/// Threads of a block: 16 by 16.
pub const THREADS: u32 = 256;
/// Threads along each side of a block.
pub(super) const SIDE_THREADS: i64 = 16;
const _: () = assert!((SIDE_THREADS * SIDE_THREADS) as u32 == THREADS);
/// The maximum number of inner indices, for which the tree's second level has one tree column for each tile. Operands
/// of longer reductions take so much memory that there can be few of these; other variants let several blocks share
/// each of them.
pub(super) const MAX_LENGTH: u32 = (TILE * COLUMNS) as u32;
/// The rows of a tile of the tree.
pub(super) const ROWS: i64 = TILE / COLUMNS;

/// A fused group as a contraction, with its tiles.
pub struct ContractionParams {
    /// The variables of the element's indices: that of the axis outside of rows and columns, if there are three axes,
    /// then those of the row and of the column.
    pub(super) index: Vec<NodeId>,
    /// Whether the axis of rows stands before the one outside of rows and columns.
    pub(super) rows_first: bool,
    /// The variable of the inner index.
    pub(super) k: NodeId,
    /// The reductions.
    pub(super) of: Loop,
    /// The nodes of the values that the items store.
    pub(super) roots: Vec<NodeId>,
    /// The values that depend on rows, on columns, and on neither.
    pub(super) sides: [Side; 3],
    /// The number of tree columns of k that a thread joins in registers, which is also the number that a block stages
    /// together in a full tile.
    pub(super) staged: i64,
    /// The number of rows by which the loop over a tree column is unrolled. The first row is outside the loop.
    pub(super) unrolled: i64,
    /// Whether elements may leave error records.
    pub(super) may_record: bool,
}

/// The values of one side: of the rows of the result, of its columns, or of all elements.
pub(super) struct Side {
    /// The values that depend on k, which are staged.
    pub(super) parts: Vec<NodeId>,
    /// The values that do not depend on k.
    pub(super) invariants: Vec<NodeId>,
    /// Whether k is the contiguous index of an array that is read.
    pub(super) along_k: bool,
    /// The number of rows (or columns) of a thread, and of a block.
    pub(super) per_thread: i64,
    pub(super) size: i64,
}

impl ContractionParams {
    /// Returns how blocks cover the result.
    pub fn grid(&self) -> Grid {
        let [rows, columns] = [0, 1].map(|s| self.sides[s].size as u32);
        match self.rows_first {
            true => Grid::Volume { planes: rows, rows: 1, columns },
            false => Grid::Plane { rows, columns },
        }
    }

    /// Returns the axes of rows and of columns, and the one outside of these.
    pub(super) fn axes(&self) -> ([usize; 2], Option<usize>) {
        products::axes(self.index.len() > 2, self.rows_first)
    }

    /// Returns the values of all sides: those that are known before the step of an element.
    pub(super) fn ready(&self) -> HashSet<NodeId> {
        self.sides.iter().flat_map(|s| s.parts.iter().chain(&s.invariants)).copied().collect()
    }

    /// Returns the number of elements of a thread.
    pub(super) fn elements(&self) -> i64 {
        self.sides[0].per_thread * self.sides[1].per_thread
    }

    /// Returns the distance in shared memory from one slot to the next. If neighbouring threads have neighbouring k,
    /// it includes padding that keeps their stores free of bank conflicts.
    pub(super) fn pitch(&self, side: usize) -> i64 {
        let s = &self.sides[side];
        if s.along_k && s.size > 1 { s.size + i64::from(WARP) / self.staged } else { s.size }
    }
}
