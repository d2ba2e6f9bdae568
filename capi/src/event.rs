//! Events: when the work that was queued on a stream so far is done. On the CPU it always is.

use crate::abi::{AgpuCall, AgpuContext, AgpuEvent, AgpuStatus};
use crate::call_options::context_of;
use crate::context::{self, Context};
use crate::cuda;
use crate::error::{Result, WRONG_CONTEXT, fail, out};
use crate::guard::guard_as;
use crate::handle::{Pin, Table};
use crate::stream::no_stream;
use std::ffi::c_void;
use std::ptr::without_provenance_mut;
use std::sync::Arc;

/// What an event holds.
struct Event {
    context: Arc<Context>,
    /// None on the CPU.
    device: Option<cuda::Event>,
}

static EVENTS: Table<Event> = Table::new(0b0111, "event");

fn pin(event: *mut AgpuEvent) -> Result<Pin<Event>> {
    EVENTS.pin(event.addr())
}

/// The context of a call, else the event's, and the call's stream.
///
/// # Safety
/// `call` is null or an `agpu_call`.
unsafe fn place(call: *const AgpuCall, event: &Event) -> Result<(Arc<Context>, *mut c_void)> {
    // SAFETY: the caller's promise.
    let (given, stream) = unsafe { context_of(call) }?;
    let context = given.map_or_else(|| event.context.clone(), |pin| pin.clone());
    if context.gpu.is_none() {
        no_stream(stream)?;
    }
    Ok((context, stream))
}

/// Makes an event in a context (NULL: the default one). Until it is recorded it is done. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_event_create(
    context: *mut AgpuContext,
    out: *mut *mut AgpuEvent,
) -> AgpuStatus {
    let make = || {
        let out = self::out(out, "out")?;
        let context = context::pin_or_default(context)?.clone();
        let device = context.gpu.as_ref().map(cuda::Event::new).transpose()?;
        out.write(without_provenance_mut(EVENTS.insert(Event { context, device })?));
        Ok(())
    };
    guard_as("agpu_event_create", make)
}

/// Frees an event; NULL is fine. What waits for it still does. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_event_free(event: *mut AgpuEvent) -> AgpuStatus {
    guard_as("agpu_event_free", || if event.is_null() { Ok(()) } else { EVENTS.free(event.addr()) })
}

/// The event is done when all that is queued on the call's stream by now is done, whatever it was before. The call is
/// of the event's context; NULL: its own stream. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_event_record(event: *mut AgpuEvent, call: *const AgpuCall) -> AgpuStatus {
    let record = || {
        let event = pin(event)?;
        // SAFETY: the caller's promise.
        let (context, stream) = unsafe { place(call, &event) }?;
        if !Arc::ptr_eq(&context, &event.context) {
            fail!(WRONG_CONTEXT, "the event is not of the call's context");
        }
        event.device.as_ref().map_or(Ok(()), |e| e.record(stream.cast()))
    };
    guard_as("agpu_event_record", record)
}

/// What is queued on the call's stream from now on comes after the event, as it was recorded last; the host does
/// not wait, unless the call's context is the CPU. NULL: the own stream of the event's context. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_event_wait(event: *mut AgpuEvent, call: *const AgpuCall) -> AgpuStatus {
    let wait = || {
        let event = pin(event)?;
        // SAFETY: the caller's promise.
        let (context, stream) = unsafe { place(call, &event) }?;
        match (&event.device, &context.gpu) {
            (None, _) => Ok(()),
            (Some(e), Some(gpu)) => e.order(gpu, stream.cast()),
            (Some(e), None) => e.wait(),
        }
    };
    guard_as("agpu_event_wait", wait)
}

/// Waits until an event is done; AGPU_ERROR_RECORD if a call on its stream left a record. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_event_synchronize(event: *mut AgpuEvent) -> AgpuStatus {
    let wait = || pin(event)?.device.as_ref().map_or(Ok(()), cuda::Event::synchronize);
    guard_as("agpu_event_synchronize", wait)
}

/// Whether an event is done. Reports no records. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_event_query(event: *mut AgpuEvent, done: *mut bool) -> AgpuStatus {
    let query = || {
        let out = out(done, "done")?;
        out.write(pin(event)?.device.as_ref().map_or(Ok(true), cuda::Event::query)?);
        Ok(())
    };
    guard_as("agpu_event_query", query)
}
