//! What a context has allocated, and may.

use crate::error::{OUT_OF_MEMORY, Result, fail};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// What a context has allocated, in bytes.
pub(crate) struct Usage {
    used: AtomicI64,
    peak: AtomicI64,
    limit: AtomicI64,
}

impl Usage {
    pub const fn new() -> Usage {
        Usage { used: AtomicI64::new(0), peak: AtomicI64::new(0), limit: AtomicI64::new(i64::MAX) }
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
        let used = self.used.fetch_add(bytes, Relaxed).saturating_add(bytes);
        let limit = self.limit.load(Relaxed);
        if used > limit {
            self.used.fetch_sub(bytes, Relaxed);
            let used = used - bytes;
            fail!(
                OUT_OF_MEMORY,
                "{bytes} bytes more than the {used} in use are above the context's limit of {limit}"
            );
        }
        Ok(())
    }

    /// What was taken was had.
    pub fn had(&self) {
        self.peak.fetch_max(self.used.load(Relaxed), Relaxed);
    }

    /// Counts what is freed, or was not had.
    pub fn give(&self, bytes: i64) {
        self.used.fetch_sub(bytes, Relaxed);
    }
}
