//! Words of host memory that kernels write scalar results into.

use super::driver::Api;
use super::gpu::{Gpu, Uncaptured};
use super::state::{Inner, Word, Words};
use super::table::lock;
use crate::error::Result;
use cudarc::driver::sys::{CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE, CUdeviceptr};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex};

/// Of memory that every context of the process, and its kernels, can use.
const FLAGS: u32 = CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE;
/// Words of a block.
const BLOCK: usize = 512;

/// Pinned memory of so many words until the context goes: its address for the host, and for the device.
fn pinned(gpu: &Gpu, inner: &mut Inner, words: usize) -> Result<(*mut u64, CUdeviceptr)> {
    let (api, mut host, mut device) = (gpu.api(), null_mut(), 0);
    let _uncaptured = Uncaptured::enter(api);
    // SAFETY: pointers to locals; the second call asks about the memory that the first one made.
    unsafe {
        let code = (api.host_allocate)(&mut host, words * 8, FLAGS);
        gpu.check(code, format_args!("allocating {} bytes of pinned memory", words * 8))?;
        inner.blocks.push(host);
        gpu.check((api.host_address)(&mut device, host, 0), "cuMemHostGetDevicePointer")?;
    }
    Ok((host.cast(), device))
}

impl Words {
    pub fn new() -> Words {
        Words(Mutex::default())
    }

    pub fn take(&self, gpu: &Gpu) -> Result<Word> {
        let mut inner = lock(&self.0);
        if let Some(word) = inner.free.pop() {
            return Ok(word);
        }
        let (host, device) = pinned(gpu, &mut inner, BLOCK)?;
        inner.words += BLOCK;
        let all = inner.words;
        inner.free.reserve(all); // giving back never allocates
        inner.free.extend(
            (1..BLOCK).rev().map(|i| Word { host: host.wrapping_add(i), device: device + i as u64 * 8 }),
        );
        Ok(Word { host, device })
    }

    /// Words side by side that stay until the context goes: their address for the host, and for the device.
    pub fn lasting(&self, gpu: &Gpu, words: usize) -> Result<(*mut u64, CUdeviceptr)> {
        let mut inner = lock(&self.0);
        pinned(gpu, &mut inner, words)
    }

    pub fn give(&self, word: Word) {
        lock(&self.0).free.push(word);
    }

    /// Frees all memory; no word is in use.
    pub fn free(&mut self, api: &Api) {
        for block in std::mem::take(&mut lock(&self.0).blocks) {
            // SAFETY: a block of ours, freed once.
            unsafe { (api.host_free)(block) };
        }
    }
}

/// A block of pinned memory for the caller.
pub(crate) struct Pinned {
    gpu: Arc<Gpu>,
    host: *mut c_void,
}

// SAFETY: a Pinned owns its memory, as a Box does.
unsafe impl Send for Pinned {}

impl Pinned {
    pub fn new(gpu: &Arc<Gpu>, bytes: usize) -> Result<Pinned> {
        let (_current, mut host) = (gpu.enter()?, null_mut());
        let _uncaptured = Uncaptured::enter(gpu.api());
        // SAFETY: a pointer to a local.
        let code = unsafe { (gpu.api().host_allocate)(&mut host, bytes, FLAGS) };
        gpu.check(code, format_args!("allocating {bytes} bytes of pinned memory"))?;
        Ok(Pinned { gpu: gpu.clone(), host })
    }

    pub fn address(&self) -> *mut c_void {
        self.host
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _current = self.gpu.switch();
        let _uncaptured = Uncaptured::enter(self.gpu.api());
        // SAFETY: ours, freed once; errors (an ending process, a failed device) do not matter.
        unsafe { (self.gpu.api().host_free)(self.host) };
    }
}
