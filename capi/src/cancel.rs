//! `agpu_set_cancel_flag`: which flag a thread's calls look at.

use crate::abi::AgpuStatus;
use crate::error::{INVALID_ARGUMENT, aligned, error};
use crate::guard::guard;
use crate::interrupt::Flag;

/// From now on the calls of this thread that compile or run look at `flag`, and end with AGPU_ERROR_CANCELLED
/// once it is not 0. Any thread may raise it, by an atomic store; nobody but the program lowers it. NULL: they
/// look at none, as in the beginning. It must stay alive until another is set or the thread ends. `previous` may be
/// NULL; it receives what the thread looked at before.
///
/// A call that ends so has compiled nothing, or leaves unspecified elements in its outputs. It takes as long as
/// one pass of the compiler, one launch on a GPU, or some milliseconds of a launch on the CPU (all of it for a
/// fold, which goes in order). Work that a stream has taken over is not cancelled.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_set_cancel_flag(flag: *const i32, previous: *mut *const i32) -> AgpuStatus {
    guard(|| {
        aligned(flag, "agpu_set_cancel_flag: flag")?;
        aligned(previous, "agpu_set_cancel_flag: previous")?;
        let before = Flag::set(flag)
            .ok_or_else(|| error(INVALID_ARGUMENT, "agpu_set_cancel_flag: the thread is ending"))?;
        // SAFETY: NULL, or a place of the caller's.
        if let Some(previous) = unsafe { previous.as_mut() } {
            *previous = before;
        }
        Ok(())
    })
}
