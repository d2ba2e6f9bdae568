//! `agpu_invoke`: checks of the arguments. Everything is checked before anything is allocated, launched or written.

use crate::abi::{AgpuArg, AgpuArgKind, AgpuCall, AgpuModule, AgpuStatus, AgpuView, code};
use crate::buffer::{self, Buffer, Memory, On};
use crate::context::{self, Context};
use crate::cuda;
use crate::error::{
    Error, INVALID_ARGUMENT, MODULE, OUT_OF_MEMORY, OVERLAP, Result, SHAPE, TYPE_MISMATCH, WRONG_CONTEXT,
    aligned, error, fail, out,
};
use crate::execute;
use crate::guard::guard;
use crate::handle::Pin;
use crate::interrupt;
use crate::log::log;
use crate::module::{self, Entry, Loaded};
use crate::span::{AXES, Span, count, extents, noun};
use crate::stream::no_stream;
use crate::view::resolve_into;
use crate::workspace::{self, LENT_ALIGN, Lent, Workspace};
use arraygpu_compiler::plan::{Slot, host};
use arraygpu_compiler::scalar::Lit;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::Arc;

/// Runs entry `entry` of a module. Packages call this; arguments are the parameters, then the results.
/// `call` may be NULL. Thread-safe, as long as no buffer that a call writes is used elsewhere at the same
/// time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_invoke(
    module: *const AgpuModule,
    entry: i32,
    call: *const AgpuCall,
    args: *const AgpuArg,
    count: i32,
) -> AgpuStatus {
    guard(|| {
        // SAFETY: NULL or a package's module (the caller's promise).
        let loaded = unsafe { module::open(module) }.map_err(|e| e.of("agpu_invoke"))?;
        let number = usize::try_from(entry).unwrap_or(usize::MAX);
        let Some(entry) = loaded.entries.get(number) else {
            fail!(
                INVALID_ARGUMENT,
                "{}: there is no entry {entry}, there are {}",
                loaded.name,
                loaded.entries.len()
            );
        };
        if let Some(staged) = loaded.staged(number) {
            // SAFETY: as below.
            if let Some(done) = unsafe { staged.run(loaded, entry, call, args, count) } {
                return done;
            }
        }
        // SAFETY: `call` is NULL or an agpu_call, and there are `count` arguments (the caller's promise).
        let run = |ws: &mut Workspace| unsafe { invoke(loaded, entry, call, args, count, ws) };
        workspace::with(run).map_err(|e| e.of(&entry.title))
    })
}

/// The arguments as the caller passed them. Fields that the kind does not name may be uninitialised: read singly.
#[derive(Clone, Copy)]
pub(crate) struct Args(*const AgpuArg);

impl Args {
    fn kind(self, i: usize) -> i32 {
        // SAFETY: argument i is there (the count was checked), and its kind is initialised.
        code(unsafe { (&raw const (*self.0.add(i)).kind).read() })
    }

    fn is(self, i: usize, kind: AgpuArgKind) -> bool {
        self.kind(i) == kind as i32
    }

    /// Kinds SCALAR, RESULT_SCALAR.
    fn scalar(self, i: usize) -> Result<*mut u8> {
        // SAFETY: argument i is there, and its kind has this field.
        let pointer = unsafe { (&raw const (*self.0.add(i)).scalar).read() };
        if pointer.is_null() {
            fail!(INVALID_ARGUMENT, "the pointer is NULL");
        }
        Ok(pointer.cast_mut().cast())
    }

    /// Kinds VIEW, RESULT_VIEW.
    fn view<'a>(self, i: usize) -> &'a AgpuView {
        // SAFETY: argument i is there, its kind has this field, and the caller's arguments stay during the call.
        unsafe { &*(&raw const (*self.0.add(i)).view).cast() }
    }

    /// Whether argument i is a scalar result for the host.
    pub fn is_host_scalar(self, i: usize) -> bool {
        self.is(i, AgpuArgKind::AgpuArgResultScalar)
    }

    /// Whether argument i asks for a new buffer.
    pub fn is_new(self, i: usize) -> bool {
        self.is(i, AgpuArgKind::AgpuArgResultNew)
    }

    /// Kind RESULT_NEW.
    pub fn made(self, i: usize) -> *mut *mut crate::abi::AgpuBuffer {
        // SAFETY: argument i is there, and its kind has this field.
        unsafe { (&raw const (*self.0.add(i)).made).read() }
    }
}

/// # Safety
/// `call` is null or an `agpu_call`; `args` are `count` arguments.
pub(crate) unsafe fn invoke(
    loaded: &'static Loaded,
    entry: &'static Arc<Entry>,
    call: *const AgpuCall,
    args: *const AgpuArg,
    count: i32,
    ws: &mut Workspace,
) -> Result<()> {
    let plan = &entry.plan;
    let expected = plan.params.len() + plan.results.len();
    if usize::try_from(count) != Ok(expected) || (args.is_null() && expected > 0) {
        fail!(INVALID_ARGUMENT, "{count} arguments at {args:p}, expected {expected}");
    }
    aligned(args, "the arguments")?;
    let args = Args(args);
    bind(entry, args, ws)?;
    // SAFETY: the caller's promise.
    let call = unsafe { options(call) }?;
    let (given, stream) = context_in(&call)?;
    let (lent, needed) = workspace_in(&call)?;
    ws.memory.lent = lent;
    let pins = std::mem::take(&mut ws.pins);
    let context = pick_context(entry, args, given.as_deref(), &pins)?;

    let (spans, literals) = (&ws.spans, &ws.literals);
    let extent = |p: u32, axis: u8| spans[p as usize].extent(axis);
    host::evaluate(plan, extent, |p| literals[p as usize], &mut ws.host);
    if let Some((_, message)) = host::violation(plan, &ws.host) {
        fail!(SHAPE, "{message}");
    }
    outputs(entry, args, ws)?;
    if let Some(needed) = needed {
        let scratch = if context.gpu.is_some() { 0 } else { execute::scratch(plan, ws)? };
        let on = On::Host(&context.memory);
        reserve_temporaries(entry, ws, on)?;
        ws.memory.take(usize::MAX, scratch, 1, on)?;
        needed.write(ws.memory.used as i64);
        return Ok(());
    }
    interrupt::check()?;
    let done = match &context.gpu {
        Some(gpu) => cuda::run(loaded, entry, args, context, gpu, stream, &pins, ws),
        None => {
            if !loaded.has_cpu_code() {
                let why = context::problem(context).map_or(String::new(), |p| format!(": {p}"));
                fail!(MODULE, "the package has code for GPUs only, the context's device is the CPU{why}");
            }
            no_stream(stream)?;
            reserve(entry, args, ws, On::Host(&context.memory))?;
            execute::execute(loaded, entry, context, &pins, ws)?;
            execute::deliver(entry, args, context, ws)
        }
    };
    ws.pins = pins;
    done
}

/// What staged scalars are computed from: lengths of parameters along an axis, values of scalar parameters.
pub(crate) struct Given<'a> {
    pub on_gpu: bool,
    pub len: &'a dyn Fn(u32, u8) -> i64,
    pub arg: &'a dyn Fn(u32) -> Lit,
}

/// Looks at the arguments of a call before it runs; an error if they do not fit.
///
/// # Safety
/// As [`invoke`].
pub(crate) unsafe fn given<T>(
    entry: &Entry,
    call: *const AgpuCall,
    args: *const AgpuArg,
    count: i32,
    ws: &mut Workspace,
    look: impl FnOnce(Given) -> T,
) -> Result<T> {
    let plan = &entry.plan;
    let expected = plan.params.len() + plan.results.len();
    if usize::try_from(count) != Ok(expected) || args.is_null() {
        fail!(INVALID_ARGUMENT, "{count} arguments at {args:p}, expected {expected}");
    }
    aligned(args, "the arguments")?;
    let args = Args(args);
    bind(entry, args, ws)?;
    // SAFETY: the caller's promise.
    let (given, _) = unsafe { context_of(call) }?;
    let on_gpu = pick_context(entry, args, given.as_deref(), &ws.pins)?.gpu.is_some();
    let (spans, literals) = (&ws.spans, &ws.literals);
    let len = |p: u32, axis: u8| spans[p as usize].extent(axis);
    let arg = |p: u32| literals[p as usize];
    host::evaluate(plan, len, arg, &mut ws.host);
    if let Some((_, message)) = host::violation(plan, &ws.host) {
        fail!(SHAPE, "{message}");
    }
    Ok(look(Given { on_gpu, len: &len, arg: &arg }))
}

/// Kinds, handles, types and bounds of all arguments; fills `pins`, `spans`, `literals`.
fn bind(entry: &Entry, args: Args, ws: &mut Workspace) -> Result<()> {
    let plan = &entry.plan;
    ws.pins.clear();
    ws.spans.clear();
    ws.literals.clear();
    for i in 0..plan.params.len() + plan.results.len() {
        bind_one(entry, args, i, ws).map_err(|e| e.of(&entry.slot(i).name))?;
    }
    Ok(())
}

fn bind_one(entry: &Entry, args: Args, i: usize, ws: &mut Workspace) -> Result<()> {
    use AgpuArgKind::*;
    let (slot, is_result) = (entry.slot(i), i >= entry.plan.params.len());
    let ty = slot.ty.elem;
    ws.spans.push(Span::nothing(ty));
    ws.literals.push(Lit::zero(ty));
    let (span, literal) = (&mut ws.spans[i], &mut ws.literals[i]);
    match (slot.ty.is_scalar(), is_result) {
        (true, false) if args.is(i, AgpuArgScalar) => {
            let address = args.scalar(i)?;
            // SAFETY: a scalar argument points at a value of its type.
            let bits = unsafe {
                match ty.size() {
                    1 => address.read().into(),
                    2 => address.cast::<u16>().read_unaligned().into(),
                    4 => address.cast::<u32>().read_unaligned().into(),
                    _ => address.cast::<u64>().read_unaligned(),
                }
            };
            *literal = Lit::from_word(ty, bits);
        }
        (true, true) if args.is(i, AgpuArgResultScalar) => *span = Span::scalar(args.scalar(i)?, ty),
        (false, true) if args.is(i, AgpuArgResultNew) => {
            aligned(args.made(i), "the pointer to the new buffer")?;
            if args.made(i).is_null() {
                fail!(INVALID_ARGUMENT, "the pointer is NULL");
            }
        }
        (scalar, _)
            if (is_result || !scalar)
                && args.is(i, if is_result { AgpuArgResultView } else { AgpuArgView }) =>
        {
            let view = args.view(i);
            let buffer = buffer::pin(view.buffer)?;
            if buffer.ty != ty {
                let expected = noun(slot.ty.rank.max(1).into());
                fail!(TYPE_MISMATCH, "expected a {expected} of {ty}, got one of {}", buffer.ty);
            }
            resolve_into(view, &buffer, span)?;
            ws.pins.push(buffer);
            let rank = usize::from(slot.ty.rank);
            if scalar && span.len() != 1 {
                fail!(SHAPE, "a scalar result needs a view of one element, this one has {}", span.len());
            }
            if !scalar && span.rank != rank {
                fail!(SHAPE, "the view has rank {}, a {} has rank {rank}", span.rank, noun(rank));
            }
            if is_result && span.overlaps_itself() {
                return Err(several_in_one_place(span));
            }
        }
        _ => {
            let what = noun(slot.ty.rank.into());
            let role = if is_result { "result" } else { "parameter" };
            fail!(INVALID_ARGUMENT, "an argument of kind {} for a {role} that is a {what}", args.kind(i));
        }
    }
    Ok(())
}

#[cold]
fn several_in_one_place(span: &Span) -> Error {
    error(
        OVERLAP,
        match span.shape() {
            [_] => "an output of stride 0 overlaps itself".into(),
            shape => {
                let strides: Vec<i64> = (0..span.rank as u8).map(|axis| span.stride(axis)).collect();
                format!("an output of {} with the strides {strides:?} overlaps itself", extents(shape))
            }
        },
    )
}

/// The caller's options; none where they are null.
///
/// # Safety
/// `call` is null or an `agpu_call`.
unsafe fn options(call: *const AgpuCall) -> Result<Option<AgpuCall>> {
    if call.is_null() {
        return Ok(None);
    }
    aligned(call, "call")?;
    // SAFETY: not null; the size comes first in every version.
    let size = unsafe { (&raw const (*call).size).read() };
    if size < size_of::<AgpuCall>() {
        fail!(INVALID_ARGUMENT, "call.size is {size}, set it to sizeof(agpu_call)");
    }
    // SAFETY: there are at least as many bytes as this version knows.
    Ok(Some(unsafe { call.read() }))
}

/// The context and the stream of a call, as far as it names them.
///
/// # Safety
/// `call` is null or an `agpu_call`.
pub(crate) unsafe fn context_of(call: *const AgpuCall) -> Result<(Option<Pin<Arc<Context>>>, *mut c_void)> {
    // SAFETY: the caller's promise.
    context_in(&unsafe { options(call) }?)
}

fn context_in(call: &Option<AgpuCall>) -> Result<(Option<Pin<Arc<Context>>>, *mut c_void)> {
    let Some(call) = call else { return Ok((None, std::ptr::null_mut())) };
    let context = if call.context.is_null() { None } else { Some(context::pin(call.context)?) };
    Ok((context, call.stream))
}

/// Whether a call says anything of its temporaries.
///
/// # Safety
/// `call` is null or an `agpu_call`.
pub(crate) unsafe fn has_workspace(call: *const AgpuCall) -> bool {
    // SAFETY: the caller's promise.
    let call = unsafe { options(call) };
    call.is_ok_and(|call| call.is_some_and(|c| !c.workspace.is_null() || !c.workspace_needed.is_null()))
}

/// What a call says of its temporaries: where they are to be, and where to write what they take.
fn workspace_in(call: &Option<AgpuCall>) -> Result<(Option<Lent>, Option<&'static mut MaybeUninit<i64>>)> {
    let Some(call) = call else { return Ok((None, None)) };
    if !call.workspace_needed.is_null() {
        return Ok((Some(Lent::Counted), Some(out(call.workspace_needed, "call.workspace_needed")?)));
    }
    if call.workspace.is_null() {
        return Ok((None, None));
    }
    let Ok(bytes) = usize::try_from(call.workspace_bytes) else {
        fail!(INVALID_ARGUMENT, "call.workspace_bytes is {}", call.workspace_bytes);
    };
    if !call.workspace.addr().is_multiple_of(LENT_ALIGN) {
        fail!(INVALID_ARGUMENT, "call.workspace is not a multiple of {LENT_ALIGN} bytes");
    }
    Ok((Some(Lent::Memory(call.workspace.cast(), bytes)), None))
}

/// The call's context, else the first array's, else the default one. All arrays must be of it.
fn pick_context<'a>(
    entry: &Entry,
    args: Args,
    given: Option<&'a Arc<Context>>,
    pins: &'a [Pin<Buffer>],
) -> Result<&'a Arc<Context>> {
    let first = match (given, pins.first()) {
        (Some(context), _) => context,
        (None, Some(pin)) => &pin.context,
        (None, None) => &context::default()?.1,
    };
    if let Some(k) = pins.iter().position(|p| !Arc::ptr_eq(&p.context, first)) {
        let vector =
            |i: &usize| args.is(*i, AgpuArgKind::AgpuArgView) || args.is(*i, AgpuArgKind::AgpuArgResultView);
        let mut names = (0..entry.names.len()).filter(vector).map(|i| &entry.slot(i).name);
        let (name, other) = (names.clone().nth(k), names.next());
        let (name, other) = (name.map_or("?", String::as_str), other.map_or("?", String::as_str));
        if given.is_some() {
            fail!(WRONG_CONTEXT, "{name}: the buffer is not of the call's context");
        }
        fail!(WRONG_CONTEXT, "{other}, {name}: the buffers are of different contexts");
    }
    Ok(first)
}

/// The extents of a result or temporary, whose elements can be counted.
fn shape_of<'a>(slot: &Slot, host: &[Lit], room: &'a mut [i64; AXES]) -> Result<&'a [i64]> {
    let shape = &mut room[..slot.extents.len()];
    for (n, id) in shape.iter_mut().zip(&slot.extents) {
        *n = host[id.0 as usize].as_i64();
    }
    match shape {
        [n] if *n < 0 => fail!(SHAPE, "{}: the length {n} is negative", slot.name),
        _ if shape.iter().any(|n| *n < 0) => {
            fail!(SHAPE, "{}: an extent of {} is negative", slot.name, extents(shape))
        }
        _ if count(shape).is_none() => {
            fail!(OUT_OF_MEMORY, "{}: {} elements are more than can be counted", slot.name, extents(shape))
        }
        _ => Ok(shape),
    }
}

/// Extents of the outputs, and what they overlap.
fn outputs(entry: &Entry, args: Args, ws: &mut Workspace) -> Result<()> {
    let (plan, params) = (&entry.plan, entry.plan.params.len());
    ws.in_place.clear();
    ws.detours.clear();
    for (r, slot) in plan.results.iter().enumerate() {
        let place = params + r;
        if !slot.ty.is_scalar() {
            let mut room = [0; AXES];
            let expected = shape_of(slot, &ws.host, &mut room)?;
            let given = ws.spans[place].shape();
            if args.is(place, AgpuArgKind::AgpuArgResultView) && given != expected {
                let (given, expected) = (extents(given), extents(expected));
                let has = if slot.ty.rank == 1 { "has the length" } else { "is" };
                fail!(SHAPE, "{}: the output {has} {given}, expected {expected}", slot.name);
            }
        }
        for other in 0..r {
            if ws.spans[place].overlaps(&ws.spans[params + other]) {
                fail!(OVERLAP, "{}, {}: two outputs overlap", plan.results[other].name, slot.name);
            }
        }
        // scalars are written when all is read
        if !args.is(place, AgpuArgKind::AgpuArgResultView) || slot.ty.is_scalar() {
            continue;
        }
        let mut detour = false;
        for p in 0..params {
            let (output, input) = (&ws.spans[place], &ws.spans[p]);
            if !output.overlaps(input) {
                continue;
            }
            if output.is_same(input) && entry.may_be_in_place(r, p) {
                ws.in_place.push((r as u32, p as u32));
            } else {
                detour = true;
            }
        }
        if detour {
            log!(
                Warn,
                "{}: {} overlaps what it is computed from: it is made elsewhere, and copied",
                entry.title,
                slot.name
            );
            ws.detours.push((place, ws.spans[place]));
        }
    }
    Ok(())
}

/// All memory that the plan needs. Pages are touched only when they are used, so this costs nothing early.
pub(crate) fn reserve(entry: &Entry, args: Args, ws: &mut Workspace, on: On) -> Result<()> {
    let (plan, params) = (&entry.plan, entry.plan.params.len());
    for (r, slot) in plan.results.iter().enumerate() {
        let place = params + r;
        if !slot.ty.is_scalar() && args.is(place, AgpuArgKind::AgpuArgResultNew) {
            let mut room = [0; AXES];
            let span = Span::dense(std::ptr::null_mut(), slot.ty.elem, shape_of(slot, &ws.host, &mut room)?);
            let memory = Memory::new(span.len(), span.ty.size(), on).map_err(|e| e.of(&slot.name))?;
            ws.spans[place] = Span { base: memory.data(), ..span };
            ws.made.push((place, memory));
        }
    }
    reserve_temporaries(entry, ws, on)
}

/// What would be in a workspace; on the CPU scratch comes on top.
fn reserve_temporaries(entry: &Entry, ws: &mut Workspace, on: On) -> Result<()> {
    let (plan, params) = (&entry.plan, entry.plan.params.len());
    for (place, span) in &ws.detours {
        let slot = entry.slot(*place);
        let base = ws.memory.take(*place, span.len(), span.ty.size(), on).map_err(|e| e.of(&slot.name))?;
        ws.spans[*place] = span.packed(base);
        // what was in place no longer is
        ws.in_place.retain(|(r, _)| params + *r as usize != *place);
    }
    for (t, slot) in plan.temps.iter().enumerate() {
        let (place, ty, mut room) = (params + plan.results.len() + t, slot.ty.elem, [0; AXES]);
        if slot.ty.is_scalar() {
            ws.spans.push(Span::nothing(ty));
            continue;
        }
        let mut span = Span::dense(std::ptr::null_mut(), ty, shape_of(slot, &ws.host, &mut room)?);
        if !span.is_empty() && !entry.is_name(t) {
            span.base = ws.memory.take(place, span.len(), ty.size(), on)?;
        }
        ws.spans.push(span);
    }
    Ok(())
}
