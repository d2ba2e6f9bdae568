//! A file larger than the process may write (RLIMIT_FSIZE) ends it by a signal, unless the thread holds that back: then the write fails.

use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// While it lives, SIGXFSZ does not reach this thread. One that came meanwhile is forgotten.
pub(super) struct Held {
    /// What the thread held back before; None if the signal was among it.
    before: Option<libc::sigset_t>,
}

fn only() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: makes the set, then adds to it.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGXFSZ);
        set.assume_init()
    }
}

impl Held {
    pub fn new() -> Held {
        let mut before = MaybeUninit::uninit();
        // SAFETY: two sets; the second is written if the call succeeds, and then read.
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
        // SAFETY: takes the signal if it waits, and gives the thread back what it held before.
        unsafe {
            libc::sigtimedwait(&only(), null_mut(), &now);
            libc::pthread_sigmask(libc::SIG_SETMASK, &before, null_mut());
        }
    }
}
