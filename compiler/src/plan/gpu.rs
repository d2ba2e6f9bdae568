//! The variants of a kernel for GPUs: what the runtime needs, besides the plan, to launch them.
//! Text form: `docs/ir.md`.
//!
//! The runtime launches the first variant of a kernel whose conditions hold. The last variant has no conditions,
//! except in kernels that run instead of others (`Step::Instead`).

mod squares;
#[cfg(test)]
mod tests;
mod text;

pub use super::guards::Guards;
pub use super::profit::Profit;
use crate::core::{COLUMNS, PANEL, SCAN_TILE, TILE};
use crate::kernel::WARP;
use squares::squares;
pub use squares::{PIECES_OF_LINE, pieces};
use std::num::NonZeroU32;
pub use text::{entries, parse, parse_one};

/// The variants of one kernel for GPUs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GpuKernel {
    /// The kernel's name, as in the launches of the plan.
    pub name: String,
    /// The variants, in order of preference.
    pub variants: Vec<GpuVariant>,
    /// The reason why there are no variants, if there are none.
    pub absent: Option<String>,
}

/// One variant: an entry point of a module of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GpuVariant {
    /// The name of the entry point.
    pub entry: String,
    /// Number of threads in a block.
    pub threads: u32,
    /// The bytes of shared memory that the launch asks for; 0 for what the code declares itself, up to 48 KB.
    pub shared: u32,
    /// How the number of blocks follows from the index space.
    pub grid: Grid,
    /// Conditions under which the variant is the fastest.
    pub profit: Profit,
    /// Conditions under which the variant's code is right, besides those on single arrays.
    pub guards: Guards,
    /// Condition: these arrays, of more than one dimension, have no gaps between their rows.
    pub flat: Vec<u32>,
    /// Condition: the address of element 0 of these arrays is a multiple of 16 bytes, and so is the
    /// address of the first element of every row, for those that are not `flat`.
    pub aligned: Vec<u32>,
    /// Number of steps of an iteration that one launch computes, if it computes several. There is then a condition:
    /// the launch must be the whole body of an iteration. In the last launch of the iteration fewer steps may be
    /// left; the number of steps to compute is the kernel's last parameter. If a kernel has several such variants,
    /// [`GpuKernel::steps_at_once`] chooses the one with the fewest steps that complete the whole iteration in one
    /// launch, or, if none does, the one with the most steps.
    pub steps_per_launch: Option<NonZeroU32>,
    /// Arrays among those both flat and aligned whose rows are read by vector accesses, so that every row must be
    /// aligned as well.
    pub row_aligned: Vec<u32>,
}

/// How blocks are laid over an index space of n elements. A span is a power of two between
/// `min_span` and `max_span`, which the launch policy chooses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the fields are described with their variant")]
pub enum Grid {
    /// A block computes this many elements; there are no blocks for no elements.
    Elements(u32),
    /// A block computes `rows` by `columns` elements, of the last two of at least two axes; there
    /// are no blocks for no elements. Blocks are counted along the columns first, then along the
    /// rows, then along the axes before.
    Plane { rows: u32, columns: u32 },
    /// A block computes `planes` by `rows` by `columns` elements, of the last three of at least three axes;
    /// there are no blocks for no elements. Blocks are counted as those of a plane, and along the planes last.
    Volume { planes: u32, rows: u32, columns: u32 },
    /// A block computes some planes of `rows` by `columns` elements, of the last three of at least three axes. The
    /// launch policy chooses the number of blocks along the planes: they share the planes evenly, each has at most
    /// `max_planes`, and at least `min_planes` if there are that many; a multiprocessor has `resident` blocks at
    /// once. Blocks are counted as those of a volume, and know their share from their number.
    Stream { rows: u32, columns: u32, min_planes: u32, max_planes: u32, resident: u32 },
    /// A team of 128 threads computes `span` tiles of 2048 elements; there is at least one block.
    Tiles { min_span: u32, max_span: u32 },
    /// A block computes this many elements, each of which is a segment; there are no blocks for no
    /// elements.
    Segments(u32),
    /// The `blocks` of a cluster compute `segments` elements together, each of which is a segment;
    /// there are no blocks for no elements.
    Clusters { blocks: u32, segments: u32 },
    /// A block of eight warps computes 8 · `span` tiles of one segment; there is at least one block
    /// per segment. Texts call it `chunks`.
    SegmentTiles { min_span: u32, max_span: u32 },
    /// A block computes a part of one tile for each segment of a strip of `columns` neighbouring
    /// segments. A tile has 128 columns, of which each of the block's eight warps takes `span`, at
    /// most 16; so 16 / `span` blocks compute one tile. If segments have more than 128 tiles, the
    /// span is the greatest.
    Strips { columns: u32, min_span: u32, max_span: u32 },
    /// A block computes one panel (semantics 5.7) for a block tile of `rows` by `columns` results
    /// of a product, into scratch: [panel][block tile][row][column]. A vector counts as one column.
    /// The next variant in the list, whose grid is `Sums`, is launched after this one.
    Panels { rows: u32, columns: u32 },
    /// Threads add the panels' results of a product, which lie in block tiles of `rows` by `columns` results: `span`
    /// threads per result, a power of two up to 16. Launched only after a variant whose grid is `Panels`.
    Sums { rows: u32, columns: u32 },
    /// Threads copy both operands of a product into scratch, a piece of this many elements each: first the rows'
    /// side, then the columns'. Both extents and the number of inner indices are rounded up to 8 pieces. The next
    /// variant in the list, whose grid is `Packed`, is launched after this one.
    Packs(u32),
    /// A block computes `rows` by `columns` results, like those of a plane, from operands in scratch. Launched only
    /// after a variant whose grid is `Packs`.
    Packed { rows: u32, columns: u32 },
    /// A block computes this many of the 128 tree columns of a tile of 2048 segments, for every place in a segment,
    /// into scratch: [tile][part][place]. The next variant in the list, whose grid is `Joins`, is launched after this
    /// one.
    Parts(u32),
    /// A block joins the parts of this many neighbouring places of segments. Launched only after a variant whose grid
    /// is `Parts`.
    Joins(u32),
    /// A block fills this many of the bins of all parts, which are segments. The next variant in the list, whose grid
    /// is `Shares`, is launched after this one.
    Fills(u32),
    /// Blocks share the elements of a part: there is one block for each so many bins of the part. Launched only after
    /// a variant whose grid is `Fills`.
    Shares(u32),
    /// Blocks take segments by tickets, at counters that the launch leaves at zero: as many blocks as let `resident`
    /// of them be on each multiprocessor at once, or one for each segment if these are fewer; there is at least one
    /// block. For each segment there are so many words of two counters, behind [`TICKET_COUNTERS`], and
    /// [`TICKET_VALUES`] elements of each scratch array.
    Tickets { resident: u32, words: u32 },
    /// One block.
    One,
}

/// The counters before the words of [`Grid::Tickets`]: that of tickets, that of arrivals, and two that are not used.
pub const TICKET_COUNTERS: u32 = 4;
/// The elements of each scratch array for a segment of [`Grid::Tickets`], which is a tile of a scan: one for each
/// tile of the tree.
pub const TICKET_VALUES: u32 = (SCAN_TILE / TILE) as u32;

impl Grid {
    /// Whether blocks exchange values through scratch, with other blocks or with another launch.
    pub fn has_scratch(&self) -> bool {
        match self {
            Grid::Tiles { .. }
            | Grid::SegmentTiles { .. }
            | Grid::Strips { .. }
            | Grid::Panels { .. }
            | Grid::Sums { .. }
            | Grid::Packs(_)
            | Grid::Packed { .. }
            | Grid::Parts(_)
            | Grid::Joins(_)
            | Grid::Tickets { .. } => true,
            Grid::One
            | Grid::Fills(_)
            | Grid::Shares(_)
            | Grid::Elements(_)
            | Grid::Plane { .. }
            | Grid::Volume { .. }
            | Grid::Stream { .. }
            | Grid::Segments(_)
            | Grid::Clusters { .. } => false,
        }
    }

    /// Returns the number of blocks of `threads` threads over an index space, whose elements are
    /// segments of length `segment` each. `span`: see [`Grid`].
    pub fn blocks(self, extents: &[u64], segment: u64, threads: u32, span: u32) -> u64 {
        let n = extents.iter().copied().reduce(u64::saturating_mul).unwrap_or(0);
        match self {
            Grid::Elements(each) | Grid::Segments(each) => n.div_ceil(each.into()),
            Grid::Clusters { blocks, segments } => n.div_ceil(segments.into()).saturating_mul(blocks.into()),
            Grid::Packs(piece) => pieces(extents, segment, piece.into()).div_ceil(threads.into()),
            Grid::Plane { rows, columns } | Grid::Packed { rows, columns } => {
                let planes = extents.iter().rev().skip(2).copied();
                planes.fold(squares(extents, rows, columns), u64::saturating_mul)
            }
            Grid::Stream { rows, columns, min_planes, .. } => {
                let planes = span.max(min_planes);
                Grid::Volume { planes, rows, columns }.blocks(extents, segment, threads, 1)
            }
            Grid::Volume { planes, rows, columns } => {
                let blocks = squares(extents, rows, columns);
                let outer = |(axis, n): (usize, &u64)| if axis == 0 { n.div_ceil(planes.into()) } else { *n };
                extents.iter().rev().skip(2).enumerate().map(outer).fold(blocks, u64::saturating_mul)
            }
            Grid::Panels { rows, columns } => {
                squares(extents, rows, columns).saturating_mul(segment.div_ceil(PANEL as u64))
            }
            Grid::Sums { rows, columns } => {
                let each = u64::from(rows) * u64::from(columns) * u64::from(span);
                squares(extents, rows, columns).saturating_mul(each).div_ceil(threads.into())
            }
            Grid::SegmentTiles { .. } => {
                let of_block = u64::from(threads / WARP) * u64::from(span);
                n.saturating_mul(segment.div_ceil(TILE as u64).div_ceil(of_block).max(1))
            }
            Grid::Tiles { .. } => {
                let (tile, teams) = (TILE as u64, u64::from(threads) / COLUMNS as u64);
                let tiles = n.div_ceil(tile);
                // number of blocks of a group of 2048 tiles; the last group has only as many of
                // them as have a tile
                let of_group = tile / (teams * u64::from(span));
                (tiles / tile * of_group + (tiles % tile).div_ceil(teams).min(of_group)).max(1)
            }
            Grid::Strips { columns, max_span, .. } => {
                let parts = segment.div_ceil(TILE as u64).saturating_mul((max_span / span).into());
                n.div_ceil(columns.into()).saturating_mul(parts.max(1))
            }
            Grid::Parts(columns) => n.div_ceil(TILE as u64) * (COLUMNS as u64 / u64::from(columns)),
            Grid::Joins(each) => segment.div_ceil(each.into()),
            Grid::Fills(each) => n.saturating_mul(segment).div_ceil(each.into()),
            Grid::Shares(each) => n.saturating_mul(segment.div_ceil(each.into())),
            Grid::Tickets { .. } => n.div_ceil(span.into()).max(1),
            Grid::One => 1,
        }
    }

    /// Whether another kernel is launched after the variant, to join what it leaves in scratch, or to join values to
    /// what it fills.
    pub fn leaves_parts(&self) -> bool {
        matches!(self, Grid::Panels { .. } | Grid::Packs(_) | Grid::Parts(_) | Grid::Fills(_))
    }

    /// Whether the variant is launched only after another one.
    pub fn follows(&self) -> bool {
        matches!(self, Grid::Sums { .. } | Grid::Packed { .. } | Grid::Joins(_) | Grid::Shares(_))
    }
}

impl GpuKernel {
    /// Returns how many steps one launch of a multi-step variant computes in an iteration of
    /// `count` steps ([`GpuVariant::steps_per_launch`]), if there is such a variant and `count` is
    /// greater than 1.
    pub fn steps_at_once(&self, count: i64) -> Option<i64> {
        let steps = || self.variants.iter().filter_map(|v| v.steps_per_launch).map(|n| i64::from(n.get()));
        let enough = steps().filter(|n| *n >= count).min();
        if count > 1 { enough.or(steps().max()) } else { None }
    }
}
