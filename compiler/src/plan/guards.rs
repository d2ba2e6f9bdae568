//! The guards of a variant of a kernel for GPUs: when its code is right.

use std::num::NonZeroU32;

/// What must hold for a variant's code to be right, as the strategy knows before the code is written. Writing the
/// code then finds the conditions on single arrays (`GpuVariant::flat`, `GpuVariant::aligned`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Guards {
    /// All arrays are contiguous along the last axis. The strides of vectors are then not parameters of the kernel.
    pub contiguous: bool,
    /// The number of elements, and for each array the sum of extents times strides, stays below
    /// [`NARROW`](super::policy::NARROW) in magnitude.
    pub narrow: bool,
    /// No array that the kernel writes is one that it reads.
    pub noalias: bool,
    /// The device's compute capability is at least this: 90 is 9.0.
    pub capability: Option<u32>,
    /// The device's compute capability is exactly this.
    pub architecture: Option<u32>,
    /// Segments have at most this many elements.
    pub longest: Option<u32>,
    /// The length of segments is a positive multiple of this number.
    pub multiple: Option<NonZeroU32>,
    /// The last extent of the index space is a positive multiple of this number.
    pub neighbours: Option<NonZeroU32>,
    /// Every extent of the index space is at least this long.
    pub extent: Option<NonZeroU32>,
}

impl Guards {
    /// Returns the guards of contiguous arrays with 64-bit indices.
    pub fn contiguous() -> Guards {
        Guards { contiguous: true, ..Guards::default() }
    }

    /// Returns the guards of arrays with any strides, with 64-bit indices: there are none.
    pub fn strided() -> Guards {
        Guards::default()
    }

    /// Whether devices of this compute capability run the code.
    pub fn allows_device(&self, capability: u32) -> bool {
        self.capability.is_none_or(|least| capability >= least)
            && self.architecture.is_none_or(|only| capability == only)
    }

    /// Whether segments may have this length.
    pub fn allows(&self, length: u64) -> bool {
        self.longest.is_none_or(|most| length <= most.into()) && is_multiple(length, self.multiple)
    }

    /// Whether the index space may have these extents.
    pub fn allows_extents(&self, extents: &[u64]) -> bool {
        self.extent.is_none_or(|least| extents.iter().all(|n| *n >= least.get().into()))
            && extents.last().is_none_or(|n| is_multiple(*n, self.neighbours))
    }

    /// Adds the guard of 32-bit indices.
    pub fn narrow(self) -> Guards {
        Guards { narrow: true, ..self }
    }

    /// Adds the guard that outputs overlap no other array.
    pub fn noalias(self) -> Guards {
        Guards { noalias: true, ..self }
    }
}

/// Whether a number is a positive multiple of `of`, if there is such a condition.
fn is_multiple(n: u64, of: Option<NonZeroU32>) -> bool {
    of.is_none_or(|of| n > 0 && n.is_multiple_of(of.get().into()))
}
