//! The C functions of events. An event is done when the work that was queued on a stream before it
//! is done; on the CPU it always is.

use crate::abi::{AgpuCall, AgpuContext, AgpuEvent, AgpuStatus};
use crate::call_options::context_of;
use crate::context::{self, Context};
use crate::device;
use crate::error::{Result, WRONG_CONTEXT, fail, out};
use crate::guard::guard_as;
use crate::handle::{Kind, Pin, Table};
use std::ffi::c_void;
use std::ptr::without_provenance_mut;
use std::sync::Arc;

/// An event of a context.
struct Event {
    context: Arc<Context>,
    /// The point of a stream at which it was recorded.
    point: Box<dyn device::Event>,
}

static EVENTS: Table<Event> = Table::new(Kind::Event, "event");

fn pin(event: *mut AgpuEvent) -> Result<Pin<Event>> {
    EVENTS.pin(event.addr())
}

/// Returns the context of the call, or else that of the event, and the call's stream.
///
/// # Safety
/// `call` is null or an `agpu_call`.
unsafe fn place(call: *const AgpuCall, event: &Event) -> Result<(Arc<Context>, *mut c_void)> {
    // SAFETY: the caller's promise.
    let (given, stream) = unsafe { context_of(call) }?;
    let context = given.map_or_else(|| event.context.clone(), |pin| pin.clone());
    context.device.check_stream(stream)?;
    Ok((context, stream))
}

/// Makes an event in a context (NULL: the default context). It is done until it is recorded.
/// Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_event_create(
    context: *mut AgpuContext,
    out: *mut *mut AgpuEvent,
) -> AgpuStatus {
    let make = || {
        let out = self::out(out, "out")?;
        let context = context::pin_or_default(context)?.clone();
        let point = context.device.create_event()?;
        out.write(without_provenance_mut(EVENTS.insert(Event { context, point })?));
        Ok(())
    };
    guard_as("agpu_event_create", make)
}

/// Frees an event. NULL is allowed. What waits for the event still does. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_event_free(event: *mut AgpuEvent) -> AgpuStatus {
    guard_as("agpu_event_free", || if event.is_null() { Ok(()) } else { EVENTS.free(event.addr()) })
}

/// Records an event: it is done when the work that is queued on the call's stream by now is done.
/// An earlier record no longer counts. The call must be of the event's context; a NULL call is that
/// context's own stream. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_event_record(event: *mut AgpuEvent, call: *const AgpuCall) -> AgpuStatus {
    let record = || {
        let event = pin(event)?;
        // SAFETY: the caller's promise.
        let (context, stream) = unsafe { place(call, &event) }?;
        if !Arc::ptr_eq(&context, &event.context) {
            fail!(WRONG_CONTEXT, "the event is not of the call's context");
        }
        event.point.record(stream)
    };
    guard_as("agpu_event_record", record)
}

/// Lets the work that is queued on the call's stream from now on wait for the event as it was
/// recorded last. The host does not wait, unless the call's context is the CPU. A NULL call is the
/// own stream of the event's context. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_event_wait(event: *mut AgpuEvent, call: *const AgpuCall) -> AgpuStatus {
    let wait = || {
        let event = pin(event)?;
        // SAFETY: the caller's promise.
        let (context, stream) = unsafe { place(call, &event) }?;
        event.point.order(&*context.device, stream)
    };
    guard_as("agpu_event_wait", wait)
}

/// Waits until an event is done. The result is AGPU_ERROR_RECORD if a call on its stream left an
/// error record. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_event_synchronize(event: *mut AgpuEvent) -> AgpuStatus {
    let wait = || pin(event)?.point.synchronize();
    guard_as("agpu_event_synchronize", wait)
}

/// Writes whether an event is done. It reports no error records. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_event_query(event: *mut AgpuEvent, done: *mut bool) -> AgpuStatus {
    let query = || {
        let out = out(done, "done")?;
        out.write(pin(event)?.point.query()?);
        Ok(())
    };
    guard_as("agpu_event_query", query)
}
