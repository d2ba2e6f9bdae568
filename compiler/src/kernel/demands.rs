//! What a kernel needs of the device on which it runs.

use super::device::{CLUSTER_CAPABILITY, COPY_BYTES, OLDEST_CAPABILITY, STATIC_SHARED};
use super::{Kernel, Stmt};

impl Kernel {
    /// Returns the compute capability of the oldest devices on which it runs.
    pub fn capability(&self) -> u32 {
        let has_later = self.cluster > 0 || self.multiplies_staged();
        if has_later { CLUSTER_CAPABILITY } else { OLDEST_CAPABILITY }
    }

    /// Whether it has products of warpgroups, which only devices of [`WARPGROUP_CAPABILITY`] run.
    pub fn multiplies_staged(&self) -> bool {
        fn has_product(body: &[Stmt]) -> bool {
            body.iter()
                .any(|s| matches!(s, Stmt::MultiplyStaged { .. }) || s.blocks().into_iter().any(has_product))
        }
        self.main.as_deref().is_some_and(has_product)
    }

    /// Returns the number of bytes of which the addresses of a block's shared arrays are multiples: eight lines of a
    /// matrix that a warpgroup multiplies, or else the size of a copy.
    pub fn shared_alignment(&self) -> u32 {
        if self.multiplies_staged() { 1024 } else { COPY_BYTES as u32 }
    }

    /// Returns the bytes of shared memory that a launch must ask for: 0 if the code may declare all of it itself.
    pub fn dynamic_shared(&self) -> u32 {
        let bytes = self.shared_offsets().last().copied().unwrap_or(0);
        if bytes > STATIC_SHARED { bytes } else { 0 }
    }

    /// Returns, in bytes, where each of a block's shared arrays begins, one behind the other, and where the last one
    /// ends.
    pub fn shared_offsets(&self) -> Vec<u32> {
        let (mut end, align) = (0, self.shared_alignment());
        let ends = self.shared.iter().map(|(_, ty, len)| {
            end += (ty.size() as u32 * len).next_multiple_of(align);
            end
        });
        [0].into_iter().chain(ends).collect()
    }
}
