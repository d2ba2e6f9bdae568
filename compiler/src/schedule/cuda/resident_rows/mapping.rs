//! How a row is mapped to threads: to some lanes of a warp, to a warp, to the warps of a block, or to the blocks of a
//! cluster. The parameters also say how many registers a thread needs, hence which mappings fit a multiprocessor.

use crate::core::NodeId;
use crate::kernel::{Expr, WARP};
use crate::plan::gpu::Grid;
use crate::schedule::cuda::resident_segments::Demand;

/// Threads of a block if each of its warps has rows of its own.
pub(super) const THREADS: u32 = 128;
/// The registers of a multiprocessor; then the registers of a thread that hold no elements, if an element has one
/// word, if it has several, and if each element is loaded by an access of its own.
const REGISTERS: i64 = 1 << 16;
const OTHER_REGISTERS: i64 = 32;
const OTHER_REGISTERS_OF_WORDS: i64 = 44;
const MORE_OTHER_REGISTERS: i64 = 52;
/// Further registers of a thread whose elements have several words, if these come from several arrays, have accesses
/// of their own, or take at least `MANY_WORDS` words in all. Without these registers the assembler spills elements.
const MORE_REGISTERS: i64 = 8;
const MANY_WORDS: i64 = 64;

/// How rows are mapped to threads.
#[derive(Clone, Copy)]
pub struct ResidentRowsParams {
    /// The number of lanes of a warp that share a tile of a row, or what the warp has of it.
    pub lanes: u32,
    /// The number of rows of a tile in which a lane has elements: 16, or fewer if all rows of the matrix are short.
    pub tile_rows: i64,
    /// The number of columns of a lane: 4, or 2 if two warps share a tile.
    pub columns: i64,
    /// The number of warps of a block that share a row.
    pub warps: u32,
    /// The number of blocks of a cluster that share a row; 1 if there is no cluster.
    pub blocks: u32,
    /// The number of rows of the matrix that the same lanes process together.
    pub each: i64,
    /// The vector width of accesses.
    pub v: i64,
    /// Whether blocks prefetch later rows.
    pub prefetch: bool,
}

impl ResidentRowsParams {
    /// Returns the mapping of one row to warps of a block in which an access takes as many elements as a lane has
    /// columns.
    pub fn of_warps(tile_rows: i64, columns: i64, warps: u32) -> ResidentRowsParams {
        ResidentRowsParams {
            lanes: WARP,
            tile_rows,
            columns,
            warps,
            blocks: 1,
            each: 1,
            v: columns,
            prefetch: false,
        }
    }

    /// Returns the number of a row's elements that a lane has.
    pub fn elements_per_lane(&self) -> i64 {
        self.columns * self.tile_rows
    }

    /// Returns the number of elements of a row that the warps of a block have.
    pub fn elements_per_block(&self) -> u32 {
        self.lanes * self.warps * self.elements_per_lane() as u32
    }

    /// Returns the length of the longest row that this mapping can hold.
    pub fn longest(&self) -> u32 {
        self.blocks * self.elements_per_block()
    }

    /// Returns the number of threads of a block.
    pub fn threads(&self) -> u32 {
        if self.warps > 1 { self.warps * WARP } else { THREADS }
    }

    /// Returns the grid: one row for a cluster or a block, or several for a block.
    pub fn grid(&self) -> Grid {
        match (self.blocks, self.warps) {
            (1, 1) => Grid::Segments(THREADS / self.lanes * self.each as u32),
            (1, _) => Grid::Segments(1),
            (blocks, _) => Grid::Clusters { blocks, segments: 1 },
        }
    }

    /// Returns the minimum number of resident blocks per multiprocessor: as many as its registers suffice for.
    pub fn min_resident_blocks(&self, demand: &Demand) -> u32 {
        let is_tight = demand.arrays > 1 || self.v == 1 || self.words(demand.words) >= MANY_WORDS;
        let more = if demand.words > 1 && is_tight { MORE_REGISTERS } else { 0 };
        let of_thread = self.registers(demand.words, demand.of_moments) + more;
        (REGISTERS / (of_thread * i64::from(self.threads()))).clamp(1, 16) as u32
    }

    /// Whether the registers of a multiprocessor suffice for one block.
    pub fn is_in_registers(&self, words: i64, of_moments: i64) -> bool {
        self.registers(words, of_moments) * i64::from(self.threads()) <= REGISTERS
    }

    /// Returns the words of registers that a thread's elements take.
    fn words(&self, of_element: i64) -> i64 {
        self.elements_per_lane() * self.each * of_element
    }

    fn registers(&self, words: i64, of_moments: i64) -> i64 {
        let others = match (self.v, words) {
            (1, _) => MORE_OTHER_REGISTERS,
            (_, 1) => OTHER_REGISTERS,
            _ => OTHER_REGISTERS_OF_WORDS,
        };
        self.words(words) + others + self.columns * of_moments
    }
}

/// Neighbouring elements of a lane, which one access loads or stores.
pub(super) struct Group {
    /// The index of each element.
    pub indices: Vec<NodeId>,
    /// The index in the row of the lane's first element, and the distance from it to the group's first element. Both
    /// elements may be beyond the row.
    pub start: Expr,
    pub offset: i64,
    /// The variable of the first element's index, and its value in computations: if the group is beyond the row, the
    /// index of the last group in the row.
    pub first: (NodeId, Expr),
    /// Whether the row has these elements.
    pub is_present: Expr,
    /// The number of the first element's column among the lane's columns.
    pub column: usize,
}
