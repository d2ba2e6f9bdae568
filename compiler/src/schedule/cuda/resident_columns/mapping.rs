//! How a strip of neighbouring columns is mapped to the threads of a block, or of a cluster, and how many registers a
//! thread needs for that.

use crate::core::{COLUMNS, TILE};
use crate::kernel::{Expr, Gpu, WARP};
use crate::plan::gpu::Grid;
use crate::schedule::cuda::expressions::masked;

/// The registers of a multiprocessor, and the registers of a thread that hold neither elements nor accumulators.
const REGISTERS: i64 = 1 << 16;
const OTHER_REGISTERS: i64 = 44;
/// The further registers of a thread while it joins its tree columns, for each level of the tree.
const REGISTERS_OF_JOIN: i64 = 4;
/// The further registers of a thread while a cluster joins.
const REGISTERS_OF_CLUSTER: i64 = 4;

/// How a strip of columns is mapped to threads.
#[derive(Clone, Copy)]
pub struct ResidentColumnsParams {
    /// The number of neighbouring columns of a thread, which is also the vector width of its accesses.
    pub v: i64,
    /// The number of threads side by side along a row.
    pub lanes: u32,
    /// The number of neighbouring tree columns that a thread has (of each of its matrix columns).
    pub tree_columns: u32,
    /// The number of elements of each tree column: 16, or fewer if all columns of the matrix are short.
    pub tile_rows: i64,
    /// The number of threads, one below the other, that share a tile. If they have fewer than 128 tree columns
    /// together, the matrix columns must be short.
    pub threads_of_tile: u32,
    /// The number of tiles of a column that the block has.
    pub tiles: u32,
    /// The number of blocks of a cluster that share a strip, each with some tiles of its columns; 1 without a
    /// cluster.
    pub blocks: u32,
}

impl ResidentColumnsParams {
    /// Returns the number of columns of a strip.
    pub fn width(&self) -> u32 {
        self.lanes * self.v as u32
    }

    /// Returns the length of the longest column that this mapping can hold.
    pub fn longest(&self) -> u32 {
        self.blocks * self.rows()
    }

    /// Returns the number of rows of the matrix that a block has.
    pub fn rows(&self) -> u32 {
        let of_tile = self.tree_columns * self.threads_of_tile * self.tile_rows as u32;
        debug_assert!(self.tiles == 1 || i64::from(of_tile) == TILE, "all tiles but the last are whole");
        self.tiles * of_tile
    }

    /// Returns the number of this block in its cluster (i32).
    pub fn rank(&self) -> Expr {
        masked(Expr::Place(Gpu::Block), self.blocks.into())
    }

    /// Returns the number of threads of a block.
    pub fn threads(&self) -> u32 {
        self.tiles * self.threads_of_tile * self.lanes
    }

    /// Returns the number of warps of a block.
    pub fn warps(&self) -> u32 {
        self.threads() / WARP
    }

    /// Returns the number of elements that a thread has.
    pub fn elements(&self) -> i64 {
        self.v * i64::from(self.tree_columns) * self.tile_rows
    }

    /// Returns the distances of the thread's rows from its first one, tree column by tree column: `c + 128 r`.
    pub fn offsets(&self) -> Vec<i64> {
        let of_column = |c: u32| (0..self.tile_rows).map(move |r| i64::from(c) + r * COLUMNS);
        (0..self.tree_columns).flat_map(of_column).collect()
    }

    /// Returns the grid, in which each block or each cluster has a strip.
    pub fn grid(&self) -> Grid {
        match self.blocks {
            1 => Grid::Segments(self.width()),
            blocks => Grid::Clusters { blocks, segments: self.width() },
        }
    }

    /// Returns the minimum number of resident blocks per multiprocessor: as many as its registers suffice for.
    /// `words` are those of an element, `of_moments` those of the counts and means of a tree column.
    pub fn min_resident_blocks(&self, words: i64, of_moments: i64) -> u32 {
        (REGISTERS / (self.registers(words, of_moments) * i64::from(self.threads()))).clamp(1, 16) as u32
    }

    /// Whether the registers of a multiprocessor suffice for one block.
    pub fn is_in_registers(&self, words: i64, of_moments: i64) -> bool {
        self.registers(words, of_moments) * i64::from(self.threads()) <= REGISTERS
    }

    fn registers(&self, words: i64, of_moments: i64) -> i64 {
        let others = if self.blocks > 1 { OTHER_REGISTERS + REGISTERS_OF_CLUSTER } else { OTHER_REGISTERS };
        let of_joins = REGISTERS_OF_JOIN * i64::from(self.tree_columns.ilog2());
        self.elements() * words + others + of_joins + self.v * of_moments
    }
}
