//! Device memory: stream-ordered allocations from a pool of the context, with a limit on their
//! bytes.

use super::driver;
use super::gpu::{Gpu, Uncaptured};
use super::state::Stream;
use super::table::lock;
use crate::error::{INVALID_ARGUMENT, OUT_OF_MEMORY, Result, fail};
use crate::guards::{GUARD, PATTERN, is_on};
use crate::memory::elements_of;
use arraygpu_compiler::counted;
use cudarc::driver::sys::CUpointer_attribute::{self, *};
use cudarc::driver::sys::{CUdeviceptr, CUmemorytype, CUstream};
use std::ffi::c_void;
use std::ptr::without_provenance_mut;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};

const NO_MEMORY: driver::Code = 2;

impl Gpu {
    /// Allocates that many bytes on a raw stream of this context, not cleared. They count as used
    /// until `free_on` frees them.
    pub(super) fn allocate_on(&self, bytes: u64, stream: CUstream) -> Result<CUdeviceptr> {
        let Ok(signed) = i64::try_from(bytes) else {
            fail!(OUT_OF_MEMORY, "{bytes} bytes are more than any device has");
        };
        self.usage.take(signed)?;
        // in the strictest capture mode only the captured stream may allocate; on it the allocation
        // is a part of the capture
        let (api, _uncaptured, mut address) = (self.api(), Uncaptured::enter(self.api()), 0);
        // SAFETY: the pointer is to a local variable; the pool and the stream are those of this
        // context.
        let mut code = unsafe { (api.allocate)(&mut address, bytes as usize, self.pool, stream) };
        if code == NO_MEMORY {
            // freed memory may still wait for its work, or be kept in pieces of unsuitable size
            // SAFETY: the reason is the same as above.
            code = unsafe {
                (api.stream_synchronize)(self.own_stream().raw);
                (api.pool_trim)(self.pool, 0);
                (api.allocate)(&mut address, bytes as usize, self.pool, stream)
            };
        }
        if code == 0 {
            self.usage.had(signed)
        } else {
            self.usage.untake(signed)
        }
        let (used, title) = (self.usage.get().0, self.device.title());
        self.check(code, format_args!("allocating {bytes} bytes beside {used} on {title}"))?;
        Ok(address)
    }

    /// Frees memory after what is queued on the stream.
    pub(super) fn free_on(&self, address: CUdeviceptr, bytes: u64, stream: CUstream) {
        let _uncaptured = Uncaptured::enter(self.api());
        // SAFETY: this library made the allocation, and frees it once.
        match unsafe { (self.api().free)(address, stream) } {
            0 => self.usage.give(bytes as i64),
            // it is freed with the context, if the process is not ending and the device has not
            // failed
            _ => lock(&self.lasting).push((address, bytes)),
        }
    }
}

/// Memory on a GPU, owned or borrowed, and the streams that used it last.
///
/// A use on another stream waits for the mark of the last stream (`stream.rs`). But if a call in another thread is
/// still queueing work on the last stream, that work may use the memory, too, and the mark does not cover it. Then
/// both streams are remembered, and the next use waits for both.
pub(crate) struct Allocation {
    pub gpu: Arc<Gpu>,
    pub address: CUdeviceptr,
    /// The size in bytes, or 0 if the memory is borrowed or there is none.
    bytes: u64,
    /// The one stream that used the memory last (`Stream::tag`), or `SEVERAL`.
    last: AtomicU64,
    /// The streams that used the memory last, if there are several.
    several: Mutex<Vec<u64>>,
}

/// The value of `Allocation::last` if several streams used the memory last.
const SEVERAL: u64 = u64::MAX;

/// Returns the index of the stream of this tag.
fn index_of(tag: u64) -> usize {
    tag as u32 as usize
}

impl Allocation {
    /// Allocates memory for `count` elements of `size` bytes, first used on that stream. The
    /// device's context is current.
    pub fn new(gpu: &Arc<Gpu>, count: i64, size: usize, stream: &Stream) -> Result<Allocation> {
        let bytes = u64::try_from(count).ok().and_then(|n| n.checked_mul(size as u64));
        let made = match bytes {
            Some(0) => Ok(0),
            Some(bytes) => gpu.allocate_on(with_guard(bytes), stream.raw),
            None => fail!(OUT_OF_MEMORY, "no memory for {}", elements_of(count, size)),
        };
        let address =
            made.map_err(|e| if e.status == OUT_OF_MEMORY { e.of(&elements_of(count, size)) } else { e })?;
        let made = Allocation::used(gpu, address, bytes.unwrap_or(0), stream.tag());
        match guard(gpu, stream, &made) {
            Ok(()) => Ok(made),
            Err(e) => {
                made.free_on(stream);
                Err(e)
            }
        }
    }

    /// Allocates memory as `new` does, sets it to zeros, and uses the context's own stream.
    pub fn zeroed(gpu: &Arc<Gpu>, count: i64, size: usize) -> Result<Allocation> {
        let (_current, _uncaptured) = (gpu.enter()?, Uncaptured::enter(gpu.api()));
        let made = Allocation::new(gpu, count, size, gpu.own_stream())?;
        made.clear(gpu.own_stream())?;
        Ok(made)
    }

    /// Borrows memory of the caller.
    pub fn borrowed(gpu: &Arc<Gpu>, address: CUdeviceptr) -> Allocation {
        Allocation::used(gpu, address, 0, 0)
    }

    fn used(gpu: &Arc<Gpu>, address: CUdeviceptr, bytes: u64, last: u64) -> Allocation {
        let (last, several) = (AtomicU64::new(last), Mutex::default());
        Allocation { gpu: gpu.clone(), address, bytes, last, several }
    }

    /// Sets all bytes to zero on a stream.
    fn clear(&self, stream: &Stream) -> Result<()> {
        if self.bytes == 0 {
            return Ok(());
        }
        // SAFETY: the allocation has that many bytes.
        let code = unsafe { (self.gpu.api().set_u8)(self.address, 0, self.bytes as usize, stream.raw) };
        self.gpu.check(code, format_args!("clearing {} bytes", self.bytes))
    }

    /// Returns the tags of the streams that used the memory last.
    fn last_tags(&self) -> Vec<u64> {
        let several = lock(&self.several);
        match self.last.load(SeqCst) {
            SEVERAL => several.clone(),
            one => vec![one],
        }
    }

    /// Returns the streams that used the memory last, by ascending index. A stream that was lent to another user
    /// since is left out: its error records are not about this memory.
    pub(super) fn last_streams(&self) -> Vec<&Stream> {
        let stream = |tag: u64| self.gpu.streams.get(index_of(tag)).filter(|s| s.tag() == tag);
        let mut all: Vec<&Stream> = self.last_tags().into_iter().filter_map(stream).collect();
        all.sort_by_key(|s| s.index);
        all
    }

    /// Returns the address of the guard, if launches are checked and the memory is not borrowed.
    pub(super) fn guard(&self) -> Option<CUdeviceptr> {
        (with_guard(self.bytes) > self.bytes).then_some(self.address + self.bytes)
    }

    /// Returns the address of element 0, which is null if there is none.
    pub fn data(&self) -> *mut u8 {
        without_provenance_mut(self.address as usize)
    }

    /// Orders later work on the stream after all uses so far. The caller holds the stream as
    /// queueing (`Stream::queueing`) until it is marked.
    #[inline]
    pub fn use_on(&self, stream: &Stream) -> Result<()> {
        if self.last.load(SeqCst) == stream.tag() { Ok(()) } else { self.change_to(stream) }
    }

    #[cold]
    fn change_to(&self, stream: &Stream) -> Result<()> {
        let mut several = lock(&self.several);
        // a thread that does not see this store has registered its stream as queueing before, which is seen below; a
        // thread that does see it waits for the lock
        match self.last.swap(SEVERAL, SeqCst) {
            SEVERAL => {}
            last => several.push(last),
        }
        let mut done = Ok(());
        several.retain(|&tag| {
            let Some(other) = self.gpu.streams.get(index_of(tag)) else { return false };
            if other.index == stream.index || done.is_err() {
                return other.index != stream.index;
            }
            let marked = !other.is_queueing();
            done = self.gpu.order(other, stream);
            !marked || done.is_err()
        });
        if several.is_empty() {
            self.last.store(stream.tag(), SeqCst);
        } else {
            several.push(stream.tag());
        }
        done
    }

    /// Frees the memory after what is queued on the stream, on which it was made.
    pub fn free_on(mut self, stream: &Stream) {
        if self.bytes > 0 {
            self.gpu.free_on(self.address, with_guard(std::mem::take(&mut self.bytes)), stream.raw);
        }
    }
}

/// Returns the size of an allocation for that many bytes of elements, with its guard if launches
/// are checked.
fn with_guard(bytes: u64) -> u64 {
    if bytes > 0 && is_on() { bytes.saturating_add(GUARD as u64) } else { bytes }
}

/// Borrows memory of the caller, which is on this device, managed, or pinned and mapped.
pub(crate) fn wrap(gpu: &Arc<Gpu>, data: *mut c_void, count: i64, size: usize) -> Result<Allocation> {
    if count == 0 {
        return Ok(Allocation::borrowed(gpu, 0));
    }
    let _current = gpu.enter()?;
    let (api, title) = (gpu.api(), gpu.device.title());
    let ask = |which: CUpointer_attribute, answer: *mut c_void| {
        // SAFETY: the driver writes a value of the attribute's type; it accepts any address.
        unsafe { (api.pointer_attribute)(answer, which, data.addr() as CUdeviceptr) }
    };
    let (mut kind, mut ordinal, mut managed, mut device) = (0u32, -1i32, 0u8, 0);
    const INVALID_VALUE: driver::Code = 1;
    match ask(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (&raw mut kind).cast()) {
        INVALID_VALUE => fail!(
            INVALID_ARGUMENT,
            "data is {data:p}, which CUDA does not know: host memory? The context's device is {title}"
        ),
        code => gpu.check(code, "cuPointerGetAttribute")?,
    }
    gpu.check(ask(CU_POINTER_ATTRIBUTE_IS_MANAGED, (&raw mut managed).cast()), "cuPointerGetAttribute")?;
    gpu.check(ask(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, (&raw mut ordinal).cast()), "cuPointerGetAttribute")?;
    const HOST: u32 = CUmemorytype::CU_MEMORYTYPE_HOST as u32;
    if kind != HOST && managed == 0 && ordinal != gpu.device.ordinal {
        fail!(INVALID_ARGUMENT, "data is memory of CUDA device {ordinal}, the context's device is {title}");
    }
    if ask(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, (&raw mut device).cast()) != 0 {
        fail!(INVALID_ARGUMENT, "data is {data:p}, host memory that is not mapped for {title}");
    }
    // the allocation's size is checked where the driver knows it
    let (mut start, mut room, data) = (0u64, 0usize, data.addr() as u64);
    if ask(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, (&raw mut start).cast()) == 0
        && ask(CU_POINTER_ATTRIBUTE_RANGE_SIZE, (&raw mut room).cast()) == 0
        && let Some(room) = start.checked_add(room as u64).and_then(|end| end.checked_sub(data))
        && (count as u64).saturating_mul(size as u64) > room
    {
        fail!(
            INVALID_ARGUMENT,
            "{} are more than the {} of the allocation from data on",
            elements_of(count, size),
            counted(room, "byte")
        );
    }
    Ok(Allocation::borrowed(gpu, device))
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        let (_current, _uncaptured) = (self.gpu.switch(), Uncaptured::enter(self.gpu.api()));
        let own = self.gpu.own_stream();
        // if the free cannot be ordered after a use, wait for it
        let stream = |tag: &u64| self.gpu.streams.get(index_of(*tag));
        let is_done = |tag: &u64| stream(tag).is_none_or(|s| self.gpu.settle(s).is_ok());
        if self.use_on(own).is_ok() || self.last_tags().iter().all(is_done) {
            self.gpu.free_on(self.address, with_guard(self.bytes), own.raw);
        } else {
            // memory that may still be in use is freed with the context
            lock(&self.gpu.lasting).push((self.address, with_guard(self.bytes)));
        }
    }
}

/// Writes the guard bytes after an allocation, on the stream, before all other work on it.
pub(super) fn guard(gpu: &Gpu, stream: &Stream, made: &Allocation) -> Result<()> {
    let Some(guard) = made.guard() else { return Ok(()) };
    // SAFETY: the bytes are those of the allocation.
    let code = unsafe { (gpu.api().set_u8)(guard, PATTERN, GUARD, stream.raw) };
    gpu.check(code, "writing the guard of an array")
}
