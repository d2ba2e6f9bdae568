//! A context's share of a GPU: the device's primary context, a stream and a memory pool of its own, and the code it loaded.

use super::device::Device;
use super::driver::{self, Api};
use super::open::{Driver, driver};
use super::state::{Code, NON_BLOCKING, Stream, Words};
use super::table::Table;
use crate::error::{DEVICE, Error, Result, error};
use crate::usage::Usage;
use cudarc::driver::sys::*;
use std::ffi::{c_uint, c_void};
use std::fmt::Display;
use std::ptr::null_mut;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex, OnceLock};

/// Shared by a context and its buffers; the last of them frees it.
pub(crate) struct Gpu {
    pub driver: &'static Driver,
    pub device: &'static Device,
    /// The device's primary context, which the CUDA runtime of the same process uses, too.
    pub raw: CUcontext,
    pub(super) pool: CUmemoryPool,
    /// For what must not wait for queued work, nor be captured with it.
    pub(super) aside: CUstream,
    /// Stream 0 is the context's own, the others are the caller's.
    pub(super) streams: Table<Stream>,
    /// One at a time adds a stream.
    pub(super) adding: Mutex<()>,
    /// Device memory that stays until the end: (address, bytes).
    pub(super) lasting: Mutex<Vec<(CUdeviceptr, u64)>>,
    pub usage: Usage,
    pub(super) words: Words,
    pub(super) code: Code,
    /// Kernels of packages and programs launched so far.
    pub launches: AtomicI64,
    /// The first error after which nothing runs any more.
    poison: OnceLock<String>,
}

// SAFETY: the driver's handles may be used from any thread; all else synchronises itself.
unsafe impl Send for Gpu {}
// SAFETY: as above.
unsafe impl Sync for Gpu {}

/// The device's context is the thread's current one; the caller's is back when this goes.
pub(crate) struct Entered {
    api: &'static Api,
    previous: Option<CUcontext>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(previous) = self.previous {
            // SAFETY: what was current before.
            unsafe { (self.api.context_set)(previous) };
        }
    }
}

/// This thread may allocate and load although some stream is being captured; such calls of ours take no part in the capture.
pub(super) struct Uncaptured {
    api: &'static Api,
    mode: c_uint,
}

impl Uncaptured {
    pub fn enter(api: &'static Api) -> Uncaptured {
        let mut mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED as c_uint;
        // SAFETY: exchanges the thread's mode with the local; a failure changes nothing.
        let code = unsafe { (api.capture_mode)(&mut mode) };
        Uncaptured { api, mode: if code == 0 { mode } else { 0 } }
    }
}

impl Drop for Uncaptured {
    fn drop(&mut self) {
        // SAFETY: gives the mode back.
        unsafe { (self.api.capture_mode)(&mut self.mode) };
    }
}

impl Gpu {
    /// A context of its own on a device.
    pub fn open(device: &'static Device) -> Result<Arc<Gpu>> {
        let gpu = Arc::new(Gpu::new(device)?);
        Gpu::register(&gpu);
        Ok(gpu)
    }

    fn new(device: &'static Device) -> Result<Gpu> {
        let driver = driver()?;
        let api = &driver.api;
        let mut gpu = Gpu {
            driver,
            device,
            raw: null_mut(),
            pool: null_mut(),
            aside: null_mut(),
            streams: Table::new(),
            adding: Mutex::new(()),
            lasting: Mutex::new(Vec::new()),
            usage: Usage::new(),
            words: Words::new(),
            code: Code::new(),
            launches: AtomicI64::new(0),
            poison: OnceLock::new(),
        };
        // from here on, what was made goes with `gpu`
        // SAFETY: pointers to locals and fields; a device of the driver.
        unsafe {
            let code = (api.primary_retain)(&mut gpu.raw, device.raw);
            gpu.check(code, format_args!("using {}", device.title()))?;
            let _uncaptured = Uncaptured::enter(api);
            let _current = gpu.switch()?;
            let code = (api.stream_create)(&mut gpu.aside, NON_BLOCKING);
            gpu.check(code, "cuStreamCreate")?;
            gpu.make_pool()?;
            let own = Stream::ours(&gpu, 0)?;
            gpu.streams.get_or_init(0, || own);
        }
        Ok(gpu)
    }

    fn make_pool(&mut self) -> Result<()> {
        let props = CUmemPoolProps {
            allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            handleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            location: CUmemLocation {
                type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
                id: self.device.ordinal,
            },
            win32SecurityAttributes: null_mut(),
            reserved: [0; 64],
        };
        let (api, mut keep) = (&self.driver.api, u64::MAX);
        // SAFETY: pointers to locals and a field, which the driver reads and writes during the calls.
        unsafe {
            let code = (api.pool_create)(&mut self.pool, &props);
            self.check(code, "cuMemPoolCreate")?;
            // what was freed stays ours: allocations of the steady state cost no system call
            let keep = (&raw mut keep).cast::<c_void>();
            let threshold = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
            self.check((api.pool_set)(self.pool, threshold, keep), "cuMemPoolSetAttribute")
        }
    }

    pub(super) fn api(&self) -> &'static Api {
        &self.driver.api
    }

    /// Makes the device's context current; an error if it has failed.
    #[inline]
    pub fn enter(&self) -> Result<Entered> {
        match self.poison.get() {
            None => self.switch(),
            Some(message) => Err(self.poisoned(message)),
        }
    }

    #[cold]
    fn poisoned(&self, message: &str) -> Error {
        error(DEVICE, format!("{} cannot be used any more in this process: {message}", self.device.title()))
    }

    /// Makes the device's context current.
    #[inline]
    pub(super) fn switch(&self) -> Result<Entered> {
        let (api, mut current) = (self.api(), null_mut());
        // SAFETY: a pointer to a local, then a context that we retain.
        unsafe {
            self.check((api.context_get)(&mut current), "cuCtxGetCurrent")?;
            if current == self.raw {
                return Ok(Entered { api, previous: None });
            }
            self.check((api.context_set)(self.raw), "cuCtxSetCurrent")?;
        }
        Ok(Entered { api, previous: Some(current) })
    }

    /// Turns the driver's answer into a result; `what` says what was tried, with its sizes.
    #[inline]
    pub fn check(&self, code: driver::Code, what: impl Display) -> Result<()> {
        if code == 0 { Ok(()) } else { Err(self.failed(code, &what)) }
    }

    #[cold]
    fn failed(&self, code: driver::Code, what: &dyn Display) -> Error {
        let e = self.api().error(code, what);
        if driver::is_sticky(code) {
            let _ = self.poison.set(e.message.clone());
        }
        e
    }
}

impl Drop for Gpu {
    /// Waits for queued work, then gives everything back. Errors (a process that is ending, a device that failed) do not matter.
    fn drop(&mut self) {
        let api = self.api();
        if self.raw.is_null() {
            return;
        }
        // SAFETY: handles that we made, each once; nothing of this context is used any more.
        unsafe {
            let uncaptured = Uncaptured::enter(api);
            let current = self.switch();
            for stream in self.streams.iter() {
                let _ = self.settle(stream);
            }
            for (address, _) in self.lasting.get_mut().map(std::mem::take).unwrap_or_default() {
                (api.free)(address, self.aside);
            }
            // null would be the legacy default stream, with the program's own work
            if !self.aside.is_null() {
                (api.stream_synchronize)(self.aside);
            }
            self.words.free(api);
            self.code.unload(api, |_| true);
            for stream in self.streams.drain() {
                stream.destroy(api);
            }
            if !self.pool.is_null() {
                (api.pool_destroy)(self.pool);
            }
            if !self.aside.is_null() {
                (api.stream_destroy)(self.aside);
            }
            drop(current);
            (api.primary_release)(self.device.raw);
            drop(uncaptured);
        }
    }
}
