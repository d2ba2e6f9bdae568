//! Blocks SIGXFSZ, which ends a process that writes a file larger than its limit (RLIMIT_FSIZE).
//! While a thread blocks the signal, the write fails instead.

use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// Blocks SIGXFSZ for this thread as long as it lives. A signal that arrives meanwhile is
/// discarded.
pub(super) struct Held {
    /// The thread's signal mask before, or `None` if that blocked the signal already.
    before: Option<libc::sigset_t>,
}

fn only() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the first call initialises the set that the second one adds to.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGXFSZ);
        set.assume_init()
    }
}

impl Held {
    pub fn new() -> Held {
        let mut before = MaybeUninit::uninit();
        // SAFETY: both pointers are to sets; the second one is written if the call succeeds, and
        // only then read.
        unsafe {
            let done = libc::pthread_sigmask(libc::SIG_BLOCK, &only(), before.as_mut_ptr()) == 0;
            let is_new = done && libc::sigismember(before.as_ptr(), libc::SIGXFSZ) == 0;
            Held { before: is_new.then(|| before.assume_init()) }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Some(before) = self.before else { return };
        let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: it takes the signal if one is pending, and restores the thread's signal mask.
        unsafe {
            libc::sigtimedwait(&only(), null_mut(), &now);
            libc::pthread_sigmask(libc::SIG_SETMASK, &before, null_mut());
        }
    }
}
