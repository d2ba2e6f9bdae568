//! What kernels know of a GPU: the position of a thread, and the limits of devices.

/// The position of a thread in its grid. All values are i32.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Gpu {
    /// The thread's number in the block.
    Thread,
    /// The block's number in the grid.
    Block,
    /// The number of blocks of the grid.
    Blocks,
    /// The number of tiles that every 128 threads take, chosen at launch. In a kernel that makes several steps of an
    /// iteration, it is the number of steps.
    Span,
}

impl Gpu {
    /// Every variant.
    pub const ALL: [Gpu; 4] = [Gpu::Thread, Gpu::Block, Gpu::Blocks, Gpu::Span];
    /// Returns the name in the text form.
    pub fn name(self) -> &'static str {
        ["thread", "block", "blocks", "span"][self as usize]
    }
}

/// The compute capability of the oldest devices that kernels run on: 80 is 8.0.
pub const OLDEST_CAPABILITY: u32 = 80;
/// The compute capability of the oldest devices that have clusters of blocks.
pub const CLUSTER_CAPABILITY: u32 = 90;

/// The compute capability of the devices whose warpgroups multiply matrices in shared memory. No other devices do.
pub const WARPGROUP_CAPABILITY: u32 = 90;

/// The bytes of an asynchronous copy.
pub const COPY_BYTES: usize = 16;
/// The maximum bytes of shared memory that code may declare itself.
pub const STATIC_SHARED: u32 = 48 << 10;
/// The maximum bytes of shared memory that a launch may ask for on every supported device.
pub const MAX_SHARED: u32 = 99 << 10;
/// The maximum bytes of shared memory that a launch may ask for on some device. A kernel that needs more than the
/// device has does not run there.
pub const MAX_SHARED_ANYWHERE: u32 = 227 << 10;

/// The number of lanes of a warp.
pub const WARP: u32 = 32;
/// The number of threads of a warpgroup.
pub const WARPGROUP: u32 = 4 * WARP;
