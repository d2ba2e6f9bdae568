//! The cache of programs has one program for each key, whichever thread made it first.

use crate::model;
use crate::recent::{Recent, keep, recall_from, replace};
use loom::sync::{Arc, RwLock};
use loom::thread;
use std::sync::Weak;

type Cache = RwLock<Option<Recent<Program>>>;

/// A program whose drop waits for a thread that may use the cache.
struct Program {
    number: usize,
    cache: Weak<CacheOf>,
}

/// The cache, which is counted by the standard library's Arc, because loom's has no Weak.
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

/// Looks for a program and makes it if there is none, as the runtime does.
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
        // The other program is dropped by this call at the latest.
        find(&cache, 1, 0, 2);
        assert!(recall_from(&cache.0, &[1]).is_none());
    });
}

#[test]
fn what_is_replaced_goes_without_the_lock() {
    model(|| {
        let cache = cache();
        let other = {
            let cache = cache.clone();
            thread::spawn(move || find(&cache, 2, 0, 1))
        };
        replace(&cache.0, 2, &[0], program(2, &cache));
        assert!([1, 2].contains(&other.join().unwrap()));
        assert_eq!(find(&cache, 2, 0, 3), 2);
    });
}
