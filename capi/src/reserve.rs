//! A memory reserve for when the system refuses memory. Rust code that fails to allocate ends the
//! process. The compiler is such code, but the process belongs to the host. So the library's
//! allocator keeps a reserve: when the system refuses, small requests are served from it. The
//! compiler sees that the reserve is in use ([`is_in_use`]) and stops with an error between two
//! passes.
//!
//! `docs/c-abi.md`, "Out of memory", says what still ends the process. Elements of arrays never
//! come from the reserve ([`crate::memory`]); those requests fail with an error at once.
//!
//! The reserve is the allocator of the C library only (the feature `reserve`). Rust programs choose
//! their own allocator.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::{Cell, UnsafeCell};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};

/// Size of the reserve in bytes. It is address space whose pages are touched only when they are
/// needed.
const BYTES: usize = 16 << 20;

const PAGE: usize = 4096;

#[repr(align(4096))]
struct Arena(UnsafeCell<[u8; BYTES]>);

// SAFETY: each piece is given out only once at a time.
unsafe impl Sync for Arena {}

static ARENA: Arena = Arena(UnsafeCell::new([0; BYTES]));

/// The number of size classes. Pieces of the first class have 16 bytes, those of each further class
/// twice as many. A piece is aligned to its size, at most to a page.
const CLASSES: usize = (BYTES / 16).ilog2() as usize + 1;

/// Which parts of the arena are given out.
struct Pieces {
    /// The offset behind the last piece.
    end: usize,
    /// The number of live pieces. When it reaches 0, the whole arena is free again.
    live: usize,
    /// A linked list of free pieces for each class; a free piece holds the address of the next one.
    free: [*mut u8; CLASSES],
}

struct Locked(UnsafeCell<Pieces>);

// SAFETY: only the holder of `LOCK` accesses the pieces.
unsafe impl Sync for Locked {}

const NOTHING: Pieces = Pieces { end: 0, live: 0, free: [null_mut(); CLASSES] };
static PIECES: Locked = Locked(UnsafeCell::new(NOTHING));
/// A spin lock. It needs no memory and is held only for a few instructions.
static LOCK: AtomicBool = AtomicBool::new(false);

/// Runs `f` with exclusive access to the pieces.
fn locked<T>(f: impl FnOnce(&mut Pieces) -> T) -> T {
    while LOCK.swap(true, Ordering::Acquire) {
        std::hint::spin_loop();
    }
    // SAFETY: the lock excludes all other threads.
    let result = f(unsafe { &mut *PIECES.0.get() });
    LOCK.store(false, Ordering::Release);
    result
}

/// Returns the size class of a layout, or `None` if no piece can hold it.
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
            // SAFETY: the piece was given back, so it holds the address of the next one.
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
        // SAFETY: the piece has at least 16 bytes, is aligned to them, and has no other user.
        unsafe { piece.cast::<*mut u8>().write(self.free[class]) };
        self.free[class] = piece;
    }
}

thread_local! {
    /// Whether this thread has taken a piece since its last call of `forget`.
    static USED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread has taken memory from the reserve.
pub(crate) fn is_in_use() -> bool {
    USED.try_with(Cell::get).unwrap_or(false)
}

/// Marks the beginning of a call: pieces that earlier calls took no longer count.
pub(crate) fn forget() {
    let _ = USED.try_with(|used| used.set(false));
}

/// An allocator that falls back to the reserve.
pub struct Reserve<A>(pub A);

impl<A> Reserve<A> {
    fn start() -> usize {
        ARENA.0.get().addr()
    }

    fn has(p: *mut u8) -> bool {
        p.addr().wrapping_sub(Self::start()) < BYTES
    }

    /// Returns a piece of the reserve, if there is one. The piece is not cleared.
    #[cold]
    fn take(layout: Layout) -> *mut u8 {
        let piece = class(layout).and_then(|class| locked(|pieces| pieces.take(class)));
        let _ = USED.try_with(|used| used.set(used.get() || piece.is_some()));
        piece.unwrap_or(null_mut())
    }

    /// Gives a piece back.
    #[cold]
    fn give(piece: *mut u8, layout: Layout) {
        if let Some(class) = class(layout) {
            locked(|pieces| pieces.give(piece, class));
        }
    }
}

// SAFETY: memory comes from the allocator, or it is a piece of the reserve, and each piece has one
// user.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Reserve<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller guarantees this.
        let p = unsafe { self.0.alloc(layout) };
        if p.is_null() { Self::take(layout) } else { p }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller guarantees this.
        let p = unsafe { self.0.alloc_zeroed(layout) };
        if !p.is_null() {
            return p;
        }
        let p = Self::take(layout);
        if !p.is_null() {
            // SAFETY: the piece has at least `layout.size()` bytes.
            unsafe { p.write_bytes(0, layout.size()) };
        }
        p
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        if Self::has(p) {
            return Self::give(p, layout);
        }
        // SAFETY: the memory belongs to the allocator.
        unsafe { self.0.dealloc(p, layout) }
    }

    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !Self::has(p) {
            // SAFETY: the memory belongs to the allocator.
            let larger = unsafe { self.0.realloc(p, layout, size) };
            if !larger.is_null() {
                return larger;
            }
        }
        // SAFETY: the caller guarantees that the size is valid and not 0.
        let new = unsafe { self.alloc(Layout::from_size_align_unchecked(size, layout.align())) };
        if !new.is_null() {
            // SAFETY: both have that many bytes, and the old memory is given back to its owner.
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

    /// Pieces do not overlap and are aligned, and the whole reserve is free again after the last
    /// piece is given back.
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
        // SAFETY: a piece is moved to the system's memory and freed there.
        unsafe {
            let p = Own::take(layout(5, 1));
            p.write_bytes(7, 5);
            let q = Reserve(System).realloc(p, layout(5, 1), 500);
            assert!(!Own::has(q) && std::slice::from_raw_parts(q, 5) == [7; 5]);
            Reserve(System).dealloc(q, layout(500, 1));
        }
        // A piece that was given back serves the next request of its class.
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
