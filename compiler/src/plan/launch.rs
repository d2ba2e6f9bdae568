//! The launch policy for GPUs: which variant of a kernel fits, how its work is spread over the
//! device, and what memory its kernels share. Functions of extents, strides, alignment and the
//! device alone: the runtime and the simulator of the tests launch by them, and `--explain` says
//! what they decide.
//!
//! A launch of the plan is one kernel launch or, for a split-K product, two: the second kernel adds
//! the panels that the first one left in scratch. The plan has no step for the second. A plan is
//! made once for CPUs and GPUs, and whether a product is split is chosen at the call, from its
//! shape and strides; a step would have to name the variant that it belongs to, and every other
//! variant and every CPU would have to skip it. So a [`Decision`] lists the kernel launches of a
//! plan's launch in order, and who executes them makes no difference between them.

use super::gpu::{GpuKernel, GpuVariant, Grid, Profit};
use crate::core::{COLUMNS, PANEL, TILE};
use crate::scalar::Ty;

/// Indices of a narrow variant stay below this, so that a grid's last blocks do not overflow 32
/// bits.
pub const NARROW: i64 = (1 << 31) - (1 << 20);
/// Teams of 128 threads that run at once on a multiprocessor, whatever its limits: reductions are
/// compiled for 1024 threads.
const RESIDENT_TEAMS: u64 = 8;
/// Blocks of 256 threads that run at once on a multiprocessor, as segments are compiled.
const RESIDENT_BLOCKS: u64 = 4;
/// Threads that add one result's panels at most, and panels that each of them has in flight.
const MOST_ADDERS: u32 = 16;
const PANELS_IN_FLIGHT: u64 = 16;

/// What a launch is over.
#[derive(Clone, Copy)]
pub struct Space<'a> {
    /// Outermost first.
    pub extents: &'a [u64],
    /// The length of a segment, where elements are segments; else 0.
    pub inner_length: u64,
}

impl Space<'_> {
    /// How many elements.
    pub fn elements(&self) -> u64 {
        self.extents.iter().copied().reduce(u64::saturating_mul).unwrap_or(0)
    }

    /// Tiles of a segment.
    fn of_segment(&self) -> u64 {
        self.inner_length.div_ceil(TILE as u64)
    }
}

/// How the elements of an array of a launch lie in memory.
#[derive(Clone, Copy)]
pub struct Layout<'a> {
    /// Outermost first.
    pub extents: &'a [i64],
    /// In elements.
    pub strides: &'a [i64],
    /// Bytes of an element.
    pub size: usize,
    /// The address of the first element, up to multiples of 16.
    pub address: usize,
}

impl Layout<'_> {
    /// Neighbours along the last axis lie side by side.
    pub fn is_contiguous(&self) -> bool {
        self.strides.last().is_none_or(|s| *s == 1)
    }

    /// All elements lie side by side, in row-major order.
    pub fn is_flat(&self) -> bool {
        let mut dense = 1i64;
        let mut axes = self.extents.iter().zip(self.strides).rev();
        self.extents.contains(&0)
            || axes.all(|(n, s)| {
                let before = dense;
                dense = dense.wrapping_mul(*n);
                *n == 1 || *s == before
            })
    }

    /// The first element, and that of every row unless they follow each other without gaps, lies at
    /// a multiple of 16 bytes.
    fn is_aligned(&self, flat: bool) -> bool {
        let outer = self.strides.len().saturating_sub(1);
        let mut rows = self.extents.iter().zip(self.strides).take(outer).filter(|(n, _)| **n > 1);
        let bytes = |stride: i64| stride.unsigned_abs() as usize % 16 * self.size;
        self.address.is_multiple_of(16) && (flat || rows.all(|(_, s)| bytes(*s).is_multiple_of(16)))
    }

    /// Every index, times its stride, and the sum of these, stay within 31 bits.
    fn is_narrow(&self) -> bool {
        let count = self.extents.iter().fold(1i64, |n, e| n.saturating_mul(*e));
        let mut axes = self.extents.iter().zip(self.strides).filter(|(n, _)| **n > 1);
        let reach = axes.try_fold(0i64, |sum, (n, s)| sum.checked_add(s.checked_abs()?.checked_mul(*n)?));
        count < NARROW && reach.is_some_and(|r| r < NARROW)
    }
}

/// How a variant's work is spread.
struct Spread {
    /// See [`KernelLaunch::span`].
    span: Option<u32>,
    scratch: Scratch,
}

/// What the kernels of a launch share, in memory of their stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Scratch {
    /// Elements of each scratch array.
    pub elements: u64,
    /// Counters of arrivals: u32, zero before and after each kernel.
    pub counters: u64,
}

impl Scratch {
    /// Each array begins at a multiple of so many bytes.
    const ALIGNMENT: u64 = 256;

    /// Bytes from the beginning of an array of that type to the beginning of the next one.
    fn bytes_of(&self, ty: Ty) -> u64 {
        self.elements.saturating_mul(ty.size() as u64).saturating_add(Scratch::ALIGNMENT - 1)
            & !(Scratch::ALIGNMENT - 1)
    }

    /// Bytes of arrays of these types, one behind the other.
    pub fn bytes(&self, types: &[Ty]) -> u64 {
        types.iter().fold(0, |sum: u64, ty| sum.saturating_add(self.bytes_of(*ty)))
    }

    /// Where each of them begins.
    pub fn offsets(&self, types: &[Ty]) -> impl Iterator<Item = u64> {
        types.iter().scan(0, |next: &mut u64, ty| {
            let begin = *next;
            *next = begin.saturating_add(self.bytes_of(*ty));
            Some(begin)
        })
    }
}

/// One variant of a kernel on its grid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelLaunch {
    /// The variant's position in its kernel.
    pub variant: usize,
    /// At least 1.
    pub blocks: u64,
    /// How many tiles, say, a team takes ([`Grid`]), where that is chosen at the launch: the last
    /// parameter of kernels that have scratch, which no other kernel has.
    pub span: Option<u32>,
}

/// A launch of a plan that is decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision {
    kernels: [Option<KernelLaunch>; 2],
    /// What its kernels share.
    pub scratch: Scratch,
}

impl Decision {
    /// What is launched, in order; nothing for no elements.
    pub fn kernels(&self) -> impl Iterator<Item = KernelLaunch> {
        self.kernels.into_iter().flatten()
    }
}

impl GpuKernel {
    /// The first variant that is right for a launch and may be the fastest; those that make several
    /// steps of an iteration only where so many are to be made. See [`GpuVariant::fits`].
    pub fn choose<'l>(
        &self,
        space: &Space,
        steps: i64,
        array: impl Fn(usize) -> Option<Layout<'l>>,
        writes_an_input: impl Fn() -> bool,
    ) -> Option<usize> {
        let may = |v: &GpuVariant| {
            v.fits(space, steps, &array, &writes_an_input)
                && v.is_profitable(space.extents, space.inner_length)
        };
        self.variants.iter().position(may)
    }

    /// What is launched if that variant was chosen, on a device with so many multiprocessors.
    pub fn decide(&self, variant: usize, space: &Space, multiprocessors: u64) -> Decision {
        let launch = |variant: usize| {
            let v = &self.variants[variant];
            let Spread { span, scratch } = v.spread(space, multiprocessors);
            let blocks = v.grid.blocks(space.extents, space.inner_length, v.threads, span.unwrap_or(1));
            let launch = KernelLaunch { variant, blocks, span };
            ((blocks > 0).then_some(launch), scratch)
        };
        let (first, scratch) = launch(variant);
        let second = self.follower(variant).and_then(|next| launch(next).0);
        Decision { kernels: [first, second], scratch }
    }

    /// The variant that is launched behind that one: it adds the panels of a split-K product.
    pub fn follower(&self, variant: usize) -> Option<usize> {
        let leaves_panels = matches!(self.variants[variant].grid, Grid::Panels { .. });
        leaves_panels.then_some(variant + 1)
    }
}

impl GpuVariant {
    /// Whether it is launched by itself, and not behind another one.
    pub fn is_first(&self) -> bool {
        !matches!(self.grid, Grid::Sums { .. })
    }

    /// Whether it may be the fastest one, with scratch that one can afford, over this index space,
    /// whose elements are segments of that length each.
    pub fn is_profitable(&self, extents: &[u64], segment: u64) -> bool {
        // a stream keeps what panels leave: no more than 256 MiB of f32, indexed by 31 bits
        const MOST_SCRATCH: u64 = 1 << 26;
        let Profit { min_blocks, max_blocks, min_inner_length, max_rows, max_columns } = self.profit;
        let blocks = |segment: u64| self.grid.blocks(extents, segment, self.threads, 1);
        let of_panel = if let Grid::Panels { .. } = self.grid { 1 } else { segment };
        let axis = |from_last: usize| extents.iter().rev().nth(from_last).copied().unwrap_or(1);
        let fits = match self.grid {
            Grid::Panels { rows, columns } => {
                blocks(segment).saturating_mul(u64::from(rows) * u64::from(columns)) <= MOST_SCRATCH
            }
            Grid::Sums { .. } => false,
            _ => true,
        };
        fits && min_blocks.is_none_or(|n| blocks(segment) >= n.into())
            && max_blocks.is_none_or(|n| blocks(of_panel) <= n.into())
            && min_inner_length.is_none_or(|n| segment >= n.into())
            && max_rows.is_none_or(|n| axis(1) <= n.into())
            && max_columns.is_none_or(|n| axis(0) <= n.into())
    }

    /// Whether the code is right for a launch: unit strides, no output that is an input
    /// (`writes_an_input` is asked where that matters), alignment, 32-bit indices, the longest
    /// segment, the steps of an iteration that are made at once.
    pub fn fits<'l>(
        &self,
        space: &Space,
        steps: i64,
        array: impl Fn(usize) -> Option<Layout<'l>>,
        writes_an_input: impl Fn() -> bool,
    ) -> bool {
        let arrays = || (0..).map_while(&array);
        let at = |i: &u32| array(*i as usize);
        (!self.contiguous || arrays().all(|a| a.is_contiguous()))
            && (self.steps_per_launch == 0 || i64::from(self.steps_per_launch) == steps)
            && (!self.noalias || !writes_an_input())
            && self.flat.iter().all(|i| at(i).is_some_and(|a| a.is_flat()))
            && self.aligned.iter().all(|i| {
                at(i).is_some_and(|a| a.is_aligned(self.flat.contains(i) && !self.row_aligned.contains(i)))
            })
            && self.longest.is_none_or(|most| space.inner_length <= most.into())
            && (!self.narrow || space.elements() < NARROW as u64 && arrays().all(|a| a.is_narrow()))
            && space.extents.iter().all(|n| *n >= self.extent.into())
    }

    /// How the work is spread over a device with so many multiprocessors.
    fn spread(&self, space: &Space, multiprocessors: u64) -> Spread {
        let (n, of_segment) = (space.elements(), space.of_segment());
        let tiles = n.div_ceil(TILE as u64);
        let groups = tiles.div_ceil(TILE as u64);
        let none = Spread { span: None, scratch: Scratch::default() };
        match self.grid {
            Grid::Tiles { min_span, max_span } => {
                let span = doubled(tiles, min_span, max_span, multiprocessors * RESIDENT_TEAMS);
                // a value a tile; behind them, if there are several groups of tiles, one a group
                let (elements, counters) = match groups {
                    0 | 1 => (tiles.max(1), 1),
                    _ => (tiles.next_multiple_of(4) + groups, groups + 1),
                };
                Spread { span: Some(span), scratch: Scratch { elements, counters } }
            }
            Grid::SegmentTiles { min_span, max_span } => {
                // four blocks a segment at least, or warps wait for the one with more tiles
                let max_span = max_span.min(1 << (of_segment / 32).clamp(1, u64::from(max_span)).ilog2());
                let blocks = n * of_segment.div_ceil(8);
                let span = doubled(blocks, min_span, max_span, multiprocessors * RESIDENT_BLOCKS);
                Spread {
                    span: Some(span),
                    scratch: Scratch { elements: n.saturating_mul(of_segment), counters: n },
                }
            }
            Grid::Strips { columns, min_span, max_span } => {
                let strips = n.div_ceil(columns.into());
                let parts = strips * of_segment * u64::from(max_span);
                // the last block of a strip joins up to 128 parts at once, or whole tiles
                let mut span = doubled(parts, min_span, max_span, multiprocessors * RESIDENT_BLOCKS);
                while span < max_span && of_segment * u64::from(max_span / span) > COLUMNS as u64 {
                    span *= 2;
                }
                let elements = n.saturating_mul(of_segment).saturating_mul(u64::from(max_span / span));
                Spread { span: Some(span), scratch: Scratch { elements, counters: strips } }
            }
            Grid::Panels { rows, columns } => {
                let blocks = self.grid.blocks(space.extents, space.inner_length, self.threads, 1);
                let elements = blocks.saturating_mul(u64::from(rows) * u64::from(columns));
                Spread { span: Some(1), scratch: Scratch { elements, counters: 0 } }
            }
            // threads for each result, however large the device is; the scratch is that of the
            // panels before
            Grid::Sums { .. } => {
                let panels = space.inner_length.div_ceil(PANEL as u64);
                Spread { span: Some(doubled(panels, 1, MOST_ADDERS, PANELS_IN_FLIGHT)), ..none }
            }
            _ => none,
        }
    }

    /// All spans that are chosen on some device.
    pub fn spans(&self, space: &Space) -> Vec<u32> {
        let devices = (0..16).map(|k| 1u64 << k);
        let mut all: Vec<u32> = devices.filter_map(|m| self.spread(space, m).span).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// How many tiles a team of 128 threads takes: as few as let all teams run at once (`full` of
/// them), because blocks that wait for others to end cost more than blocks with more tiles.
fn doubled(tiles: u64, least: u32, most: u32, full: u64) -> u32 {
    let mut span = least;
    while span < most && tiles.div_ceil(span.into()) > full {
        span *= 2;
    }
    span
}

#[cfg(test)]
mod tests {
    use super::{KernelLaunch, Layout, Scratch, Space, doubled};
    use crate::plan::gpu;
    use crate::scalar::Ty;

    #[test]
    fn a_split_product_is_two_kernel_launches() {
        let text = "gpu @m {
  version panels threads 64 panels 64 by 64 most 132 shortest 1024
  version sums threads 256 sums 64 by 64
  version whole threads 256 plane 64 by 64
}";
        let kernel = &gpu::parse(text).unwrap()[0];
        let decide = |extents: &[u64], segment| {
            let space = Space { extents, inner_length: segment };
            kernel.decide(kernel.choose(&space, 1, |_| None, || false).unwrap(), &space, 132)
        };
        let launch = |variant, blocks, span| KernelLaunch { variant, blocks, span };
        let split = decide(&[128, 65], 1025);
        assert_eq!(split.kernels().collect::<Vec<_>>(), [launch(0, 12, Some(1)), launch(1, 64, Some(1))]);
        assert_eq!(split.scratch, Scratch { elements: 12 * 64 * 64, counters: 0 });
        let whole = decide(&[128, 65], 512);
        assert_eq!(whole.kernels().collect::<Vec<_>>(), [launch(2, 4, None)]);
        assert_eq!(whole.scratch, Scratch::default());
        assert_eq!(decide(&[0, 65], 1025).kernels().count(), 0);
    }

    #[test]
    fn scratch_arrays_follow_each_other() {
        let scratch = Scratch { elements: 65, counters: 1 };
        let types = [Ty::F32, Ty::F64, Ty::Bool];
        assert_eq!(scratch.offsets(&types).collect::<Vec<_>>(), [0, 512, 512 + 768]);
        assert_eq!(scratch.bytes(&types), 512 + 768 + 256);
        assert_eq!(scratch.bytes(&[]), 0);
        assert_eq!(Scratch { elements: u64::MAX, counters: 0 }.bytes(&types), u64::MAX);
    }

    #[test]
    fn spans_fill_the_device_first() {
        let full = 132 * 8;
        assert_eq!(doubled(0, 1, 32, full), 1);
        assert_eq!(doubled(full, 1, 32, full), 1);
        assert_eq!(doubled(full + 1, 1, 32, full), 2);
        assert_eq!(doubled(1 << 15, 1, 32, full), 32);
        assert_eq!(doubled(1 << 40, 1, 32, full), 32);
        assert_eq!(doubled(1 << 40, 2, 2, full), 2);
    }

    #[test]
    fn layouts() {
        let of = |extents, strides, address| Layout { extents, strides, size: 4, address };
        assert!(of(&[3, 8], &[8, 1], 0).is_flat() && of(&[3, 8], &[8, 1], 0).is_aligned(false));
        // one row has no distance to the next
        assert!(of(&[1, 8], &[99, 1], 0).is_flat() && of(&[1, 8], &[99, 1], 32).is_aligned(false));
        assert!(!of(&[3, 8], &[9, 1], 0).is_flat() && !of(&[3, 8], &[9, 1], 0).is_aligned(false));
        assert!(!of(&[8], &[1], 4).is_aligned(true));
        assert!(of(&[0, 8], &[1, 7], 0).is_flat());
        assert!(of(&[2, 4], &[1 << 29, 1], 0).is_narrow() && !of(&[4, 4], &[1 << 29, 1], 0).is_narrow());
        assert!(!of(&[4, 4], &[i64::MIN, 1], 0).is_narrow());
    }
}
