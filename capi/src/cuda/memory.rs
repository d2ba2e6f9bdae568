//! Device memory: stream-ordered, from a pool of the context, with a cap.

use super::driver;
use super::gpu::{Gpu, Uncaptured};
use super::state::Stream;
use super::table::lock;
use crate::error::{INVALID_ARGUMENT, OUT_OF_MEMORY, Result, fail};
use crate::guards::{GUARD, PATTERN, is_on};
use cudarc::driver::sys::CUpointer_attribute::{self, *};
use cudarc::driver::sys::{CUdeviceptr, CUmemorytype, CUstream};
use std::ffi::c_void;
use std::ptr::without_provenance_mut;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};

const NO_MEMORY: driver::Code = 2;

impl Gpu {
    /// So many bytes on a raw stream of this context, not cleared. Accounted for; freed by `free_on`.
    pub(super) fn allocate_on(&self, bytes: u64, stream: CUstream) -> Result<CUdeviceptr> {
        let Ok(signed) = i64::try_from(bytes) else {
            fail!(OUT_OF_MEMORY, "{bytes} bytes are more than any device has");
        };
        self.usage.take(signed)?;
        // not on another stream than the captured one, in the strictest mode; on that one it stays a part of the capture
        let (api, _uncaptured, mut address) = (self.api(), Uncaptured::enter(self.api()), 0);
        // SAFETY: a pointer to a local, our pool, a stream of this context.
        let mut code = unsafe { (api.allocate)(&mut address, bytes as usize, self.pool, stream) };
        if code == NO_MEMORY {
            // what was freed may still wait for its work, or be kept in unsuitable pieces
            // SAFETY: as above.
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

    /// Gives memory back after what is queued on that stream.
    pub(super) fn free_on(&self, address: CUdeviceptr, bytes: u64, stream: CUstream) {
        let _uncaptured = Uncaptured::enter(self.api());
        // SAFETY: an allocation of ours, freed once.
        match unsafe { (self.api().free)(address, stream) } {
            0 => self.usage.give(bytes as i64),
            // it goes with the context, as far as an ending process or a failed device lets it
            _ => lock(&self.lasting).push((address, bytes)),
        }
    }
}

/// Memory on a GPU, owned or borrowed, and the stream that used it last.
///
/// A use on another stream comes after what that one was marked for. A call in another thread that is still queueing there may use the memory,
/// too, and is not marked yet: then both streams are kept, for the next use to come after them.
pub(crate) struct Allocation {
    pub gpu: Arc<Gpu>,
    pub address: CUdeviceptr,
    /// 0: borrowed, or nothing.
    bytes: u64,
    /// The index of the one stream to come after, or SEVERAL.
    last: AtomicU32,
    /// The streams to come after, if there are several.
    several: Mutex<Vec<u32>>,
}

/// Instead of a stream's index.
const SEVERAL: u32 = u32::MAX;

impl Allocation {
    /// Memory for `count` elements of `size` bytes, first used on that stream. The device's context is current.
    pub fn new(gpu: &Arc<Gpu>, count: i64, size: usize, stream: &Stream) -> Result<Allocation> {
        let bytes = u64::try_from(count).ok().and_then(|n| n.checked_mul(size as u64));
        let made = match bytes {
            Some(0) => Ok(0),
            Some(bytes) => gpu.allocate_on(with_guard(bytes), stream.raw),
            None => fail!(OUT_OF_MEMORY, "no memory for {count} elements of {size} bytes"),
        };
        let address = made.map_err(|e| {
            if e.status == OUT_OF_MEMORY { e.of(&format!("{count} elements of {size} bytes")) } else { e }
        })?;
        let made = Allocation::used(gpu, address, bytes.unwrap_or(0), stream.index);
        match guard(gpu, stream, &made) {
            Ok(()) => Ok(made),
            Err(e) => {
                made.free_on(stream);
                Err(e)
            }
        }
    }

    /// The same of zeros, on the context's own stream.
    pub fn zeroed(gpu: &Arc<Gpu>, count: i64, size: usize) -> Result<Allocation> {
        let (_current, _uncaptured) = (gpu.enter()?, Uncaptured::enter(gpu.api()));
        let made = Allocation::new(gpu, count, size, gpu.own_stream())?;
        made.clear(gpu.own_stream())?;
        Ok(made)
    }

    /// Memory of the caller.
    pub fn borrowed(gpu: &Arc<Gpu>, address: CUdeviceptr) -> Allocation {
        Allocation::used(gpu, address, 0, 0)
    }

    fn used(gpu: &Arc<Gpu>, address: CUdeviceptr, bytes: u64, last: u32) -> Allocation {
        let (last, several) = (AtomicU32::new(last), Mutex::default());
        Allocation { gpu: gpu.clone(), address, bytes, last, several }
    }

    /// Clears all bytes on a stream.
    fn clear(&self, stream: &Stream) -> Result<()> {
        if self.bytes == 0 {
            return Ok(());
        }
        // SAFETY: memory of ours of that many bytes.
        let code = unsafe { (self.gpu.api().set_u8)(self.address, 0, self.bytes as usize, stream.raw) };
        self.gpu.check(code, format_args!("clearing {} bytes", self.bytes))
    }

    /// The streams that used it last, by ascending index.
    pub(super) fn last_streams(&self) -> Vec<u32> {
        let several = lock(&self.several);
        match self.last.load(SeqCst) {
            SEVERAL => {
                let mut all = several.clone();
                all.sort();
                all
            }
            one => vec![one],
        }
    }

    /// Where its guard is, if launches are checked and it is memory of ours.
    pub(super) fn guard(&self) -> Option<CUdeviceptr> {
        (with_guard(self.bytes) > self.bytes).then_some(self.address + self.bytes)
    }

    /// Address of element 0; null when there is none.
    pub fn data(&self) -> *mut u8 {
        without_provenance_mut(self.address as usize)
    }

    /// What comes on the stream comes after all uses so far. The stream is held as queueing (`Stream::queueing`) until it is marked.
    #[inline]
    pub fn use_on(&self, stream: &Stream) -> Result<()> {
        if self.last.load(SeqCst) == stream.index { Ok(()) } else { self.change_to(stream) }
    }

    #[cold]
    fn change_to(&self, stream: &Stream) -> Result<()> {
        let mut several = lock(&self.several);
        // who does not see this holds his stream as queueing already; who does waits for the lock
        match self.last.swap(SEVERAL, SeqCst) {
            SEVERAL => {}
            last => several.push(last),
        }
        let mut done = Ok(());
        several.retain(|&index| {
            let Some(other) = self.gpu.streams.get(index as usize) else { return false };
            if index == stream.index || done.is_err() {
                return index != stream.index;
            }
            let marked = !other.is_queueing();
            done = self.gpu.order(other, stream);
            !marked || done.is_err()
        });
        if several.is_empty() {
            self.last.store(stream.index, SeqCst);
        } else {
            several.push(stream.index);
        }
        done
    }

    /// Frees the memory after what is queued on the stream that it was made on.
    pub fn free_on(mut self, stream: &Stream) {
        if self.bytes > 0 {
            self.gpu.free_on(self.address, with_guard(std::mem::take(&mut self.bytes)), stream.raw);
        }
    }
}

/// Bytes of an allocation for so many of elements.
fn with_guard(bytes: u64) -> u64 {
    if bytes > 0 && is_on() { bytes.saturating_add(GUARD as u64) } else { bytes }
}

/// Memory of the caller: on this device, managed, or pinned and mapped.
pub(crate) fn wrap(gpu: &Arc<Gpu>, data: *mut c_void, count: i64, size: usize) -> Result<Allocation> {
    if count == 0 {
        return Ok(Allocation::borrowed(gpu, 0));
    }
    let _current = gpu.enter()?;
    let (api, title) = (gpu.api(), gpu.device.title());
    let ask = |which: CUpointer_attribute, answer: *mut c_void| {
        // SAFETY: the driver writes what the attribute is; the address may be any.
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
    // where the driver knows the allocation
    let (mut start, mut room, data) = (0u64, 0usize, data.addr() as u64);
    if ask(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, (&raw mut start).cast()) == 0
        && ask(CU_POINTER_ATTRIBUTE_RANGE_SIZE, (&raw mut room).cast()) == 0
        && let Some(room) = start.checked_add(room as u64).and_then(|end| end.checked_sub(data))
        && (count as u64).saturating_mul(size as u64) > room
    {
        fail!(
            INVALID_ARGUMENT,
            "{count} elements of {size} bytes are more than the {room} bytes of the allocation from data on"
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
        // a use that the free cannot be ordered after is waited for
        let is_done = |i: &u32| self.gpu.streams.get(*i as usize).is_none_or(|s| self.gpu.settle(s).is_ok());
        if self.use_on(own).is_ok() || self.last_streams().iter().all(is_done) {
            self.gpu.free_on(self.address, with_guard(self.bytes), own.raw);
        } else {
            // what may still be in use goes with the context
            lock(&self.gpu.lasting).push((self.address, with_guard(self.bytes)));
        }
    }
}

/// The guard behind an allocation, written on the stream before anything else comes there.
pub(super) fn guard(gpu: &Gpu, stream: &Stream, made: &Allocation) -> Result<()> {
    let Some(guard) = made.guard() else { return Ok(()) };
    // SAFETY: bytes of that allocation.
    let code = unsafe { (gpu.api().set_u8)(guard, PATTERN, GUARD, stream.raw) };
    gpu.check(code, "writing the guard of an array")
}
