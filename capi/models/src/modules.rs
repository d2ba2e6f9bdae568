//! A package's state word: if several threads parse the package at the same time, the result of one
//! is kept.

use crate::state::get_or_make;
use crate::{Watched, model};
use loom::sync::Arc;
use loom::sync::atomic::AtomicPtr;
use loom::thread;
use std::convert::Infallible;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn everyone_has_the_same_module_and_sees_it_whole() {
    model(|| {
        let alive = std::sync::Arc::new(AtomicUsize::new(0));
        let state = Arc::new(AtomicPtr::<Watched>::new(null_mut()));
        let open = |number: usize| {
            let (alive, state) = (alive.clone(), state.clone());
            move || {
                let Ok(made) = get_or_make(&state, || Ok::<_, Infallible>(Watched::new(number, &alive)));
                // SAFETY: the value is kept until the end of the model.
                (made.addr(), unsafe { &*made }.number())
            }
        };
        let others = [thread::spawn(open(1)), thread::spawn(open(2))];
        let ours = open(3)();
        for other in others {
            assert_eq!(other.join().unwrap(), ours);
        }
        assert_eq!(alive.load(Ordering::Relaxed), 1);
        let Ok(kept) = get_or_make(&state, || -> Result<Watched, Infallible> { unreachable!("made before") });
        // SAFETY: this is the last use of the pointer, which came from a box.
        drop(unsafe { Box::from_raw(kept) });
    });
}
