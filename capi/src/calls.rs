//! Which threads are in a call of this library. Each says so in a [`Word`] of its own, which costs two stores a call.
//! Two ask:
//!
//! - A child of `fork` has the thread that forked, and no other: a lock that another thread held stays locked there.
//!   So a child that was born while another thread was in a call is refused by every call; any other may go on, on
//!   the CPU.
//! - A package that is unloaded waits for the calls of other threads, which may be its own.

mod words;

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
pub(crate) use words::drop_when_idle;
use words::{Word, Words};

static WORDS: Mutex<Words> = Mutex::new(Words::new());

/// This process was born in the middle of another thread's call.
static LOST: AtomicBool = AtomicBool::new(false);

thread_local! {
    static WORD: Cell<Option<&'static Word>> = const { Cell::new(None) };
    static LEASE: Lease = const { Lease };
}

/// Gives the thread's word back.
struct Lease;

impl Drop for Lease {
    fn drop(&mut self) {
        if let Ok(Some(word)) = WORD.try_with(Cell::take) {
            words().give_back(word);
        }
    }
}

fn words() -> MutexGuard<'static, Words> {
    WORDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A count that all threads add to, each on a line of memory that few others use: on one line for all they would wait
/// for each other.
#[derive(Default)]
pub(crate) struct Tally([Line; 16]);

#[derive(Default)]
#[repr(align(128))]
struct Line(AtomicI64);

impl Tally {
    pub fn add_one(&self) {
        self.0[own().map_or(0, |word| word.number % self.0.len())].0.fetch_add(1, Ordering::Relaxed);
    }

    pub fn sum(&self) -> i64 {
        self.0.iter().map(|line| line.0.load(Ordering::Relaxed)).sum()
    }
}

/// A call, until it returns.
pub(crate) struct Call(Option<&'static Word>);

/// From now on this thread is in a call.
#[inline]
pub(crate) fn enter() -> Call {
    let word = own().or_else(first);
    if let Some(word) = word {
        word.enter();
    }
    Call(word)
}

impl Drop for Call {
    #[inline]
    fn drop(&mut self) {
        if let Some(word) = self.0 {
            word.leave();
        }
    }
}

/// Whether locks of this process may be held by threads that it does not have: it was forked in the middle of their
/// calls.
#[inline]
pub(crate) fn is_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

/// A word for this thread. None while the thread ends.
#[cold]
fn first() -> Option<&'static Word> {
    static HANDLER: Once = Once::new();
    HANDLER.call_once(|| {
        // SAFETY: the handler reads words that are never freed, and takes no lock that it would wait for.
        unsafe { libc::pthread_atfork(None, None, Some(child)) };
    });
    LEASE.try_with(|_| ()).ok()?;
    let word = words().take();
    WORD.set(Some(word));
    Some(word)
}

/// Whether another thread is in a call that began before.
pub(crate) fn others_work() -> bool {
    words().others_work(own())
}

/// This thread's word, if it has one.
#[inline]
fn own() -> Option<&'static Word> {
    WORD.try_with(Cell::get).ok().flatten()
}

/// Runs in a child, before `fork` returns there.
unsafe extern "C" fn child() {
    let lost = WORDS.try_lock().map_or(true, |words| words.others_work(own()));
    LOST.fetch_or(lost, Ordering::Relaxed);
}
