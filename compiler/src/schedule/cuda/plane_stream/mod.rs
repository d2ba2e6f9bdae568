//! Stencils of volumes whose planes are streamed through registers, 2.5D blocking (Micikevicius 2009; partial sums as
//! in Krotkiewski and Dabrowski 2013). Chosen where elements read one array in several planes, all reads agree on
//! what lies beyond the edges, and the call has enough blocks for the whole device. It is preferred to the other
//! strategies for stencils.
//!
//! ```text
//! block: a tile of rows and columns, and a range of planes
//! step:  one input plane p "arrives": the thread loads what its elements need of it
//!
//! a stencil that reads the planes z - 1, z, z + 1 has three stages; in the step in which p arrives:
//!     elements of plane p - 1: last stage     p is the last plane that they need; compute the rest, and store them
//!     elements of plane p:     second stage   compute what p makes possible, and keep it in registers
//!     elements of plane p + 1: first stage    likewise
//! ```
//!
//! An element that is loaded serves all stages. So a step loads one plane, where the alternative (`plane_walk/`)
//! loads all planes that are read again, from the L1 cache. What is kept in registers between steps follows from the
//! program's order of operations: in a sum that goes plane by plane it is one partial sum for each element and stage,
//! in other sums it is the loaded elements. Elements that are read in one plane only are loaded in the first stage
//! that needs them, or in the last, whichever takes fewer registers (`plan.rs`).
//!
//! All threads run the same code, at the edges as well. Indices of rows and columns beyond an edge are replaced
//! before the loop by those that the program reads there; for planes this is done once in each step (`loads.rs`).

mod loads;
mod neighbour_lanes;
mod plan;
mod stages;
mod values;
mod variants;
mod walk;

pub use loads::Loads;
pub use plan::{Arrival, StreamPlan};
pub use stages::{Known, Stages};
pub use values::{Sources, Tile};
pub use variants::variants;
pub use walk::{main, parts};

use super::register_tiling;
use super::register_tiling::placement::PlaneTiling;
use super::thread_layout::ThreadLayout;
use crate::core::{NodeId, StencilHint};
use crate::plan::gpu::Grid;
use crate::scalar::Ty;
use crate::schedule::boundary::halo::Halo;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::facts::stencil::Stencil;
use crate::schedule::groups::{FusedGroup, has_reduction, is_store};

/// The minimum and the maximum number of planes of a block, for few taps and for many. Neighbouring blocks load some
/// planes redundantly: the more planes a block has, the fewer these are, and the fewer blocks there are.
const PLANES: [[u32; 2]; 2] = [[8, 16], [8, 64]];

/// The maximum number of taps of all reads for which a thread has one row: such stencils wait for memory, and more
/// threads hide its latency. With more taps, loads from the L1 cache dominate, so each line should serve several
/// rows.
const MAX_TAPS_ONE_ROW: usize = 8;

/// The numbers of rows that a thread may have, in order of preference: with vector accesses and few taps, with vector
/// accesses and more taps, and with an access for each element.
const ROWS: [&[i64]; 3] = [&[1], &[2, 1], &[4, 2, 1]];

/// Pairs of a maximum number of words of registers, for loaded elements, their addresses, and what is kept between
/// steps, and the number of resident blocks up to that maximum. A thread then has 40, 64, 80 or 128 registers.
const WORDS: [(i64, u32); 4] = [(30, 6), (50, 4), (64, 3), (108, 2)];

/// The minimum number of blocks, if each has the minimum number of planes. With 72 blocks a 27-point stencil on 96^3
/// elements takes 6.6 us, where the strategies for rows take 14.4.
const MIN_BLOCKS: u32 = 64;

/// The parameters of a stream of planes.
#[derive(Clone)]
pub struct PlaneStreamParams {
    /// The tile of a block.
    tiling: PlaneTiling,
    arrival: Arrival,
    /// Whether elements have few taps.
    has_few_taps: bool,
    /// The number of resident blocks per multiprocessor that leaves a thread enough registers.
    blocks: u32,
    /// The number of elements of each array that a thread loads in a step.
    loaded: Vec<(NodeId, usize)>,
}

impl PlaneStreamParams {
    /// Returns the parameters, or `None` if elements read no array in several planes, or need too many registers.
    fn of(
        l: &mut LaunchContext,
        (fused, inner): (&FusedGroup, &Interior),
        stencils: &[Stencil],
        layout: ThreadLayout,
    ) -> Option<PlaneStreamParams> {
        let plane = fused.domain.len().checked_sub(3)?;
        if has_reduction(&l.g, fused) || !fused.items.iter().all(|it| is_store(&l.g, it)) {
            return None;
        }
        if !matches!(l.hint(), None | Some(StencilHint::Planes)) {
            return None;
        }
        if !stencils.iter().any(|s| s.is_static(&l.g) && s.reach(plane).0 < s.reach(plane).1) {
            return None;
        }
        Halo::of(l, fused, inner)?;
        let index: Vec<NodeId> = fused.domain.iter().map(|_| l.g.fresh_var(Ty::I64).1).collect();
        let taps: usize = stencils.iter().map(|s| s.taps.len()).sum();
        let has_few_taps = taps <= MAX_TAPS_ONE_ROW;
        let rows = match layout.v {
            1 => ROWS[2],
            _ if has_few_taps => ROWS[0],
            _ => ROWS[1],
        };
        for rows in rows.iter().copied() {
            let tiling = PlaneTiling::new(rows, layout.v, !layout.unaligned, layout.threads);
            register_tiling::profit(l, fused, tiling)?;
            let mut best: Option<([i64; 2], Arrival, StreamPlan)> = None;
            for arrival in [Arrival::Early, Arrival::Late] {
                let plan = StreamPlan::of(l, (&inner.arrays, &index), tiling, arrival)?;
                let words = plan.words(l, tiling);
                if best.as_ref().is_none_or(|b| words[0] < b.0[0]) {
                    best = Some((words, arrival, plan));
                }
            }
            let (words, arrival, plan) = best?;
            let Some((_, blocks)) = WORDS.into_iter().find(|w| words[0] + words[1] <= w.0) else { continue };
            let mut loaded: Vec<(NodeId, usize)> = Vec::new();
            for e in plan.loads() {
                match loaded.iter_mut().find(|of| of.0 == e.array) {
                    Some(of) => of.1 += 1,
                    None => loaded.push((e.array, 1)),
                }
            }
            return Some(PlaneStreamParams { tiling, arrival, has_few_taps, blocks, loaded });
        }
        None
    }

    /// Returns the grid of its blocks.
    pub fn grid(&self) -> Grid {
        let [rows, columns] = [self.tiling.block_rows, self.tiling.block_columns].map(|n| n as u32);
        let [min_planes, max_planes] = PLANES[usize::from(!self.has_few_taps)];
        Grid::Stream { rows, columns, min_planes, max_planes, resident: self.blocks }
    }

    /// Returns the minimum number of resident blocks per multiprocessor.
    pub fn min_resident_blocks(&self) -> u32 {
        self.blocks
    }
}
