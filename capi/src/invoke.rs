//! `agpu_invoke`: checks of the arguments. Everything is checked before anything is allocated, launched or written.

use crate::abi::{AgpuArg, AgpuArgKind, AgpuCall, AgpuModule, AgpuStatus, code};
use crate::buffer::{self, Buffer, Memory};
use crate::context::{self, Context};
use crate::cpu::FloatEnvironment;
use crate::cuda::{self, Gpu, Stream};
use crate::error::{
    INVALID_ARGUMENT, MODULE, OVERLAP, Result, SHAPE, TYPE_MISMATCH, WRONG_CONTEXT, fail, guard,
};
use crate::execute;
use crate::handle::Pin;
use crate::module::{self, Entry, Loaded};
use crate::view::{Span, resolve};
use crate::workspace::{self, Workspace};
use arraygpu_compiler::plan::host;
use arraygpu_compiler::scalar::Lit;
use std::ffi::c_void;
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
        let Some(entry) = usize::try_from(entry).ok().and_then(|i| loaded.entries.get(i)) else {
            fail!(
                INVALID_ARGUMENT,
                "{}: there is no entry {entry}, there are {}",
                loaded.name,
                loaded.entries.len()
            );
        };
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
    fn view(self, i: usize) -> crate::abi::AgpuView {
        // SAFETY: argument i is there, and its kind has this field.
        unsafe { (&raw const (*self.0.add(i)).view).read() }
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
unsafe fn invoke(
    loaded: &'static Loaded,
    entry: &'static Entry,
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
    let args = Args(args);
    bind(entry, args, ws)?;
    // SAFETY: the caller's promise.
    let (given, stream) = unsafe { context_of(call) }?;
    let pins = std::mem::take(&mut ws.pins);
    let context = pick_context(entry, args, given.as_deref(), &pins)?;

    let _environment = FloatEnvironment::enter();
    let (spans, literals) = (&ws.spans, &ws.literals);
    host::evaluate(plan, |p, _axis| spans[p as usize].len, |p| literals[p as usize], &mut ws.host);
    if let Some((_, message)) = host::violation(plan, &ws.host) {
        fail!(SHAPE, "{message}");
    }
    outputs(entry, args, ws)?;
    let done = match &context.gpu {
        Some(gpu) => cuda::run(loaded, entry, args, context, gpu, stream, &pins, ws),
        None => {
            if !loaded.has_cpu_code() {
                let why = context::problem(context).map_or(String::new(), |p| format!(": {p}"));
                fail!(MODULE, "the package has code for GPUs only, the context's device is the CPU{why}");
            }
            if !stream.is_null() {
                fail!(INVALID_ARGUMENT, "call.stream is not NULL, a CPU context has only the default stream");
            }
            reserve(entry, args, ws, None)?;
            execute::execute(loaded, entry, context, ws)?;
            execute::deliver(entry, args, context, ws)
        }
    };
    ws.pins = pins;
    done
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
    let nothing = Span { base: std::ptr::null_mut(), len: 0, stride: 1, ty };
    let mut literal = Lit::zero(ty);
    let span = match (slot.ty.is_scalar(), is_result) {
        (true, false) if args.is(i, AgpuArgScalar) => {
            let mut bytes = [0u8; 8];
            let address = args.scalar(i)?;
            // SAFETY: a scalar argument points at a value of its type, at most 8 bytes.
            unsafe { std::ptr::copy_nonoverlapping(address, bytes.as_mut_ptr(), ty.size()) };
            literal = Lit::from_bytes(ty, &bytes);
            nothing
        }
        (true, true) if args.is(i, AgpuArgResultScalar) => Span { base: args.scalar(i)?, len: 1, ..nothing },
        (false, true) if args.is(i, AgpuArgResultNew) => {
            if args.made(i).is_null() {
                fail!(INVALID_ARGUMENT, "the pointer is NULL");
            }
            nothing
        }
        (scalar, _)
            if (is_result || !scalar)
                && args.is(i, if is_result { AgpuArgResultView } else { AgpuArgView }) =>
        {
            let view = args.view(i);
            let buffer = buffer::pin(view.buffer)?;
            if buffer.ty != ty {
                fail!(TYPE_MISMATCH, "expected a vector of {ty}, got one of {}", buffer.ty);
            }
            let span = resolve(&view, &buffer)?;
            ws.pins.push(buffer);
            if scalar && span.len != 1 {
                fail!(SHAPE, "a scalar result needs a view of one element, this one has {}", span.len);
            }
            if is_result && span.stride == 0 {
                fail!(OVERLAP, "an output of stride 0 overlaps itself");
            }
            span
        }
        _ => {
            let what = if slot.ty.is_scalar() { "a scalar" } else { "a vector" };
            let role = if is_result { "result" } else { "parameter" };
            fail!(INVALID_ARGUMENT, "an argument of kind {} for a {role} that is {what}", args.kind(i));
        }
    };
    ws.spans.push(span);
    ws.literals.push(literal);
    Ok(())
}

/// # Safety
/// `call` is null or an `agpu_call`.
pub(crate) unsafe fn context_of(call: *const AgpuCall) -> Result<(Option<Pin<Arc<Context>>>, *mut c_void)> {
    if call.is_null() {
        return Ok((None, std::ptr::null_mut()));
    }
    // SAFETY: not null; the size comes first in every version.
    let size = unsafe { (&raw const (*call).size).read() };
    if size < size_of::<AgpuCall>() {
        fail!(INVALID_ARGUMENT, "call.size is {size}, set it to sizeof(agpu_call)");
    }
    // SAFETY: there are at least as many bytes as this version knows.
    let call = unsafe { call.read() };
    let context = if call.context.is_null() { None } else { Some(context::pin(call.context)?) };
    Ok((context, call.stream))
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

/// Lengths of the outputs, and what they overlap.
fn outputs(entry: &Entry, args: Args, ws: &mut Workspace) -> Result<()> {
    let (plan, params) = (&entry.plan, entry.plan.params.len());
    ws.in_place.clear();
    ws.detours.clear();
    for (r, slot) in plan.results.iter().enumerate() {
        let place = params + r;
        if let Some(extent) = slot.extents.first() {
            let expected = ws.host[extent.0 as usize].as_i64();
            if expected < 0 {
                fail!(SHAPE, "{}: the length {expected} is negative", slot.name);
            }
            if args.is(place, AgpuArgKind::AgpuArgResultView) && ws.spans[place].len != expected {
                fail!(
                    SHAPE,
                    "{}: the output has the length {}, expected {expected}",
                    slot.name,
                    ws.spans[place].len
                );
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
            ws.detours.push((place, ws.spans[place]));
        }
    }
    Ok(())
}

/// All memory that the plan needs. Pages are touched only when they are used, so this costs nothing early.
pub(crate) fn reserve(
    entry: &Entry,
    args: Args,
    ws: &mut Workspace,
    on: Option<(&Arc<Gpu>, &Stream)>,
) -> Result<()> {
    let (plan, params) = (&entry.plan, entry.plan.params.len());
    for (place, span) in &ws.detours {
        let slot = entry.slot(*place);
        let base = ws.memory.take(*place, span.len, span.ty.size(), on).map_err(|e| e.of(&slot.name))?;
        ws.spans[*place] = Span { base, stride: 1, ..*span };
        // what was in place no longer is
        ws.in_place.retain(|(r, _)| params + *r as usize != *place);
    }
    for (r, slot) in plan.results.iter().enumerate() {
        let place = params + r;
        if let Some(extent) = slot.extents.first()
            && args.is(place, AgpuArgKind::AgpuArgResultNew)
        {
            let len = ws.host[extent.0 as usize].as_i64();
            let memory = Memory::new(len, slot.ty.elem.size(), on).map_err(|e| e.of(&slot.name))?;
            ws.spans[place] = Span { base: memory.data(), len, stride: 1, ty: slot.ty.elem };
            ws.made.push((place, memory));
        }
    }
    for (t, slot) in plan.temps.iter().enumerate() {
        let (place, ty) = (params + plan.results.len() + t, slot.ty.elem);
        let len = slot.extents.first().map_or(0, |e| ws.host[e.0 as usize].as_i64());
        if len < 0 {
            fail!(SHAPE, "{}: the length {len} is negative", slot.name);
        }
        let base = if len == 0 { std::ptr::null_mut() } else { ws.memory.take(place, len, ty.size(), on)? };
        ws.spans.push(Span { base, len, stride: 1, ty });
    }
    Ok(())
}
