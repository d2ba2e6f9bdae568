//! What a context has allocated, and may.

use crate::error::{OUT_OF_MEMORY, Result, fail};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// What a context has allocated, in bytes.
pub(crate) struct Usage {
    /// What is about to be allocated is taken, too: the limit is for this.
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

    /// Bytes in use, and the most that ever were.
    pub fn get(&self) -> (i64, i64) {
        (self.used.load(Relaxed), self.peak.load(Relaxed))
    }

    /// From now on; what is in use stays.
    pub fn set_limit(&self, bytes: i64) {
        self.limit.store(bytes, Relaxed);
    }

    /// Counts what is about to be allocated, if there is room for it.
    pub fn take(&self, bytes: i64) -> Result<()> {
        let limit = self.limit.load(Relaxed);
        // one who asks for too much takes nothing from another meanwhile; without a limit nobody does, and sums may
        // wrap
        let fits = |taken: i64| match limit {
            i64::MAX => Some(taken.wrapping_add(bytes)),
            limit => taken.checked_add(bytes).filter(|sum| *sum <= limit),
        };
        if let Err(taken) = self.taken.fetch_update(Relaxed, Relaxed, fits) {
            fail!(
                OUT_OF_MEMORY,
                "{bytes} bytes more than the {taken} in use are above the context's limit of {limit}"
            );
        }
        Ok(())
    }

    /// What was taken was had.
    pub fn had(&self, bytes: i64) {
        let used = self.used.fetch_add(bytes, Relaxed) + bytes;
        self.peak.fetch_max(used, Relaxed);
    }

    /// What was taken was not had.
    pub fn untake(&self, bytes: i64) {
        self.taken.fetch_sub(bytes, Relaxed);
    }

    /// Counts what is freed.
    pub fn give(&self, bytes: i64) {
        self.used.fetch_sub(bytes, Relaxed);
        self.taken.fetch_sub(bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is refused, or not had, is in nobody's way, and in no figure.
    #[test]
    fn who_asks_for_too_much_disturbs_no_other() {
        let usage = Usage::new();
        usage.set_limit(100);
        usage.take(20).expect("there is room");
        let turns = if cfg!(miri) { 50 } else { 100_000 };
        std::thread::scope(|scope| {
            let greedy = scope.spawn(|| (0..turns).all(|_| usage.take(90).is_err()));
            // there is room for 80, whatever the other one asks for
            for _ in 0..turns {
                usage.take(80).expect("there is room");
                usage.had(80);
                assert_eq!(usage.get(), (80, 80));
                usage.give(80);
            }
            assert!(greedy.join().expect("no panic"));
        });
    }

    /// Requests that no allocator serves are on their way to it.
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
