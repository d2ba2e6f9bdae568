//! The geometry of a tile, in numbers: which elements of the output a thread has, and where the elements of a
//! transposed array lie in shared memory, so that few accesses of a warp meet in one bank. A test counts these
//! conflicts.
//!
//! A full tile is stored in chunks of 16 bytes. A chunk's number is combined with the number of the
//! group of rows by `xor`, because the lanes of a warp read rows that are a group apart:
//!
//! ```text
//! f32, groups of 4 rows    row 0..3    chunk 0 1 2 3 4 5 6 7
//!                          row 4..7    chunk 1 0 3 2 5 4 7 6
//!                          row 8..11   chunk 2 3 0 1 6 7 4 5
//! ```
//!
//! Tiles whose elements are accessed one by one have rows of an odd number of words instead.

use crate::kernel::WARP;
use crate::schedule::cuda::map::THREADS;

/// The bytes of a chunk, which one access takes.
pub const CHUNK: i64 = 16;
/// The number of chunks that shared memory serves at once: a chunk for each four of its 32 banks.
const CHUNKS_AT_ONCE: i64 = 8;

/// How the elements of the output's tile are divided into groups of neighbours in a row, and these
/// among the threads of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Partition {
    /// Rows and columns of the tile.
    pub side: i64,
    /// The elements of a group: neighbours along the columns, which one thread computes together.
    pub group: i64,
    /// The lanes of a warp that are side by side.
    pub lanes_across: i64,
    /// The warps of a block that are side by side.
    pub warps_across: i64,
}

impl Partition {
    pub fn new(side: i64, group: i64) -> Partition {
        let lanes_across = (side / group).min(CHUNKS_AT_ONCE);
        Partition { side, group, lanes_across, warps_across: side / group / lanes_across }
    }

    /// Returns the number of rows that a warp computes at once.
    pub fn lanes_down(self) -> i64 {
        i64::from(WARP) / self.lanes_across
    }

    /// Returns the number of rows that the block computes at once. A thread's groups are as far apart.
    pub fn rows_at_once(self) -> i64 {
        self.lanes_down() * i64::from(THREADS / WARP) / self.warps_across
    }

    /// Returns the number of groups of a thread.
    pub fn groups(self) -> i64 {
        self.side / self.rows_at_once()
    }
}

/// Where the elements of an array's tile lie, if they are loaded in chunks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Swizzle {
    /// The elements of a chunk.
    pub width: i64,
    /// The chunks of a row.
    pub chunks: i64,
    /// The elements from one row to the next.
    pub pitch: i64,
    /// The rows of a group.
    pub group: i64,
    /// A factor for the number of a group of rows, and a mask of the product. The result is combined with the columns
    /// of these rows by `xor`; it moves whole chunks only.
    pub step: i64,
    pub mask: i64,
}

impl Swizzle {
    /// Returns the layout of rows of `chunks` chunks of elements of `size` bytes.
    pub fn new(partition: Partition, size: i64, chunks: i64) -> Swizzle {
        let width = CHUNK / size;
        let among = CHUNKS_AT_ONCE.min(chunks.unsigned_abs().next_power_of_two() as i64);
        let pitch = (chunks + among - 1) / among * among * width;
        // the lanes that shared memory serves at once read several columns of the tile, which may lie in several
        // chunks
        let lanes = i64::from(WARP) * 4 / size.max(4);
        let factor = (lanes / partition.lanes_across * size / CHUNK).max(1);
        let (step, mask) = (factor * width, (among - 1) * width);
        Swizzle { width, chunks, pitch, group: partition.group, step, mask }
    }
}

/// Returns the elements from one row to the next in a tile whose elements are accessed one by one.
pub fn padded_pitch(columns: i64, size: i64) -> i64 {
    // the least multiple of a word, or of an element that is longer
    let unit = (4 / size).max(1);
    (((columns + unit - 1) / unit) | 1) * unit
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn index(s: Swizzle, row: i64, column: i64) -> i64 {
        row * s.pitch + (column ^ ((row / s.group * s.step) & s.mask))
    }

    /// The greatest number of different words of one bank that an access of a warp needs. The
    /// lanes that shared memory serves at once have 128 bytes together, or are the whole warp.
    fn conflicts(addresses: &[i64], bytes: i64) -> usize {
        let lanes = (128 / bytes.max(4)) as usize;
        let of = |part: &[i64]| {
            let mut banks: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
            for word in part.iter().flat_map(|a| (0..(bytes + 3) / 4).map(move |w| a / 4 + w)) {
                banks.entry(word % 32).or_default().insert(word);
            }
            banks.values().map(BTreeSet::len).max().unwrap_or(0)
        };
        addresses.chunks(lanes).map(of).max().unwrap_or(0)
    }

    /// The conflicts of the stores of chunks, and of the reads of a thread's groups.
    fn of_full_tile(partition: Partition, size: i64, is_mirrored: bool) -> [usize; 2] {
        let s = Swizzle::new(partition, size, partition.side * size / CHUNK);
        let mut taken: BTreeSet<i64> = BTreeSet::new();
        let total = partition.side * s.chunks;
        let chunk = |n: i64| index(s, n / s.chunks, n % s.chunks * s.width) * size;
        let fill =
            (0..total / 32).map(|w| conflicts(&Vec::from_iter((w * 32..w * 32 + 32).map(chunk)), CHUNK));
        let fill = fill.max().unwrap();
        let mut read = 0;
        for (warp, pass, k) in (0..8).flat_map(|w| {
            (0..partition.groups()).flat_map(move |p| (0..partition.group).map(move |k| (w, p, k)))
        }) {
            let lane = |lane: i64| {
                let across =
                    warp % partition.warps_across * partition.lanes_across + lane % partition.lanes_across;
                let down =
                    warp / partition.warps_across * partition.lanes_down() + lane / partition.lanes_across;
                let column = down + pass * partition.rows_at_once();
                let column = if is_mirrored { partition.side - 1 - column } else { column };
                index(s, across * partition.group + k, column)
            };
            let all: Vec<i64> = (0..32).map(lane).collect();
            taken.extend(all.iter().copied());
            read = read.max(conflicts(&all.iter().map(|i| i * size).collect::<Vec<_>>(), size));
        }
        // every element has a place of its own, and a thread that reads it
        assert_eq!(taken.len() as i64, partition.side * partition.side);
        [fill, read]
    }

    #[test]
    fn banks() {
        // the side, the elements of a group, the bytes of an element of the transposed array
        let one_type = [(128, 16, 1), (64, 8, 2), (64, 4, 4), (32, 2, 8), (256, 16, 1), (128, 8, 2)];
        let mixed = [(128, 4, 1), (128, 2, 1), (64, 4, 2), (64, 16, 4), (64, 2, 4), (64, 16, 8), (64, 4, 8)];
        for (side, group, size) in one_type.into_iter().chain(mixed) {
            for is_mirrored in [false, true] {
                let found = of_full_tile(Partition::new(side, group), size, is_mirrored);
                assert_eq!(found, [1, 1], "{side} {group} {size} {is_mirrored}");
            }
        }
        // narrow arrays beside wide ones, with rows shorter than all banks
        for (side, group, size) in [(64, 4, 1), (32, 4, 1), (32, 2, 4), (32, 2, 2)] {
            let found = [false, true].map(|m| of_full_tile(Partition::new(side, group), size, m));
            assert!(found.iter().all(|f| *f <= [1, 4]), "{side} {group} {size}");
        }
    }

    #[test]
    fn banks_of_elements_one_by_one() {
        for (size, columns) in [1, 2, 4, 8].into_iter().flat_map(|s| [32, 33, 64, 67, 128].map(|c| (s, c))) {
            let pitch = padded_pitch(columns, size);
            assert!(pitch >= columns && pitch * size % 4 == 0 && pitch - columns < 2 * (4 / size).max(1));
            let down = Vec::from_iter((0..32).map(|row| row * pitch * size));
            let across = Vec::from_iter((0..32).map(|column| column * size));
            assert_eq!([conflicts(&down, size), conflicts(&across, size)], [1, 1], "{size} {columns}");
        }
    }
}
