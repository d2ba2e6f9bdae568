//! Caches of programs, by structure and by callers' own keys. A function is compiled once for its
//! fused form, however it was written. Both caches are bounded and drop the least recently used
//! program.

use super::allowance;
use super::program::Program;
use super::recent::{Recent, keep, recall_from, replace};
use super::staged::Staged;
use crate::error::Result;
use crate::interrupt;
use crate::module::Specialise;
use arraygpu_compiler::core::{Function, encode};
use arraygpu_compiler::{driver, stage};
use std::sync::{Arc, RwLock};

/// Maximum number of programs in each of the two caches.
const BOUND: usize = 1024;

static STRUCTURES: RwLock<Option<Recent<Program>>> = RwLock::new(None);
static REMEMBERED: RwLock<Option<Recent<Program>>> = RwLock::new(None);

/// Returns the program of a function, which is new if no equal one is kept.
pub(super) fn program(source: Function) -> Result<Arc<Program>> {
    let fused = allowance::within(|| driver::fuse(&source))?;
    // the fused form has no stages, which are part of what a program does, so the key is the source
    let key = encode::encode(if stage::has_stages(&source) { &source } else { &fused });
    if let Some(known) = recall_from(&STRUCTURES, &key) {
        return Ok(known);
    }
    let staged = Staged::of_built(&source).map(|s| Box::new(s) as Box<dyn Specialise>);
    let program = Arc::new(Program::new(source, fused, staged));
    interrupt::check()?;
    Ok(keep(&STRUCTURES, BOUND, &key, program))
}

/// Keeps a program under the caller's key, instead of another one that was kept under it.
pub(super) fn remember(key: &[u8], program: Arc<Program>) {
    replace(&REMEMBERED, BOUND, key, program);
}

/// Returns the program under the caller's key.
pub(super) fn recall(key: &[u8]) -> Option<Arc<Program>> {
    recall_from(&REMEMBERED, key)
}
