//! Records which threads are in a call of this library. Each thread does so in a [`Word`] of its
//! own, which costs two stores for each call. Two things depend on it:
//!
//! - A child of `fork` has only the thread that forked, and a lock that another thread held stays
//!   locked there. So if another thread was in a call at the fork, every call in the child is
//!   refused. Otherwise the child may make calls, on the CPU.
//! - A package that is unloaded waits for the calls of other threads, because they may use it.

mod words;

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
pub(crate) use words::drop_when_idle;
use words::{Word, Words};

static WORDS: Mutex<Words> = Mutex::new(Words::new());

/// Whether this process was forked while another thread was in a call.
static LOST: AtomicBool = AtomicBool::new(false);

thread_local! {
    static WORD: Cell<Option<&'static Word>> = const { Cell::new(None) };
    static LEASE: Lease = const { Lease };
}

/// Gives the thread's word back when the thread ends.
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

/// A counter that all threads increment. It is spread over several cache lines, so that threads
/// rarely wait for one another.
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

/// A call that has not returned yet.
pub(crate) struct Call(Option<&'static Word>);

/// Marks this thread as being in a call.
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

/// Whether this process was forked in the middle of other threads' calls. Those threads do not
/// exist here, but locks that they held stay locked.
#[inline]
pub(crate) fn is_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

/// Takes a word for this thread; `None` while the thread ends.
#[cold]
fn first() -> Option<&'static Word> {
    static HANDLER: Once = Once::new();
    HANDLER.call_once(|| {
        // SAFETY: the handler reads words that are never freed, and only tries to take a lock.
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

/// Returns this thread's word, if it has one.
#[inline]
fn own() -> Option<&'static Word> {
    WORD.try_with(Cell::get).ok().flatten()
}

/// Runs in a child before `fork` returns there.
unsafe extern "C" fn child() {
    let lost = WORDS.try_lock().map_or(true, |words| words.others_work(own()));
    LOST.fetch_or(lost, Ordering::Relaxed);
}
