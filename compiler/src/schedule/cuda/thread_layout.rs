//! How the elements of a fused group lie in a thread's registers.

/// How the elements of a fused group lie in a thread's registers.
#[derive(Clone, Copy, Default)]
pub struct ThreadLayout {
    /// Neighbours of each thread, accessed at once.
    pub v: i64,
    /// In planes, a thread's columns are as far apart as a warp is wide, so that a warp's accesses
    /// are one line of memory at any alignment.
    pub unaligned: bool,
    /// Strided arrays, else contiguous.
    pub strided: bool,
    /// Threads of a block.
    pub threads: u32,
    /// Blocks count from the end of the index space.
    pub descending: bool,
}
