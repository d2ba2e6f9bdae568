//! Segmented reductions (`schedule/segments.rs`) on a GPU, by the length of the segments.
//!
//! - [`rows`]: a warp a segment, several segments at a time while they are short; from 2048
//!   elements on a warp a tile, and the last block of a segment joins its tiles.
//! - [`columns`]: lanes side by side over neighbouring segments; a thread a segment where these are
//!   longer than 2^22.
//!
//! The order is the tree of semantics 5.1 in all of them.

mod columns;
mod job;
mod rows;
mod variants;
mod warp;

use crate::error::Result;
use crate::kernel::Stmt;
use crate::plan::gpu::Grid;
use crate::schedule::groups::FusedGroup;
use crate::schedule::lower::Lower;
use job::Job;
pub use job::Way;
pub use variants::variants;

/// Blocks at once on a multiprocessor: 64 registers a thread, 85 where a segment has many warps
/// (with 64, eight rows in flight spill).
fn blocks(way: Way) -> u32 {
    if way == Way::SegmentTiles { 3 } else { 4 }
}

/// The body of one variant, and its grid.
pub fn main(l: &mut Lower, fused: &FusedGroup, way: Way, strided: bool) -> Result<(Vec<Stmt>, Grid)> {
    let s = l.launch.facts.segments.clone().expect("a segmented reduction");
    l.k.kernel.threads = rows::THREADS;
    l.k.kernel.min_resident_blocks = blocks(way);
    let job = Job::new(l, &s, fused, !strided);
    let body = match way {
        Way::Strips => columns::main(l, &job)?,
        Way::NeighboursPerThread => columns::own(l, &job)?,
        _ => rows::main(l, &job, way)?,
    };
    let grid = match way {
        Way::Warp { lanes, segments } => Grid::Segments(rows::THREADS / lanes * segments as u32),
        Way::NeighboursPerThread => Grid::Segments(columns::THREADS * job.v as u32),
        Way::SegmentTiles => Grid::SegmentTiles { min_span: 1, max_span: rows::MOST_SPAN },
        _ => Grid::Strips { columns: 32 * job.v as u32, min_span: 1, max_span: columns::MOST_SPAN },
    };
    Ok((body, grid))
}
