//! Launches of a call: their memory and their parameters. A call decides all of its launches before it queues the
//! first one ([`Call::prepare`]): variants, grids, loaded code, scratch. So an error comes before anything is
//! written.
//!
//! A *turn* is one run of the body of an iteration, which makes one step or several. The states lie in two arrays by
//! turns, so that only three turns differ in their memory, and only these are decided:
//!
//! ```text
//! turn 0: from -> a     turn 1: a -> b     turn 2: b -> a     turn 3: as turn 1     turn 4: as turn 2 ..
//! ```

use super::call::Call;
use super::choice::space;
use super::copy;
use super::frame::{Decided, Prepared, Running};
use super::table::lock;
use crate::error::{Error, INTERNAL, Result, fail};
use crate::log::log;
use crate::places::{place_of, scalar};
use crate::repeat;
use crate::span::{RANKS, Span};
use crate::workspace::Workspace;
use arraygpu_compiler::counted;
use arraygpu_compiler::plan::policy::Scratch;
use arraygpu_compiler::plan::tuning::{Choice, SizeClass};
use arraygpu_compiler::plan::{Launch, Place, Repeat, Step};
use cudarc::driver::sys::{
    CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT, CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT, CU_LAUNCH_PARAM_END_AS_INT,
    CUdeviceptr,
};
use std::ffi::c_void;
use std::ptr::without_provenance_mut;
use std::sync::atomic::Ordering;

/// The memory that the launches of a call share.
#[derive(Default)]
pub(super) struct LaunchMemory {
    scratch: CUdeviceptr,
    counters: CUdeviceptr,
    /// The address of the next launch's error records.
    pub records: CUdeviceptr,
    /// The address of the number that ends the innermost iteration with a check.
    pub guard: CUdeviceptr,
}

/// What the launches of a call need of memory that they use one after another: the maximum over all launches.
#[derive(Default)]
pub(super) struct Needs {
    /// Bytes of scratch.
    scratch: u64,
    /// The number of counters.
    counters: u64,
    /// The reads (`until.rs`) of the iterations that are being decided, one inside of another.
    now: usize,
    /// The maximum of `now`.
    reads: usize,
}

impl Needs {
    /// Notes that an iteration with that many reads is being decided, until [`Needs::end_reads`].
    pub fn begin_reads(&mut self, count: usize) {
        self.now += count;
        self.reads = self.reads.max(self.now);
    }

    pub fn end_reads(&mut self, count: usize) {
        self.now -= count;
    }
}

/// The number of turns that differ in their memory: the first one, and two that alternate.
pub(super) const DIFFERENT_TURNS: usize = 3;

/// If each turn writes an array of its own, one behind the other, addresses have another alignment in each turn. From
/// 16 turns on they repeat, whatever the size of an element, because the alignment that counts is 16 bytes; the first
/// turn is decided in addition.
const MANY_DIFFERENT_TURNS: i64 = 17;

/// How an iteration runs.
pub(super) struct Turns<'s> {
    pub body: &'s [Step],
    /// The number of turns.
    pub count: i64,
    /// The maximum number of steps of a turn.
    each: i64,
    /// The number of steps of all turns.
    steps: i64,
}

impl Turns<'_> {
    /// Returns the number of the decided turn, 0 to 2, that uses the same memory as this turn.
    pub fn like(turn: i64) -> usize {
        if turn == 0 { 0 } else { 1 + (turn as usize - 1) % 2 }
    }

    /// Returns the number of the first step of a turn.
    pub fn first(&self, turn: i64) -> i64 {
        turn * self.each
    }

    /// Returns the number of steps that a turn makes.
    pub fn steps(&self, turn: i64) -> i64 {
        (self.steps - turn * self.each).min(self.each)
    }
}

impl Call<'_> {
    /// Decides all launches into `ws.frame.decided`, loads their code, and allocates their memory,
    /// so that everything that can fail does so before anything is written.
    pub(super) fn prepare(&self, ws: &mut Workspace) -> Result<LaunchMemory> {
        let mut decided = std::mem::take(&mut ws.frame.decided);
        decided.steps.clear();
        decided.kernels.clear();
        let mut needs = Needs::default();
        let done = self.decide_all(&self.entry.plan.steps, 1, ws, &mut needs, &mut decided);
        ws.frame.decided = decided;
        done.map_err(Error::of_code)?;
        for (_, wanted) in &ws.detours {
            copy::prepare(self.gpu, wanted)?;
        }
        self.make_reads(needs.reads, &mut ws.frame)?;
        let mut memory = LaunchMemory::default();
        if needs.scratch > 0 {
            memory.scratch = lock(self.shared()).scratch(self.gpu, needs.scratch)?;
        }
        if needs.counters > 0 {
            memory.counters = lock(self.shared()).counters(self.gpu, needs.counters)?;
        }
        Ok(memory)
    }

    /// Decides launches in the order in which they are queued; of an iteration, those of the first three turns.
    pub(super) fn decide_all(
        &self,
        steps: &[Step],
        each: i64,
        ws: &mut Workspace,
        needs: &mut Needs,
        decided: &mut Decided,
    ) -> Result<()> {
        let mut at = 0;
        while let Some(step) = steps.get(at) {
            at += 1;
            match step {
                Step::Alloc(_) | Step::Free(_) => {}
                Step::Launch(l) => {
                    let mut room = [0; RANKS];
                    let (number, _) = self.variant(l, &space(l, ws, &mut room)?, each, ws)?;
                    self.decide_one(l, number, ws, needs, decided)?;
                }
                Step::Instead(_) => {
                    let Some(Step::Launch(l)) = steps.get(at) else { continue };
                    let number = self.instead(l, ws)?;
                    decided.steps.push(Prepared::Instead(number.is_some()));
                    at += match number {
                        Some(number) => {
                            self.decide_one(l, number, ws, needs, decided)?;
                            step.inside()
                        }
                        None => 1,
                    };
                }
                Step::Repeat(r @ Repeat { check: Some(check), .. }) => {
                    let until = self.until(r, *check, &steps[at..], ws)?;
                    at += r.inside();
                    self.foresee(&until, ws, needs, decided)?;
                }
                Step::Repeat(r) if r.each => {
                    // the turns of this iteration are decided one by one when they are queued; here only the memory
                    // that they need is found
                    let before = decided.len();
                    let most = ws.host[r.count.0 as usize].as_i64().max(0);
                    let [_, body, _] = r.parts(&steps[at..]);
                    at += r.inside();
                    for turn in 0..most.min(MANY_DIFFERENT_TURNS) {
                        repeat::bind(&self.entry.plan, r, turn, most, &mut ws.spans);
                        self.decide_all(body, 1, ws, needs, decided)?;
                    }
                    decided.truncate(before);
                }
                Step::Repeat(r) => {
                    let turns = self.turns(r, &steps[at..], ws)?;
                    at += r.inside();
                    for turn in 0..turns.count.min(DIFFERENT_TURNS as i64) {
                        repeat::bind(&self.entry.plan, r, turn, turns.count, &mut ws.spans);
                        self.decide_all(turns.body, turns.each, ws, needs, decided)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Decides a launch, which runs variant `number`.
    fn decide_one(
        &self,
        l: &Launch,
        number: usize,
        ws: &Workspace,
        needs: &mut Needs,
        decided: &mut Decided,
    ) -> Result<()> {
        let first = decided.kernels.len();
        let scratch = self.decide(l, number, ws, &mut decided.kernels)?;
        needs.scratch = needs.scratch.max(scratch.bytes(&l.scratch));
        needs.counters = needs.counters.max(scratch.counters);
        let kernels = (first, decided.kernels.len());
        decided.steps.push(Prepared::Launch { kernels, scratch });
        Ok(())
    }

    /// Decides steps while the call is being queued, behind all decisions so far. Returns the number of the first
    /// one.
    pub(super) fn decide_now(&self, steps: &[Step], ws: &mut Workspace) -> Result<usize> {
        let mut decided = std::mem::take(&mut ws.frame.decided);
        let first = decided.steps.len();
        let done = self.decide_all(steps, 1, ws, &mut Needs::default(), &mut decided);
        ws.frame.decided = decided;
        done.map(|()| first)
    }

    /// Decides whether the launch of a `Step::Instead` runs: returns the number of its variant, or `None` if the
    /// steps that it replaces run.
    fn instead(&self, l: &Launch, ws: &Workspace) -> Result<Option<usize>> {
        let mut room = [0; RANKS];
        let space = space(l, ws, &mut room)?;
        match self.measured(l, &space) {
            Some(Choice::Others) => Ok(None),
            _ => self.find(l, &space, 1, ws),
        }
    }

    /// Returns how an iteration runs: by a variant that makes several steps per launch, if one fits all turns.
    pub(super) fn turns<'s>(&self, r: &Repeat, steps: &'s [Step], ws: &mut Workspace) -> Result<Turns<'s>> {
        let steps_wanted = repeat::count(&self.entry.plan, r, ws);
        let (body, count) = repeat::chosen(r, steps, steps_wanted);
        let runs = |each| if steps_wanted > 0 { (steps_wanted - 1) / each + 1 } else { count };
        let each = self.steps_at_once(body, steps_wanted, ws, |each, run, spans| {
            repeat::bind(&self.entry.plan, r, run, runs(each), spans);
            run < runs(each)
        })?;
        Ok(Turns { body, count: runs(each), each, steps: steps_wanted })
    }

    /// Returns how many steps each turn makes, of `wanted` steps that follow one another: several if the body is one
    /// launch, and if a variant of its kernel that makes several fits in all turns. `bind(each, turn, spans)` assigns
    /// the memory of a turn if each turn makes `each` steps, and returns whether there is such a turn.
    pub(super) fn steps_at_once(
        &self,
        body: &[Step],
        wanted: i64,
        ws: &mut Workspace,
        bind: impl Fn(i64, i64, &mut [Span]) -> bool,
    ) -> Result<i64> {
        let [Step::Launch(l)] = body else { return Ok(1) };
        let kernel = self.images.kernel(l.kernel)?;
        let Some(each) = kernel.steps_at_once(wanted) else { return Ok(1) };
        for run in 0..DIFFERENT_TURNS as i64 {
            if !bind(each, run, &mut ws.spans) {
                break;
            }
            let mut room = [0; RANKS];
            let space = space(l, ws, &mut room)?;
            let steps = self.variant(l, &space, each, ws)?.1.steps_per_launch;
            if steps.is_none_or(|n| i64::from(n.get()) != each) {
                return Ok(1);
            }
        }
        Ok(each)
    }

    /// Queues the launch that is the decided step of that number. `steps` is the number of steps of an iteration that
    /// it makes, if its variant can make several.
    pub(super) fn launch(
        &self,
        l: &Launch,
        number: usize,
        steps: i64,
        memory: &LaunchMemory,
        ws: &mut Workspace,
    ) -> Result<()> {
        let Prepared::Launch { kernels: (first, end), scratch } = ws.frame.decided.steps[number] else {
            fail!(INTERNAL, "{}: step {number} was decided as no launch", l.name);
        };
        // two kernels of one launch pass values through the scratch: no other thread may queue a launch in between
        let shares = ws.frame.decided.kernels[first..end].iter().any(|kernel| kernel.span.is_some());
        let _alone = shares.then(|| lock(&self.stream.scratch_launches));
        for k in first..end {
            let kernel = ws.frame.decided.kernels[k];
            self.start(l, &kernel, scratch, steps, memory, ws)?;
        }
        Ok(())
    }

    fn start(
        &self,
        l: &Launch,
        p: &Running,
        scratch: Scratch,
        steps: i64,
        memory: &LaunchMemory,
        ws: &mut Workspace,
    ) -> Result<()> {
        self.parameters(l, p, scratch, memory, ws);
        if p.variant.steps_per_launch.is_some() {
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
        let (blocks, threads, stream) = (p.blocks, p.variant.threads, self.stream.raw);
        self.gpu.launches.fetch_add(1, Ordering::Relaxed);
        // an event of a stream that is being captured has no time
        let timed = self.gpu.profile.is_on() && !self.capturing;
        let begin = timed.then(|| self.gpu.stamp(stream)).transpose()?;
        // SAFETY: the package promises that the kernel takes these parameters. What they point at
        // was checked, and stays valid.
        let code = unsafe { self.queue_kernel(p, stream, extra.as_mut_ptr()) };
        let entry = &p.variant.entry;
        log!(Debug, "{entry}: {} of {threads} threads", counted(blocks, "block"));
        // no warning if a tuning file names the variant, because it was then measured to be the fastest
        if !p.variant.guards.contiguous && !self.is_tuned(l) {
            log!(Warn, "{entry} runs for arrays with strides, slower than its version for contiguous ones");
        }
        self.gpu.check(
            code,
            format_args!("launching {entry}: {} of {threads} threads", counted(blocks, "block")),
        )?;
        if let Some(begin) = begin {
            let end = self.gpu.stamp(stream)?;
            let mut room = [0; RANKS];
            let sizes = SizeClass::of(&space(l, ws, &mut room)?).to_string();
            self.gpu.profile.add([&l.name, entry, &sizes], [begin, end]);
        }
        Ok(())
    }

    /// Fills `ws.frame.params`, in the order that docs/c-abi.md defines.
    fn parameters(
        &self,
        l: &Launch,
        p: &Running,
        scratch: Scratch,
        memory: &LaunchMemory,
        ws: &mut Workspace,
    ) {
        let place = |place: &Place| place_of(&self.entry.plan, *place);
        let (params, spans) = (&mut ws.frame.params, &ws.spans);
        params.clear();
        params.extend(l.arrays.iter().map(|(a, _)| spans[place(a)].base.addr() as u64));
        if !p.variant.guards.contiguous {
            // the strides of the other arrays are among the scalars
            let vectors = l.arrays.iter().map(|(a, _)| &spans[place(a)]).filter(|s| s.rank == 1);
            params.extend(vectors.map(|s| s.stride(0) as u64));
        }
        let host = &ws.host;
        params.extend(l.scalars.iter().map(|s| scalar(*s, host, |array| &spans[place(&l.arrays[array].0)])));
        params.extend(l.slots.iter().map(|s| ws.frame.scalars[place(s)]));
        if p.span.is_some() {
            params.extend(scratch.offsets(&l.scratch).map(|at| memory.scratch + at));
            params.push(memory.counters);
        }
        if !l.sites.is_empty() {
            params.push(memory.records);
        }
        if l.guarded {
            params.push(memory.guard);
        }
        params.extend(p.span.map(u64::from));
    }
}
