//! Counts the memory of a context and enforces its limit.

use crate::error::{OUT_OF_MEMORY, Result, fail};
use arraygpu_compiler::counted;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// The memory that a context has allocated, in bytes.
pub(crate) struct Usage {
    /// Bytes in use together with those that are about to be allocated. The limit applies to this
    /// sum.
    taken: AtomicI64,
    used: AtomicI64,
    peak: AtomicI64,
    limit: AtomicI64,
}

impl Usage {
    pub const fn new() -> Usage {
        let [taken, used, peak] = [const { AtomicI64::new(0) }; 3];
        Usage { taken, used, peak, limit: AtomicI64::new(i64::MAX) }
    }

    /// Returns the bytes in use and their maximum so far, which is never below the first.
    pub fn get(&self) -> (i64, i64) {
        let used = self.used.load(Relaxed);
        // another thread may have counted its bytes in `had` and not yet raised the maximum
        (used, self.peak.fetch_max(used, Relaxed).max(used))
    }

    /// Sets the limit for later allocations. Memory in use is not affected.
    pub fn set_limit(&self, bytes: i64) {
        self.limit.store(bytes, Relaxed);
    }

    /// Whether there is a limit.
    pub fn is_limited(&self) -> bool {
        self.limit.load(Relaxed) != i64::MAX
    }

    /// Counts bytes that are about to be allocated, if the limit allows them.
    pub fn take(&self, bytes: i64) -> Result<()> {
        let limit = self.limit.load(Relaxed);
        // A request above the limit must not change the count, since that could make another
        // thread's request fail. Without a limit no request is refused, and the sum may wrap.
        let fits = |taken: i64| match limit {
            i64::MAX => Some(taken.wrapping_add(bytes)),
            limit => taken.checked_add(bytes).filter(|sum| *sum <= limit),
        };
        if let Err(taken) = self.taken.fetch_update(Relaxed, Relaxed, fits) {
            fail!(
                OUT_OF_MEMORY,
                "{} more than the {taken} in use are above the context's limit of {limit}",
                counted(bytes, "byte")
            );
        }
        Ok(())
    }

    /// Counts bytes as in use, after `take` and a successful allocation.
    pub fn had(&self, bytes: i64) {
        let used = self.used.fetch_add(bytes, Relaxed) + bytes;
        self.peak.fetch_max(used, Relaxed);
    }

    /// Takes back the effect of `take` after a failed allocation.
    pub fn untake(&self, bytes: i64) {
        self.taken.fetch_sub(bytes, Relaxed);
    }

    /// Counts bytes that are freed.
    pub fn give(&self, bytes: i64) {
        self.used.fetch_sub(bytes, Relaxed);
        self.taken.fetch_sub(bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request that is refused or fails does not affect other requests or the counts.
    #[test]
    fn who_asks_for_too_much_disturbs_no_other() {
        let usage = Usage::new();
        usage.set_limit(100);
        usage.take(20).expect("there is room");
        let turns = if cfg!(miri) { 50 } else { 100_000 };
        std::thread::scope(|scope| {
            let greedy = scope.spawn(|| (0..turns).all(|_| usage.take(90).is_err()));
            // 80 bytes are free, whatever the other thread requests.
            for _ in 0..turns {
                usage.take(80).expect("there is room");
                usage.had(80);
                assert_eq!(usage.get(), (80, 80));
                usage.give(80);
            }
            assert!(greedy.join().expect("no panic"));
        });
    }

    /// Other threads make requests at the same time that no allocator can serve.
    #[test]
    fn without_a_limit_nobody_is_refused() {
        let usage = Usage::new();
        usage.take(i64::MAX).expect("no limit");
        usage.take(16).expect("no limit");
        usage.untake(i64::MAX);
        usage.set_limit(20);
        usage.take(4).expect("20 of 20");
        assert!(usage.take(1).expect_err("21 of 20").message.ends_with("above the context's limit of 20"));
    }

    #[test]
    fn what_is_not_had_is_not_used() {
        let usage = Usage::new();
        usage.take(1 << 60).expect("no limit");
        assert_eq!(usage.get(), (0, 0));
        usage.untake(1 << 60);
        usage.take(8).expect("no limit");
        usage.had(8);
        assert_eq!(usage.get(), (8, 8));
        usage.give(8);
        assert_eq!(usage.get(), (0, 8));
    }
}
