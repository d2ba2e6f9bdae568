//! Several steps of an iterated stencil of volumes in one launch (2.5D blocking with temporal blocking: Nguyen,
//! Satish, Chhugani, Kim, Dubey 2010). Chosen for `iterate` over stencils of volumes of one shape that read several
//! planes. The cost is one pass over memory for each launch, and the halo of rows and columns, which neighbouring
//! blocks compute redundantly.
//!
//! ```text
//! block: a tile of rows and columns with a halo, and a range of planes
//!
//! for each input plane, while copies of the next ones are in flight:
//!     for each step of the iteration, the last one first:
//!         its newest input plane is read, and the outputs that need it advance by one stage (`plane_stream/`)
//!         the output plane that is now complete goes to shared memory, as the input of the next step in the next
//!             turn; the last step stores it to memory
//!
//! two steps of a stencil that reads the planes p - 1, p, p + 1:
//! turn t:    step 1 reads input plane t      and completes its plane t - 1
//! turn t+1:  step 2 reads step 1's plane t-1 and completes its plane t - 2
//! ```
//!
//! All planes arrive in shared memory: a ring holds the input planes, which asynchronous copies fill, and two
//! alternating buffers hold the planes between two steps. So a turn has one barrier, however many steps there are.
//! The partial values of incomplete outputs stay in registers from turn to turn.
//!
//! All threads run the same code, at the edges as well. For clamped or constant edges of rows and columns, a thread's
//! loads give what the program reads there. Before the volume's first plane and behind its last one, a later step's
//! input is that plane again, as clamping asks. On an axis that wraps, blocks load the elements of the other end into
//! the halo, and compute them like their own.

mod edges;
mod plane_buffers;
mod variant;
mod walk;

pub use variant::variant;
pub use walk::main;

use super::plane_stream::{Arrival, StreamPlan};
use super::register_tiling::placement::PlaneTiling;
use super::temporal_blocking::{Repeated, repeated};
use super::thread_layout::ThreadLayout;
use crate::core::NodeId;
use crate::kernel::WARP;
use crate::plan::gpu::Grid;
use crate::scalar::Ty;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::groups::FusedGroup;

/// The number of steps of a launch.
const STEPS: i64 = 2;
/// Threads of a block. Two steps of a 7-point stencil on 512^3 elements of f32 take 0.422 ms on an H200 with two rows
/// of 16 bytes for each thread, 0.519 ms with one, 0.444 ms with four; two single steps take 0.563 ms.
const THREADS: u32 = 8 * WARP;
const THREAD_ROWS: i64 = 2;
/// The number of input planes of each state that are in shared memory or being copied there.
const RING: i64 = 3;
/// The minimum and the maximum number of planes of a block.
const PLANES: [u32; 2] = [16, 64];
/// The maximum number of volumes that the steps change.
const MAX_STATES: usize = 2;
/// The maximum number of taps of a state. Two steps of a 27-point stencil take 1.15 to 1.3 times as long as two
/// single ones: loads from shared memory and redundant elements cost more than the saved traffic.
const MAX_TAPS: usize = 8;
/// Pairs of a maximum number of words of registers, for the partial values of all steps and the loaded elements of
/// one, and the number of resident blocks up to that maximum. A thread then has 80 or 128 registers.
const WORDS: [(i64, u32); 2] = [(72, 3), (112, 2)];
/// The maximum shared memory of a block, such that two blocks, with what the hardware reserves for each, fit onto a
/// multiprocessor.
const MAX_SHARED_BYTES: i64 = 96 << 10;

/// The parameters of several steps of a volume in one launch.
#[derive(Clone)]
pub struct PlaneStepsParams {
    /// The volumes that the steps change, and for each the number of the fused group's item that computes it.
    states: Vec<(NodeId, usize)>,
    /// The rows and columns of a thread, and of a block with its halo.
    tiling: PlaneTiling,
    /// The number of rows and of columns of the halo, on each side of the elements that a block stores.
    halo: [i64; 2],
    /// For each axis, whether reads beyond its edges wrap around to its other end.
    wrapped: [bool; 3],
    /// The minimum extent of each axis.
    least: i64,
    /// The number of resident blocks per multiprocessor that leaves a thread enough registers.
    blocks: u32,
    /// The number of steps.
    pub steps: i64,
}

impl PlaneStepsParams {
    /// Returns `None` if the group is not a step of an iterated stencil as the head of this file has it, or if its
    /// values do not fit into registers and shared memory.
    fn of(
        l: &mut LaunchContext,
        (fused, inner): (&FusedGroup, &Interior),
        layout: ThreadLayout,
    ) -> Option<PlaneStepsParams> {
        if fused.domain.len() != 3 {
            return None;
        }
        let Repeated { arrays, items, stencils } = repeated(l, (fused, inner), MAX_STATES)?;
        // an array that is not a state would have to be loaded from memory for each step
        if !stencils.iter().all(|s| arrays.contains(&s.array)) {
            return None;
        }
        let reach = [0, 1, 2].map(|axis| stencils.iter().map(|s| s.reach(axis)).fold((0, 0), hull));
        if reach[0].0 == reach[0].1 || stencils.iter().any(|s| s.taps.len() > MAX_TAPS) {
            return None;
        }
        let wrapped = edges::wrapped(l, (fused, inner), &stencils)?;
        let far = reach.map(|(before, behind)| STEPS * behind.max(-before));
        let (tiling, halo) = useful_tile(far, layout.v)?;
        let index: Vec<NodeId> = fused.domain.iter().map(|_| l.g.fresh_var(Ty::I64).1).collect();
        let plan = StreamPlan::of(l, (&inner.arrays, &index), tiling, Arrival::AtOnce)?;
        let last = plan.first + plan.stages.len() as i64 - 1;
        if plan.first > 0 || last < 0 {
            return None;
        }
        let [waiting, loaded] = plan.words(l, tiling);
        let words = STEPS * waiting + loaded;
        let size = l.g.ty(arrays[0]).elem.size() as i64;
        let planes = arrays.len() as i64 * (RING + 2 * (STEPS - 1));
        let shared = planes * tiling.block_rows * tiling.block_columns * size;
        let (_, blocks) = WORDS.into_iter().find(|w| words <= w.0)?;
        if shared > MAX_SHARED_BYTES {
            return None;
        }
        // the extent of an axis that wraps is at least its halo, so that adding or subtracting it once suffices
        let least = far.into_iter().zip(wrapped).filter(|(_, wrapped)| *wrapped).map(|(far, _)| far);
        let least = least.fold(1, i64::max);
        let states = arrays.into_iter().zip(items).collect();
        Some(PlaneStepsParams { states, tiling, halo, wrapped, least, blocks, steps: STEPS })
    }

    /// Returns the number of elements of a plane of a block, halo included.
    fn plane_len(&self) -> i64 {
        self.tiling.block_rows * self.tiling.block_columns
    }

    /// Returns the rows and columns that a block stores.
    fn stored(&self) -> [i64; 2] {
        let region = [self.tiling.block_rows, self.tiling.block_columns];
        [0, 1].map(|axis| region[axis] - 2 * self.halo[axis])
    }

    /// Returns the grid of its blocks.
    pub fn grid(&self) -> Grid {
        let [rows, columns] = self.stored().map(|n| n as u32);
        let [min_planes, max_planes] = PLANES;
        Grid::Stream { rows, columns, min_planes, max_planes, resident: self.blocks }
    }

    /// Returns the number of threads of a block.
    pub fn threads(&self) -> u32 {
        THREADS
    }

    /// Returns the minimum number of resident blocks per multiprocessor.
    pub fn min_resident_blocks(&self) -> u32 {
        self.blocks
    }
}

/// Returns the tile of a block, and the rows and columns of its halo, where all steps together reach as far as `far`
/// planes, rows and columns. Returns `None` unless a block stores more than 5/8 of its elements.
fn useful_tile(far: [i64; 3], v: i64) -> Option<(PlaneTiling, [i64; 2])> {
    let tiling = PlaneTiling::new(THREAD_ROWS, v, true, THREADS);
    let halo = [far[1], (far[2] + v - 1) / v * v];
    let [rows, columns] = [tiling.block_rows - 2 * halo[0], tiling.block_columns - 2 * halo[1]];
    let is_useful =
        rows > 0 && columns > 0 && 8 * rows * columns > 5 * tiling.block_rows * tiling.block_columns;
    is_useful.then_some((tiling, halo))
}

fn hull(a: (i64, i64), b: (i64, i64)) -> (i64, i64) {
    (a.0.min(b.0), a.1.max(b.1))
}
