//! Memory of last resort. Rust code that cannot have memory ends the process; the compiler is such code, and the
//! host's process is not ours to end. So the library's allocator has a reserve: when the system refuses, small
//! requests are served from it, the compiler sees that it lives on the reserve ([`is_in_use`]), and stops with an
//! error between its passes.
//!
//! What still ends the process is in `docs/c-abi.md`, "Out of memory". Elements of arrays never come from the reserve
//! ([`crate::memory`]): they are refused by an error at once.
//!
//! It is the allocator of the C library only (the feature `reserve`): Rust programs choose their own.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::{Cell, UnsafeCell};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};

/// Address space that is touched only when it is needed.
const BYTES: usize = 16 << 20;

const PAGE: usize = 4096;

#[repr(align(4096))]
struct Arena(UnsafeCell<[u8; BYTES]>);

// SAFETY: pieces are given out once each.
unsafe impl Sync for Arena {}

static ARENA: Arena = Arena(UnsafeCell::new([0; BYTES]));

/// Sizes of pieces: 16 bytes, and each class twice the one before. A piece is aligned to its size, up to a page.
const CLASSES: usize = (BYTES / 16).ilog2() as usize + 1;

/// What of the arena is given out.
struct Pieces {
    /// Behind the last piece.
    end: usize,
    /// How many live. With the last of them all is free again.
    live: usize,
    /// The first piece of each class that was given back; the next is written into it.
    free: [*mut u8; CLASSES],
}

struct Locked(UnsafeCell<Pieces>);

// SAFETY: only who holds `LOCK` looks into it.
unsafe impl Sync for Locked {}

const NOTHING: Pieces = Pieces { end: 0, live: 0, free: [null_mut(); CLASSES] };
static PIECES: Locked = Locked(UnsafeCell::new(NOTHING));
/// A lock that needs no memory, and is held for some instructions.
static LOCK: AtomicBool = AtomicBool::new(false);

/// Does something with the pieces, alone.
fn locked<T>(f: impl FnOnce(&mut Pieces) -> T) -> T {
    while LOCK.swap(true, Ordering::Acquire) {
        std::hint::spin_loop();
    }
    // SAFETY: nobody else is here.
    let result = f(unsafe { &mut *PIECES.0.get() });
    LOCK.store(false, Ordering::Release);
    result
}

/// The class of a layout; none where no piece would do.
fn class(layout: Layout) -> Option<usize> {
    let size = layout.size().max(layout.align()).max(16).checked_next_power_of_two()?;
    (size <= BYTES && layout.align() <= PAGE).then(|| (size / 16).ilog2() as usize)
}

impl Pieces {
    fn take(&mut self, class: usize) -> Option<*mut u8> {
        let first = self.free[class];
        let piece = if first.is_null() {
            let size = 16 << class;
            let begin = self.end.next_multiple_of(size.min(PAGE));
            self.end = begin.checked_add(size).filter(|end| *end <= BYTES)?.max(self.end);
            ARENA.0.get().cast::<u8>().wrapping_add(begin)
        } else {
            // SAFETY: a piece that was given back, which names the next.
            self.free[class] = unsafe { first.cast::<*mut u8>().read() };
            first
        };
        self.live += 1;
        Some(piece)
    }

    fn give(&mut self, piece: *mut u8, class: usize) {
        self.live -= 1;
        if self.live == 0 {
            *self = NOTHING;
            return;
        }
        // SAFETY: a piece of 16 bytes or more, aligned to that, which nobody has any more.
        unsafe { piece.cast::<*mut u8>().write(self.free[class]) };
        self.free[class] = piece;
    }
}

thread_local! {
    /// This thread took a piece since it last asked for the reserve to be forgotten.
    static USED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread lives on the reserve.
pub(crate) fn is_in_use() -> bool {
    USED.try_with(Cell::get).unwrap_or(false)
}

/// A call begins: what earlier ones had to take does not count.
pub(crate) fn forget() {
    let _ = USED.try_with(|used| used.set(false));
}

/// An allocator, and behind it the reserve.
pub struct Reserve<A>(pub A);

impl<A> Reserve<A> {
    fn start() -> usize {
        ARENA.0.get().addr()
    }

    fn has(p: *mut u8) -> bool {
        p.addr().wrapping_sub(Self::start()) < BYTES
    }

    /// A piece of the reserve, if it has one; it is not cleared.
    #[cold]
    fn take(layout: Layout) -> *mut u8 {
        let piece = class(layout).and_then(|class| locked(|pieces| pieces.take(class)));
        let _ = USED.try_with(|used| used.set(used.get() || piece.is_some()));
        piece.unwrap_or(null_mut())
    }

    /// A piece is free.
    #[cold]
    fn give(piece: *mut u8, layout: Layout) {
        if let Some(class) = class(layout) {
            locked(|pieces| pieces.give(piece, class));
        }
    }
}

// SAFETY: memory of the allocator, or pieces of the reserve, each given out once until all are free.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Reserve<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let p = unsafe { self.0.alloc(layout) };
        if p.is_null() { Self::take(layout) } else { p }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let p = unsafe { self.0.alloc_zeroed(layout) };
        if !p.is_null() {
            return p;
        }
        let p = Self::take(layout);
        if !p.is_null() {
            // SAFETY: a piece of so many bytes.
            unsafe { p.write_bytes(0, layout.size()) };
        }
        p
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        if Self::has(p) {
            return Self::give(p, layout);
        }
        // SAFETY: it is the allocator's.
        unsafe { self.0.dealloc(p, layout) }
    }

    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !Self::has(p) {
            // SAFETY: it is the allocator's.
            let larger = unsafe { self.0.realloc(p, layout, size) };
            if !larger.is_null() {
                return larger;
            }
        }
        // SAFETY: the size is the caller's, and not 0.
        let new = unsafe { self.alloc(Layout::from_size_align_unchecked(size, layout.align())) };
        if !new.is_null() {
            // SAFETY: both have so many bytes; the old one is given back by who has it.
            unsafe {
                new.copy_from_nonoverlapping(p, layout.size().min(size));
                self.dealloc(p, layout);
            }
        }
        new
    }
}

#[cfg(feature = "reserve")]
#[global_allocator]
static ALLOCATOR: Reserve<std::alloc::System> = Reserve(std::alloc::System);

#[cfg(test)]
mod tests {
    use super::*;
    use std::alloc::System;

    type Own = Reserve<System>;

    /// Pieces do not overlap, are aligned, and all of the reserve is there again when the last one is given back.
    #[test]
    fn pieces() {
        let layout = |size, align| Layout::from_size_align(size, align).expect("a layout");
        let sizes = [(1, 1), (3, 8), (100, 16), (4096, 64), (1, 4096)];
        forget();
        let pieces =
            sizes.map(|(size, align)| (Own::take(layout(size, align)).expose_provenance(), size, align));
        assert!(is_in_use());
        for (i, (at, size, align)) in pieces.iter().enumerate() {
            assert!(*at != 0 && at % align == 0 && Own::has(std::ptr::without_provenance_mut(*at)));
            assert!(pieces[i + 1..].iter().all(|(next, ..)| *next >= at + size));
        }
        assert!(Own::take(layout(BYTES, 1)).is_null() && Own::take(layout(1, 8192)).is_null());
        // SAFETY: a piece, which moves to the system and is freed there.
        unsafe {
            let p = Own::take(layout(5, 1));
            p.write_bytes(7, 5);
            let q = Reserve(System).realloc(p, layout(5, 1), 500);
            assert!(!Own::has(q) && std::slice::from_raw_parts(q, 5) == [7; 5]);
            Reserve(System).dealloc(q, layout(500, 1));
        }
        // what is given back serves the next request of its class
        let (at, size, align) = pieces[2];
        Own::give(std::ptr::with_exposed_provenance_mut(at), layout(size, align));
        assert_eq!(Own::take(layout(size - 20, align)).addr(), at);
        for (at, size, align) in pieces {
            Own::give(std::ptr::with_exposed_provenance_mut(at), layout(size, align));
        }
        let all = Own::take(layout(BYTES, PAGE));
        assert!(!all.is_null() && Own::take(layout(1, 1)).is_null());
        Own::give(all, layout(BYTES, PAGE));
        forget();
        assert!(!is_in_use());
    }
}
