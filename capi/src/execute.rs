//! Runs the steps of a plan on the CPU, after all checks.

use crate::arguments::Args;
use crate::buffer::{self, Buffer, Memory, On};
use crate::check::{Check, Reader, Values, bits};
use crate::context::Context;
use crate::error::{RECORD, Result, fail};
use crate::handle::Pin;
use crate::launch::{self, scratch_bytes, tiles};
use crate::module::{Entry, Loaded};
use crate::places::place_of;
use crate::span::{AXES, Span};
use crate::span_copy::copy_span;
use crate::workspace::Workspace;
use crate::{guards, interrupt, log, repeat};
use arraygpu_compiler::plan::{Check as Stop, Launch, Place, Plan, Repeat, Step, sites};
use arraygpu_compiler::scalar::Ty;
use std::ptr::without_provenance_mut;
use std::sync::Arc;
use std::time::Instant;

/// Returns the size of scratch in bytes. One block serves all launches in turn.
pub(crate) fn scratch(plan: &Plan, ws: &Workspace) -> Result<i64> {
    let mut most = 0;
    for l in plan.launches().filter(|l| !l.scratch.is_empty()) {
        let tiles = tiles(l, ws)?;
        most = most.max(l.scratch.iter().map(|ty| scratch_bytes(tiles, ty.size())).sum());
    }
    Ok(most)
}

/// Runs all steps. The results are then in their spans and words.
pub(crate) fn execute(
    loaded: &Loaded,
    entry: &Entry,
    context: &Context,
    pins: &[Pin<Buffer>],
    ws: &mut Workspace,
) -> Result<()> {
    let plan = &entry.plan;
    ws.words.clear();
    ws.words.resize(ws.spans.len(), 0);
    for (word, literal) in ws.words.iter_mut().zip(&ws.literals) {
        *word = literal.bits;
    }
    let scratch = match scratch(plan, ws)? {
        0 => std::ptr::null_mut(),
        bytes => ws.memory.take(usize::MAX, bytes, 1, On::Host(&context.host.memory))?,
    };
    ws.records.clear();
    ws.records.resize(entry.sites, i64::MAX);
    run(loaded, plan, &plan.steps, &mut At { scratch, site: 0, again: false, pins }, context, ws)?;
    for (place, wanted) in &ws.detours {
        copy_span(wanted, &ws.spans[*place], &context.host.memory)?;
    }
    Ok(())
}

/// The state while steps run.
struct At<'a> {
    /// The call's arguments.
    pins: &'a [Pin<Buffer>],
    scratch: *mut u8,
    /// The number of the first site of the next launch.
    site: usize,
    /// Whether the steps are repeated in an iteration, whose error records are read after it.
    again: bool,
}

fn run(
    loaded: &Loaded,
    plan: &Plan,
    steps: &[Step],
    now: &mut At<'_>,
    context: &Context,
    ws: &mut Workspace,
) -> Result<()> {
    let mut at = 0;
    while let Some(step) = steps.get(at) {
        at += 1;
        match step {
            Step::Alloc(_) => {} // The memory was reserved before anything ran.
            Step::Free(t) => ws.memory.release(place_of(plan, Place::Temp(*t))),
            Step::Launch(l) => {
                interrupt::check()?;
                launch(loaded, plan, l, now, context, ws)?;
                now.site += l.sites.len();
            }
            Step::Instead(_) => {
                let all = &steps[at..at + step.inside()];
                let (first, others) = all.split_at(1);
                let runs = runs_instead(loaded, plan, first, context, ws)?;
                if !runs {
                    now.site += count_sites(first);
                }
                run(loaded, plan, if runs { first } else { others }, now, context, ws)?;
                if runs {
                    now.site += count_sites(others);
                }
                at += all.len();
            }
            Step::Repeat(r) => {
                let all = &steps[at..at + r.inside()];
                if let Some(check) = &r.check {
                    at += r.inside();
                    let first = now.site;
                    until(loaded, plan, (r, check), all, now, context, ws)?;
                    now.site = first + count_sites(all);
                    if !now.again {
                        check_all(all, &ws.records[first..])?;
                    }
                    continue;
                }
                let count = repeat::count(plan, r, ws);
                let (body, turns) = repeat::chosen(r, all, count);
                at += r.inside();
                let (first, again) = (now.site, std::mem::replace(&mut now.again, true));
                let skipped = if count > 0 { 0 } else { r.body as usize };
                let begin = first + count_sites(&all[..skipped]);
                let mut turn = 0;
                while turn < turns {
                    if turn == 1
                        && turns >= MANY_TURNS
                        && r.turn.is_none()
                        && !r.each
                        && is_quick(body, context)
                    {
                        many_turns(loaded, plan, r, (body, turns), At { site: begin, ..*now }, context, ws)?;
                        break;
                    }
                    now.site = begin;
                    repeat::bind(plan, r, turn, turns, &mut ws.spans);
                    repeat::advance(plan, r, turn, ws);
                    run(loaded, plan, body, now, context, ws)?;
                    turn += 1;
                }
                (now.site, now.again) = (first + count_sites(all), again);
                if !again {
                    check_all(all, &ws.records[first..])?;
                }
            }
        }
    }
    Ok(())
}

/// Runs an iteration that a check ends.
fn until(
    loaded: &Loaded,
    plan: &Plan,
    (r, check): (&Repeat, &Stop),
    all: &[Step],
    now: &mut At<'_>,
    context: &Context,
    ws: &mut Workspace,
) -> Result<()> {
    let (first, again) = (now.site, std::mem::replace(&mut now.again, true));
    let [stops, body, copies] = r.parts(all);
    let most = ws.host[r.count.0 as usize].as_i64().max(0);
    let states = repeat::Until { between: check.between(most) };
    let mut turn = 0;
    loop {
        states.bind(plan, r, turn, &mut ws.spans);
        repeat::advance(plan, r, turn, ws);
        if check.is_due(turn, most) {
            now.site = first;
            run(loaded, plan, stops, now, context, ws)?;
            let number = bits(&ws.spans[place_of(plan, check.number)], [0; AXES]).cast_signed();
            if number >= 0 || turn == most {
                break;
            }
        }
        now.site = first + count_sites(stops);
        run(loaded, plan, body, now, context, ws)?;
        turn += 1;
    }
    if states.bind_copies(plan, r, turn, &mut ws.spans) {
        now.site = first + count_sites(stops) + count_sites(body);
        run(loaded, plan, copies, now, context, ws)?;
    }
    now.again = again;
    Ok(())
}

/// Whether a launch runs instead of the steps after it.
fn runs_instead(
    loaded: &Loaded,
    plan: &Plan,
    launch: &[Step],
    context: &Context,
    ws: &Workspace,
) -> Result<bool> {
    let [Step::Launch(l)] = launch else { return Ok(false) };
    let length = l.segment.map(|n| ws.host[n.0 as usize].as_i64());
    let is_wanted = l.runs_instead(tiles(l, ws)?, length, context.host.workers.threads);
    Ok(is_wanted && loaded.code(l.kernel, launch::variant(plan, l, ws))?.is_some())
}

/// An iteration with at least this many turns fills in the arguments of its launches once.
const MANY_TURNS: i64 = 6;

/// Whether nothing but the launches themselves is to be done in each turn.
fn is_quick(body: &[Step], context: &Context) -> bool {
    let is_watched = guards::is_on() || log::wants(log::Level::Warn) || context.host.profile.is_on();
    body.iter().all(|s| matches!(s, Step::Launch(_))) && !is_watched
}

/// Runs all turns of an iteration but the first. Every second turn reads and writes the same memory,
/// so the arguments of its launches are filled in once.
fn many_turns(
    loaded: &Loaded,
    plan: &Plan,
    r: &Repeat,
    (body, turns): (&[Step], i64),
    now: At<'_>,
    context: &Context,
    ws: &mut Workspace,
) -> Result<()> {
    let mut prepared = [Vec::new(), Vec::new()];
    for turn in [1, 2] {
        repeat::bind(plan, r, turn, turns, &mut ws.spans);
        let mut site = now.site;
        for s in body {
            if let Step::Launch(l) = s {
                let ready = launch::prepare(loaded, plan, l, now.scratch, ws)?;
                prepared[turn as usize % 2].push((ready, std::mem::take(&mut ws.launch), site));
                site += l.sites.len();
            }
        }
    }
    for turn in 1..turns {
        interrupt::check()?;
        for (ready, args, site) in &prepared[turn as usize % 2] {
            // SAFETY: the arguments are those of this launch in this turn.
            unsafe { ready.run(args, &mut ws.records[*site..], context) }?;
        }
    }
    Ok(())
}

fn launch(
    loaded: &Loaded,
    plan: &Plan,
    launch: &Launch,
    now: &At<'_>,
    context: &Context,
    ws: &mut Workspace,
) -> Result<()> {
    if !guards::is_on() {
        return launch_unchecked(loaded, plan, launch, now, context, ws);
    }
    let check = Check { plan, launch, pins: now.pins, reader: OnHost };
    let read_numbers = check.reads_numbers(ws)?;
    launch_unchecked(loaded, plan, launch, now, context, ws)?;
    check.look(ws, read_numbers)
}

/// Reads the CPU's memory for `ARRAYGPU_CHECK`.
struct OnHost;

impl Reader for OnHost {
    fn values(&self, ws: &Workspace, place: usize, ty: Ty, is_scalar: bool) -> Result<Values> {
        let word = (&raw const ws.words[place]).cast_mut().cast();
        let span = if is_scalar { Span::scalar(word, ty) } else { ws.spans[place] };
        Ok(Values { span, _copied: Vec::new() })
    }

    fn is_overrun(&self, memory: &Memory) -> Result<bool> {
        Ok(matches!(memory, Memory::Host(storage) if storage.is_overrun()))
    }
}

fn launch_unchecked(
    loaded: &Loaded,
    plan: &Plan,
    launch: &Launch,
    now: &At<'_>,
    context: &Context,
    ws: &mut Workspace,
) -> Result<()> {
    let ready = launch::prepare(loaded, plan, launch, now.scratch, ws)?;
    let begin = context.host.profile.is_on().then(Instant::now);
    // SAFETY: the arguments are those of this launch.
    unsafe { ready.run(&ws.launch, &mut ws.records[now.site..], context) }?;
    if let Some(begin) = begin {
        context.host.profile.add([&launch.name, &launch.name, ""], [begin, Instant::now()]);
    }
    if now.again { Ok(()) } else { check_records(launch, &ws.records[now.site..]) }
}

/// Returns the number of sites of all launches in these steps.
fn count_sites(steps: &[Step]) -> usize {
    steps.iter().map(|s| if let Step::Launch(l) = s { l.sites.len() } else { 0 }).sum()
}

/// Returns an error for the first launch that left an error record in any turn of an iteration.
fn check_all(steps: &[Step], mut records: &[i64]) -> Result<()> {
    for s in steps {
        if let Step::Launch(l) = s {
            let (own, others) = records.split_at(l.sites.len());
            check_records(l, own)?;
            records = others;
        }
    }
    Ok(())
}

/// Returns an error for the lowest element that left an error record. If several sites have it, the
/// first one counts.
fn check_records(launch: &Launch, records: &[i64]) -> Result<()> {
    let number = |site: usize| (records[site] != i64::MAX).then_some(records[site]);
    match sites::message(&launch.sites, number) {
        Some(message) => fail!(RECORD, "{message}"),
        None => Ok(()),
    }
}

/// Passes the scalar results and the new buffers to the caller.
pub(crate) fn deliver(entry: &Entry, args: Args, context: &Arc<Context>, ws: &mut Workspace) -> Result<()> {
    let plan = &entry.plan;
    // The handle of a new buffer waits in its word.
    ws.delivered.clear();
    for (place, memory) in ws.made.drain(..) {
        let span = ws.spans[place];
        let buffer = match args.field(place) {
            // structs are bytes with an axis more
            Some((_, size)) => {
                let extents = [span.shape(), &[size]].concat();
                Buffer::new(context.clone(), Ty::U8, &extents, memory)
            }
            None => Buffer::new(context.clone(), span.ty, span.shape(), memory),
        };
        match buffer::insert(buffer) {
            Ok(handle) => {
                ws.words[place] = handle.addr() as u64;
                ws.delivered.push(place);
            }
            Err(e) => {
                for place in &ws.delivered {
                    buffer::remove(without_provenance_mut(ws.words[*place] as usize))?;
                }
                return Err(e);
            }
        }
    }
    // Nothing can fail from here on.
    for (i, slot) in plan.results.iter().enumerate() {
        let place = place_of(plan, Place::Result(i as u32));
        if slot.ty.is_scalar() {
            if context.device.gpu().is_some() && !args.is_host_scalar(place) {
                continue; // A kernel has written it.
            }
            let word = ws.words[place].to_ne_bytes();
            // SAFETY: a scalar result's span is memory for one element, of the caller or in a
            // buffer, and kernels wrote the low bytes of the word.
            unsafe {
                std::ptr::copy_nonoverlapping(word.as_ptr(), ws.spans[place].base, slot.ty.elem.size())
            };
        } else if ws.delivered.contains(&place) {
            // SAFETY: the pointer was checked and belongs to the caller.
            unsafe { args.made(place).write(without_provenance_mut(ws.words[place] as usize)) };
        }
    }
    Ok(())
}
