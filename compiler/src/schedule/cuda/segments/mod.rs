//! Segmented reductions (`schedule/facts/segments.rs`): many reductions in one launch, each by the fixed tree of
//! semantics 5.1. How segments are mapped to threads depends on their length; `variants.rs` has the list.
//!
//! - [`rows`], for segments whose elements are neighbours in memory: some lanes or a warp reduce a segment. If it has
//!   more than 2048 elements, a warp reduces a tile, and the last block of a segment to arrive joins its tiles.
//! - [`columns`], for segments that are themselves neighbours in memory: neighbouring lanes reduce neighbouring
//!   segments. Segments of more than 2^22 elements take a thread each. A launch may also store the elements that it
//!   reduces (`schedule/alternatives/stored_columns.rs`).
//! - [`ragged`], for segments whose lengths are data: a warp or a lane reduces a segment.

mod columns;
mod in_order;
mod job;
mod lanes;
pub mod ragged;
mod rows;
mod thread_columns;
mod variants;
mod warp;

use crate::error::Result;
use crate::kernel::{Stmt, WARP};
use crate::plan::gpu::Grid;
use crate::schedule::alternatives::stored_columns;
use crate::schedule::element::lower::Lower;
use crate::schedule::element::reduction::{Reduction, each_accumulator};
use crate::schedule::facts::Segments;
use crate::schedule::facts::along::Along;
use crate::schedule::groups::FusedGroup;
use job::Job;
pub use job::SegmentMapping;
pub use lanes::{Exchange, Side, join_columns, join_lanes, join_neighbours, lane, pairs, share_count};
use std::rc::Rc;
pub use variants::{ragged_variants, variants, variants_of_loops};

/// Returns the minimum number of resident blocks per multiprocessor. `counted` is the number of bytes of a column's
/// accumulators if they count elements, else 0. Four blocks leave a thread 64 registers. That is too few with eight
/// rows in flight, so `SegmentTiles` has three blocks and 85 registers. A lane has the accumulators of 4 columns of
/// every segment that it reduces, so more segments at once mean fewer blocks.
fn min_resident_blocks(mapping: SegmentMapping, counted: usize) -> u32 {
    match (mapping, counted) {
        (SegmentMapping::Warp { lanes, .. }, 1..=12) if lanes < WARP => 4,
        (SegmentMapping::Warp { lanes, segments: 1, .. }, 13..=16) if lanes < WARP => 5,
        (SegmentMapping::Warp { segments: 1, .. }, 1..=24) => 3,
        (_, 1..) => 2,
        (SegmentMapping::SegmentTiles, 0) => 3,
        _ => 4,
    }
}

/// Returns the kernel body of one variant, and its grid.
pub fn main(
    l: &mut Lower,
    fused: &FusedGroup,
    mapping: SegmentMapping,
    strided: bool,
) -> Result<(Vec<Stmt>, Grid)> {
    let facts = &l.launch.facts;
    let s = match (&facts.segments, &facts.long_loops, mapping) {
        (Some(s), ..) => s.clone(),
        (None, Some(s), SegmentMapping::SegmentTiles) => {
            Rc::new(Segments { along: Along::Rows, ..(**s).clone() })
        }
        (None, s, _) => s.clone().expect("a segmented reduction"),
    };
    l.k.kernel.threads = rows::THREADS;
    let columns = stored_columns::of_columns(&l.launch.g, fused);
    // short rows may begin at any address, for which vectors would need another variant
    let is_short = matches!(mapping, SegmentMapping::Warp { lanes, .. } if lanes < WARP);
    // a loop of several results has the accumulators of one segment a thread: those of four would spill
    let has_several = l.launch.facts.segments.is_none() && s.nested.len() > 1;
    let mut job = Job::new(l, &s, &columns, (!strided && !has_several, !is_short));
    // neighbouring lanes have neighbouring columns; `_few` has few columns
    let spacing = match mapping {
        SegmentMapping::Strips if l.launch.facts.segments.is_some() => Some(WARP),
        SegmentMapping::SeveralPerThread => Some(columns::THREADS),
        _ => None,
    };
    if let Some(spacing) = spacing.filter(|_| !strided) {
        job.coarsen(l, spacing.into());
        job.add_interior(l, &columns);
    }
    let counted = match job.reductions.iter().any(Reduction::is_counted) {
        true => each_accumulator(&job.reductions).map(|r| r.ty.size()).sum(),
        false => 0,
    };
    l.k.kernel.min_resident_blocks = match job.stored {
        Some(_) => columns::of_stored(l.launch, &job).0,
        None if has_several => 2,
        // several columns of a thread have several accumulators and indices
        None if job.spacing > 1 => 3,
        // the code with tests of reads beside that without them
        None if job.in_bounds.is_some() && matches!(mapping, SegmentMapping::Warp { lanes: WARP, .. }) => {
            min_resident_blocks(mapping, counted).min(3)
        }
        // a lane has one column at a time, and at most three sets of its accumulators
        None if job.in_order.is_some() && counted <= 32 => 4,
        None => min_resident_blocks(mapping, counted),
    };
    let body = match mapping {
        SegmentMapping::Strips => columns::main(l, &job)?,
        SegmentMapping::SeveralPerThread => columns::short_segments(l, &job)?,
        SegmentMapping::Warp { .. } | SegmentMapping::TilesOfWarp | SegmentMapping::SegmentTiles => {
            rows::main(l, &job, mapping)?
        }
        SegmentMapping::OnePerThread => unreachable!("selected as a map"),
    };
    job.note_extents(l);
    let grid = match mapping {
        SegmentMapping::Warp { lanes, segments, .. } => {
            Grid::Segments(rows::THREADS / lanes * segments as u32)
        }
        SegmentMapping::TilesOfWarp => Grid::Segments(rows::WARPS),
        SegmentMapping::SeveralPerThread => Grid::Segments(columns::THREADS * job.v as u32),
        SegmentMapping::SegmentTiles => Grid::SegmentTiles { min_span: 1, max_span: rows::MAX_SPAN },
        SegmentMapping::Strips | SegmentMapping::OnePerThread => {
            Grid::Strips { columns: 32 * job.v as u32, min_span: 1, max_span: columns::MAX_SPAN }
        }
    };
    Ok((body, grid))
}
