//! How much of a device the blocks of a launch keep busy.
//!
//! A device has room for a number of resident blocks, and runs the blocks of a launch in *rounds* (waves) of that
//! number. Parts of the device are idle in the last, partial round (tail effect). Threads are also idle in blocks
//! that reach beyond the end of the index space: a strip of 128 columns has half of its lanes idle where there are
//! 64. A variant with large blocks or wide strips takes less work for each element, so it is the fastest if enough of
//! the device is busy.
//!
//! ```text
//! share = blocks / (rounds * resident blocks) * elements / (elements for which the blocks have room)
//! ```

use super::{Device, Space};
use crate::plan::gpu::{GpuVariant, Grid};

/// The threads that are assumed to be resident on a multiprocessor at once: those of four blocks of 256.
const RESIDENT_THREADS: u32 = 1024;
/// The number of resident blocks for each multiprocessor, if each warp of a block goes through a segment. One such
/// block has enough loads in flight, so a single round counts as full if each multiprocessor has a block.
const RESIDENT_OF_SEGMENTS: u32 = 2;

/// A share of a device: `have` of `of` threads.
pub(super) struct Share {
    have: u128,
    of: u128,
}

impl Share {
    /// Whether the share is at least `parts` / `whole`.
    pub(super) fn is_at_least(&self, parts: u32, whole: u32) -> bool {
        self.have.saturating_mul(whole.into()) >= self.of.saturating_mul(parts.into())
    }
}

impl GpuVariant {
    /// Returns the share of a device's threads that have elements, in all rounds of blocks.
    pub(super) fn busy(&self, space: &Space, device: Device) -> Share {
        let span = self.spread(space, device.multiprocessors).span.unwrap_or(1);
        let blocks = self.grid.blocks(space.extents, space.inner_length, self.threads, span);
        let of_segments = self.shared == 0 && matches!(self.grid, Grid::Segments(_));
        let of_multiprocessor = match self.shared {
            0 if of_segments => RESIDENT_OF_SEGMENTS,
            0 => (RESIDENT_THREADS / self.threads.max(1)).max(1),
            _ => self.resident_with_shared(),
        };
        let multiprocessors = device.multiprocessors.max(1);
        let resident = multiprocessors.saturating_mul(of_multiprocessor.into());
        if of_segments && blocks <= resident {
            return Share { have: blocks.min(multiprocessors).into(), of: multiprocessors.into() };
        }
        let rounds = u128::from(blocks.div_ceil(resident).max(1));
        let (elements, room) = self.room(space);
        Share {
            have: u128::from(blocks).saturating_mul(elements),
            of: rounds.saturating_mul(resident.into()).saturating_mul(room),
        }
    }

    /// Returns the number of elements, and the number for which the blocks have room, along the axes that blocks cut.
    fn room(&self, space: &Space) -> (u128, u128) {
        let along = |n: u64, each: u32| u128::from(n.div_ceil(each.into()).max(1)) * u128::from(each);
        let n = space.elements();
        match (self.grid, space.extents) {
            (
                Grid::Plane { rows, columns }
                | Grid::Volume { rows, columns, .. }
                | Grid::Stream { rows, columns, .. }
                | Grid::Packed { rows, columns },
                [.., i, j],
            ) => (u128::from(*i) * u128::from(*j), along(*i, rows).saturating_mul(along(*j, columns))),
            (Grid::Strips { columns: each, .. }, _) => (n.into(), along(n, each)),
            _ => (1, 1),
        }
    }
}
