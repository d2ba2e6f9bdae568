//! How the work of a variant is distributed over the device: how many tiles, parts or planes a block or a team takes
//! (the span), and how much scratch they share.

use super::{Scratch, Space, WORDS_OF_PIECE};
use crate::core::{COLUMNS, PANEL, TILE};
use crate::plan::gpu::{GpuVariant, Grid, TICKET_COUNTERS, TICKET_VALUES, pieces};

/// Number of 128-thread teams of a reduction that are assumed to be resident on one multiprocessor
/// of any device: 1024 threads, for which the cheapest reductions are compiled.
const RESIDENT_TEAMS: u64 = 8;
/// The maximum number of tiles of a team of a reduction if there are more blocks than can be resident at once. Small
/// blocks shorten the last, partial round, in which a part of the device is idle. Sums of 2^28 elements take 4 %
/// (f32) and 12 % (f16) longer with 32 tiles.
const SPAN_OF_WAVES: u32 = 8;
/// Number of 256-thread blocks of a segmented reduction that are assumed to be resident on one
/// multiprocessor. Most segmented reductions are compiled for this number.
const RESIDENT_BLOCKS: u64 = 4;
/// About how many planes a block of [`Grid::Stream`] loads beside its own: the halo, whose planes other blocks
/// compute.
const PLANES_AROUND: u32 = 2;
/// The maximum number of threads that add the panels of one result.
const MAX_ADDERS: u32 = 16;
/// The number of panels whose loads one such thread keeps in flight. If there are more, several threads share them.
const PANELS_IN_FLIGHT: u64 = 16;

/// How a variant's work is distributed.
pub(super) struct Spread {
    /// See [`super::KernelLaunch::span`].
    pub span: Option<u32>,
    pub scratch: Scratch,
}

impl GpuVariant {
    /// Chooses the span and the scratch. The span is the smallest one with which all blocks can be resident at once,
    /// so that there is one round of blocks; if `max_span` does not suffice for that, it is [`SPAN_OF_WAVES`] or
    /// `max_span`, depending on the grid.
    pub(super) fn spread(&self, space: &Space, multiprocessors: u64) -> Spread {
        let (n, of_segment) = (space.elements(), space.of_segment());
        let tiles = n.div_ceil(TILE as u64);
        let groups = tiles.div_ceil(TILE as u64);
        let none = Spread { span: None, scratch: Scratch::default() };
        match self.grid {
            Grid::Tiles { min_span, max_span } => {
                let span = of_team(tiles, min_span, max_span, multiprocessors * RESIDENT_TEAMS);
                // one value per tile, then one per group of tiles if there are several groups
                let (elements, counters) = match groups {
                    0 | 1 => (tiles.max(1), 1),
                    _ => (tiles.next_multiple_of(4) + groups, groups + 1),
                };
                Spread { span: Some(span), scratch: Scratch { elements, counters } }
            }
            Grid::SegmentTiles { min_span, max_span } => {
                // at least four blocks per segment: with fewer, other warps would wait for the warp with the most
                // tiles
                let max_span = max_span.min(1 << (of_segment / 32).clamp(1, u64::from(max_span)).ilog2());
                let blocks = n.saturating_mul(of_segment.div_ceil(8));
                let span = doubled(blocks, min_span, max_span, multiprocessors * RESIDENT_BLOCKS);
                Spread {
                    span: Some(span),
                    scratch: Scratch { elements: n.saturating_mul(of_segment), counters: n },
                }
            }
            Grid::Strips { columns, min_span, max_span } => {
                let strips = n.div_ceil(columns.into());
                let parts = strips.saturating_mul(of_segment).saturating_mul(max_span.into());
                // the last block of a strip joins up to 128 parts at once, else whole tiles
                let mut span = doubled(parts, min_span, max_span, multiprocessors * RESIDENT_BLOCKS);
                while span < max_span && of_segment.saturating_mul((max_span / span).into()) > COLUMNS as u64
                {
                    span *= 2;
                }
                let elements = n.saturating_mul(of_segment).saturating_mul(u64::from(max_span / span));
                Spread { span: Some(span), scratch: Scratch { elements, counters: strips } }
            }
            Grid::Stream { min_planes, max_planes, resident, .. } => {
                let resident = multiprocessors.max(1) * u64::from(resident);
                let rounds = |planes: u32| {
                    let blocks = self.grid.blocks(space.extents, space.inner_length, self.threads, planes);
                    blocks.div_ceil(resident).saturating_mul(u64::from(planes + PLANES_AROUND))
                };
                let choices = std::iter::successors(Some(min_planes), |n| Some(2 * n));
                let choices = choices.take_while(|n| *n <= max_planes);
                // among equal choices, take the one with the most planes
                Spread { span: choices.min_by_key(|n| (rounds(*n), u32::MAX - n)), ..none }
            }
            Grid::Panels { rows, columns } => {
                let blocks = self.grid.blocks(space.extents, space.inner_length, self.threads, 1);
                let elements = blocks.saturating_mul(u64::from(rows) * u64::from(columns));
                Spread { span: Some(1), scratch: Scratch { elements, counters: 0 } }
            }
            Grid::Packs(piece) => {
                let pieces = pieces(space.extents, space.inner_length, piece.into());
                let elements = pieces.saturating_mul(WORDS_OF_PIECE);
                Spread { span: Some(1), scratch: Scratch { elements, counters: 0 } }
            }
            Grid::Packed { .. } => Spread { span: Some(1), ..none },
            Grid::Sums { .. } => {
                let panels = space.inner_length.div_ceil(PANEL as u64);
                Spread { span: Some(doubled(panels, 1, MAX_ADDERS, PANELS_IN_FLIGHT)), ..none }
            }
            Grid::Parts(_) => {
                let parts = self.grid.blocks(space.extents, space.inner_length, self.threads, 1);
                let elements = space.inner_length.saturating_mul(parts);
                Spread { span: Some(1), scratch: Scratch { elements, counters: 0 } }
            }
            Grid::Joins(_) | Grid::Stored => Spread { span: Some(1), ..none },
            // the elements; of each tile's results there are fewer
            Grid::Stores(_) => {
                Spread { span: Some(1), scratch: Scratch { elements: n.max(1), counters: groups.max(1) } }
            }
            Grid::Tickets { resident, words } => {
                let resident = multiprocessors.max(1) * u64::from(resident);
                let span = n.div_ceil(resident).clamp(1, u32::MAX.into()) as u32;
                let counters = n.saturating_mul(u64::from(2 * words)).saturating_add(TICKET_COUNTERS.into());
                // they are cleared four at a time
                let counters = counters.next_multiple_of(4);
                let elements = n.saturating_mul(TICKET_VALUES.into());
                Spread { span: Some(span), scratch: Scratch { elements, counters } }
            }
            Grid::One
            | Grid::Fills(_)
            | Grid::Shares(_)
            | Grid::Elements(_)
            | Grid::Plane { .. }
            | Grid::Volume { .. }
            | Grid::Segments(_)
            | Grid::Clusters { .. } => none,
        }
    }
}

/// Returns the number of tiles that each team of a reduction takes, if `resident` teams can be resident at once.
pub(super) fn of_team(tiles: u64, least: u32, most: u32, resident: u64) -> u32 {
    let span = doubled(tiles, least, most, resident);
    if tiles.div_ceil(span.into()) > resident { span.min(SPAN_OF_WAVES.max(least)) } else { span }
}

/// Returns a span for `tiles` units of work: `least`, doubled until at most `full` teams are needed, which can all be
/// resident at once, or until it reaches `most`. A second round of blocks costs more than blocks with more units.
pub(super) fn doubled(tiles: u64, least: u32, most: u32, full: u64) -> u32 {
    let mut span = least;
    while span < most && tiles.div_ceil(span.into()) > full {
        span *= 2;
    }
    span
}
