//! `agpu_set_cancel_flag`: chooses the flag that a thread's calls read.

use crate::abi::AgpuStatus;
use crate::error::{INVALID_ARGUMENT, aligned, error};
use crate::guard::guard;
use crate::interrupt::Flag;

/// From now on the calls of this thread that compile or run read `flag`, and end with
/// AGPU_ERROR_CANCELLED once it is not 0. Any thread may set it by an atomic store; only the
/// program resets it to 0. If `flag` is NULL, which is the initial state, the calls read no flag.
/// The flag must stay valid until another one is set or the thread ends. `previous` may be NULL;
/// otherwise it receives the previous flag.
///
/// A cancelled call has compiled nothing, or leaves unspecified elements in its outputs. It ends
/// after at most one pass of the compiler, one launch on a GPU, or some milliseconds of a launch on
/// the CPU; a sequential fold on the CPU runs to its end. Work that is queued on a stream is not
/// cancelled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_set_cancel_flag(flag: *const i32, previous: *mut *const i32) -> AgpuStatus {
    guard(|| {
        aligned(flag, "agpu_set_cancel_flag: flag")?;
        aligned(previous, "agpu_set_cancel_flag: previous")?;
        let before = Flag::set(flag)
            .ok_or_else(|| error(INVALID_ARGUMENT, "agpu_set_cancel_flag: the thread is ending"))?;
        // SAFETY: it is NULL or memory of the caller.
        if let Some(previous) = unsafe { previous.as_mut() } {
            *previous = before;
        }
        Ok(())
    })
}
