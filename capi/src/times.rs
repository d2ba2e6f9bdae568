//! The C functions that time the launches of a context.

use crate::abi::{AgpuContext, AgpuLaunchTime, AgpuStatus};
use crate::context;
use crate::error::{INVALID_ARGUMENT, fail, out};
use crate::guard::guard_as;
use std::sync::PoisonError;

/// Starts (`on`) or ends the timing of the launches of this context, and forgets those that were
/// timed. A timed call on a GPU has an event before and behind each launch; calls that are being
/// captured are not timed. Without this call nothing is timed, and a launch tests one word. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_context_profile(context: *mut AgpuContext, on: bool) -> AgpuStatus {
    guard_as("agpu_context_profile", || context::pin(context)?.device.profile(on))
}

/// Waits for the calls of this context, and writes the times of the launches since
/// agpu_context_profile(), in their order: at most `room` of them to `times`, and how many there
/// are to `count`. `times` may be NULL if `room` is 0. The names are valid until the next call of
/// this function for the context. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_context_launch_times(
    context: *mut AgpuContext,
    times: *mut AgpuLaunchTime,
    room: i64,
    count: *mut i64,
) -> AgpuStatus {
    let read = || {
        let context = context::pin(context)?;
        let count = out(count, "count")?;
        if room < 0 || (room > 0 && times.is_null()) {
            fail!(INVALID_ARGUMENT, "times is {times:p}, its room is {room}");
        }
        let timed = context.device.profiled()?;
        for (i, t) in timed.iter().enumerate().take(room as usize) {
            let [kernel, variant, sizes] = [0, 1, 2].map(|which| t.names[which].as_ptr());
            let (start, seconds) = (t.start, t.seconds);
            let time = AgpuLaunchTime { kernel, variant, start, seconds, sizes, reserved: [0; 3] };
            // SAFETY: the caller's array has room for as many.
            unsafe { times.add(i).write_unaligned(time) };
        }
        count.write(timed.len() as i64);
        // the names live here
        *context.timed.lock().unwrap_or_else(PoisonError::into_inner) = timed;
        Ok(())
    };
    guard_as("agpu_context_launch_times", read)
}
