//! Launches: which version of a kernel, on which grid, with which parameters.

use super::copy;
use super::execute::Call;
use crate::error::{INTERNAL, MODULE, Result, fail};
use crate::execute::{elements, place_of, scalar, writes_an_input};
use crate::repeat;
use crate::view::{AXES, Span};
use crate::workspace::Workspace;
use arraygpu_compiler::core::{COLUMNS, PANEL, TILE};
use arraygpu_compiler::plan::gpu::{GpuVersion, Grid};
use arraygpu_compiler::plan::{Launch, Place, Repeat, Step};
use cudarc::driver::sys::{
    CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT, CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT, CU_LAUNCH_PARAM_END_AS_INT,
    CUdeviceptr, CUfunction,
};
use std::ffi::c_void;
use std::ptr::{null_mut, without_provenance_mut};

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

/// A launch that is decided, its code loaded.
#[derive(Clone, Copy)]
pub(super) struct Prepared {
    first: Start,
    /// What adds the first one's panels.
    second: Option<Start>,
    /// Elements of a scratch array, and how many counters.
    scratch: (u64, u64),
}

/// One version on its grid.
#[derive(Clone, Copy)]
struct Start {
    function: CUfunction,
    version: &'static GpuVersion,
    /// 0: nothing to launch.
    blocks: u32,
    /// Where the grid is of tiles: how many each 128 threads take; of chunks: each warp; of sums: threads for each result. Given to kernels that have scratch.
    span: Option<u32>,
}

/// What the launches of a call share.
#[derive(Default)]
pub(super) struct Memory {
    scratch: CUdeviceptr,
    counters: CUdeviceptr,
    /// Of the next launch.
    pub records: CUdeviceptr,
}

/// What the scratch of all launches of a call needs.
#[derive(Default)]
struct Needs {
    scratch: u64,
    counters: u64,
}

impl Needs {
    fn of(&mut self, l: &Launch, p: &Prepared) {
        if p.first.span.is_some() {
            let bytes = l.scratch.iter().map(|ty| scratch_bytes(p.scratch.0, ty.size())).sum();
            self.scratch = self.scratch.max(bytes);
            self.counters = self.counters.max(p.scratch.1);
        }
    }
}

/// The memory of the turns of an iteration: the first's, and two in turn.
const DIFFERENT_TURNS: i64 = 3;

/// How an iteration runs.
pub(super) struct Turns<'s> {
    pub body: &'s [Step],
    /// How often the body runs.
    pub count: i64,
    /// Steps of a turn at most, and of all turns.
    each: i64,
    steps: i64,
}

impl Turns<'_> {
    /// Which of the turns that were decided has the same memory.
    pub fn like(turn: i64) -> usize {
        if turn == 0 { 0 } else { 1 + (turn as usize - 1) % 2 }
    }

    /// How many were decided.
    pub fn decided(&self) -> usize {
        self.count.min(DIFFERENT_TURNS) as usize
    }

    /// The steps that a turn makes.
    pub fn steps(&self, turn: i64) -> i64 {
        (self.steps - turn * self.each).min(self.each)
    }
}

/// Elements of a scratch array, and how many counters.
fn scratch_sizes(tiles: u64) -> (u64, u64) {
    let groups = tiles.div_ceil(GROUP);
    (tiles + groups + 4, groups + 1)
}

fn scratch_bytes(elements: u64, size: usize) -> u64 {
    (elements * size as u64).next_multiple_of(256)
}

impl Call<'_> {
    /// Decides all launches, into `ws.frame.launches`, loads their code, and finds memory for them: what can fail has failed before
    /// anything is written.
    pub(super) fn prepare(&self, ws: &mut Workspace) -> Result<Memory> {
        let mut launches = std::mem::take(&mut ws.frame.launches);
        launches.clear();
        let mut needs = Needs::default();
        let decided = self.decide_all(&self.entry.plan.steps, 1, ws, &mut needs, &mut launches);
        ws.frame.launches = launches;
        decided?;
        for (_, wanted) in &ws.detours {
            copy::prepare(self.gpu, wanted)?;
        }
        let mut memory = Memory::default();
        if needs.counters > 0 {
            memory.scratch = self.stream.scratch(self.gpu, needs.scratch)?;
            memory.counters = self.stream.counters(self.gpu, needs.counters)?;
        }
        Ok(memory)
    }

    /// In the order in which they are queued; of an iteration the first three turns, after which memory is as it was two turns before.
    fn decide_all(
        &self,
        steps: &[Step],
        each: i64,
        ws: &mut Workspace,
        needs: &mut Needs,
        launches: &mut Vec<Prepared>,
    ) -> Result<()> {
        let mut at = 0;
        while let Some(step) = steps.get(at) {
            at += 1;
            match step {
                Step::Alloc(_) | Step::Free(_) => {}
                Step::Launch(l) => {
                    let p = self.decide(l, each, ws)?;
                    needs.of(l, &p);
                    launches.push(p);
                }
                Step::Repeat(r) => {
                    let turns = self.turns(r, &steps[at..], ws)?;
                    at += r.inside();
                    for turn in 0..turns.count.min(DIFFERENT_TURNS) {
                        repeat::bind(&self.entry.plan, r, turn, turns.count, &mut ws.spans);
                        self.decide_all(turns.body, turns.each, ws, needs, launches)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// How an iteration runs: by a version that makes several steps at once, if there is one that fits all turns.
    pub(super) fn turns<'s>(&self, r: &Repeat, steps: &'s [Step], ws: &mut Workspace) -> Result<Turns<'s>> {
        let steps_wanted = repeat::count(r, ws);
        let (body, count) = repeat::chosen(r, steps, steps_wanted);
        let one = Turns { body, count, each: 1, steps: steps_wanted };
        let [Step::Launch(l)] = body else { return Ok(one) };
        let kernel = &self.images.kernels[l.kernel as usize];
        let Some(each) = kernel.steps_at_once(steps_wanted) else { return Ok(one) };
        let count = (steps_wanted - 1) / each + 1;
        for turn in 0..count.min(DIFFERENT_TURNS) {
            repeat::bind(&self.entry.plan, r, turn, count, &mut ws.spans);
            let n = elements(l, ws)?;
            if i64::from(self.version(l, n, 0, each, ws)?.1.steps) != each {
                return Ok(one);
            }
        }
        Ok(Turns { body, count, each, steps: steps_wanted })
    }

    fn decide(&self, l: &Launch, each: i64, ws: &Workspace) -> Result<Prepared> {
        let n = elements(l, ws)?;
        let segment = l.segment.map_or(0, |d| ws.host[d.0 as usize].as_i64()).max(0);
        let (number, version) = self.version(l, n, segment, each, ws)?;
        let (n, segment) = (n as u64, segment as u64);
        let domain = domain(l, ws);
        let (span, scratch) = self.spread(version, n, segment, &domain);
        let start = |number: usize, version: &'static GpuVersion, span: Option<u32>| {
            let blocks = version.grid.blocks(&domain, segment, version.threads, span.unwrap_or(1));
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
    fn version(
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
        let domain = domain(l, ws);
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
                && v.pays(&domain, segment as u64)
        };
        let kernel = &self.images.kernels[l.kernel as usize];
        if let Some(why) = &kernel.absent {
            fail!(MODULE, "kernel {} has no code for GPUs: {why}; a CPU context runs it", l.name);
        }
        match kernel.versions.iter().enumerate().find(|(_, v)| holds(v)) {
            Some(found) => Ok(found),
            None => fail!(MODULE, "kernel {} has no version for GPUs that fits", l.name),
        }
    }

    /// Queues the call's launch of that number; `steps` of an iteration, if it can make several.
    pub(super) fn launch(
        &self,
        l: &Launch,
        number: usize,
        steps: i64,
        memory: &Memory,
        ws: &mut Workspace,
    ) -> Result<()> {
        let p = ws.frame.launches[number];
        for start in [Some(p.first), p.second].into_iter().flatten().filter(|s| s.blocks > 0) {
            self.start(l, &start, p.scratch.0, steps, memory, ws)?;
        }
        Ok(())
    }

    fn start(
        &self,
        l: &Launch,
        p: &Start,
        scratch: u64,
        steps: i64,
        memory: &Memory,
        ws: &mut Workspace,
    ) -> Result<()> {
        self.parameters(l, p, scratch, memory, ws);
        if p.version.steps > 0 {
            ws.frame.params.push(steps as u64);
        }
        let params = &mut ws.frame.params;
        let mut bytes = params.len() * 8;
        let mut extra: [*mut c_void; 5] = [
            without_provenance_mut(CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT as usize),
            params.as_mut_ptr().cast(),
            without_provenance_mut(CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT as usize),
            (&raw mut bytes).cast(),
            without_provenance_mut(CU_LAUNCH_PARAM_END_AS_INT as usize),
        ];
        let (blocks, threads, stream) = (p.blocks, p.version.threads, self.stream.raw);
        // SAFETY: the package's promise: the kernel takes these parameters. What they point at was checked, and stays.
        let code = unsafe {
            let (launch, extra) = (self.gpu.api().launch, extra.as_mut_ptr());
            launch(p.function, blocks, 1, 1, threads, 1, 1, 0, stream, null_mut(), extra)
        };
        let entry = &p.version.entry;
        self.gpu.check(code, format_args!("launching {entry}: {blocks} blocks of {threads} threads"))
    }

    /// Fills `ws.frame.params`; docs/c-abi.md has the order.
    fn parameters(&self, l: &Launch, p: &Start, elements: u64, memory: &Memory, ws: &mut Workspace) {
        let place = |place: &Place| place_of(&self.entry.plan, *place);
        let (params, spans) = (&mut ws.frame.params, &ws.spans);
        params.clear();
        params.extend(l.arrays.iter().map(|(a, _)| spans[place(a)].base.addr() as u64));
        if !p.version.contiguous {
            // the others' are among the scalars
            let vectors = l.arrays.iter().map(|(a, _)| &spans[place(a)]).filter(|s| s.rank == 1);
            params.extend(vectors.map(|s| s.stride(0) as u64));
        }
        let host = &ws.host;
        params.extend(l.scalars.iter().map(|s| scalar(*s, host, |array| &spans[place(&l.arrays[array].0)])));
        params.extend(l.slots.iter().map(|s| ws.frame.scalars[place(s)]));
        if p.span.is_some() {
            let mut scratch = memory.scratch;
            for ty in &l.scratch {
                params.push(scratch);
                scratch += scratch_bytes(elements, ty.size());
            }
            params.push(memory.counters);
        }
        if !l.sites.is_empty() {
            params.push(memory.records);
        }
        params.extend(p.span.map(u64::from));
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
fn domain(l: &Launch, ws: &Workspace) -> Vec<u64> {
    l.domain.iter().map(|d| ws.host[d.0 as usize].as_i64().max(0) as u64).collect()
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
