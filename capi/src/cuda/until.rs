//! Iterations that a check ends. A check writes -1 to a word in device memory, the *guard*, if the iteration goes on,
//! and else the number of steps that were made. Every launch of the iteration first reads the guard, and does nothing
//! if it is not negative. So the host need not wait for a check before it queues the next steps: it queues steps and
//! checks ahead of the device. Launches that are queued after the end change nothing, and leave no error records and
//! no counts. The number of steps says which of the two buffers of each state has the result.
//!
//! ```text
//! host:     check read steps | check read steps | check read steps | ..     stops when a read gives a number >= 0
//! device:   check copy steps   check copy (the guard is now set, so what follows does nothing)
//! ```
//!
//! A *read* is an asynchronous copy of the guard to a pinned word of the host. At first there is one for every check.
//! Each time the host finds that the device has done all that was queued, and so has waited for the host, it doubles
//! the number of checks for each read, up to 16. So an iteration that ends soon has few launches after its end, and
//! one with many quick steps needs one read for 16 checks.

use super::call::Call;
use super::event::Event;
use super::frame::{Decided, Frame};
use super::launch::{DIFFERENT_TURNS, LaunchMemory, Needs, Turns};
use super::state::Word;
use crate::buffer::Buffer;
use crate::error::{MODULE, Result, fail};
use crate::handle::Pin;
use crate::places::place_of;
use crate::repeat::{self, Until};
use crate::workspace::Workspace;
use crate::{guards, interrupt};
use arraygpu_compiler::plan::{Check, Repeat, Step};
use cudarc::driver::sys::CUdeviceptr;
use std::rc::Rc;

/// The maximum number of checks that share a read.
const MOST_CHECKS: u32 = 16;

/// The number of reads that may be queued at once.
const READS: usize = 4;

/// The value of a word until a read copies the guard to it.
const UNREAD: u64 = i64::MIN.cast_unsigned();

/// How an iteration runs.
pub(super) struct Plan<'s> {
    r: &'s Repeat,
    check: Check,
    /// The steps of the plan: the check, the body, and the copies of states to where results belong.
    parts: [&'s [Step]; 3],
    /// The maximum number of steps of the iteration.
    most: i64,
    /// The maximum number of steps that one run of the body makes.
    each: i64,
    states: Until,
}

/// Where the decisions for a check and for the body begin in [`Decided`].
#[derive(Clone, Copy, Default)]
struct Starts {
    check: usize,
    body: usize,
}

impl Plan<'_> {
    /// Returns the number of runs of the body that make so many steps.
    fn runs(&self, steps: i64) -> i64 {
        self.check.runs(steps, self.each)
    }
}

impl Call<'_> {
    /// Plans how an iteration runs that a check may end. `steps` are the steps of the plan after it.
    pub(super) fn until<'s>(
        &self,
        r: &'s Repeat,
        check: Check,
        steps: &'s [Step],
        ws: &mut Workspace,
    ) -> Result<Plan<'s>> {
        let parts = r.parts(steps);
        let most = ws.host[r.count.0 as usize].as_i64().max(0);
        let between = check.between(most);
        let states = |each| Until { between: check.runs(between, each) };
        let each = self.steps_at_once(parts[1], between, ws, |each, run, spans| {
            states(each).bind(&self.entry.plan, r, run, spans);
            run < check.runs(most, each)
        })?;
        Ok(Plan { r, check, parts, most, each, states: states(each) })
    }

    /// Decides the launches of the first runs of the body, with the check before each; later runs use the same memory
    /// as one of these (`launch.rs`).
    fn decide_runs(
        &self,
        p: &Plan,
        ws: &mut Workspace,
        needs: &mut Needs,
        decided: &mut Decided,
    ) -> Result<[Starts; DIFFERENT_TURNS]> {
        let ([stops, body, _], runs) = (p.parts, p.runs(p.most));
        let mut starts = [Starts::default(); DIFFERENT_TURNS];
        for (run, start) in (0..=runs).zip(&mut starts) {
            p.states.bind(&self.entry.plan, p.r, run, &mut ws.spans);
            start.check = decided.steps.len();
            self.decide_all(stops, 1, ws, needs, decided)?;
            start.body = decided.steps.len();
            if run < runs {
                self.decide_all(body, p.each, ws, needs, decided)?;
            }
        }
        Ok(starts)
    }

    /// Finds the memory that the launches of an iteration need, and whether they can be made. The decisions are
    /// dropped: they are made again when the iteration is queued.
    pub(super) fn foresee(
        &self,
        p: &Plan,
        ws: &mut Workspace,
        needs: &mut Needs,
        decided: &mut Decided,
    ) -> Result<()> {
        let before = decided.len();
        needs.begin_reads(READS);
        self.decide_runs(p, ws, needs, decided)?;
        needs.end_reads(READS);
        for runs in (0..=p.runs(p.most)).take(DIFFERENT_TURNS) {
            if p.states.bind_copies(&self.entry.plan, p.r, runs, &mut ws.spans) {
                self.decide_all(p.parts[2], 1, ws, needs, decided)?;
            }
        }
        decided.truncate(before);
        Ok(())
    }

    /// Queues an iteration that a check may end, and waits until the host knows how many steps were made.
    pub(super) fn queue_until(
        &self,
        p: &Plan,
        memory: &mut LaunchMemory,
        pins: &[Pin<Buffer>],
        ws: &mut Workspace,
    ) -> Result<()> {
        let plan = &self.entry.plan;
        let [stops, body, copies] = p.parts;
        let number = ws.spans[place_of(plan, p.check.number)].base.addr() as CUdeviceptr;
        // SAFETY: the number is an i64 in device memory; all its bytes are set to those of -1.
        let code = unsafe { (self.gpu.api().set_u8)(number, 0xff, 8, self.stream.raw) };
        self.gpu.check(code, "cuMemsetD8Async")?;
        let records = memory.records;
        let outer = std::mem::replace(&mut memory.guard, number);
        let mut reads = Reads::new(number, &mut ws.frame);
        let mut decided = std::mem::take(&mut ws.frame.decided);
        let before = decided.len();
        let starts = self.decide_runs(p, ws, &mut Needs::default(), &mut decided);
        ws.frame.decided = decided;
        let starts = starts?;
        // nothing is queued ahead if a launch waits for the host, if launches are checked one by one, or if kernels
        // do not read the guard, as those of packages of earlier compilers
        let is_ahead = !guards::is_on() && stops.iter().chain(body).all(may_be_ahead);
        let (mut turn, mut run) = (0, 0);
        let made = loop {
            interrupt::check()?;
            p.states.bind(plan, p.r, run, &mut ws.spans);
            repeat::advance(plan, p.r, turn, ws);
            memory.records = records;
            self.queue_all(stops, 1, &mut starts[Turns::like(run)].check.clone(), memory, pins, ws)?;
            if let Some(number) = reads.checked(self, is_ahead && turn < p.most)? {
                break number;
            }
            if turn == p.most {
                break turn;
            }
            let end = p.most.min(turn + p.check.between(p.most));
            while turn < end {
                let steps = p.each.min(end - turn);
                p.states.bind(plan, p.r, run, &mut ws.spans);
                repeat::advance(plan, p.r, turn, ws);
                memory.records = records + sites(stops);
                let mut first = starts[Turns::like(run)].body;
                self.queue_all(body, steps, &mut first, memory, pins, ws)?;
                (turn, run) = (turn + steps, run + 1);
            }
        };
        ws.frame.decided.truncate(before);
        memory.guard = outer;
        if made > turn || !p.check.is_due(made, p.most) {
            fail!(MODULE, "{}: a check gives the number {made}, which is none of its own", plan.name);
        }
        if p.states.bind_copies(plan, p.r, p.runs(made), &mut ws.spans) {
            memory.records = records + sites(stops) + sites(body);
            self.queue_now(copies, memory, pins, ws)?;
        }
        memory.records = records + sites(stops) + sites(body) + sites(copies);
        reads.end(&mut ws.frame)
    }

    /// Makes the words and events for the reads of all iterations that may be under way at once, `count` of them.
    pub(super) fn make_reads(&self, count: usize, frame: &mut Frame) -> Result<()> {
        for _ in 0..count {
            // if the call fails, it gives the words back when nothing can write them any more
            let word = self.gpu.words.take(self.gpu)?;
            let event = Event::new(self.gpu).inspect_err(|_| self.gpu.words.give(word))?;
            frame.reads.push((word, Rc::new(event)));
        }
        Ok(())
    }
}

/// Whether a step may be queued before it is known whether the iteration has ended: it must not wait for the device,
/// and must do nothing after the end.
fn may_be_ahead(step: &Step) -> bool {
    match step {
        Step::Repeat(r) => r.check.is_none(),
        Step::Launch(l) => l.guarded,
        Step::Alloc(_) | Step::Instead(_) | Step::Free(_) => true,
    }
}

/// Returns the bytes of the error records of all launches among the steps.
pub(super) fn sites(steps: &[Step]) -> u64 {
    let bytes = |s: &Step| if let Step::Launch(l) = s { l.record_bytes() } else { 0 };
    steps.iter().map(bytes).sum()
}

/// The reads of one iteration: a ring of words, with the event after the copy to each.
struct Reads {
    /// The address of the guard.
    number: CUdeviceptr,
    all: Vec<(Word, Rc<Event>)>,
    /// How many reads were queued.
    queued: usize,
    /// How many of these have arrived and were examined.
    known: usize,
    /// How many checks were queued since the last read.
    checks: u32,
    /// How many checks share a read.
    share: u32,
}

impl Reads {
    /// Takes the words and events of an iteration from those that the call has.
    fn new(number: CUdeviceptr, frame: &mut Frame) -> Reads {
        let first = frame.busy_reads;
        frame.busy_reads += READS;
        let all = frame.reads[first..frame.busy_reads].to_vec();
        Reads { number, all, queued: 0, known: 0, checks: 0, share: 1 }
    }

    /// Called after a check was queued. Queues a read if enough checks share it. Then waits until no more reads are
    /// outstanding than the host may be ahead: none, not even that of this check, unless `may_be_ahead`. Returns the
    /// number of steps if a read has it, which ends the iteration.
    fn checked(&mut self, call: &Call, may_be_ahead: bool) -> Result<Option<i64>> {
        // a single read ahead keeps the device busy, unless the device has waited for the host before
        let ahead = match self.share {
            _ if !may_be_ahead => 0,
            1 => 1,
            _ => READS - 1,
        };
        self.checks += 1;
        // first examine the reads that have arrived: if all have, the device waits for the host (see `queue`)
        if let Some(number) = self.take_note(READS)? {
            return Ok(Some(number));
        }
        if self.checks >= self.share || ahead == 0 {
            self.queue(call)?;
        }
        self.take_note(ahead)
    }

    /// Examines the reads that have arrived, and waits until at most `unknown` reads are outstanding. Returns the
    /// number of steps if one of them has it.
    fn take_note(&mut self, unknown: usize) -> Result<Option<i64>> {
        while self.known < self.queued {
            match self.next(self.queued - self.known > unknown)? {
                None => break,
                Some(number) if number >= 0 => return Ok(Some(number)),
                Some(_) => {}
            }
        }
        Ok(None)
    }

    /// Queues a read.
    fn queue(&mut self, call: &Call) -> Result<()> {
        if self.queued > 0 && self.known == self.queued {
            // the device waits for the host
            self.share = (self.share * 2).min(MOST_CHECKS);
        }
        let (word, event) = &self.all[self.queued % READS];
        // SAFETY: the word is this library's, and what was copied to it before is known.
        unsafe { word.host.write_volatile(UNREAD) };
        // SAFETY: the number is an i64 in device memory, and the word is pinned until it is given back.
        let code = unsafe { (call.gpu.api().to_host)(word.host.cast(), self.number, 8, call.stream.raw) };
        call.gpu.check(code, "reading the number of steps")?;
        event.record(call.stream.raw)?;
        (self.queued, self.checks) = (self.queued + 1, 0);
        Ok(())
    }

    /// Returns the number of the oldest outstanding read, if it has arrived; if `wait`, waits for it.
    fn next(&mut self, wait: bool) -> Result<Option<i64>> {
        let (word, event) = &self.all[self.known % READS];
        // SAFETY: the word is pinned memory, which the device writes at once.
        let read = || unsafe { word.host.read_volatile() };
        if read() == UNREAD {
            if !wait {
                return Ok(None);
            }
            event.wait()?;
        }
        self.known += 1;
        Ok(Some(read().cast_signed()))
    }

    /// Waits for all outstanding reads, so that the next iteration can use the words and events.
    fn end(mut self, frame: &mut Frame) -> Result<()> {
        while self.known < self.queued {
            self.next(true)?;
        }
        frame.busy_reads -= READS;
        Ok(())
    }
}
