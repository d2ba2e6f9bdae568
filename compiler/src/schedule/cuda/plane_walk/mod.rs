//! Stencils of volumes: a block walks through the planes of its tile of rows and columns (Micikevicius 2009). Chosen
//! where elements read one array in several planes that cannot pass through registers (`plane_stream/`), because
//! reads do not agree on what lies beyond the edges, or because there are too many planes. The call must have enough
//! blocks for the whole device. The other strategies for stencils come after it.
//!
//! ```text
//! block: a tile of rows and columns as in register tiling, and `block_planes` planes of it
//!
//! for each step of P planes, every other block from its last planes to its first:
//!     load what the thread's rows and columns read of planes -1 .. P, line by line
//!     compute what can be computed with each line, and store the rows that are complete
//! ```
//!
//! A line is loaded into registers once for all planes and rows of the thread that read it. The planes around the
//! step are still in the first-level cache, because threads of the block have loaded them for the step before. So the
//! second-level cache delivers each plane of a tile about once, where blocks of one plane would each ask for it once
//! for every plane that reads it. Neighbouring blocks along the planes walk towards one another or away from one
//! another: they read the planes that both need at the same time, and memory delivers these once.
//!
//! Where all reads agree on what is beyond the edges (`boundary/halo.rs`), that is loaded into the same registers,
//! and the interior's code serves all elements. Columns beside the thread's own are loaded element by element, so
//! that the first and the last lanes of a row need no code of their own; threads at other edges go row by row, and
//! load all of their lines element by element. Where reads do not agree, `boundary_elements.rs` computes the elements
//! of threads that are not in the interior.

mod lines;
mod part;
mod variants;
mod walk;

pub use variants::variants;
pub use walk::main;

use super::register_tiling;
use super::register_tiling::placement::{Line, PlaneTiling};
use super::thread_layout::ThreadLayout;
use crate::core::StencilHint;
use crate::schedule::boundary::interior::Interior;
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::facts::stencil::{self, Stencil};
use crate::schedule::groups::FusedGroup;
use lines::{Order, lines};

/// The number of planes through which a block walks. With more planes, neighbouring blocks load fewer planes twice;
/// with fewer planes, there are more blocks.
const BLOCK_PLANES: i64 = 16;

/// The maximum number of stencil points, of all reads together, up to which a thread computes one row of a plane.
/// Such stencils are bound by memory latency: with one row a thread needs few registers, and the higher occupancy of
/// eight resident blocks hides the latency. Stencils of more points are bound by loads from the L1 cache, of which
/// each line should serve several rows of a thread (`bench/NOTES.md`).
const MAX_TAPS_ONE_ROW: usize = 8;

/// The number of rows of a thread that has several; if it has many columns, it has half as many rows.
const THREAD_ROWS: i64 = 4;

/// The planes of a step, in order of preference: with more of them each line is loaded for more elements.
const PLANES: [i64; 2] = [2, 1];

/// How many words of registers may wait for later lines, and how many blocks are then resident on a multiprocessor: a
/// thread has 80 registers, or 128. Addresses, and what is loaded and not yet needed, take the rest. With 64
/// registers and four blocks some values are spilled. More resident blocks hide more of the latency of loads, so they
/// are preferred to more planes.
const WORDS: [(i64, u32); 2] = [(60, 3), (112, 2)];

/// The same for a thread that has one row: it has 32 registers, or 64.
const WORDS_ONE_ROW: [(i64, u32); 2] = [(28, 8), (52, 4)];

/// The maximum number of elements of a thread in a step, whose code is written for each of them.
const MAX_ELEMENTS: i64 = 64;

/// The maximum number of taps for which a thread has the full vector width of columns if these are a warp's width
/// apart.
const MAX_TAPS_FULL_WIDTH: usize = 12;

/// The least number of blocks: two for each multiprocessor of a large device.
const MIN_BLOCKS: u32 = 256;

/// The parameters of a walk through planes.
#[derive(Clone)]
pub struct PlaneWalkParams {
    /// The tile of a block.
    tiling: PlaneTiling,
    /// The number of planes of a step.
    planes: i64,
    /// The lines that a thread loads in a step, in the order of loading.
    lines: Vec<Line>,
    /// The lines of a step of one plane.
    lines_of_one: Vec<Line>,
    /// The lines of one row of one plane.
    lines_of_row: Vec<Line>,
    order: Order,
    /// The number of resident blocks for which a thread has enough registers.
    blocks: u32,
}

impl PlaneWalkParams {
    /// Returns the parameters, or `None` if the elements read no volume in several planes, or too much of one.
    fn of(
        l: &mut LaunchContext,
        (fused, inner): (&FusedGroup, &Interior),
        stencils: &[Stencil],
        layout: ThreadLayout,
    ) -> Option<PlaneWalkParams> {
        let plane = fused.domain.len().checked_sub(3)?;
        if !matches!(l.hint(), None | Some(StencilHint::Planes)) {
            return None;
        }
        let mine: Vec<&Stencil> = stencils.iter().filter(|s| s.is_static(&l.g)).collect();
        let walks = |s: &&Stencil| s.reach(plane).0 < s.reach(plane).1;
        if !mine.iter().any(walks) || stencil::may_record(&mut l.g, &fused.domain, &inner.arrays, &mine) {
            return None;
        }
        let taps: usize = mine.iter().map(|s| s.taps.len()).sum();
        let v = if layout.unaligned && taps > MAX_TAPS_FULL_WIDTH { layout.v.min(2) } else { layout.v };
        let has_one_row = taps <= MAX_TAPS_ONE_ROW;
        let rows = match v {
            _ if has_one_row => 1,
            5.. => THREAD_ROWS / 2,
            _ => THREAD_ROWS,
        };
        let tiling = PlaneTiling {
            block_planes: BLOCK_PLANES,
            ..PlaneTiling::new(rows, v, !layout.unaligned, layout.threads)
        };
        register_tiling::profit(l, fused, tiling)?;
        let mut best: Option<(u32, PlaneWalkParams)> = None;
        let steps = PLANES.into_iter().filter(|planes| planes * rows * v <= MAX_ELEMENTS);
        for planes in steps.filter(|planes| !has_one_row || *planes == 1) {
            for order in [Order::Planes, Order::Rows] {
                let row = PlaneTiling { thread_rows: 1, ..tiling };
                let [lines, lines_of_one, lines_of_row] =
                    [(tiling, planes), (tiling, 1), (row, 1)].map(|(of, n)| lines(l, &mine, of, n, order));
                let words = part::most_words(l, inner, tiling, planes, &lines, order);
                // columns that are not neighbours are loaded one by one, which takes more registers at a time
                let words = if layout.unaligned { words * 3 / 2 } else { words };
                let Some((_, blocks)) = WORDS.into_iter().find(|w| words <= w.0) else { continue };
                let more = WORDS_ONE_ROW.into_iter().find(|w| has_one_row && words <= w.0);
                let blocks = more.map_or(blocks, |w| w.1);
                if best.as_ref().is_none_or(|b| b.0 < blocks) {
                    best = Some((
                        blocks,
                        PlaneWalkParams { tiling, planes, lines, lines_of_one, lines_of_row, order, blocks },
                    ));
                }
            }
        }
        best.map(|b| b.1)
    }

    /// Returns the planes, rows and columns of a block.
    pub fn block(&self) -> [u32; 3] {
        [self.tiling.block_planes, self.tiling.block_rows, self.tiling.block_columns].map(|n| n as u32)
    }

    /// Returns the minimum number of resident blocks per multiprocessor.
    pub fn min_resident_blocks(&self) -> u32 {
        self.blocks
    }
}
