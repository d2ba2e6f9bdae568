//! A context's share of a GPU: the device's primary context, a stream and a memory pool of its own,
//! and the code that it has loaded.

use super::device::Device;
use super::driver::{self, Api};
use super::open::{Driver, driver};
use super::stamp::Stamp;
use super::state::{Code, NON_BLOCKING, Spare, Stream, Words};
use super::table::Table;
use crate::error::{DEVICE, Error, Result, error};
use crate::profile::Profile;
use crate::usage::Usage;
use cudarc::driver::sys::*;
use std::ffi::{c_uint, c_void};
use std::fmt::Display;
use std::ptr::null_mut;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex, OnceLock};

/// Shared by a context and its buffers; the last owner frees it.
pub(crate) struct Gpu {
    pub driver: &'static Driver,
    pub device: &'static Device,
    /// The device's primary context, which the CUDA runtime of the same process uses, too.
    pub raw: CUcontext,
    pub(super) pool: CUmemoryPool,
    /// A stream for work that must not wait for queued work, nor be captured with it.
    pub(super) aside: CUstream,
    /// The streams; stream 0 is the context's own, the others are the caller's.
    pub(super) streams: Table<Stream>,
    /// Held by the one thread that adds a stream.
    pub(super) adding: Mutex<()>,
    /// Device memory that is freed with the context: (address, bytes).
    pub(super) lasting: Mutex<Vec<(CUdeviceptr, u64)>>,
    /// Workspaces of graphs that were destroyed.
    pub(super) spare: Spare,
    pub usage: Usage,
    pub(super) words: Words,
    pub(super) code: Code,
    /// The number of kernels of packages and programs launched so far.
    pub launches: AtomicI64,
    /// The times of launches, if the program asks for them.
    pub(super) profile: Profile<Stamp>,
    /// The message of the first error after which nothing runs any more.
    poison: OnceLock<String>,
}

// SAFETY: the driver's handles may be used from any thread; everything else synchronises itself.
unsafe impl Send for Gpu {}
// SAFETY: the reason is the same as above.
unsafe impl Sync for Gpu {}

/// While it lives, the device's context is the thread's current one. Dropping it restores the
/// caller's context.
pub(crate) struct Entered {
    api: &'static Api,
    previous: Option<CUcontext>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(previous) = self.previous {
            // SAFETY: this context was current before.
            unsafe { (self.api.context_set)(previous) };
        }
    }
}

/// While it lives, this thread may allocate memory and load code although a stream is being
/// captured; these calls are not part of the capture.
pub(super) struct Uncaptured {
    api: &'static Api,
    mode: c_uint,
}

impl Uncaptured {
    pub fn enter(api: &'static Api) -> Uncaptured {
        let mut mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED as c_uint;
        // SAFETY: it exchanges the thread's mode with the local variable; a failure changes
        // nothing.
        let code = unsafe { (api.capture_mode)(&mut mode) };
        Uncaptured { api, mode: if code == 0 { mode } else { 0 } }
    }
}

impl Drop for Uncaptured {
    fn drop(&mut self) {
        // SAFETY: it restores the thread's mode.
        unsafe { (self.api.capture_mode)(&mut self.mode) };
    }
}

impl Gpu {
    /// Opens a context's share of a device.
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
            spare: Spare::default(),
            usage: Usage::new(),
            words: Words::new(),
            code: Code::new(),
            launches: AtomicI64::new(0),
            profile: Profile::new(),
            poison: OnceLock::new(),
        };
        // from here on, `gpu` frees what was made
        // SAFETY: the pointers are to local variables and fields; the device is one of the
        // driver's.
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
        // SAFETY: the pointers are to local variables and a field, which the driver accesses only
        // during the calls.
        unsafe {
            let code = (api.pool_create)(&mut self.pool, &props);
            self.check(code, "cuMemPoolCreate")?;
            // freed memory stays in the pool, so later allocations need no system call
            let keep = (&raw mut keep).cast::<c_void>();
            let threshold = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
            self.check((api.pool_set)(self.pool, threshold, keep), "cuMemPoolSetAttribute")
        }
    }

    pub(super) fn api(&self) -> &'static Api {
        &self.driver.api
    }

    /// Makes the device's context current; returns an error if it has failed.
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
        // SAFETY: the first pointer is to a local variable; this library retains the context.
        unsafe {
            self.check((api.context_get)(&mut current), "cuCtxGetCurrent")?;
            if current == self.raw {
                return Ok(Entered { api, previous: None });
            }
            self.check((api.context_set)(self.raw), "cuCtxSetCurrent")?;
        }
        Ok(Entered { api, previous: Some(current) })
    }

    /// Turns the driver's result code into a result; `what` says what was tried, with its sizes.
    #[inline]
    pub fn check(&self, code: driver::Code, what: impl Display) -> Result<()> {
        if code == 0 { Ok(()) } else { Err(self.failed(code, &what)) }
    }

    #[cold]
    pub(super) fn failed(&self, code: driver::Code, what: &dyn Display) -> Error {
        let e = self.api().error(code, what);
        if driver::is_sticky(code) {
            let _ = self.poison.set(e.message.clone());
        }
        e
    }
}

impl Drop for Gpu {
    /// Waits for queued work, then frees everything. Errors (the process is ending, the device
    /// failed) are ignored.
    fn drop(&mut self) {
        let api = self.api();
        if self.raw.is_null() {
            return;
        }
        // SAFETY: this library made the handles and frees each once; nothing uses this context any
        // more.
        unsafe {
            let uncaptured = Uncaptured::enter(api);
            let current = self.switch();
            self.profile.switch(false);
            for stream in self.streams.iter() {
                let _ = self.settle(stream);
            }
            for (address, _) in self.lasting.get_mut().map(std::mem::take).unwrap_or_default() {
                (api.free)(address, self.aside);
            }
            // a null handle would mean the legacy default stream, on which the program may have work of its own
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
