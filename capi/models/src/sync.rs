//! Loom's atomics, locks and cells under the names that the runtime uses.

pub(crate) use loom::cell::UnsafeCell;
pub(crate) use loom::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
pub(crate) use loom::sync::{Arc, Mutex, RwLock};
pub(crate) use std::sync::PoisonError;
