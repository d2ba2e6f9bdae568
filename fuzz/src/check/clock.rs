//! Time that this thread has computed: what others do on the machine does not count.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

static TIMES: AtomicU32 = AtomicU32::new(1);

/// Multiplies the time that a program may take, for builds without all optimisations.
pub fn allow(times: u32) {
    TIMES.store(times, Ordering::Relaxed);
}

/// The longest that the compiler may take for one program.
pub(super) fn longest() -> Duration {
    Duration::from_secs(2) * TIMES.load(Ordering::Relaxed)
}

/// The time that this thread has computed.
#[cfg(unix)]
pub(super) fn now() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is there to be written.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// The time since the first call: this system has no clock of a thread.
#[cfg(not(unix))]
pub(super) fn now() -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;
    static FIRST: OnceLock<Instant> = OnceLock::new();
    FIRST.get_or_init(Instant::now).elapsed()
}
