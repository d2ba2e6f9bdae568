//! Programs by structure: a function in fused form is compiled once, however it was spelled; and by the callers' own keys. Both are bounded: what was not
//! used for longest goes.

use super::program::Program;
use crate::error::Result;
use crate::interrupt::{self, refused};
use arraygpu_compiler::core::{Function, encode};
use arraygpu_compiler::{driver, stage};
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// How many programs each of the two keeps.
const BOUND: usize = 1024;

/// What is looked up by bytes, and when it was last.
#[derive(Default)]
struct Recent {
    found: FxHashMap<Box<[u8]>, (Arc<Program>, AtomicU64)>,
}

/// Counts uses: an order of time.
static NOW: AtomicU64 = AtomicU64::new(0);

static STRUCTURES: RwLock<Option<Recent>> = RwLock::new(None);
static REMEMBERED: RwLock<Option<Recent>> = RwLock::new(None);

fn recall_from(recent: &RwLock<Option<Recent>>, key: &[u8]) -> Option<Arc<Program>> {
    let recent = recent.read().unwrap_or_else(PoisonError::into_inner);
    let (program, used) = recent.as_ref()?.found.get(key)?;
    used.store(NOW.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    Some(program.clone())
}

/// Keeps the program, or gives the one that another thread kept meanwhile.
fn keep(recent: &RwLock<Option<Recent>>, key: &[u8], program: Arc<Program>) -> Arc<Program> {
    let mut gone = None;
    let kept = {
        let mut recent = recent.write().unwrap_or_else(PoisonError::into_inner);
        let found = &mut recent.get_or_insert_default().found;
        if found.len() >= BOUND && !found.contains_key(key) {
            let oldest = found.iter().min_by_key(|(_, (_, used))| used.load(Ordering::Relaxed));
            let oldest = oldest.map(|(key, _)| key.clone());
            gone = oldest.and_then(|key| found.remove(&key));
        }
        let now = || AtomicU64::new(NOW.fetch_add(1, Ordering::Relaxed));
        found.entry(key.into()).or_insert_with(|| (program, now())).0.clone()
    };
    // unloading code waits for the device: not under the lock
    drop(gone);
    kept
}

/// The program of a function.
pub(super) fn program(source: Function) -> Result<Arc<Program>> {
    let fused = driver::fuse(&source).map_err(refused)?;
    // what is staged is not in the general version
    let key = encode::encode(if stage::has_stages(&source) { &source } else { &fused });
    if let Some(known) = recall_from(&STRUCTURES, &key) {
        return Ok(known);
    }
    let program = Arc::new(Program::new(source, fused));
    interrupt::check()?;
    Ok(keep(&STRUCTURES, &key, program))
}

/// Keeps a program under the caller's key.
pub(super) fn remember(key: &[u8], program: Arc<Program>) {
    keep(&REMEMBERED, key, program);
}

/// The program under the caller's key.
pub(super) fn recall(key: &[u8]) -> Option<Arc<Program>> {
    recall_from(&REMEMBERED, key)
}
