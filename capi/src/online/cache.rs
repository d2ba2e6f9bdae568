//! Programs by structure: a function in fused form is compiled once, however it was spelled; and by the callers' own
//! keys. Both are bounded: what was not used for longest goes.

use super::program::Program;
use super::recent::{Recent, keep, recall_from};
use super::staged::Staged;
use crate::error::Result;
use crate::interrupt::{self, refused};
use crate::module::Specialise;
use arraygpu_compiler::core::{Function, encode};
use arraygpu_compiler::{driver, stage};
use std::sync::{Arc, RwLock};

/// How many programs each of the two keeps.
const BOUND: usize = 1024;

static STRUCTURES: RwLock<Option<Recent<Program>>> = RwLock::new(None);
static REMEMBERED: RwLock<Option<Recent<Program>>> = RwLock::new(None);

/// The program of a function.
pub(super) fn program(source: Function) -> Result<Arc<Program>> {
    let fused = driver::fuse(&source).map_err(refused)?;
    // what is staged is not in the general version
    let key = encode::encode(if stage::has_stages(&source) { &source } else { &fused });
    if let Some(known) = recall_from(&STRUCTURES, &key) {
        return Ok(known);
    }
    let staged = Staged::of_built(&source).map(|s| Box::new(s) as Box<dyn Specialise>);
    let program = Arc::new(Program::new(source, fused, staged));
    interrupt::check()?;
    Ok(keep(&STRUCTURES, BOUND, &key, program))
}

/// Keeps a program under the caller's key.
pub(super) fn remember(key: &[u8], program: Arc<Program>) {
    keep(&REMEMBERED, BOUND, key, program);
}

/// The program under the caller's key.
pub(super) fn recall(key: &[u8]) -> Option<Arc<Program>> {
    recall_from(&REMEMBERED, key)
}
