//! Runs a launch on the CPU: the tiles of a kernel are spread over threads, under the default
//! floating-point environment.
//!
//! A parallel launch is cut into chunks of tiles. Each thread has a contiguous share of the chunks,
//! so that it walks through memory in order. When its own share is done, it takes chunks from the
//! other shares. The caller returns when all claimed chunks are done; it never waits for a worker
//! that woke up too late to help.

use crate::abi::AgpuKernelArgs;
use crate::cpu::Code;
use crate::error::Result;
use crate::float_environment::FloatEnvironment;
use crate::guard::{guard_thread, guarded};
use crate::interrupt::{Flag, cancelled};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::any::Any;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::Thread;

/// A launch of less work (number of elements times cost of an element) stays on the caller's
/// thread, because waking workers would cost more than they save.
const PARALLEL_WORK: i64 = 1 << 19;
/// The minimum work of a chunk.
const CHUNK_WORK: i64 = 1 << 17;
/// The number of chunks for each thread of a large launch. There are several, so that a thread that
/// starts late finds something left.
const CHUNKS_PER_THREAD: i64 = 16;

/// The threads that compute the launches of a context.
pub(crate) struct Workers {
    /// Number of threads, the caller's among them.
    pub threads: usize,
    /// The host's function that runs tasks in place of threads of our own.
    pub runner: Option<Runner>,
    /// Threads of our own, made at the first parallel launch. `None` if the system refuses them.
    pool: OnceLock<Option<Pool>>,
}

impl Workers {
    pub fn new(threads: usize, runner: Option<Runner>) -> Workers {
        Workers { threads, runner, pool: OnceLock::new() }
    }
}

/// The workers of a context: one less than its threads, because the caller works as well.
pub(crate) struct Pool {
    workers: ThreadPool,
    /// The process that made the threads. Threads do not survive a fork, so a child process
    /// computes alone.
    process: u32,
}

fn pool(workers: &Workers) -> Option<&Pool> {
    let make = || {
        let builder = ThreadPoolBuilder::new().num_threads(workers.threads - 1);
        let builder = builder.thread_name(|i| format!("arraygpu-{i}")).start_handler(|_| guard_thread());
        let workers = without_signals(|| builder.build()).ok()?;
        Some(Pool { workers, process: std::process::id() })
    };
    workers.pool.get_or_init(make).as_ref().filter(|p| p.process == std::process::id())
}

/// Runs `f` while this thread takes no signals. Threads that `f` starts never take any: the
/// program's handlers run on the program's own threads.
fn without_signals<T>(f: impl FnOnce() -> T) -> T {
    let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: makes a set, and swaps it with the thread's, which is written if that succeeds.
    let blocked = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) == 0
    };
    let result = f();
    if blocked {
        // SAFETY: gives the thread its set back.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), null_mut()) };
    }
    result
}

/// The work between two reads of the cancel flag. It takes some milliseconds.
const LOOK_WORK: i64 = 1 << 22;

/// Runs `main` over all tiles, each of which has the work `tile_work`: number of elements times
/// cost. If `tile_work` is `None`, one thread computes the tiles in order. Returns an error if the
/// program cancelled the call.
///
/// # Safety
/// The kernel and its arguments belong together, and stay valid during the call.
pub(crate) unsafe fn run(
    workers: &Workers,
    main: Code,
    args: *const AgpuKernelArgs,
    tiles: i64,
    tile_work: Option<i64>,
) -> Result<()> {
    let flag = Flag::of_thread();
    let large = tile_work.filter(|work| tiles > 1 && tiles.saturating_mul(*work) >= PARALLEL_WORK);
    let helpers = large.filter(|_| workers.threads > 1).and_then(|work| Some((work, helpers(workers)?)));
    let Some((tile_work, helpers)) = helpers else {
        let look = tile_work.map(|work| (LOOK_WORK / work.max(1)).max(1));
        // SAFETY: the caller's promise.
        let done = unsafe { compute(main, args, 0..tiles, look, flag) };
        return if done { Ok(()) } else { Err(cancelled()) };
    };
    let threads = workers.threads as i64;
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
        panic: Mutex::default(),
        flag,
        look: (LOOK_WORK / tile_work).max(1),
        skipped: AtomicBool::new(false),
    });
    match helpers {
        Helpers::Workers(pool) => {
            for first in 1..job.shares.len() {
                let job = job.clone();
                pool.workers.spawn(move || {
                    // The caller has entered the environment, this thread has not.
                    let _environment = FloatEnvironment::enter();
                    job.work(first)
                });
            }
        }
        // SAFETY: the host's function and its data; the job outlives the call, in which all tasks return.
        Helpers::Host(r) => unsafe {
            (r.run)(r.user, threads, Some(task), Arc::as_ptr(&job).cast_mut().cast());
        },
    }
    // The caller takes the chunks that nobody has claimed.
    job.work(0);
    job.wait();
    if let Some(panic) = job.panic.lock().unwrap_or_else(PoisonError::into_inner).take() {
        resume_unwind(panic);
    }
    if job.skipped.load(Ordering::Relaxed) { Err(cancelled()) } else { Ok(()) }
}

/// Computes tiles, and reads the cancel flag, if there is one, after every `look` tiles. Returns
/// false if the flag was raised before all tiles were computed. Without `look` the tiles are
/// computed in order by one call of the kernel, which keeps values in registers from tile to tile.
///
/// # Safety
/// As for [`run`].
unsafe fn compute(
    main: Code,
    args: *const AgpuKernelArgs,
    tiles: Range<i64>,
    look: Option<i64>,
    flag: Flag,
) -> bool {
    let step = look.filter(|_| flag.is_there()).unwrap_or(i64::MAX);
    let mut begin = tiles.start;
    while begin < tiles.end {
        if flag.is_raised() {
            return false;
        }
        let end = begin.saturating_add(step).min(tiles.end);
        // SAFETY: the caller's promise.
        unsafe { main.run(args, begin, end) };
        begin = end;
    }
    true
}

/// The threads that compute beside the caller.
enum Helpers<'a> {
    Workers(&'a Pool),
    Host(&'a Runner),
}

fn helpers(workers: &Workers) -> Option<Helpers<'_>> {
    match &workers.runner {
        Some(runner) => Some(Helpers::Host(runner)),
        None => pool(workers).map(Helpers::Workers),
    }
}

/// The program's function that runs tasks, and its argument.
pub(crate) struct Runner {
    pub run: unsafe extern "C" fn(*mut c_void, i64, Option<Task>, *mut c_void),
    pub user: *mut c_void,
}

/// A task: a function of the job and of the number of the share.
type Task = unsafe extern "C" fn(*mut c_void, i64);

// SAFETY: the host promises that its function may be called by any thread.
unsafe impl Send for Runner {}
// SAFETY: as above.
unsafe impl Sync for Runner {}

/// Computes share `i` of a job, then what is left of the other shares. The program's threads run
/// it.
unsafe extern "C" fn task(job: *mut c_void, i: i64) {
    // SAFETY: the job that `run` handed over, which waits for the host's function.
    let job = unsafe { &*job.cast_const().cast::<Job>() };
    let (_environment, _thread) = (FloatEnvironment::enter(), guarded());
    if let Some(first) = usize::try_from(i).ok().filter(|i| *i < job.shares.len()) {
        job.work(first);
    }
}

struct Job {
    main: Code,
    /// The kernel's arguments. They are valid until all chunks are done, and only a thread that has
    /// claimed a chunk reads them.
    args: *const AgpuKernelArgs,
    tiles: i64,
    chunk: i64,
    chunks: i64,
    shares: Box<[Share]>,
    done: AtomicI64,
    caller: Thread,
    /// The first panic in a chunk. The caller continues it when all chunks are done.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// The caller's cancel flag. No further tile is computed once it is raised.
    flag: Flag,
    /// Number of tiles between two reads of the flag.
    look: i64,
    /// Whether tiles were left out because the flag was raised.
    skipped: AtomicBool,
}

/// A thread's chunks: the next one to claim, and the end. It has a cache line of its own, because
/// threads that write to one line slow each other down.
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
    /// Claims and runs chunks until none is left, those of share `first` before the others.
    fn work(&self, first: usize) {
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

    /// Runs a chunk that this thread has claimed.
    fn run(&self, c: i64) {
        let begin = c * self.chunk;
        let tiles = begin..(begin + self.chunk).min(self.tiles);
        // SAFETY: this chunk is claimed and not done, so the caller is still in `run`, whose contract covers the
        // rest.
        let compute = || unsafe { compute(self.main, self.args, tiles, Some(self.look), self.flag) };
        match catch_unwind(AssertUnwindSafe(compute)) {
            Ok(done) => drop(self.skipped.fetch_or(!done, Ordering::Relaxed)),
            Err(panic) => *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic),
        }
        if self.done.fetch_add(1, Ordering::Release) + 1 == self.chunks {
            self.caller.unpark();
        }
    }

    /// Waits until all chunks are done: spins for a short time, then sleeps.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context;
    use crate::cuda::chosen;
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    /// Runs `f` over 64 tiles with enough work for a parallel launch, on four threads.
    fn launch(f: fn(i64, i64)) {
        let (_, context) = context::create(4, chosen::CPU, context::Own::default()).unwrap();
        // SAFETY: the code takes no arguments.
        unsafe { run(&context.host.workers, Code::Test(f), std::ptr::null(), 64, Some(1 << 20)) }.unwrap();
    }

    #[test]
    fn a_panic_reaches_the_caller_when_all_is_done() {
        static DONE: AtomicUsize = AtomicUsize::new(0);
        let work = |begin: i64, end: i64| {
            std::thread::sleep(Duration::from_millis(1));
            DONE.fetch_add((end - begin) as usize, Ordering::Relaxed);
            assert!(begin % 5 != 3, "tile {begin}");
        };
        let caught = catch_unwind(|| launch(work)).unwrap_err();
        let text = caught.downcast_ref::<String>().unwrap();
        assert!(text.starts_with("tile "), "{text}");
        assert_eq!(DONE.load(Ordering::Relaxed), 64, "no thread is still at work");
    }

    #[test]
    fn workers_take_no_signal() {
        static OPEN: AtomicUsize = AtomicUsize::new(0);
        static WORKERS: AtomicUsize = AtomicUsize::new(0);
        launch(|_, _| {
            std::thread::sleep(Duration::from_millis(2));
            if !std::thread::current().name().unwrap_or_default().starts_with("arraygpu-") {
                return;
            }
            WORKERS.fetch_add(1, Ordering::Relaxed);
            for signal in [libc::SIGUSR1, libc::SIGINT, libc::SIGALRM, libc::SIGTERM] {
                let mut held = MaybeUninit::uninit();
                // SAFETY: asks for the set, and looks into it.
                let is_held = unsafe {
                    libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), held.as_mut_ptr());
                    libc::sigismember(held.as_ptr(), signal) == 1
                };
                OPEN.fetch_add(usize::from(!is_held), Ordering::Relaxed);
            }
        });
        assert!(WORKERS.load(Ordering::Relaxed) > 0 && OPEN.load(Ordering::Relaxed) == 0);
    }
}
