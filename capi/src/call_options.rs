//! The options of a call: its context, stream and workspace.

use crate::abi::{AgpuArgKind, AgpuCall};
use crate::arguments::Args;
use crate::buffer::Buffer;
use crate::context::{self, Context};
use crate::error::{INVALID_ARGUMENT, Result, WRONG_CONTEXT, aligned, fail, out};
use crate::handle::Pin;
use crate::module::Entry;
use crate::workspace::{LENT_ALIGN, Lent};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::Arc;

/// Returns the caller's options, or `None` if the pointer is null.
///
/// # Safety
/// `call` is null or an `agpu_call`.
pub(crate) unsafe fn options(call: *const AgpuCall) -> Result<Option<AgpuCall>> {
    if call.is_null() {
        return Ok(None);
    }
    aligned(call, "call")?;
    // SAFETY: it is not null, and the size comes first in every version.
    let size = unsafe { (&raw const (*call).size).read() };
    if size < size_of::<AgpuCall>() {
        fail!(INVALID_ARGUMENT, "call.size is {size}, set it to sizeof(agpu_call)");
    }
    // SAFETY: the size says that all fields of this version are there.
    Ok(Some(unsafe { call.read() }))
}

/// Returns the context and the stream of a call; each is absent if the call does not name it.
///
/// # Safety
/// `call` is null or an `agpu_call`.
pub(crate) unsafe fn context_of(call: *const AgpuCall) -> Result<(Option<Pin<Arc<Context>>>, *mut c_void)> {
    // SAFETY: the caller's promise.
    context_in(&unsafe { options(call) }?)
}

pub(crate) fn context_in(call: &Option<AgpuCall>) -> Result<(Option<Pin<Arc<Context>>>, *mut c_void)> {
    let Some(call) = call else { return Ok((None, std::ptr::null_mut())) };
    let context = if call.context.is_null() { None } else { Some(context::pin(call.context)?) };
    Ok((context, call.stream))
}

/// Whether a call names a workspace or asks for the size of one.
///
/// # Safety
/// `call` is null or an `agpu_call`.
pub(crate) unsafe fn has_workspace(call: *const AgpuCall) -> bool {
    // SAFETY: the caller's promise.
    let call = unsafe { options(call) };
    call.is_ok_and(|call| call.is_some_and(|c| !c.workspace.is_null() || !c.workspace_needed.is_null()))
}

/// Returns where a call's temporaries are to be placed, and where to write how many bytes they
/// need.
pub(crate) fn workspace_in(
    call: &Option<AgpuCall>,
) -> Result<(Option<Lent>, Option<&'static mut MaybeUninit<i64>>)> {
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

/// Returns the call's context, or else that of the first array, or else the default one. All arrays
/// must belong to it.
pub(crate) fn pick_context<'a>(
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
