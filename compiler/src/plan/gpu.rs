//! The variants of a kernel for GPUs: what the runtime needs, besides the plan, to launch them.
//! Text form: `docs/ir.md`.
//!
//! The runtime launches the first variant of a kernel whose guards and profit hold (`policy.rs`). The last variant of
//! a kernel has neither, so that some variant serves every call, except in kernels that run instead of others
//! (`Step::Instead`): a call that none of their variants serves runs these others.

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
    /// Conditions under which the variant is the fastest of those that are right.
    pub profit: Profit,
    /// Conditions under which the variant's code is right. The conditions on single arrays are in `flat` and
    /// `aligned`.
    pub guards: Guards,
    /// Condition: these arrays, of more than one dimension, have no gaps between their rows.
    pub flat: Vec<u32>,
    /// Condition: the address of element 0 of these arrays is a multiple of 16 bytes. For arrays that are not `flat`,
    /// so is the address of the first element of every row.
    pub aligned: Vec<u32>,
    /// The number of steps of an iteration that one launch makes, if it makes several (temporal blocking). The launch
    /// must then be the whole body of the iteration. The last launch of the iteration may make fewer steps: the
    /// number to make is the kernel's last parameter. If a kernel has several such variants,
    /// [`GpuKernel::steps_at_once`] chooses among them.
    pub steps_per_launch: Option<NonZeroU32>,
    /// Those of the arrays in both `flat` and `aligned` whose rows are read by vector accesses. For them the first
    /// element of every row must be aligned as well.
    pub row_aligned: Vec<u32>,
}

/// How blocks are laid over an index space. The span is the number of units of work, such as tiles, that a team of
/// threads takes one after another: a power of two from `min_span` to `max_span`, which the launch policy chooses.
/// Nothing is launched for an index space without elements, except where at least one block is named. Some grids come
/// in pairs: the variant with the first grid is followed in the list by the variant with the second one, which is
/// launched after it and continues with the values that it leaves in scratch or in the result.
///
/// ```text
/// Panels -> Sums      Packs -> Packed      Parts -> Joins      Fills -> Shares      Stores -> Stored
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the fields are described with their variant")]
pub enum Grid {
    /// A block computes this many elements.
    Elements(u32),
    /// A block computes `rows` by `columns` elements of the last two of at least two axes. Blocks are numbered along
    /// the columns first, then along the rows, then along the outer axes.
    Plane { rows: u32, columns: u32 },
    /// A block computes `planes` by `rows` by `columns` elements of the last three of at least three axes. Blocks are
    /// numbered as for `Plane`, and along the planes last.
    Volume { planes: u32, rows: u32, columns: u32 },
    /// A block walks through some planes of `rows` by `columns` elements, of the last three of at least three axes.
    /// The launch policy chooses the number of planes of a block, from `min_planes` to `max_planes` (fewer if there
    /// are fewer). Blocks along the planes share them evenly; `resident` blocks fit on a multiprocessor at once.
    /// Blocks are numbered as for `Volume`.
    Stream { rows: u32, columns: u32, min_planes: u32, max_planes: u32, resident: u32 },
    /// A team of 128 threads computes `span` tiles of 2048 elements; there is at least one block.
    Tiles { min_span: u32, max_span: u32 },
    /// A block computes this many elements, each of which is a segment.
    Segments(u32),
    /// The `blocks` of a thread block cluster together compute `segments` elements, each of which is a segment.
    Clusters { blocks: u32, segments: u32 },
    /// A block of eight warps computes 8 · `span` tiles of one segment; there is at least one block
    /// per segment. Texts call it `chunks`.
    SegmentTiles { min_span: u32, max_span: u32 },
    /// A block computes a part of one tile for each segment of a strip of `columns` neighbouring segments. A tile has
    /// 128 tree columns, of which each of the block's eight warps takes `span`, at most 16; so 16 / `span` blocks
    /// compute one tile. If segments have more than 128 tiles, `span` is `max_span`.
    Strips { columns: u32, min_span: u32, max_span: u32 },
    /// The first kernel of a split-K product. A block computes one panel (a range of inner indices, semantics 5.7) of
    /// a block tile of `rows` by `columns` results, into scratch: [panel][block tile][row][column]. A vector counts
    /// as one column.
    Panels { rows: u32, columns: u32 },
    /// The second kernel of a split-K product. `span` threads add the panels of one result, a power of two up to 16.
    Sums { rows: u32, columns: u32 },
    /// The first kernel of a product with packed operands. A thread copies a piece of this many elements of an
    /// operand into scratch: all of the rows' side, then all of the columns' side. Both extents and the number of
    /// inner indices are rounded up to 8 pieces.
    Packs(u32),
    /// The second kernel of a product with packed operands. A block computes `rows` by `columns` results, as for
    /// `Plane`, from the operands in scratch.
    Packed { rows: u32, columns: u32 },
    /// The first kernel for rows and columns at once: the segments are the rows, and it also reduces the columns. A
    /// block computes this many of the 128 tree columns of a tile of 2048 rows, for every place in a row, into
    /// scratch: [tile][part][place].
    Parts(u32),
    /// The second kernel for rows and columns at once. A block joins the parts of this many neighbouring columns.
    Joins(u32),
    /// The first kernel for bins in the result. A block fills this many of the bins of all parts, which are segments.
    Fills(u32),
    /// The second kernel for bins in the result. Several blocks share the elements of a part: one for each so many
    /// bins.
    Shares(u32),
    /// The first kernel of a reduction of few long elements. A block computes this many of them, into scratch.
    Stores(u32),
    /// The second kernel of a reduction of few long elements. A team of 128 threads reduces a tile of 2048 elements
    /// in scratch; there is at least one block.
    Stored,
    /// Persistent blocks take segments by tickets from a counter: `resident` blocks for each multiprocessor, or one
    /// for each segment if that is less, but at least one. The launch leaves all counters at zero. Each segment has
    /// `words` pairs of counters behind the first [`TICKET_COUNTERS`], and [`TICKET_VALUES`] elements of each scratch
    /// array.
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
            | Grid::Stores(_)
            | Grid::Stored
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
            Grid::Elements(each) | Grid::Segments(each) | Grid::Stores(each) => n.div_ceil(each.into()),
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
            Grid::Tiles { .. } | Grid::Stored => {
                let (tile, teams) = (TILE as u64, u64::from(threads) / COLUMNS as u64);
                let tiles = n.div_ceil(tile);
                // the number of blocks of a group of 2048 tiles; the last group has only blocks that have a tile
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
            // elements without bins leave records
            Grid::Shares(each) => n.saturating_mul(segment.div_ceil(each.into()).max(1)),
            Grid::Tickets { .. } => n.div_ceil(span.into()).max(1),
            Grid::One => 1,
        }
    }

    /// Whether the grid is the first one of a pair, so that another kernel is launched after the variant ([`Grid`]).
    pub fn leaves_parts(&self) -> bool {
        matches!(
            self,
            Grid::Panels { .. } | Grid::Packs(_) | Grid::Parts(_) | Grid::Fills(_) | Grid::Stores(_)
        )
    }

    /// Whether the grid is the second one of a pair, so that the variant is launched only after another one
    /// ([`Grid`]).
    pub fn follows(&self) -> bool {
        matches!(
            self,
            Grid::Sums { .. } | Grid::Packed { .. } | Grid::Joins(_) | Grid::Shares(_) | Grid::Stored
        )
    }
}

impl GpuKernel {
    /// Chooses among the variants that make several steps of an iteration ([`GpuVariant::steps_per_launch`]), for one
    /// of `count` steps: the one with the fewest steps that makes the whole iteration in one launch or, if none does,
    /// the one with the most steps. Returns its steps; `None` if there is no such variant or `count` is at most 1.
    pub fn steps_at_once(&self, count: i64) -> Option<i64> {
        let steps = || self.variants.iter().filter_map(|v| v.steps_per_launch).map(|n| i64::from(n.get()));
        let enough = steps().filter(|n| *n >= count).min();
        if count > 1 { enough.or(steps().max()) } else { None }
    }
}
