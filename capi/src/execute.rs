//! Runs the steps of a plan on the CPU, after all checks.

use crate::abi::AgpuKernelArgs;
use crate::arguments::Args;
use crate::buffer::{self, Buffer, Memory, On};
use crate::check::{Check, Reader, Values};
use crate::context::Context;
use crate::cpu::{Code, Variant};
use crate::error::{INTERNAL, RECORD, Result, error, fail};
use crate::handle::Pin;
use crate::log::{self, log};
use crate::memory::ALIGN;
use crate::module::{Entry, Loaded};
use crate::places::{elements, place_of, scalar, writes_an_input};
use crate::span::{AXES, Span};
use crate::span_copy::copy_span;
use crate::workspace::Workspace;
use crate::{guards, interrupt, pool, repeat};
use arraygpu_compiler::plan::{Access, Launch, Place, Plan, Step};
use arraygpu_compiler::scalar::Ty;
use std::ffi::c_void;
use std::ptr::without_provenance_mut;
use std::sync::Arc;

/// Returns the number of tiles of a launch.
fn tiles(launch: &Launch, ws: &Workspace) -> Result<i64> {
    let grain = i64::from(launch.grain);
    elements(launch, ws).map(|n| if n == 0 { 0 } else { (n - 1) / grain + 1 })
}

/// Returns the size of one scratch array in bytes.
fn scratch_bytes(tiles: i64, size: usize) -> i64 {
    // This cannot overflow: the number of tiles is at most 2^52.
    (tiles * size as i64 + ALIGN as i64 - 1) / ALIGN as i64 * ALIGN as i64
}

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
    ws.launch.records.clear();
    ws.launch.records.resize(entry.sites, i64::MAX);
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
            Step::Repeat(r) => {
                let all = &steps[at..at + r.inside()];
                let count = repeat::count(plan, r, ws);
                let (body, turns) = repeat::chosen(r, all, count);
                at += r.inside();
                let (first, again) = (now.site, std::mem::replace(&mut now.again, true));
                let skipped = if count > 0 { 0 } else { r.body as usize };
                for turn in 0..turns {
                    now.site = first + sites(&all[..skipped]);
                    repeat::bind(plan, r, turn, turns, &mut ws.spans);
                    run(loaded, plan, body, now, context, ws)?;
                }
                (now.site, now.again) = (first + sites(all), again);
                if !again {
                    check_all(all, &ws.launch.records[first..])?;
                }
            }
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
    let (tiles, mut scratch) = (tiles(launch, ws)?, now.scratch);
    let a = &mut ws.launch;
    a.arrays.clear();
    a.strides.clear();
    let span = |array: usize| &ws.spans[place_of(plan, launch.arrays[array].0)];
    let mut contiguous = launch.flat.iter().all(|i| span(*i as usize).is_flat());
    for span in (0..launch.arrays.len()).map(span) {
        a.arrays.push(span.base.cast::<c_void>());
        a.strides.push(span.strides[AXES - 1]);
        contiguous &= span.is_contiguous();
    }
    a.scalars.clear();
    a.scalars.extend(launch.scalars.iter().map(|s| scalar(*s, &ws.host, span)));
    a.slots.clear();
    let words = ws.words.as_mut_ptr();
    a.slots.extend(launch.slots.iter().map(|p| words.wrapping_add(place_of(plan, *p)).cast::<c_void>()));
    a.scratch.clear();
    for ty in &launch.scratch {
        a.scratch.push(scratch.cast());
        scratch = scratch.wrapping_add(scratch_bytes(tiles, ty.size()) as usize);
    }
    let records = &mut a.records[now.site..now.site + launch.sites.len()];
    let args = AgpuKernelArgs {
        arrays: a.arrays.as_ptr(),
        strides: a.strides.as_ptr(),
        scalars: a.scalars.as_ptr(),
        slots: a.slots.as_ptr(),
        scratch: a.scratch.as_ptr(),
        records: records.as_mut_ptr(),
        reserved: [std::ptr::null(); 2],
    };
    context.host.launches.add_one();
    if log::wants(log::Level::Warn) {
        tell(plan, launch, tiles, variant(launch, ws, contiguous), ws);
    }
    if tiles > 0 {
        let main = code(loaded, launch, variant(launch, ws, contiguous))?;
        let work = launch.work(launch.segment.map(|n| ws.host[n.0 as usize].as_i64()));
        // SAFETY: the kernel belongs to the launch (the package's promise), whose arrays were checked and stay pinned.
        unsafe {
            pool::run(&context.host.workers, main, &args, tiles, (!launch.sequential).then_some(work))
        }?;
    }
    if launch.finish {
        // SAFETY: as above, after all tiles.
        unsafe { code(loaded, launch, Variant::Finish)?.run(&args, 0, tiles) };
    }
    if now.again { Ok(()) } else { check_records(launch, &ws.launch.records[now.site..]) }
}

/// Logs a launch, and why its fastest variant does not run.
#[cold]
fn tell(plan: &Plan, launch: &Launch, tiles: i64, variant: Variant, ws: &Workspace) {
    log!(Debug, "{}: {tiles} tiles, {variant:?}", launch.name);
    let strided = |(i, (place, _)): (usize, &(Place, Access))| {
        let span = &ws.spans[place_of(plan, *place)];
        let is_dense = if launch.flat.contains(&(i as u32)) { span.is_flat() } else { span.is_contiguous() };
        (!is_dense).then(|| format!("{} (strides {:?})", plan.slot(*place).name, span.distances()))
    };
    let strided: Vec<String> = launch.arrays.iter().enumerate().filter_map(strided).collect();
    if !strided.is_empty() {
        log!(Warn, "{} runs its slower version for arrays with strides: {}", launch.name, strided.join(", "));
    }
}

/// The kernel's variant: contiguous unless neighbours do not lie side by side or an array that it writes is one that it reads.
fn variant(launch: &Launch, ws: &Workspace, contiguous: bool) -> Variant {
    if !contiguous {
        Variant::Strided
    } else if writes_an_input(launch, ws) {
        Variant::InPlace
    } else {
        Variant::Contiguous
    }
}

fn code(loaded: &Loaded, launch: &Launch, variant: Variant) -> Result<Code> {
    let missing = || error(INTERNAL, format!("kernel {} has no version {variant:?}", launch.name));
    loaded.code(launch.kernel, variant)?.ok_or_else(missing)
}

/// Returns the number of sites of all launches in these steps.
fn sites(steps: &[Step]) -> usize {
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
    let lowest = records.iter().zip(&launch.sites).min_by_key(|(element, _)| **element);
    match lowest {
        Some((element, site)) if *element != i64::MAX => fail!(RECORD, "{site}, first at element {element}"),
        _ => Ok(()),
    }
}

/// Passes the scalar results and the new buffers to the caller.
pub(crate) fn deliver(entry: &Entry, args: Args, context: &Arc<Context>, ws: &mut Workspace) -> Result<()> {
    let plan = &entry.plan;
    // The handle of a new buffer waits in its word.
    ws.delivered.clear();
    for (place, memory) in ws.made.drain(..) {
        let span = ws.spans[place];
        match buffer::insert(Buffer::new(context.clone(), span.ty, span.shape(), memory)) {
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
        } else if args.is_new(place) {
            // SAFETY: the pointer was checked and belongs to the caller.
            unsafe { args.made(place).write(without_provenance_mut(ws.words[place] as usize)) };
        }
    }
    Ok(())
}
