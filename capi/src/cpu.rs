//! Running kernels on the CPU: tiles over threads, under the default floating-point environment.
//!
//! A parallel launch is cut into chunks of tiles. Each thread has a contiguous share of them, so that it walks through memory in order, and takes from
//! the others' shares when its own is done. The caller returns when all claimed chunks are done, and never waits for a worker that woke
//! up too late to help.

use crate::abi::AgpuKernelArgs;
use crate::block::Block;
use crate::context::Context;
use crate::error::guard_thread;
use crate::float_environment::FloatEnvironment;
use arraygpu_compiler::kernel::Kernel;
use arraygpu_compiler::plan::Launch;
use arraygpu_compiler::schedule::Versions;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;

/// A launch of less work (elements times cost) stays on the caller's thread: waking workers costs more than they save.
const PARALLEL_WORK: i64 = 1 << 19;
/// A chunk has at least this much work.
const CHUNK_WORK: i64 = 1 << 17;
/// Chunks for each thread of a large launch, so that late threads find something left.
const CHUNKS_PER_THREAD: i64 = 16;

type Native = unsafe extern "C" fn(*const AgpuKernelArgs, i64, i64);

/// Which code of a kernel: the fields of `agpu_cpu_kernel`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Version {
    Contiguous,
    InPlace,
    Strided,
    Finish,
}

/// Code of a kernel for this processor.
#[derive(Clone, Copy)]
pub(crate) enum Code {
    /// Compiled.
    Native(Native),
    /// Interpreted: its tiles.
    Main(*const Block),
    /// Interpreted: its end.
    Finish(*const Block),
}

// SAFETY: code may run on any number of threads; interpreted code is there while its module is.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

/// The versions of a kernel that is interpreted, each made ready when it is first needed.
pub(crate) struct Blocks {
    kernels: Versions,
    finish: Option<Kernel>,
    /// As [`Version`] counts them.
    ready: [OnceLock<Block>; 4],
}

impl Blocks {
    pub fn new(kernels: Versions) -> Blocks {
        let finish = kernels.finish();
        Blocks { kernels, finish, ready: [const { OnceLock::new() }; 4] }
    }

    /// The kernel that has a version, as in C: without outputs there is nothing to be in place.
    pub fn kernel(&self, version: Version) -> Option<&Kernel> {
        let v = &self.kernels;
        match version {
            Version::Contiguous => Some(&v.contiguous),
            Version::InPlace => v.in_place.as_ref().or(Some(&v.contiguous)),
            Version::Strided => v.strided.as_ref(),
            Version::Finish => return self.finish.as_ref(),
        }
        .filter(|k| k.main.is_some())
    }

    /// The code of a version.
    pub fn code(&self, version: Version) -> Option<Code> {
        let kernel = self.kernel(version)?;
        let block: *const Block = self.ready[version as usize].get_or_init(|| Block::new(kernel));
        Some(if version == Version::Finish { Code::Finish(block) } else { Code::Main(block) })
    }
}

impl Code {
    /// Computes tiles; of `finish`: all that comes after them.
    ///
    /// # Safety
    /// Code and arguments belong together, and stay valid during the call.
    pub unsafe fn run(self, args: *const AgpuKernelArgs, begin: i64, end: i64) {
        match self {
            // SAFETY: the caller's promise.
            Code::Native(f) => unsafe { f(args, begin, end) },
            // SAFETY: as above; the module that has the block is running.
            Code::Main(block) => unsafe { (*block).main(&*args, begin, end) },
            // SAFETY: as above.
            Code::Finish(block) => unsafe { (*block).finish(&*args, begin, end) },
        }
    }
}

/// A context's workers: one less than its threads, because the caller works, too.
pub(crate) struct Pool {
    workers: ThreadPool,
    /// Threads do not survive a fork: a child computes alone.
    process: u32,
}

fn pool(context: &Context) -> Option<&Pool> {
    let make = || {
        let builder = ThreadPoolBuilder::new().num_threads(context.threads - 1);
        let builder = builder.thread_name(|i| format!("arraygpu-{i}")).start_handler(|_| guard_thread());
        let workers = builder.build().ok()?;
        Some(Pool { workers, process: std::process::id() })
    };
    context.pool.get_or_init(make).as_ref().filter(|p| p.process == std::process::id())
}

/// Runs `main` over all tiles: units of the launch's grain.
///
/// # Safety
/// The kernel and its arguments belong together, and stay valid during the call.
pub(crate) unsafe fn run(context: &Context, main: Code, args: &AgpuKernelArgs, tiles: i64, launch: &Launch) {
    let tile_work = i64::from(launch.grain) * i64::from(launch.cost.max(1));
    let small = tiles <= 1 || tiles.saturating_mul(tile_work) < PARALLEL_WORK;
    let workers = if launch.sequential || small || context.threads <= 1 { None } else { pool(context) };
    let Some(pool) = workers else {
        // SAFETY: the caller's promise.
        unsafe { main.run(args, 0, tiles) };
        return;
    };
    let threads = context.threads as i64;
    let chunk = (tiles / (threads * CHUNKS_PER_THREAD)).max(CHUNK_WORK / tile_work).max(1);
    let chunks = (tiles - 1) / chunk + 1;
    let threads = threads.min(chunks);
    let share =
        |i: i64| Share { next: AtomicI64::new(i * chunks / threads), end: (i + 1) * chunks / threads };
    let job = Arc::new(Job {
        main,
        args,
        tiles,
        chunk,
        chunks,
        shares: (0..threads).map(share).collect(),
        done: AtomicI64::new(0),
        caller: std::thread::current(),
    });
    for first in 1..job.shares.len() {
        let job = job.clone();
        pool.workers.spawn(move || job.work(first));
    }
    job.work(0);
    job.wait();
}

struct Job {
    main: Code,
    /// Valid until all chunks are done; touched only by who claimed one.
    args: *const AgpuKernelArgs,
    tiles: i64,
    chunk: i64,
    chunks: i64,
    shares: Box<[Share]>,
    done: AtomicI64,
    caller: Thread,
}

/// A thread's chunks: the next to claim, and the end. On a line of its own: threads would slow each other down.
#[repr(align(64))]
struct Share {
    next: AtomicI64,
    end: i64,
}

// SAFETY: `args` is only followed while a claimed chunk is not done, and the caller waits for those.
unsafe impl Send for Job {}
// SAFETY: as above; kernels may run on any number of threads.
unsafe impl Sync for Job {}

impl Job {
    /// Claims and runs chunks until none is left, of share `first` before the others.
    fn work(&self, first: usize) {
        let _environment = FloatEnvironment::enter();
        for share in self.shares[first..].iter().chain(&self.shares[..first]) {
            loop {
                let c = share.next.fetch_add(1, Ordering::Relaxed);
                if c >= share.end {
                    break;
                }
                self.run(c);
            }
        }
    }

    /// Runs a claimed chunk.
    fn run(&self, c: i64) {
        let begin = c * self.chunk;
        // SAFETY: this chunk is claimed and not done, so the caller is still in `run`, whose contract covers the rest.
        unsafe { self.main.run(self.args, begin, (begin + self.chunk).min(self.tiles)) };
        if self.done.fetch_add(1, Ordering::Release) + 1 == self.chunks {
            self.caller.unpark();
        }
    }

    /// Until all chunks are done: spins for a little, then sleeps.
    fn wait(&self) {
        let mut spins = 0;
        while self.done.load(Ordering::Acquire) < self.chunks {
            spins += 1;
            if spins < 2000 {
                std::hint::spin_loop();
            } else {
                std::thread::park();
            }
        }
    }
}
