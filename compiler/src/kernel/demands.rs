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

    /// Returns the alignment in bytes of a block's shared arrays: eight lines of a matrix if a warpgroup multiplies,
    /// or else the size of an asynchronous copy.
    pub fn shared_alignment(&self) -> u32 {
        if self.multiplies_staged() { 1024 } else { COPY_BYTES as u32 }
    }

    /// Returns the bytes of dynamic shared memory that a launch must ask for: 0 if all of it can be declared
    /// statically.
    pub fn dynamic_shared(&self) -> u32 {
        let bytes = self.shared_offsets().last().copied().unwrap_or(0);
        if bytes > STATIC_SHARED { bytes } else { 0 }
    }

    /// Returns the offsets in bytes at which a block's shared arrays begin, one behind the other, and their total
    /// size.
    pub fn shared_offsets(&self) -> Vec<u32> {
        let (mut end, align) = (0, self.shared_alignment());
        let ends = self.shared.iter().map(|(_, ty, len)| {
            end += (ty.size() as u32 * len).next_multiple_of(align);
            end
        });
        [0].into_iter().chain(ends).collect()
    }
}
