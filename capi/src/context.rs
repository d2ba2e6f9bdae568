//! Contexts: a device, and what a context has on the CPU.

use crate::abi::{AgpuContext, AgpuContextOptions};
use crate::calls::Tally;
use crate::cuda::chosen;
use crate::device::Device;
use crate::environment;
use crate::error::{INVALID_ARGUMENT, Result, aligned, fail, out};
use crate::guard::guard;
use crate::handle::{Kind, Pin, Table};
use crate::host::Host;
use crate::log::log;
use crate::memory::{Allocator, HostMemory};
use crate::pool::{Runner, Workers};
use crate::profile::{Profile, Timed};
use arraygpu_compiler::counted;
use std::ptr::without_provenance_mut;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A context. Its buffers share it, so it outlives its handle as long as one of them is there.
pub(crate) struct Context {
    /// For `agpu_buffer_context`. The handle may have been freed since.
    pub handle: OnceLock<usize>,
    /// What the context has on the CPU.
    pub host: Arc<Host>,
    /// Where its arrays are, and where calls run.
    pub device: Box<dyn Device>,
    /// The launches whose names `agpu_context_launch_times` gave to the program last.
    pub timed: Mutex<Vec<Timed>>,
}

impl Context {
    /// Limits the memory that the context may have, on the CPU and on its device, from now on.
    pub fn set_memory_limit(&self, bytes: i64) {
        self.host.memory.set_limit(bytes);
        self.device.usage().set_limit(bytes);
    }
}

static CONTEXTS: Table<Arc<Context>> = Table::new(Kind::Context, "context");
static DEFAULT: OnceLock<(usize, Arc<Context>)> = OnceLock::new();

/// What the program provides for a context, in place of what the system provides.
#[derive(Default)]
pub(crate) struct Own {
    pub allocator: Option<Allocator>,
    pub runner: Option<Runner>,
}

pub(crate) fn create(threads: usize, device: i32, own: Own) -> Result<(usize, Arc<Context>)> {
    let gpu = chosen::open(device)?;
    let host = Arc::new(Host {
        workers: Workers::new(threads, own.runner),
        memory: HostMemory::new(own.allocator),
        launches: Tally::default(),
        profile: Profile::new(),
    });
    let device: Box<dyn Device> = match gpu {
        Some(gpu) => Box::new(gpu),
        None => Box::new(host.clone()),
    };
    let context = Arc::new(Context { handle: OnceLock::new(), host, device, timed: Mutex::default() });
    let handle = CONTEXTS.insert(context.clone())?;
    let _ = context.handle.set(handle);
    log!(Info, "a context on {} with {}", context.device.title(), counted(threads, "thread"));
    Ok((handle, context))
}

fn default_threads() -> Result<usize> {
    let Some(text) = environment::variable("ARRAYGPU_THREADS") else {
        return Ok(std::thread::available_parallelism().map_or(1, |n| n.get().min(MAX_THREADS)));
    };
    let text = text.to_string_lossy();
    match text.trim().parse::<usize>() {
        Ok(n) if (1..=MAX_THREADS).contains(&n) => Ok(n),
        _ => {
            fail!(INVALID_ARGUMENT, "ARRAYGPU_THREADS is `{text}`, expected a number from 1 to {MAX_THREADS}")
        }
    }
}

const MAX_THREADS: usize = 4096;

/// Returns the process's default context, and makes it at the first use.
pub(crate) fn default() -> Result<&'static (usize, Arc<Context>)> {
    static MAKING: Mutex<()> = Mutex::new(());
    if let Some(context) = DEFAULT.get() {
        return Ok(context);
    }
    let _one = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    if DEFAULT.get().is_none() {
        let _ = DEFAULT.set(create(default_threads()?, chosen::DEFAULT, Own::default())?);
    }
    match DEFAULT.get() {
        Some(context) => Ok(context),
        None => unreachable!("set above"),
    }
}

/// Returns why the context is on the CPU, if it is the default context and the program did not ask
/// for the CPU.
pub(crate) fn problem(context: &Arc<Context>) -> Option<String> {
    let is_default = DEFAULT.get().is_some_and(|(_, d)| Arc::ptr_eq(d, context));
    if is_default && !chosen::is_chosen() { chosen::problem() } else { None }
}

/// Returns the context of a handle.
pub(crate) fn pin(context: *mut AgpuContext) -> Result<Pin<Arc<Context>>> {
    CONTEXTS.pin(context.addr())
}

/// Returns the context of a handle, or the default one for NULL.
pub(crate) fn pin_or_default(context: *mut AgpuContext) -> Result<Arc<Context>> {
    if context.is_null() { Ok(default()?.1.clone()) } else { Ok(pin(context)?.clone()) }
}

/// Reads the options. A field that an older version of the struct does not have is 0.
///
/// # Safety
/// `options` is NULL, or a struct of as many bytes as its `size` says.
unsafe fn read(options: *const AgpuContextOptions) -> Result<AgpuContextOptions> {
    /// The size of the struct in its first version.
    const LEAST: usize = std::mem::offset_of!(AgpuContextOptions, memory_limit);
    let mut read = AgpuContextOptions { device: chosen::DEFAULT, ..AgpuContextOptions::default() };
    if options.is_null() {
        return Ok(read);
    }
    aligned(options, "options")?;
    // SAFETY: `size` comes first in every version.
    let size = unsafe { (&raw const (*options).size).read() };
    if size < LEAST {
        fail!(INVALID_ARGUMENT, "options.size is {size}, set it to sizeof(agpu_context_options)");
    }
    let known = size.min(size_of::<AgpuContextOptions>());
    // SAFETY: so many bytes are there, and any bytes of ours are a value of each field: numbers, addresses, functions
    // that may be NULL.
    unsafe { std::ptr::copy_nonoverlapping(options.cast::<u8>(), (&raw mut read).cast(), known) };
    Ok(read)
}

/// Reads the allocator and the runner that the program provides.
fn own(options: &AgpuContextOptions) -> Result<Own> {
    let user = options.user;
    if options.memory_limit < 0 {
        fail!(INVALID_ARGUMENT, "options.memory_limit is {}", options.memory_limit);
    }
    let allocator = match (options.allocate, options.release) {
        (Some(allocate), Some(release)) => Some(Allocator { allocate, release, user }),
        (None, None) => None,
        _ => fail!(INVALID_ARGUMENT, "options.allocate and options.release belong together"),
    };
    Ok(Own { allocator, runner: options.run_tasks.map(|run| Runner { run, user }) })
}

/// Makes a context. If `options` is NULL, the context is on the default device and uses all
/// threads. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_context_create(
    options: *const AgpuContextOptions,
    out: *mut *mut AgpuContext,
) -> crate::abi::AgpuStatus {
    guard(|| {
        let out = self::out(out, "agpu_context_create: out")?;
        // SAFETY: NULL or the caller's, by the contract.
        let options = unsafe { read(options) }.map_err(|e| e.of("agpu_context_create"))?;
        let own = own(&options).map_err(|e| e.of("agpu_context_create"))?;
        let (threads, device) = (options.threads, options.device);
        let threads = match usize::try_from(threads) {
            Ok(0) => default_threads()?,
            Ok(n) if n <= MAX_THREADS => n,
            _ => fail!(
                INVALID_ARGUMENT,
                "agpu_context_create: {}, expected 0 (all) to {MAX_THREADS}",
                counted(threads, "thread")
            ),
        };
        let made = create(threads, device, own).map_err(|e| e.of("agpu_context_create"))?;
        made.1.set_memory_limit(if options.memory_limit == 0 { i64::MAX } else { options.memory_limit });
        out.write(without_provenance_mut(made.0));
        Ok(())
    })
}

/// Returns the process's default context, which is made at its first use. It must not be freed.
/// Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_context_default(out: *mut *mut AgpuContext) -> crate::abi::AgpuStatus {
    guard(|| {
        let out = self::out(out, "agpu_context_default: out")?;
        out.write(without_provenance_mut(default()?.0));
        Ok(())
    })
}

/// Frees a context. NULL is allowed. Buffers may outlive the context, and calls on them still run.
/// Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_context_free(context: *mut AgpuContext) -> crate::abi::AgpuStatus {
    guard(|| {
        if context.is_null() {
            return Ok(());
        }
        if DEFAULT.get().is_some_and(|d| d.0 == context.addr()) {
            fail!(INVALID_ARGUMENT, "agpu_context_free: the default context is never freed");
        }
        CONTEXTS.free(context.addr()).map_err(|e| e.of("agpu_context_free"))
    })
}

/// Writes the number of threads that a context computes with. Thread-safe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_context_threads(
    context: *mut AgpuContext,
    out: *mut i32,
) -> crate::abi::AgpuStatus {
    guard(|| {
        let context = pin(context).map_err(|e| e.of("agpu_context_threads"))?;
        let out = self::out(out, "agpu_context_threads: out")?;
        out.write(i32::try_from(context.host.workers.threads).unwrap_or(i32::MAX));
        Ok(())
    })
}
