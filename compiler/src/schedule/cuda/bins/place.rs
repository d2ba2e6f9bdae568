//! Where the blocks of a kernel join elements to bins.

use crate::plan::gpu::Grid;
use crate::scalar::Ty;

/// The bins of the result that a block fills.
pub const FILLED: u32 = 4096;
/// Bins per block: a part has one block for each so many bins, rounded up.
pub const FOR_BLOCK: u32 = 1024;

/// Where a block joins its elements.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum BinMemory {
    /// In shared memory, which holds so many bins, in so many copies.
    Shared { bins: u32, copies: u32, ty: Ty },
    /// In the result, which it fills before that.
    Filled,
    /// In the result, which is filled.
    Result,
}

impl BinMemory {
    /// The blocks of the kernel.
    pub fn grid(self) -> Grid {
        match self {
            BinMemory::Shared { .. } => Grid::Segments(1),
            BinMemory::Filled => Grid::Fills(FILLED),
            BinMemory::Result => Grid::Shares(FOR_BLOCK),
        }
    }
}
