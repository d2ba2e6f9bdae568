//! How the elements of a fused group are laid out over the threads of a block.

/// How the elements of a fused group are laid out over the threads of a block.
#[derive(Clone, Copy, Default)]
pub struct ThreadLayout {
    /// The vector width: neighbouring elements of a thread that one access takes.
    pub v: i64,
    /// Whether the columns of a thread, in stencils of matrices, are a warp's width apart. Then the accesses of a
    /// warp are coalesced whatever the alignment of rows.
    pub unaligned: bool,
    /// Whether arrays may have any strides; else they are contiguous.
    pub strided: bool,
    /// Threads of a block.
    pub threads: u32,
    /// Whether blocks are numbered from the end of the index space.
    pub descending: bool,
}
