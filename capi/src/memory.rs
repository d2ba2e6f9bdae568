//! Memory of a context on the CPU. It is counted, limited, and comes from the system or from the
//! host's allocator.

use crate::error::{Error, OUT_OF_MEMORY, Result, error};
use crate::guards::{self, GUARD, PATTERN};
use crate::idle::{Block, Idle};
use crate::usage::Usage;
use arraygpu_compiler::counted;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

/// Alignment of every allocation in bytes: that of a cache line and of the widest vector register.
pub(crate) const ALIGN: usize = 64;

/// Says how much memory is asked for: `3 elements of 4 bytes`.
pub(crate) fn elements_of(count: impl std::fmt::Display, size: usize) -> String {
    format!("{} of {}", counted(count, "element"), counted(size, "byte"))
}

/// The host's functions that allocate and free memory, and their first argument.
#[derive(Clone, Copy)]
pub(crate) struct Allocator {
    pub allocate: unsafe extern "C" fn(*mut c_void, usize, usize) -> *mut c_void,
    pub release: unsafe extern "C" fn(*mut c_void, *mut c_void, usize),
    pub user: *mut c_void,
}

// SAFETY: the host guarantees that any thread may call its functions.
unsafe impl Send for Allocator {}
// SAFETY: as above.
unsafe impl Sync for Allocator {}

/// The source of a context's arrays, temporaries and scratch on the CPU.
pub(crate) struct HostMemory {
    pub usage: Usage,
    allocator: Option<Allocator>,
    /// What temporaries of earlier calls had. A context whose memory is limited keeps nothing.
    idle: Idle,
}

impl HostMemory {
    /// Without an allocator the memory comes from the system.
    pub fn new(allocator: Option<Allocator>) -> Arc<HostMemory> {
        Arc::new(HostMemory { usage: Usage::new(), allocator, idle: Idle::new() })
    }

    /// Limits the memory from now on.
    pub fn set_limit(&self, bytes: i64) {
        self.usage.set_limit(bytes);
        self.idle.clear();
    }
}

/// Memory that the library owns.
pub(crate) struct Storage {
    data: *mut u8,
    bytes: usize,
    from: From,
    /// The memory of the context that counts this storage, if there is one.
    of: Option<Arc<HostMemory>>,
}

/// Who gets the memory back.
enum From {
    /// There is no memory to give back.
    Nobody,
    System(Block),
    /// The context's [`Idle`] memory.
    Idle(Block),
    Host(Allocator),
}

// SAFETY: a Storage owns its memory, as a Box does.
unsafe impl Send for Storage {}
// SAFETY: a shared Storage only gives its address away.
unsafe impl Sync for Storage {}

impl Storage {
    /// Allocates memory for `count` elements of `size` bytes, aligned to [`ALIGN`]. It is counted
    /// in the context `of`, if there is one.
    pub fn new(count: i64, size: usize, zeroed: bool, of: Option<&Arc<HostMemory>>) -> Result<Storage> {
        Storage::made(count, size, of, |whole| match of.and_then(|memory| memory.allocator) {
            Some(allocator) => from_host(allocator, whole, zeroed),
            None => from_system(whole, zeroed).map(|(data, block)| (data, From::System(block))),
        })
    }

    /// Allocates memory of a context for a call, which is not cleared: that of an earlier call if there is some.
    pub fn temporary(count: i64, size: usize, of: &Arc<HostMemory>) -> Result<Storage> {
        if of.allocator.is_some() || of.usage.is_limited() || guards::is_on() {
            return Storage::new(count, size, false, Some(of));
        }
        Storage::made(count, size, Some(of), |whole| {
            let idle = whole.checked_add(ALIGN).and_then(|bytes| of.idle.take(bytes));
            let found = idle.map(|block| (aligned(block), block));
            let (data, block) = found.or_else(|| from_system(whole, false)).or_else(|| {
                of.idle.clear();
                from_system(whole, false)
            })?;
            Some((data, From::Idle(block)))
        })
    }

    fn made(
        count: i64,
        size: usize,
        of: Option<&Arc<HostMemory>>,
        allocate: impl FnOnce(usize) -> Option<(*mut u8, From)>,
    ) -> Result<Storage> {
        let too_much = || error(OUT_OF_MEMORY, format!("no memory for {}", elements_of(count, size)));
        let bytes = usize::try_from(count).ok().and_then(|n| n.checked_mul(size));
        let signed = bytes.and_then(|n| i64::try_from(n).ok());
        let (Some(bytes), Some(signed)) = (bytes, signed) else { return Err(too_much()) };
        if bytes == 0 {
            return Ok(Storage { data: null_mut(), bytes, from: From::Nobody, of: None });
        }
        if let Some(memory) = of {
            let of_elements = |e: Error| e.of(&elements_of(count, size));
            memory.usage.take(signed).map_err(of_elements)?;
        }
        let Some((data, from)) = bytes.checked_add(guards::guards()).and_then(allocate) else {
            of.inspect(|memory| memory.usage.untake(signed));
            return Err(too_much());
        };
        of.inspect(|memory| memory.usage.had(signed));
        let before = guards::guards() / 2;
        let made = Storage { data: data.wrapping_add(before), bytes, from, of: of.cloned() };
        for guard in made.guards() {
            // SAFETY: the guards are bytes of this allocation, before and after the elements.
            unsafe { guard.write_bytes(PATTERN, GUARD) };
        }
        Ok(made)
    }

    /// The guards of [`GUARD`] bytes that an array has where launches are checked.
    fn guards(&self) -> impl Iterator<Item = *mut u8> {
        let guarded = guards::is_on() && self.bytes > 0;
        let both = [self.data.wrapping_sub(GUARD), self.data.wrapping_add(self.bytes)];
        both.into_iter().filter(move |_| guarded)
    }

    /// Whether a guard byte beside the elements was overwritten.
    pub fn is_overrun(&self) -> bool {
        // SAFETY: the guards are bytes of this allocation, which were written when it was made.
        self.guards().any(|guard| unsafe { !guards::is_whole(std::slice::from_raw_parts(guard, GUARD)) })
    }

    /// Returns the address of element 0, or null if there are no elements.
    pub fn data(&self) -> *mut u8 {
        self.data
    }
}

/// Allocates from the system, which provides zeroed pages on first touch. The allocator is asked
/// only for its natural alignment, because it would clear over-aligned memory itself; the address
/// is aligned inside the allocation.
fn from_system(bytes: usize, zeroed: bool) -> Option<(*mut u8, Block)> {
    let layout = Layout::from_size_align(bytes.checked_add(ALIGN)?, 16).ok()?;
    // SAFETY: the layout is not empty.
    let raw = unsafe { if zeroed { System.alloc_zeroed(layout) } else { System.alloc(layout) } };
    if raw.is_null() {
        return None;
    }
    let block = Block { raw, layout };
    huge_pages(aligned(block), bytes);
    Some((aligned(block), block))
}

/// Returns the address of the elements in a block.
fn aligned(block: Block) -> *mut u8 {
    block.raw.wrapping_add(block.raw.align_offset(ALIGN))
}

/// Allocates with the host's function. Memory that is not aligned is refused.
fn from_host(allocator: Allocator, bytes: usize, zeroed: bool) -> Option<(*mut u8, From)> {
    // SAFETY: these are the host's function and its argument, as the host passed them.
    let data = unsafe { (allocator.allocate)(allocator.user, bytes, ALIGN) }.cast::<u8>();
    if data.is_null() {
        return None;
    }
    if !data.addr().is_multiple_of(ALIGN) {
        // SAFETY: the memory was allocated a moment ago.
        unsafe { (allocator.release)(allocator.user, data.cast(), bytes) };
        return None;
    }
    if zeroed {
        // SAFETY: the host guarantees that there are this many bytes.
        unsafe { data.write_bytes(0, bytes) };
    }
    Some((data, From::Host(allocator)))
}

impl Drop for Storage {
    fn drop(&mut self) {
        match self.from {
            From::Nobody => {}
            From::System(block) => block.free(),
            From::Idle(block) => match &self.of {
                Some(memory) if !memory.usage.is_limited() => memory.idle.give(block),
                _ => block.free(),
            },
            // SAFETY: the memory was allocated by this allocator and is given back once.
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

/// Asks for huge pages for large memory, which makes first touches and TLB misses cheaper. The
/// system may ignore it.
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
        // SAFETY: the range lies in this allocation. The advice does not change its contents, and a
        // failure does not matter.
        unsafe { madvise(data.wrapping_add(skip).cast(), length, MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn huge_pages(_: *mut u8, _: usize) {}
