//! Memory of a context on the CPU: counted, within a limit, from the system or from the allocator that the host
//! handed in.

use crate::error::{Error, OUT_OF_MEMORY, Result, error};
use crate::guards::{self, GUARD, PATTERN};
use crate::usage::Usage;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

/// Alignment of every allocation: a cache line, and the widest vector register.
pub(crate) const ALIGN: usize = 64;

/// The host's functions that give and take memory, and what they are called with.
#[derive(Clone, Copy)]
pub(crate) struct Allocator {
    pub allocate: unsafe extern "C" fn(*mut c_void, usize, usize) -> *mut c_void,
    pub release: unsafe extern "C" fn(*mut c_void, *mut c_void, usize),
    pub user: *mut c_void,
}

// SAFETY: the host promises that its functions may be called by any thread.
unsafe impl Send for Allocator {}
// SAFETY: as above.
unsafe impl Sync for Allocator {}

/// What a context's arrays, temporaries and scratch on the CPU come from.
pub(crate) struct HostMemory {
    pub usage: Usage,
    allocator: Option<Allocator>,
}

impl HostMemory {
    /// Without an allocator: the system's.
    pub fn new(allocator: Option<Allocator>) -> Arc<HostMemory> {
        Arc::new(HostMemory { usage: Usage::new(), allocator })
    }
}

/// Memory of our own.
pub(crate) struct Storage {
    data: *mut u8,
    bytes: usize,
    from: From,
    /// Where it is counted.
    of: Option<Arc<HostMemory>>,
}

/// Who is to get it back.
enum From {
    /// There is none.
    Nobody,
    System(*mut u8, Layout),
    Host(Allocator),
}

// SAFETY: a Storage owns its memory, as a Box does.
unsafe impl Send for Storage {}
// SAFETY: a shared Storage only gives its address away.
unsafe impl Sync for Storage {}

impl Storage {
    /// Memory for `count` elements of `size` bytes, aligned to [`ALIGN`]; `of` a context, or our own.
    pub fn new(count: i64, size: usize, zeroed: bool, of: Option<&Arc<HostMemory>>) -> Result<Storage> {
        let too_much = || error(OUT_OF_MEMORY, format!("no memory for {count} elements of {size} bytes"));
        let bytes = usize::try_from(count).ok().and_then(|n| n.checked_mul(size));
        let signed = bytes.and_then(|n| i64::try_from(n).ok());
        let (Some(bytes), Some(signed)) = (bytes, signed) else { return Err(too_much()) };
        if bytes == 0 {
            return Ok(Storage { data: null_mut(), bytes, from: From::Nobody, of: None });
        }
        if let Some(memory) = of {
            let of_elements = |e: Error| e.of(&format!("{count} elements of {size} bytes"));
            memory.usage.take(signed).map_err(of_elements)?;
        }
        let had = bytes.checked_add(guards::guards()).and_then(|whole| {
            match of.and_then(|memory| memory.allocator) {
                Some(allocator) => from_host(allocator, whole, zeroed),
                None => from_system(whole, zeroed),
            }
        });
        let Some((data, from)) = had else {
            of.inspect(|memory| memory.usage.untake(signed));
            return Err(too_much());
        };
        of.inspect(|memory| memory.usage.had(signed));
        let before = guards::guards() / 2;
        let made = Storage { data: data.wrapping_add(before), bytes, from, of: of.cloned() };
        for guard in made.guards() {
            // SAFETY: bytes of this allocation, before and behind the elements.
            unsafe { guard.write_bytes(PATTERN, GUARD) };
        }
        Ok(made)
    }

    /// The guards that an array has where launches are checked, of [`GUARD`] bytes.
    fn guards(&self) -> impl Iterator<Item = *mut u8> {
        let guarded = guards::is_on() && self.bytes > 0;
        let both = [self.data.wrapping_sub(GUARD), self.data.wrapping_add(self.bytes)];
        both.into_iter().filter(move |_| guarded)
    }

    /// Whether something was written beside the elements.
    pub fn is_overrun(&self) -> bool {
        // SAFETY: bytes of this allocation, which were written when it was made.
        self.guards().any(|guard| unsafe { !guards::is_whole(std::slice::from_raw_parts(guard, GUARD)) })
    }

    /// Address of element 0; null when there is none.
    pub fn data(&self) -> *mut u8 {
        self.data
    }
}

/// Zeroed memory comes lazily from the system: the allocator is asked for its natural alignment (it would clear
/// over-aligned memory by hand), and we align inside.
fn from_system(bytes: usize, zeroed: bool) -> Option<(*mut u8, From)> {
    let layout = Layout::from_size_align(bytes.checked_add(ALIGN)?, 16).ok()?;
    // SAFETY: the layout is not empty.
    let raw = unsafe { if zeroed { System.alloc_zeroed(layout) } else { System.alloc(layout) } };
    if raw.is_null() {
        return None;
    }
    let data = raw.wrapping_add(raw.align_offset(ALIGN));
    huge_pages(data, bytes);
    Some((data, From::System(raw, layout)))
}

/// What is not aligned is as good as nothing.
fn from_host(allocator: Allocator, bytes: usize, zeroed: bool) -> Option<(*mut u8, From)> {
    // SAFETY: the host's function and its data, as it handed them in.
    let data = unsafe { (allocator.allocate)(allocator.user, bytes, ALIGN) }.cast::<u8>();
    if data.is_null() {
        return None;
    }
    if !data.addr().is_multiple_of(ALIGN) {
        // SAFETY: what it gave a moment ago.
        unsafe { (allocator.release)(allocator.user, data.cast(), bytes) };
        return None;
    }
    if zeroed {
        // SAFETY: the host promises so many bytes.
        unsafe { data.write_bytes(0, bytes) };
    }
    Some((data, From::Host(allocator)))
}

impl Drop for Storage {
    fn drop(&mut self) {
        match self.from {
            From::Nobody => {}
            // SAFETY: allocated in `new` with this layout.
            From::System(raw, layout) => unsafe { System.dealloc(raw, layout) },
            // SAFETY: allocated in `new` by this allocator, given back once.
            From::Host(a) => unsafe {
                let guards = guards::guards();
                (a.release)(a.user, self.data.wrapping_sub(guards / 2).cast(), self.bytes + guards)
            },
        }
        if let Some(memory) = &self.of {
            memory.usage.give(self.bytes as i64);
        }
    }
}

/// Asks for huge pages where the memory is large: first touches and TLB misses cost less. Advice only.
#[cfg(target_os = "linux")]
fn huge_pages(data: *mut u8, bytes: usize) {
    const HUGE: usize = 2 << 20;
    const MADV_HUGEPAGE: i32 = 14;
    unsafe extern "C" {
        fn madvise(address: *mut c_void, length: usize, advice: i32) -> i32;
    }
    if bytes < 2 * HUGE {
        return;
    }
    let skip = data.align_offset(HUGE);
    let length = bytes.saturating_sub(skip) / HUGE * HUGE;
    if length > 0 {
        // SAFETY: the range lies in memory of ours; this advice changes no contents, and its failure does not matter.
        unsafe { madvise(data.wrapping_add(skip).cast(), length, MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn huge_pages(_: *mut u8, _: usize) {}
