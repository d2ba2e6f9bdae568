//! Calls about the library, contexts, streams and events.

use super::checks::{done, gives, message, out};
use super::{Shared, Thread, pointer};
use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut, without_provenance_mut};
use std::sync::Mutex;

type Done = Result<bool, String>;

fn contexts(s: &Shared) -> &Mutex<Vec<usize>> {
    &s.contexts
}

fn events(s: &Shared) -> &Mutex<Vec<usize>> {
    &s.events
}

pub(super) fn last_error_message(_: &mut Thread) -> Done {
    message().map(|_| true)
}

pub(super) fn status_name(t: &mut Thread) -> Done {
    let name = agpu_status_name(t.number(14));
    // SAFETY: a constant text.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    if name.starts_with("AGPU_") || name == "unknown status" {
        Ok(true)
    } else {
        Err(format!("the name `{name}`"))
    }
}

pub(super) fn abi_version(_: &mut Thread) -> Done {
    if agpu_abi_version() == AGPU_ABI_VERSION { Ok(true) } else { Err("another version".into()) }
}

pub(super) fn version(_: &mut Thread) -> Done {
    // SAFETY: a constant text.
    let version = unsafe { CStr::from_ptr(agpu_version()) };
    if version.to_bytes().is_empty() { Err("no version".into()) } else { Ok(true) }
}

pub(super) fn device_count(t: &mut Thread) -> Done {
    // SAFETY: a place for the result, or none.
    gives::<i32>(t, |out| unsafe { agpu_device_count(out) })
}

pub(super) fn device_problem(t: &mut Thread) -> Done {
    // SAFETY: as above.
    gives::<*const c_char>(t, |out| unsafe { agpu_device_problem(out) })
}

pub(super) fn cache_problem(t: &mut Thread) -> Done {
    // SAFETY: as above.
    gives::<*const c_char>(t, |out| unsafe { agpu_cache_problem(out) })
}

pub(super) fn tuning_problem(t: &mut Thread) -> Done {
    // SAFETY: as above.
    gives::<*const c_char>(t, |out| unsafe { agpu_tuning_problem(out) })
}

/// A file that is none, or nothing.
pub(super) fn tuning_load(t: &mut Thread) -> Done {
    let path = t.text(&[c"/nowhere/x.tuning", c"/etc/passwd", c"/tmp", c""]);
    // SAFETY: NULL or a text.
    done(unsafe { agpu_tuning_load(pointer(path)) }, true)
}

pub(super) fn allow_cpu_compiler(_: &mut Thread) -> Done {
    // with a compiler a session would take minutes
    // SAFETY: no pointers.
    done(unsafe { agpu_allow_cpu_compiler(false) }, true)
}

/// A flag that is never raised; now and then one that no int32_t can be.
pub(super) fn set_cancel_flag(t: &mut Thread) -> Done {
    static LOWERED: i32 = 0;
    let lowered = &raw const LOWERED;
    if t.rng.one_in(4) {
        // SAFETY: an address that is not looked at.
        return done(unsafe { agpu_set_cancel_flag(lowered.wrapping_byte_add(2), null_mut()) }, true);
    }
    let flag = t.rng.pick(&[null(), lowered]);
    let mut previous = null();
    let place = if t.rng.one_in(2) { null_mut() } else { &raw mut previous };
    // SAFETY: NULL, or a number that stays; a place for the result, or none.
    done(unsafe { agpu_set_cancel_flag(flag, place) }, true)
}

pub(super) fn context_create(t: &mut Thread) -> Done {
    let mut options = AgpuContextOptions {
        device: t.rng.pick(&[0, 1, 1, 1, 1, 2, 99, -1, i32::MAX]),
        threads: t.rng.pick(&[0, 1, 2, 3, 8, -1, i32::MIN]),
        memory_limit: t.rng.pick(&[0, 0, 1 << 20, -1]),
        ..AgpuContextOptions::default()
    };
    if t.rng.one_in(10) {
        options.size = t.rng.pick(&[0, 7, 16, 24]);
    }
    let options = if t.rng.one_in(10) { null() } else { &raw const options };
    // SAFETY: NULL or options, a place for the result or none.
    let made = out::<*mut AgpuContext>(t, |out| unsafe { agpu_context_create(options, out) })?;
    made.inspect(|c| t.keep(contexts, *c));
    Ok(made.is_some())
}

pub(super) fn context_default(t: &mut Thread) -> Done {
    // SAFETY: a place for the result, or none.
    let made = out::<*mut AgpuContext>(t, |out| unsafe { agpu_context_default(out) })?;
    made.inspect(|c| t.keep(contexts, *c));
    Ok(made.is_some())
}

pub(super) fn context_free(t: &mut Thread) -> Done {
    let context = t.context();
    // SAFETY: handles are checked.
    let freed = done(unsafe { agpu_context_free(context) }, true)?;
    t.forget(contexts, freed, context);
    Ok(freed)
}

pub(super) fn context_device(t: &mut Thread) -> Done {
    let context = t.context();
    // SAFETY: as above; a place for the result, or none.
    gives::<i32>(t, |out| unsafe { agpu_context_device(context, out) })
}

pub(super) fn context_device_name(t: &mut Thread) -> Done {
    let context = t.context();
    // SAFETY: as above.
    gives::<*const c_char>(t, |out| unsafe { agpu_context_device_name(context, out) })
}

pub(super) fn context_stream(t: &mut Thread) -> Done {
    let context = t.context();
    // SAFETY: as above.
    gives::<*mut c_void>(t, |out| unsafe { agpu_context_stream(context, out) })
}

pub(super) fn context_threads(t: &mut Thread) -> Done {
    let context = t.context();
    // SAFETY: as above.
    gives::<i32>(t, |out| unsafe { agpu_context_threads(context, out) })
}

pub(super) fn context_launches(t: &mut Thread) -> Done {
    let context = t.context();
    // SAFETY: as above.
    gives::<i64>(t, |out| unsafe { agpu_context_launches(context, out) })
}

pub(super) fn context_profile(t: &mut Thread) -> Done {
    let (context, on) = (t.context(), t.rng.one_in(2));
    // SAFETY: as above.
    done(unsafe { agpu_context_profile(context, on) }, true)
}

pub(super) fn context_launch_times(t: &mut Thread) -> Done {
    let (context, room) = (t.context(), t.rng.below(6) as i64 - 1);
    let mut times = [const { MaybeUninit::<AgpuLaunchTime>::uninit() }; 4];
    let times = if room <= 0 || t.rng.one_in(8) { null_mut() } else { times.as_mut_ptr().cast() };
    // SAFETY: as above; there is room for 4.
    gives::<i64>(t, |out| unsafe { agpu_context_launch_times(context, times, room, out) })
}

pub(super) fn context_synchronize(t: &mut Thread) -> Done {
    let context = t.context();
    // SAFETY: as above.
    done(unsafe { agpu_context_synchronize(context) }, true)
}

pub(super) fn context_set_memory_limit(t: &mut Thread) -> Done {
    let (context, bytes) = (t.context(), t.int());
    // SAFETY: as above.
    done(unsafe { agpu_context_set_memory_limit(context, bytes) }, true)
}

pub(super) fn context_memory(t: &mut Thread) -> Done {
    let (context, mut in_use, mut peak) = (t.context(), -1, -1);
    // either may be NULL
    let places = [t.rng.one_in(8), t.rng.one_in(8)];
    let [first, second] = [(places[0], &raw mut in_use), (places[1], &raw mut peak)];
    let [first, second] = [first, second].map(|(none, place)| if none { null_mut() } else { place });
    // SAFETY: as above.
    let ok = done(unsafe { agpu_context_memory(context, first, second) }, in_use == -1 && peak == -1)?;
    let fits = places[0] == (in_use == -1) && places[1] == (peak == -1) && (peak == -1 || peak >= in_use);
    if ok && !fits { Err(format!("{in_use} bytes in use, {peak} at most")) } else { Ok(ok) }
}

/// A stream, which is NULL on the CPU; others are refused there.
fn stream(t: &mut Thread) -> *mut c_void {
    let stream = if t.rng.one_in(3) { t.junk() } else { 0 };
    without_provenance_mut(stream)
}

pub(super) fn stream_create(t: &mut Thread) -> Done {
    let context = t.context();
    // SAFETY: as above.
    gives::<*mut c_void>(t, |out| unsafe { agpu_stream_create(context, out) })
}

pub(super) fn stream_free(t: &mut Thread) -> Done {
    let (context, stream) = (t.context(), stream(t));
    // SAFETY: as above; a stream is looked up among those that were lent.
    done(unsafe { agpu_stream_free(context, stream) }, true)
}

pub(super) fn stream_synchronize(t: &mut Thread) -> Done {
    let (context, stream) = (t.context(), stream(t));
    // SAFETY: as above.
    done(unsafe { agpu_stream_synchronize(context, stream) }, true)
}

type Queue = unsafe extern "C" fn(
    *const AgpuCall,
    Option<unsafe extern "C" fn(*mut c_void)>,
    *mut c_void,
) -> AgpuStatus;

pub(super) fn stream_callback(t: &mut Thread) -> Done {
    called_back(t, agpu_stream_callback)
}

pub(super) fn stream_callback_once(t: &mut Thread) -> Done {
    called_back(t, agpu_stream_callback_once)
}

fn called_back(t: &mut Thread, queue: Queue) -> Done {
    unsafe extern "C" fn called(data: *mut c_void) {
        // SAFETY: the number below; on the CPU the call is still running.
        unsafe { *data.cast::<u32>() += 1 };
    }
    let (call, mut times) = (t.call(), 0u32);
    let f = if t.rng.one_in(10) { None } else { Some(called as unsafe extern "C" fn(*mut c_void)) };
    // SAFETY: options, a function and its data, which live during the call.
    let ok = done(unsafe { queue(&call, f, (&raw mut times).cast()) }, times == 0)?;
    if ok && times != 1 { Err(format!("the function was called {times} times")) } else { Ok(ok) }
}

pub(super) fn event_create(t: &mut Thread) -> Done {
    let context = t.context();
    // SAFETY: as above.
    let made = out::<*mut AgpuEvent>(t, |out| unsafe { agpu_event_create(context, out) })?;
    made.inspect(|e| t.keep(events, *e));
    Ok(made.is_some())
}

pub(super) fn event_free(t: &mut Thread) -> Done {
    let event = t.handle(events);
    // SAFETY: handles are checked.
    let freed = done(unsafe { agpu_event_free(event) }, true)?;
    t.forget(events, freed, event);
    Ok(freed)
}

pub(super) fn event_record(t: &mut Thread) -> Done {
    let (event, call) = (t.handle(events), t.call());
    // SAFETY: as above, and options.
    done(unsafe { agpu_event_record(event, &call) }, true)
}

pub(super) fn event_wait(t: &mut Thread) -> Done {
    let (event, call) = (t.handle(events), t.call());
    // SAFETY: as above.
    done(unsafe { agpu_event_wait(event, &call) }, true)
}

pub(super) fn event_synchronize(t: &mut Thread) -> Done {
    let event = t.handle(events);
    // SAFETY: as above.
    done(unsafe { agpu_event_synchronize(event) }, true)
}

pub(super) fn event_query(t: &mut Thread) -> Done {
    let event = t.handle(events);
    // SAFETY: as above.
    gives::<bool>(t, |out| unsafe { agpu_event_query(event, out) })
}

impl Thread<'_> {
    /// What must succeed, whatever went before: a buffer of this thread's own context, filled,
    /// changed, read back.
    pub(super) fn right(&mut self) -> Result<(), String> {
        let (mut buffer, ty) = (null_mut(), MaybeUninit::new(AgpuType::AgpuF32));
        let (host, mut back, two) = ([1f32, 2.0, 3.0], [0f32; 3], 2f32);
        let ok = |what: &str, status: AgpuStatus| match status {
            AgpuStatus::AgpuOk => Ok(()),
            _ => Err(format!("{what} fails: {}", message()?)),
        };
        // SAFETY: handles that live, memory of three elements.
        unsafe {
            ok("agpu_buffer_create", agpu_buffer_create(self.safe, ty, 3, &mut buffer))?;
            let view = |start: i64, n: i64| AgpuView::new(buffer, start, &[n], &[1]);
            ok("agpu_copy_from_host", agpu_copy_from_host(view(0, 3), host.as_ptr().cast(), 3))?;
            ok("agpu_fill", agpu_fill(view(1, 1), (&raw const two).cast()))?;
            ok("agpu_copy", agpu_copy(view(0, 2), view(1, 2)))?;
            ok("agpu_copy_to_host", agpu_copy_to_host(back.as_mut_ptr().cast(), view(0, 3), 3))?;
            ok("agpu_buffer_free", agpu_buffer_free(buffer))?;
        }
        if back == [2.0, 3.0, 3.0] { Ok(()) } else { Err(format!("{back:?} comes back")) }
    }
}
