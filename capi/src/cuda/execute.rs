//! Runs a call on a stream: memory, scalars, launches, results. Everything that can be foreseen is checked, decided
//! and allocated before the first launch, so that a call that fails has written nothing. Only cancelling, and errors
//! of the driver, may come later.

use super::call::Call;
use super::copy;
use super::frame::Prepared;
use super::gpu::{Gpu, Uncaptured};
use super::launch::{DIFFERENT_TURNS, LaunchMemory, Turns};
use super::records::Reading;
use super::state::Stream;
use super::table::lock;
use super::until::sites;
use crate::arguments::Args;
use crate::buffer::{Buffer, On};
use crate::check::Check;
use crate::context::Context;
use crate::error::{INVALID_ARGUMENT, MODULE, Result, fail};
use crate::execute::deliver;
use crate::handle::Pin;
use crate::log::log;
use crate::module::{Entry, Loaded};
use crate::outputs::reserve;
use crate::places::place_of;
use crate::workspace::Workspace;
use crate::{guards, interrupt, repeat};
use arraygpu_compiler::plan::{Launch, Place, Repeat, Step};
use std::ffi::c_void;
use std::sync::Arc;

/// Runs a call whose arguments were checked. Returns when its work is queued, or after it if there
/// are scalar results for the host.
pub(crate) fn run(
    loaded: &'static Loaded,
    entry: &'static Arc<Entry>,
    args: Args,
    context: &Arc<Context>,
    gpu: &Arc<Gpu>,
    stream: *mut c_void,
    pins: &[Pin<Buffer>],
    ws: &mut Workspace,
) -> Result<()> {
    let Some(images) = &loaded.images else {
        fail!(MODULE, "the package has no code for GPUs, the context's device is {}", gpu.device.title());
    };
    let _current = gpu.enter()?;
    let (stream, mut capturing) = gpu.stream(stream.cast())?;
    let places = entry.plan.params.len()..entry.plan.params.len() + entry.plan.results.len();
    let (waits, makes) =
        places.fold((false, false), |(w, m), i| (w | args.is_host_scalar(i), m | args.is_new(i)));
    if (waits || makes) && stream.is_own() {
        capturing = gpu.is_capturing(stream.raw)?;
    }
    if capturing && waits {
        fail!(
            INVALID_ARGUMENT,
            "a scalar result for the host needs a wait, but the stream is being captured: give a view"
        );
    }
    if capturing && makes {
        fail!(
            INVALID_ARGUMENT,
            "a new vector cannot be made while the stream is being captured: give an output"
        );
    }
    if capturing && entry.plan.steps.iter().any(|s| matches!(s, Step::Repeat(r) if r.check.is_some())) {
        fail!(
            INVALID_ARGUMENT,
            "{}: the host does not know how many steps an iteration with a condition makes, so the stream must \
             not be captured",
            entry.plan.name
        );
    }
    if capturing {
        lock(&gpu.code.captured).insert(loaded.id);
    }
    let tuned = loaded.tuning.on(&loaded.name, images, &gpu.device.name);
    let of_capture = if capturing { Some(gpu.of_capture(stream)?) } else { None };
    let call = Call { loaded, entry, images, gpu, stream, capturing, of_capture, tuned };
    let queueing = stream.queueing();
    // a call that fails half-way may have queued allocations, so the stream is marked in any case (`clean`)
    let done = reserve(entry, args, ws, On::Device(gpu, stream)).and_then(|()| {
        // room for scalar results and handles of new buffers
        ws.words.clear();
        ws.words.resize(ws.spans.len(), 0);
        call.queue(args, pins, ws)
    });
    let done = done.and(call.clean(ws));
    drop(queueing);
    let done = done.and_then(|()| if waits { call.wait(ws) } else { Ok(()) });
    if done.is_err() && !(ws.frame.words.is_empty() && ws.frame.reads.is_empty()) {
        // work that was queued may still write the words
        let _uncaptured = Uncaptured::enter(gpu.api());
        let _ = gpu.synchronize_stream(stream);
    }
    for (_, word) in ws.frame.words.drain(..) {
        gpu.words.give(word);
    }
    for (word, _) in ws.frame.reads.drain(..) {
        gpu.words.give(word);
    }
    ws.frame.busy_reads = 0;
    done?;
    deliver(entry, args, context, ws)
}

impl Call<'_> {
    fn queue(&self, args: Args, pins: &[Pin<Buffer>], ws: &mut Workspace) -> Result<()> {
        if !self.capturing {
            for pin in pins {
                pin.use_on(self.stream)?;
            }
        }
        self.place_scalars(args, ws)?;
        let mut memory = self.prepare(ws)?;
        if self.entry.sites > 0 {
            memory.records = self.gpu.records(self.stream, (self.loaded.id, self.entry), self.capturing)?;
        }
        self.queue_all(&self.entry.plan.steps, 1, &mut 0, &mut memory, pins, ws)?;
        for (place, wanted) in &ws.detours {
            copy::on_device(self.gpu, self.stream, wanted, &ws.spans[*place])?;
        }
        for (to, from, bytes) in &ws.frame.copies {
            // SAFETY: both sides are words, whose first bytes are the scalar.
            let code = unsafe { (self.gpu.api().on_device)(*to, *from, *bytes, self.stream.raw) };
            self.gpu.check(code, "copying a scalar result")?;
        }
        Ok(())
    }

    /// Queues steps that are decided: `at` is the number of the next decision in `ws.frame.decided`. `make` is the
    /// number of steps of an iteration that a launch makes, if its variant can make several.
    pub(super) fn queue_all(
        &self,
        steps: &[Step],
        make: i64,
        at: &mut usize,
        memory: &mut LaunchMemory,
        pins: &[Pin<Buffer>],
        ws: &mut Workspace,
    ) -> Result<()> {
        let plan = &self.entry.plan;
        let mut next = 0;
        while let Some(step) = steps.get(next) {
            next += 1;
            match step {
                Step::Alloc(_) => {} // reserved before anything ran
                Step::Free(t) => ws.memory.release_on(place_of(plan, Place::Temp(*t)), self.stream),
                Step::Launch(l) => {
                    self.checked(l, pins, ws, |ws| self.launch(l, *at, make, memory, ws))?;
                    memory.records += l.record_bytes();
                    *at += 1;
                }
                Step::Instead(_) => {
                    let all = &steps[next..next + step.inside()];
                    let (first, others) = all.split_at(1);
                    let runs = matches!(ws.frame.decided.steps[*at], Prepared::Instead(true));
                    *at += 1;
                    if !runs {
                        memory.records += sites(first);
                    }
                    self.queue_all(if runs { first } else { others }, make, at, memory, pins, ws)?;
                    if runs {
                        memory.records += sites(others);
                    }
                    next += all.len();
                }
                Step::Repeat(r @ Repeat { check: Some(check), .. }) => {
                    let until = self.until(r, *check, &steps[next..], ws)?;
                    next += r.inside();
                    self.queue_until(&until, memory, pins, ws)?;
                }
                Step::Repeat(r) if r.each => {
                    let all = &steps[next..next + r.inside()];
                    next += r.inside();
                    self.queue_one_by_one(r, all, memory, pins, ws)?;
                }
                Step::Repeat(r) => {
                    let turns = self.turns(r, &steps[next..], ws)?;
                    let all = &steps[next..next + r.inside()];
                    next += r.inside();
                    let (first, records) = (*at, memory.records);
                    let skipped =
                        if std::ptr::eq(turns.body.as_ptr(), all.as_ptr()) { 0 } else { r.body as usize };
                    // the decisions of the three different turns may differ in number, because an inner iteration may
                    // run by other variants: so note where those of each turn begin
                    let (mut starts, mut end) = ([first; DIFFERENT_TURNS], first);
                    for turn in 0..turns.count {
                        interrupt::check()?;
                        let like = Turns::like(turn);
                        let is_decided_here = like as i64 == turn;
                        if is_decided_here {
                            starts[like] = end;
                        }
                        *at = starts[like];
                        memory.records = records + sites(&all[..skipped]);
                        repeat::bind(plan, r, turn, turns.count, &mut ws.spans);
                        repeat::advance(plan, r, turns.first(turn), ws);
                        self.queue_all(turns.body, turns.steps(turn), at, memory, pins, ws)?;
                        if is_decided_here {
                            end = *at;
                        }
                    }
                    *at = end;
                    memory.records = records + sites(all);
                }
            }
        }
        Ok(())
    }

    /// Queues the turns of an iteration that are decided one by one, because each writes memory of its own.
    fn queue_one_by_one(
        &self,
        r: &Repeat,
        body: &[Step],
        memory: &mut LaunchMemory,
        pins: &[Pin<Buffer>],
        ws: &mut Workspace,
    ) -> Result<()> {
        let plan = &self.entry.plan;
        let (count, records) = (ws.host[r.count.0 as usize].as_i64().max(0), memory.records);
        for turn in 0..count {
            interrupt::check()?;
            repeat::bind(plan, r, turn, count, &mut ws.spans);
            repeat::advance(plan, r, turn, ws);
            memory.records = records;
            self.queue_now(body, memory, pins, ws)?;
        }
        memory.records = records + sites(body);
        Ok(())
    }

    /// Decides steps, and queues them at once.
    pub(super) fn queue_now(
        &self,
        steps: &[Step],
        memory: &mut LaunchMemory,
        pins: &[Pin<Buffer>],
        ws: &mut Workspace,
    ) -> Result<()> {
        let before = ws.frame.decided.len();
        let first = self.decide_now(steps, ws)?;
        self.queue_all(steps, 1, &mut first.clone(), memory, pins, ws)?;
        ws.frame.decided.truncate(before);
        Ok(())
    }

    /// Queues a launch. If launches are checked, waits for it and checks its results.
    fn checked(
        &self,
        launch: &Launch,
        pins: &[Pin<Buffer>],
        ws: &mut Workspace,
        queue: impl FnOnce(&mut Workspace) -> Result<()>,
    ) -> Result<()> {
        if !guards::is_on() {
            return queue(ws);
        }
        if self.capturing {
            log!(
                Warn,
                "{}: the stream is being captured, so ARRAYGPU_CHECK does not look at it",
                launch.name
            );
            return queue(ws);
        }
        let check = Check { plan: &self.entry.plan, launch, pins, reader: self };
        let read_numbers = check.reads_numbers(ws)?;
        queue(ws)?;
        check.look(ws, read_numbers)
    }

    /// Chooses the address of each scalar result and temporary. A kernel writes a result directly to its destination,
    /// unless other launches read it and it goes to the host, or unless the destination overlaps an input: then it is
    /// written to a word of device memory, and copied at the end.
    fn place_scalars(&self, args: Args, ws: &mut Workspace) -> Result<()> {
        let plan = &self.entry.plan;
        let (params, results) = (plan.params.len(), plan.results.len());
        let frame = &mut ws.frame;
        frame.copies.clear();
        frame.scalars.clear();
        frame.scalars.resize(params + results + plan.temps.len(), 0);
        for (r, slot) in plan.results.iter().enumerate().filter(|(_, s)| s.ty.is_scalar()) {
            let (place, bytes) = (params + r, slot.ty.elem.size());
            let (wanted, direct) = if args.is_host_scalar(place) {
                let word = self.gpu.words.take(self.gpu)?;
                frame.words.push((place, word));
                // SAFETY: the word is this library's, and no kernel uses it yet.
                unsafe { word.host.write_volatile(0) };
                // a scalar that later launches read should not lie in memory of the host
                (word.device, !self.entry.is_shared_slot(r))
            } else {
                let span = &ws.spans[place];
                (span.base.addr() as u64, !ws.spans[..params].iter().any(|p| p.overlaps(span)))
            };
            frame.scalars[place] = wanted;
            if !direct {
                let slot = lock(self.shared()).take_slot(self.gpu)?;
                frame.slots.push(slot);
                frame.scalars[place] = slot;
                frame.copies.push((wanted, slot, bytes));
            }
        }
        for t in (0..plan.temps.len()).filter(|t| plan.temps[*t].ty.is_scalar()) {
            let slot = lock(self.shared()).take_slot(self.gpu)?;
            frame.slots.push(slot);
            frame.scalars[params + results + t] = slot;
        }
        Ok(())
    }

    /// Frees the memory of the call in the order of the stream, and marks the stream; also after an error.
    fn clean(&self, ws: &mut Workspace) -> Result<()> {
        ws.memory.release_all_on(self.stream);
        for slot in ws.frame.slots.drain(..) {
            lock(self.shared()).give_slot(slot);
        }
        let unmarked = self.stream.is_own() || self.capturing;
        let marked = if unmarked { Ok(()) } else { self.gpu.mark(self.stream) };
        // noted after the mark, because a thread that reads the call's records waits for the mark
        if self.entry.sites > 0 {
            self.gpu.called(self.stream, self.entry);
        }
        marked
    }

    /// Waits for the stream, and reads the scalar results from their words.
    fn wait(&self, ws: &mut Workspace) -> Result<()> {
        self.gpu.wait(self.stream, Some(self.entry))?;
        for (place, word) in &ws.frame.words {
            // SAFETY: the kernels that write the word have ended.
            ws.words[*place] = unsafe { word.host.read_volatile() };
        }
        Ok(())
    }
}

impl Gpu {
    /// Waits until the work queued on the stream is done; then returns the error of the first
    /// record that was left, if any.
    pub(super) fn wait(&self, stream: &Stream, of: Option<&Entry>) -> Result<()> {
        let _uncaptured = Uncaptured::enter(self.api());
        let reading = Reading::begin(stream);
        if let Some(reading) = &reading {
            reading.queue(self, stream.raw)?;
        }
        let done = self.synchronize_stream(stream);
        if done.is_err() && !stream.is_own() {
            // the reading of records was queued after the last mark, and freeing the context waits for marks only: so
            // mark the stream again
            let _ = self.mark(stream);
        }
        done?;
        reading.map_or(Ok(()), |r| r.check(of))
    }
}
