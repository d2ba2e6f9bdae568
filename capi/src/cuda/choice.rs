//! Which version of a kernel a launch takes, on how large a grid.

use super::execute::Call;
use super::launch::{Prepared, Start};
use crate::error::{INTERNAL, MODULE, Result, fail};
use crate::execute::{elements, place_of, writes_an_input};
use crate::view::{AXES, Span};
use crate::workspace::Workspace;
use arraygpu_compiler::core::{COLUMNS, PANEL, TILE};
use arraygpu_compiler::plan::gpu::{GpuVersion, Grid};
use arraygpu_compiler::plan::{Launch, Place};
use std::ptr::null_mut;

/// Indices of a narrow version stay below this, so that a grid's last blocks do not overflow 32 bits.
const NARROW: i64 = (1 << 31) - (1 << 20);
/// Teams of 128 threads that run at once on a multiprocessor, whatever its limits: reductions are compiled for 1024 threads.
const RESIDENT_TEAMS: u64 = 8;
/// Blocks of 256 threads that run at once on a multiprocessor, as segments are compiled.
const RESIDENT_BLOCKS: u64 = 4;
/// Tiles of a group: their results are joined in one more level.
const GROUP: u64 = 2048;
/// Threads that add one result's panels at most, and panels that each of them has in flight.
const MOST_ADDERS: u32 = 16;
const PANELS_IN_FLIGHT: u64 = 16;

/// Elements of a scratch array, and how many counters.
fn scratch_sizes(tiles: u64) -> (u64, u64) {
    let groups = tiles.div_ceil(GROUP);
    (tiles + groups + 4, groups + 1)
}

impl Call<'_> {
    /// Decides one launch, and loads its code.
    pub(super) fn decide(&self, l: &Launch, each: i64, ws: &Workspace) -> Result<Prepared> {
        let n = elements(l, ws)?;
        let segment = l.segment.map_or(0, |d| ws.host[d.0 as usize].as_i64()).max(0);
        let (number, version) = self.version(l, n, segment, each, ws)?;
        let (n, segment) = (n as u64, segment as u64);
        let mut room = [0; AXES];
        let domain = domain(l, ws, &mut room);
        let (span, scratch) = self.spread(version, n, segment, domain);
        let start = |number: usize, version: &'static GpuVersion, span: Option<u32>| {
            let blocks = version.grid.blocks(domain, segment, version.threads, span.unwrap_or(1));
            let Some(blocks) = u32::try_from(blocks).ok().filter(|b| *b <= i32::MAX as u32) else {
                fail!(INTERNAL, "kernel {} over {n} elements needs {blocks} blocks", l.name);
            };
            let kernel = l.kernel as usize;
            let function = match blocks {
                0 => null_mut(),
                _ => self.gpu.function(self.loaded.id, self.images, kernel, number)?,
            };
            Ok(Start { function, version, blocks, span })
        };
        let first = start(number, version, span)?;
        let second = match version.grid {
            Grid::Panels(..) => {
                let after = &self.images.kernels[l.kernel as usize].versions[number + 1];
                let panels = segment.div_ceil(PANEL as u64);
                Some(start(number + 1, after, Some(tile_span(panels, 1, MOST_ADDERS, PANELS_IN_FLIGHT)))?)
            }
            _ => None,
        };
        Ok(Prepared { first, second, scratch })
    }

    /// How many tiles, say, a version's teams take, if it has a choice; elements of a scratch array, and how many counters.
    fn spread(
        &self,
        version: &GpuVersion,
        n: u64,
        segment: u64,
        domain: &[u64],
    ) -> (Option<u32>, (u64, u64)) {
        let tiles = n.div_ceil(TILE as u64);
        let processors = u64::from(self.gpu.device.multiprocessors);
        let mut scratch = scratch_sizes(tiles);
        let span = match version.grid {
            Grid::Tiles(least, most) => Some(tile_span(tiles, least, most, processors * RESIDENT_TEAMS)),
            Grid::Chunks(least, most) => {
                let of_segment = segment.div_ceil(TILE as u64);
                scratch = (n * of_segment, n);
                // four blocks a segment at least, or warps wait for the one with more tiles
                let most = most.min(1 << (of_segment / 32).clamp(1, u64::from(most)).ilog2());
                let blocks = n * of_segment.div_ceil(8);
                Some(tile_span(blocks, least, most, processors * RESIDENT_BLOCKS))
            }
            Grid::Strips(width, least, most) => {
                let (of_segment, strips) = (segment.div_ceil(TILE as u64), n.div_ceil(width.into()));
                let parts = strips * of_segment * u64::from(most);
                // the last block of a strip joins up to 128 parts at once, or whole tiles
                let mut span = tile_span(parts, least, most, processors * RESIDENT_BLOCKS);
                while span < most && of_segment * u64::from(most / span) > COLUMNS as u64 {
                    span *= 2;
                }
                scratch = (n * (of_segment * u64::from(most / span)).max(1), strips);
                Some(span)
            }
            Grid::Panels(rows, cols) => {
                let blocks = version.grid.blocks(domain, segment, version.threads, 1);
                scratch = (blocks.saturating_mul(u64::from(rows) * u64::from(cols)), 1);
                Some(1)
            }
            _ => None,
        };
        (span, scratch)
    }

    /// The first version whose conditions hold; of those that make several steps of an iteration, those that make so many.
    pub(super) fn version(
        &self,
        l: &Launch,
        n: i64,
        segment: i64,
        each: i64,
        ws: &Workspace,
    ) -> Result<(usize, &'static GpuVersion)> {
        let span = |place: Place| &ws.spans[place_of(&self.entry.plan, place)];
        let array = |i: &u32| l.arrays.get(*i as usize).map(|(p, _)| span(*p));
        let contiguous = l.arrays.iter().all(|(p, _)| span(*p).is_contiguous());
        let mut room = [0; AXES];
        let domain = domain(l, ws, &mut room);
        let narrow = || n < NARROW && l.arrays.iter().all(|(p, _)| is_narrow(span(*p)));
        let holds = |v: &&GpuVersion| {
            (!v.contiguous || contiguous)
                && (v.steps == 0 || i64::from(v.steps) == each)
                && (!v.separate || !writes_an_input(l, ws))
                && v.flat.iter().all(|i| array(i).is_some_and(Span::is_flat))
                && v.aligned.iter().all(|i| array(i).is_some_and(|s| is_aligned(s, v.flat.contains(i))))
                && v.longest.is_none_or(|most| segment <= most.into())
                && (!v.narrow || narrow())
                && domain.iter().all(|n| *n >= v.extent.into())
                && v.pays(domain, segment as u64)
        };
        let kernel = &self.images.kernels[l.kernel as usize];
        if let Some(why) = &kernel.absent {
            fail!(MODULE, "kernel {} has no code for GPUs: {why}; a CPU context runs it", l.name);
        }
        match kernel.versions.iter().enumerate().find(|(_, v)| holds(v)) {
            Some(found) => Ok(found),
            None => {
                ws.frame.lacks_version.set(true);
                fail!(MODULE, "kernel {} has no version for GPUs that fits", l.name)
            }
        }
    }
}

/// Every index, times its stride, and the sum of these, stay within 31 bits.
fn is_narrow(span: &Span) -> bool {
    let mut axes = span.extents.iter().zip(&span.strides).filter(|(n, _)| **n > 1);
    let reach =
        axes.try_fold(0i64, |sum, (n, stride)| sum.checked_add(stride.checked_abs()?.checked_mul(*n)?));
    span.len() < NARROW && reach.is_some_and(|r| r < NARROW)
}

/// The first element, and that of every row unless they follow each other without gaps, lies at a multiple of 16 bytes.
fn is_aligned(span: &Span, flat: bool) -> bool {
    let outer = span.extents.iter().zip(&span.strides).take(AXES - 1).filter(|(n, _)| **n > 1);
    let bytes = |stride: i64| stride.unsigned_abs() as usize % 16 * span.ty.size();
    span.base.addr().is_multiple_of(16) && (flat || outer.map(|(_, s)| bytes(*s)).all(|b| b % 16 == 0))
}

/// The extents of a launch's index space, none of which is negative.
fn domain<'r>(l: &Launch, ws: &Workspace, room: &'r mut [u64; AXES]) -> &'r [u64] {
    let extents = &mut room[..l.domain.len()];
    for (n, d) in extents.iter_mut().zip(&l.domain) {
        *n = ws.host[d.0 as usize].as_i64().max(0) as u64;
    }
    extents
}

/// How many tiles a team of 128 threads takes: as few as let all teams run at once (`full` of them), because blocks that wait for others to end cost more than
/// blocks with more tiles.
fn tile_span(tiles: u64, least: u32, most: u32, full: u64) -> u32 {
    let mut span = least;
    while span < most && tiles.div_ceil(span.into()) > full {
        span *= 2;
    }
    span
}

#[cfg(test)]
mod tests {
    use super::tile_span;

    #[test]
    fn spans_fill_the_device_first() {
        let full = 132 * 8;
        assert_eq!(tile_span(0, 1, 32, full), 1);
        assert_eq!(tile_span(full, 1, 32, full), 1);
        assert_eq!(tile_span(full + 1, 1, 32, full), 2);
        assert_eq!(tile_span(1 << 15, 1, 32, full), 32);
        assert_eq!(tile_span(1 << 40, 1, 32, full), 32);
        assert_eq!(tile_span(1 << 40, 2, 2, full), 2);
    }
}
