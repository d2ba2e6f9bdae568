//! How rows are mapped to the threads of a block.

use crate::core::NodeId;
use crate::kernel::{Expr, WARP};
use crate::plan::gpu::Grid;
use crate::schedule::cuda::resident_segments::Demand;

/// Threads of a block if each of its warps has rows of its own.
pub(super) const THREADS: u32 = 128;
/// The registers of a multiprocessor, and the registers of a thread that hold no elements: if an element has one
/// word, if it has several, and if each element has an access of its own.
const REGISTERS: i64 = 1 << 16;
const OTHER_REGISTERS: i64 = 32;
const OTHER_REGISTERS_OF_WORDS: i64 = 44;
const MORE_OTHER_REGISTERS: i64 = 52;
/// Further registers of a thread if elements have several words and come from several arrays, have accesses of their
/// own, or take at least this many words of the thread. Without them, the assembler keeps some elements in memory.
const MORE_REGISTERS: i64 = 8;
const MANY_WORDS: i64 = 64;

/// How rows are mapped to threads.
#[derive(Clone, Copy)]
pub struct ResidentRowsParams {
    /// The number of lanes that share a tile of a row.
    pub lanes: u32,
    /// The number of rows of a tile.
    pub tile_rows: i64,
    /// The number of columns of a lane: 4, or 2 if two warps share a tile.
    pub columns: i64,
    /// The number of warps of a block that share a row.
    pub warps: u32,
    /// The number of blocks of a cluster that share a row; 1 if there is no cluster.
    pub blocks: u32,
    /// The number of rows that the lanes take at once.
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

    /// Returns the elements of a row that a lane has.
    pub fn elements_per_lane(&self) -> i64 {
        self.columns * self.tile_rows
    }

    /// Returns the number of elements of a row that the warps of a block have.
    pub fn elements_per_block(&self) -> u32 {
        self.lanes * self.warps * self.elements_per_lane() as u32
    }

    /// Returns the length of the longest row.
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

    /// Returns the number of blocks for which a multiprocessor should have registers, given what an element takes.
    pub fn min_resident_blocks(&self, demand: &Demand) -> u32 {
        let is_tight = demand.arrays > 1 || self.v == 1 || self.words(demand.words) >= MANY_WORDS;
        let more = if demand.words > 1 && is_tight { MORE_REGISTERS } else { 0 };
        let of_thread = self.registers(demand.words, demand.of_moments) + more;
        (REGISTERS / (of_thread * i64::from(self.threads()))).clamp(1, 16) as u32
    }

    /// Whether a multiprocessor has registers for everything that the threads of a block need.
    pub fn is_in_registers(&self, words: i64, of_moments: i64) -> bool {
        self.registers(words, of_moments) * i64::from(self.threads()) <= REGISTERS
    }

    /// Returns the words of a thread's elements.
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

/// Neighbouring elements of a lane that one access takes.
pub(super) struct Group {
    /// The index of each element.
    pub indices: Vec<NodeId>,
    /// The index of the lane's first element, and the distance from it to this group's first element. Both may be
    /// beyond the row.
    pub start: Expr,
    pub offset: i64,
    /// The variable of the first element's index, and the value that computations use for it. If the elements are
    /// absent, that is the index of a group that is present.
    pub first: (NodeId, Expr),
    /// Whether the row has these elements.
    pub is_present: Expr,
    /// The column of the first element.
    pub column: usize,
}
