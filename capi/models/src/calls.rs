//! Unloading waits for the calls of other threads.

use crate::words::{Word, Words, drop_when_idle};
use crate::{Watched, model};
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;

/// The runtime with one package.
struct Runtime {
    words: Mutex<Words>,
    freed: Mutex<Vec<Arc<Watched>>>,
}

impl Runtime {
    fn new() -> Arc<Runtime> {
        Arc::new(Runtime { words: Mutex::new(Words::new()), freed: Mutex::new(Vec::new()) })
    }

    fn word(&self) -> &'static Word {
        self.words.lock().unwrap().take()
    }

    /// Loads nothing, but closes packages that were waiting.
    fn load(&self, own: &Word) {
        own.enter();
        drop_when_idle(&self.freed, || self.words.lock().unwrap().others_work(Some(own)));
        own.leave();
    }

    fn free(&self, own: &Word, package: Arc<Watched>) {
        own.enter();
        self.freed.lock().unwrap().push(package);
        drop_when_idle(&self.freed, || self.words.lock().unwrap().others_work(Some(own)));
        own.leave();
    }
}

#[test]
fn a_package_outlives_a_call_that_began_before_it_was_freed() {
    model(|| {
        let runtime = Runtime::new();
        let alive = std::sync::Arc::default();
        let package = Arc::new(Watched::new(7, &alive));
        let code = std::ptr::from_ref(&*package).addr();
        let began = Arc::new(AtomicBool::new(false));
        let caller = {
            let (runtime, began) = (runtime.clone(), began.clone());
            thread::spawn(move || {
                let own = runtime.word();
                own.enter();
                began.store(true, Ordering::Release);
                // SAFETY: running code holds no counted reference to its package, which stays while
                // this thread is in a call.
                let number = unsafe { &*std::ptr::with_exposed_provenance::<Watched>(code) }.number();
                own.leave();
                number
            })
        };
        let loader = {
            let runtime = runtime.clone();
            thread::spawn(move || runtime.load(runtime.word()))
        };
        let own = runtime.word();
        if began.load(Ordering::Acquire) {
            runtime.free(own, package);
        }
        assert_eq!(caller.join().unwrap(), 7);
        loader.join().unwrap();
        runtime.load(own);
        assert_eq!(runtime.freed.lock().unwrap().len(), 0);
    });
}

#[test]
fn a_word_serves_one_thread_after_another() {
    model(|| {
        let runtime = Runtime::new();
        let one = {
            let runtime = runtime.clone();
            move || {
                let own = runtime.word();
                own.enter();
                own.enter();
                own.leave();
                assert!(runtime.words.lock().unwrap().others_work(None));
                own.leave();
                runtime.words.lock().unwrap().give_back(own);
                own.number
            }
        };
        let other = thread::spawn(one.clone());
        let numbers = (one(), other.join().unwrap());
        assert!(numbers.0 < 2 && numbers.1 < 2);
        assert!(!runtime.words.lock().unwrap().others_work(None));
    });
}
