//! How a version of a kernel is launched: which one fits, how its work is spread over the device, what memory it shares. Functions of extents, strides, alignment and the
//! device alone: the runtime and the simulator of the tests both launch by them.

use super::gpu::{GpuKernel, GpuVersion, Grid};
use crate::core::{COLUMNS, PANEL, TILE};

/// Indices of a narrow version stay below this, so that a grid's last blocks do not overflow 32 bits.
pub const NARROW: i64 = (1 << 31) - (1 << 20);
/// Teams of 128 threads that run at once on a multiprocessor, whatever its limits: reductions are compiled for 1024 threads.
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
    pub segment: u64,
}

impl Space<'_> {
    /// How many elements.
    pub fn elements(&self) -> u64 {
        self.extents.iter().copied().reduce(u64::saturating_mul).unwrap_or(0)
    }

    /// Tiles of a segment.
    fn of_segment(&self) -> u64 {
        self.segment.div_ceil(TILE as u64)
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

    /// The first element, and that of every row unless they follow each other without gaps, lies at a multiple of 16 bytes.
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

/// How a version's work is spread.
struct Spread {
    /// See [`Start::span`].
    span: Option<u32>,
    /// Elements of a scratch array.
    scratch: u64,
    /// Counters.
    counters: u64,
}

/// One version of a kernel on its grid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    /// The version's position in its kernel.
    pub version: usize,
    /// 0: there is nothing to launch.
    pub blocks: u64,
    /// How many tiles, say, a team takes ([`Grid`]), where that is chosen at the launch.
    pub span: Option<u32>,
}

/// A launch that is decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision {
    /// What computes.
    pub first: Start,
    /// What then adds its panels ([`Grid::Panels`]).
    pub second: Option<Start>,
    /// Elements of each scratch array, and counters, that both need.
    pub scratch: u64,
    /// See `scratch`.
    pub counters: u64,
}

impl Decision {
    /// All that is launched, in order.
    pub fn starts(&self) -> impl Iterator<Item = Start> {
        [Some(self.first), self.second].into_iter().flatten().filter(|s| s.blocks > 0)
    }
}

impl GpuKernel {
    /// The first version that is right for a launch and may be the fastest; those that make several steps of an
    /// iteration only where so many are to be made. See [`GpuVersion::fits`].
    pub fn choose<'l>(
        &self,
        space: &Space,
        steps: i64,
        array: impl Fn(usize) -> Option<Layout<'l>>,
        writes_an_input: impl Fn() -> bool,
    ) -> Option<usize> {
        let may = |v: &GpuVersion| {
            v.fits(space, steps, &array, &writes_an_input) && v.pays(space.extents, space.segment)
        };
        self.versions.iter().position(may)
    }

    /// How a version is launched on a device with so many multiprocessors, and what follows it.
    pub fn decide(&self, version: usize, space: &Space, multiprocessors: u64) -> Decision {
        let start = |version: usize, span: Option<u32>| {
            let v = &self.versions[version];
            let blocks = v.grid.blocks(space.extents, space.segment, v.threads, span.unwrap_or(1));
            Start { version, blocks, span }
        };
        let spread = |version: usize| self.versions[version].spread(space, multiprocessors);
        let Spread { span, scratch, counters } = spread(version);
        let is_split = matches!(self.versions[version].grid, Grid::Panels(..));
        let second = is_split.then(|| start(version + 1, spread(version + 1).span));
        // who has no span takes no scratch
        let (scratch, counters) = if span.is_some() { (scratch, counters) } else { (0, 0) };
        Decision { first: start(version, span), second, scratch, counters }
    }
}

impl GpuVersion {
    /// Whether it is launched by itself, and not behind another one.
    pub fn is_first(&self) -> bool {
        !matches!(self.grid, Grid::Sums(..))
    }

    /// Whether the code is right for a launch: unit strides, no output that is an input (`writes_an_input` is asked where that matters), alignment, 32-bit indices,
    /// the longest segment, the steps of an iteration that are made at once.
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
            && (self.steps == 0 || i64::from(self.steps) == steps)
            && (!self.separate || !writes_an_input())
            && self.flat.iter().all(|i| at(i).is_some_and(|a| a.is_flat()))
            && self
                .aligned
                .iter()
                .all(|i| at(i).is_some_and(|a| a.is_aligned(self.flat.contains(i) && !self.rows.contains(i))))
            && self.longest.is_none_or(|most| space.segment <= most.into())
            && (!self.narrow || space.elements() < NARROW as u64 && arrays().all(|a| a.is_narrow()))
            && space.extents.iter().all(|n| *n >= self.extent.into())
    }

    /// How the work is spread over a device with so many multiprocessors.
    fn spread(&self, space: &Space, multiprocessors: u64) -> Spread {
        let (n, of_segment) = (space.elements(), space.of_segment());
        let tiles = n.div_ceil(TILE as u64);
        // a value a tile, and one a group of tiles
        let groups = tiles.div_ceil(TILE as u64);
        let alone = Spread { span: None, scratch: tiles + groups + 4, counters: groups + 1 };
        match self.grid {
            Grid::Tiles(least, most) => {
                Spread { span: Some(doubled(tiles, least, most, multiprocessors * RESIDENT_TEAMS)), ..alone }
            }
            Grid::Chunks(least, most) => {
                // four blocks a segment at least, or warps wait for the one with more tiles
                let most = most.min(1 << (of_segment / 32).clamp(1, u64::from(most)).ilog2());
                let blocks = n * of_segment.div_ceil(8);
                let span = doubled(blocks, least, most, multiprocessors * RESIDENT_BLOCKS);
                Spread { span: Some(span), scratch: n * of_segment, counters: n }
            }
            Grid::Strips(width, least, most) => {
                let strips = n.div_ceil(width.into());
                let parts = strips * of_segment * u64::from(most);
                // the last block of a strip joins up to 128 parts at once, or whole tiles
                let mut span = doubled(parts, least, most, multiprocessors * RESIDENT_BLOCKS);
                while span < most && of_segment * u64::from(most / span) > COLUMNS as u64 {
                    span *= 2;
                }
                let scratch = n * (of_segment * u64::from(most / span)).max(1);
                Spread { span: Some(span), scratch, counters: strips }
            }
            Grid::Panels(rows, cols) => {
                let blocks = self.grid.blocks(space.extents, space.segment, self.threads, 1);
                let scratch = blocks.saturating_mul(u64::from(rows) * u64::from(cols));
                Spread { span: Some(1), scratch, counters: 1 }
            }
            // threads for each result, however large the device is; the scratch is that of the panels before
            Grid::Sums(..) => {
                let panels = space.segment.div_ceil(PANEL as u64);
                Spread { span: Some(doubled(panels, 1, MOST_ADDERS, PANELS_IN_FLIGHT)), ..alone }
            }
            _ => alone,
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

/// How many tiles a team of 128 threads takes: as few as let all teams run at once (`full` of them), because blocks that wait for others to end cost more than
/// blocks with more tiles.
fn doubled(tiles: u64, least: u32, most: u32, full: u64) -> u32 {
    let mut span = least;
    while span < most && tiles.div_ceil(span.into()) > full {
        span *= 2;
    }
    span
}

#[cfg(test)]
mod tests {
    use super::{Layout, doubled};

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
