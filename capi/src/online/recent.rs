//! A bounded cache of values by bytes. Lookups share the lock; insertions hold it alone.

use crate::sync::{Arc, AtomicU64, Ordering, PoisonError, RwLock};
use rustc_hash::FxHashMap;

/// A value with the time of its last use.
type Used<V> = (Arc<V>, AtomicU64);

/// The values by their keys.
pub(crate) struct Recent<V> {
    found: FxHashMap<Box<[u8]>, Used<V>>,
    /// The number of uses so far, which orders them in time.
    now: AtomicU64,
}

impl<V> Default for Recent<V> {
    fn default() -> Recent<V> {
        Recent { found: FxHashMap::default(), now: AtomicU64::new(0) }
    }
}

impl<V> Recent<V> {
    fn now(&self) -> u64 {
        self.now.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes out the value that was not used for longest if another key would be one too many.
    fn make_room(&mut self, bound: usize, key: &[u8]) -> Option<Used<V>> {
        if self.found.len() < bound || self.found.contains_key(key) {
            return None;
        }
        let oldest = self.found.iter().min_by_key(|(_, (_, used))| used.load(Ordering::Relaxed));
        let oldest = oldest.map(|(key, _)| key.clone())?;
        self.found.remove(&oldest)
    }
}

/// Returns the value of a key.
pub(crate) fn recall_from<V>(recent: &RwLock<Option<Recent<V>>>, key: &[u8]) -> Option<Arc<V>> {
    let recent = recent.read().unwrap_or_else(PoisonError::into_inner);
    let recent = recent.as_ref()?;
    let (value, used) = recent.found.get(key)?;
    used.store(recent.now(), Ordering::Relaxed);
    Some(value.clone())
}

/// Keeps a value and returns it, or returns the value that another thread has kept under the key
/// before.
pub(crate) fn keep<V>(recent: &RwLock<Option<Recent<V>>>, bound: usize, key: &[u8], value: Arc<V>) -> Arc<V> {
    let gone;
    let kept = {
        let mut recent = recent.write().unwrap_or_else(PoisonError::into_inner);
        let recent = recent.get_or_insert_default();
        let now = AtomicU64::new(recent.now());
        gone = recent.make_room(bound, key);
        recent.found.entry(key.into()).or_insert_with(|| (value.clone(), now)).0.clone()
    };
    // unloading code waits for the device, so neither the dropped value nor `value` is released
    // under the lock
    drop(gone);
    kept
}

/// Keeps a value, instead of the one that was kept under the key before.
pub(crate) fn replace<V>(recent: &RwLock<Option<Recent<V>>>, bound: usize, key: &[u8], value: Arc<V>) {
    let gone = {
        let mut recent = recent.write().unwrap_or_else(PoisonError::into_inner);
        let recent = recent.get_or_insert_default();
        let now = AtomicU64::new(recent.now());
        let oldest = recent.make_room(bound, key);
        oldest.or(recent.found.insert(key.into(), (value, now)))
    };
    // not under the lock, as above
    drop(gone);
}
