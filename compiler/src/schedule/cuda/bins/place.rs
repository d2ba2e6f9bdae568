//! Where the blocks of a kernel join elements to bins.

use crate::plan::gpu::Grid;
use crate::scalar::Ty;

/// The number of the result's bins that a block fills.
pub const FILLED: u32 = 4096;
/// A part has one block for each so many bins of the result, rounded up.
pub const FOR_BLOCK: u32 = 1024;

/// Where a block joins its elements.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum BinMemory {
    /// In shared memory, which holds `copies` copies of `bins` bins.
    Shared { bins: u32, copies: u32, ty: Ty },
    /// In the result, which this kernel fills with the identity.
    Filled,
    /// In the result, which an earlier kernel has filled. Frequent bins have accumulators of a type in shared memory.
    Result { ty: Ty },
}

impl BinMemory {
    /// Returns the grid of the kernel.
    pub fn grid(self) -> Grid {
        match self {
            BinMemory::Shared { .. } => Grid::Segments(1),
            BinMemory::Filled => Grid::Fills(FILLED),
            BinMemory::Result { .. } => Grid::Shares(FOR_BLOCK),
        }
    }
}
