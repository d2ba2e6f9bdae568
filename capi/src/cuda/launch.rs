//! Launches: with which memory and which parameters.

use super::choice::space;
use super::copy;
use super::execute::Call;
use crate::error::Result;
use crate::execute::{place_of, scalar};
use crate::log::log;
use crate::repeat;
use crate::view::AXES;
use crate::workspace::Workspace;
use arraygpu_compiler::plan::gpu::GpuVersion;
use arraygpu_compiler::plan::{Launch, Place, Repeat, Step};
use cudarc::driver::sys::{
    CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT, CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT, CU_LAUNCH_PARAM_END_AS_INT,
    CUdeviceptr, CUfunction,
};
use std::ffi::c_void;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::atomic::Ordering;

/// A launch that is decided, its code loaded.
#[derive(Clone, Copy)]
pub(super) struct Prepared {
    pub(super) first: Running,
    /// What adds the first one's panels.
    pub(super) second: Option<Running>,
    /// Elements of a scratch array, and how many counters.
    pub(super) scratch: (u64, u64),
}

/// One version on its grid.
#[derive(Clone, Copy)]
pub(super) struct Running {
    pub(super) function: CUfunction,
    pub(super) version: &'static GpuVersion,
    /// 0: nothing to launch.
    pub(super) blocks: u32,
    /// Where the grid is of tiles: how many each 128 threads take; of chunks: each warp; of sums: threads for each result. Given to kernels that have scratch.
    pub(super) span: Option<u32>,
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
pub(super) const DIFFERENT_TURNS: usize = 3;

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

    /// The steps that a turn makes.
    pub fn steps(&self, turn: i64) -> i64 {
        (self.steps - turn * self.each).min(self.each)
    }
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
                    for turn in 0..turns.count.min(DIFFERENT_TURNS as i64) {
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
        let steps_wanted = repeat::count(&self.entry.plan, r, ws);
        let (body, count) = repeat::chosen(r, steps, steps_wanted);
        let one = Turns { body, count, each: 1, steps: steps_wanted };
        let [Step::Launch(l)] = body else { return Ok(one) };
        let kernel = &self.images.kernels[l.kernel as usize];
        let Some(each) = kernel.steps_at_once(steps_wanted) else { return Ok(one) };
        let count = (steps_wanted - 1) / each + 1;
        for turn in 0..count.min(DIFFERENT_TURNS as i64) {
            repeat::bind(&self.entry.plan, r, turn, count, &mut ws.spans);
            let mut room = [0; AXES];
            let space = space(l, ws, &mut room)?;
            if i64::from(self.version(l, &space, each, ws)?.1.steps) != each {
                return Ok(one);
            }
        }
        Ok(Turns { body, count, each, steps: steps_wanted })
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
        p: &Running,
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
        self.gpu.launches.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the package's promise: the kernel takes these parameters. What they point at was checked, and stays.
        let code = unsafe {
            let (launch, extra) = (self.gpu.api().launch, extra.as_mut_ptr());
            launch(p.function, blocks, 1, 1, threads, 1, 1, 0, stream, null_mut(), extra)
        };
        let entry = &p.version.entry;
        log!(Debug, "{entry}: {blocks} blocks of {threads} threads");
        if !p.version.contiguous {
            log!(Warn, "{entry} runs for arrays with strides, slower than its version for contiguous ones");
        }
        self.gpu.check(code, format_args!("launching {entry}: {blocks} blocks of {threads} threads"))
    }

    /// Fills `ws.frame.params`; docs/c-abi.md has the order.
    fn parameters(&self, l: &Launch, p: &Running, elements: u64, memory: &Memory, ws: &mut Workspace) {
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
