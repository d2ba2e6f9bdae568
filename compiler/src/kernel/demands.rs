//! What a kernel needs of the device on which it runs.

use super::device::{CLUSTER_CAPABILITY, COPY_BYTES, OLDEST_CAPABILITY, STATIC_SHARED};
use super::{Kernel, Stmt};

impl Kernel {
    /// Returns the compute capability of the oldest devices on which the kernel runs.
    pub fn capability(&self) -> u32 {
        let has_later = self.cluster > 0 || self.multiplies_staged();
        if has_later { CLUSTER_CAPABILITY } else { OLDEST_CAPABILITY }
    }

    /// Whether the kernel has products of warpgroups, which only devices of [`WARPGROUP_CAPABILITY`] run.
    pub fn multiplies_staged(&self) -> bool {
        fn has_product(body: &[Stmt]) -> bool {
            body.iter()
                .any(|s| matches!(s, Stmt::MultiplyStaged { .. }) || s.blocks().into_iter().any(has_product))
        }
        self.main.as_deref().is_some_and(has_product)
    }

    /// Returns where a block's shared arrays lie, one behind the other. This walks through the whole kernel.
    pub fn shared_layout(&self) -> SharedLayout {
        let alignment = if self.multiplies_staged() { LINES_ALIGNMENT } else { COPY_BYTES as u32 };
        let (mut bytes, mut offsets) = (0, Vec::with_capacity(self.shared.len()));
        for (_, ty, len) in &self.shared {
            offsets.push(bytes);
            bytes += (ty.size() as u32 * len).next_multiple_of(alignment);
        }
        SharedLayout { alignment, offsets, bytes }
    }
}

/// Eight lines of a matrix that a warpgroup multiplies begin at a multiple of this.
const LINES_ALIGNMENT: u32 = 1024;

/// Where a block's shared arrays lie.
pub struct SharedLayout {
    /// The alignment of each in bytes.
    pub alignment: u32,
    /// Where each begins, in bytes.
    pub offsets: Vec<u32>,
    /// The bytes that all take.
    pub bytes: u32,
}

impl SharedLayout {
    /// Returns the bytes of dynamic shared memory that a launch must ask for: 0 if all of it can be declared
    /// statically.
    pub fn dynamic(&self) -> u32 {
        if self.bytes > STATIC_SHARED { self.bytes } else { 0 }
    }
}
