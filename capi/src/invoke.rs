//! `invoke`, which implements `agpu_invoke` (`package.rs`): checks a call, then runs it on the CPU or on a GPU.
//! Everything is checked before anything is allocated, launched or written.

use crate::abi::{AgpuArg, AgpuCall};
use crate::arguments::{Args, bind};
use crate::buffer::On;
use crate::call_options::{context_in, context_of, options, pick_context, workspace_in};
use crate::context;
use crate::error::{INVALID_ARGUMENT, MODULE, Result, SHAPE, aligned, fail};
use crate::module::{Entry, Loaded};
use crate::outputs::{outputs, reserve, reserve_temporaries};
use crate::workspace::Workspace;
use crate::{cuda, execute, guards, interrupt};
use arraygpu_compiler::counted;
use arraygpu_compiler::plan::host;
use arraygpu_compiler::scalar::Lit;
use std::sync::Arc;

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
        fail!(INVALID_ARGUMENT, "{} at {args:p}, expected {expected}", counted(count, "argument"));
    }
    aligned(args, "the arguments")?;
    let args = Args(args);
    bind(entry, args, ws)?;
    // SAFETY: the caller guarantees this.
    let call = unsafe { options(call) }?;
    let (given, stream) = context_in(&call)?;
    let (lent, needed) = workspace_in(&call)?;
    ws.memory.lent = lent;
    let pins = std::mem::take(&mut ws.pins);
    let context = pick_context(entry, args, given.as_deref(), &pins)?;

    let (spans, literals) = (&ws.spans, &ws.literals);
    let extent = |p: u32, axis: u8| spans[p as usize].extent(axis);
    host::evaluate(plan, guards::is_on(), extent, |p| literals[p as usize], &mut ws.host);
    if let Some((_, message)) = host::violation(plan, &ws.host) {
        fail!(SHAPE, "{message}");
    }
    outputs(entry, args, ws)?;
    if let Some(needed) = needed {
        let scratch = if context.device.gpu().is_some() { 0 } else { execute::scratch(plan, ws)? };
        let on = On::Host(&context.host.memory);
        reserve_temporaries(entry, ws, on)?;
        ws.memory.take(usize::MAX, scratch, 1, on)?;
        needed.write(ws.memory.used as i64);
        return Ok(());
    }
    interrupt::check()?;
    let done = match context.device.gpu() {
        Some(gpu) => cuda::run(loaded, entry, args, context, gpu, stream, &pins, ws),
        None => {
            if !loaded.has_cpu_code() {
                let why = context::problem(context).map_or(String::new(), |p| format!(": {p}"));
                fail!(MODULE, "the package has code for GPUs only, the context's device is the CPU{why}");
            }
            context.device.check_stream(stream)?;
            reserve(entry, args, ws, On::Host(&context.host.memory))?;
            execute::execute(loaded, entry, context, &pins, ws)?;
            execute::deliver(entry, args, context, ws)
        }
    };
    ws.pins = pins;
    done
}

/// The values from which staged scalars are computed: lengths of parameters along an axis, and
/// values of scalar parameters.
pub(crate) struct Given<'a> {
    pub on_gpu: bool,
    pub len: &'a dyn Fn(u32, u8) -> i64,
    pub arg: &'a dyn Fn(u32) -> Lit,
}

/// Passes the arguments of a call to `f` before it runs. Returns an error if they do not fit.
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
        fail!(INVALID_ARGUMENT, "{} at {args:p}, expected {expected}", counted(count, "argument"));
    }
    aligned(args, "the arguments")?;
    let args = Args(args);
    bind(entry, args, ws)?;
    // SAFETY: the caller guarantees this.
    let (given, _) = unsafe { context_of(call) }?;
    let on_gpu = pick_context(entry, args, given.as_deref(), &ws.pins)?.device.gpu().is_some();
    let (spans, literals) = (&ws.spans, &ws.literals);
    let len = |p: u32, axis: u8| spans[p as usize].extent(axis);
    let arg = |p: u32| literals[p as usize];
    host::evaluate(plan, guards::is_on(), len, arg, &mut ws.host);
    if let Some((_, message)) = host::violation(plan, &ws.host) {
        fail!(SHAPE, "{message}");
    }
    Ok(look(Given { on_gpu, len: &len, arg: &arg }))
}
