//! The cache of programs: one for each key, whoever made it first.

use crate::model;
use crate::recent::{Recent, keep, recall_from};
use loom::sync::{Arc, RwLock};
use loom::thread;
use std::sync::Weak;

type Cache = RwLock<Option<Recent<Program>>>;

/// Waits, when it goes, for somebody who may use the cache.
struct Program {
    number: usize,
    cache: Weak<CacheOf>,
}

/// Counted by the standard library's Arc, whose Weak loom lacks.
struct CacheOf(Cache);

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(cache) = self.cache.upgrade() {
            recall_from(&cache.0, &[0]);
        }
    }
}

fn cache() -> std::sync::Arc<CacheOf> {
    std::sync::Arc::new(CacheOf(RwLock::new(None)))
}

fn program(number: usize, cache: &std::sync::Arc<CacheOf>) -> Arc<Program> {
    Arc::new(Program { number, cache: std::sync::Arc::downgrade(cache) })
}

/// As the runtime looks for a program and makes it where there is none.
fn find(cache: &std::sync::Arc<CacheOf>, bound: usize, key: u8, number: usize) -> usize {
    match recall_from(&cache.0, &[key]) {
        Some(known) => known.number,
        None => keep(&cache.0, bound, &[key], program(number, cache)).number,
    }
}

#[test]
fn who_asks_for_the_same_has_the_same() {
    model(|| {
        let cache = cache();
        let other = {
            let cache = cache.clone();
            thread::spawn(move || find(&cache, 2, 0, 1))
        };
        let ours = find(&cache, 2, 0, 2);
        assert_eq!(other.join().unwrap(), ours);
        assert_eq!(find(&cache, 2, 0, 3), ours);
    });
}

#[test]
fn what_is_not_kept_goes_without_the_lock() {
    model(|| {
        let cache = cache();
        let other = {
            let cache = cache.clone();
            thread::spawn(move || find(&cache, 1, 1, 1))
        };
        assert_eq!((find(&cache, 1, 0, 2), other.join().unwrap()), (2, 1));
        // the other one went: at the latest by this
        find(&cache, 1, 0, 2);
        assert!(recall_from(&cache.0, &[1]).is_none());
    });
}
