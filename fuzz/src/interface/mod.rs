//! Random calls of the C interface, in any order, with handles of any kind and age, on several
//! threads.
//!
//! The contract is kept where the library cannot check it: memory has the size that a call says,
//! texts end, two threads do not write one buffer. All else is left to chance. A call must answer
//! with a status that is not an internal error, say why it fails, and leave what it would have
//! written as it was; calls that are right go on working after any number of wrong ones; and
//! everything can be freed.

mod arrays;
mod build;
mod checks;
mod composites;
mod devices;
mod environment;
mod iterated;
mod joined;
mod modules;
mod stencils;

use checks::CALLS;

use crate::check::Failure;
use crate::count::Counts;
use crate::rng::Rng;
use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use build::Building;
use environment::Environment;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::Mutex;

/// Threads of a session.
const THREADS: usize = 4;
/// Calls of a thread.
const LENGTH: usize = 150;
/// Words of memory that calls may read and write.
const WORDS: usize = 4096;

/// Handles that all threads use, and free: numbers, so that they may be anything.
#[derive(Default)]
struct Shared {
    contexts: Mutex<Vec<usize>>,
    events: Mutex<Vec<usize>>,
    modules: Mutex<Vec<usize>>,
    programs: Mutex<Vec<usize>>,
    buffers: Mutex<Vec<usize>>,
}

/// One of the threads.
struct Thread<'a> {
    rng: Rng,
    shared: &'a Shared,
    /// A context that is freed at the end only, and given only to calls that must succeed.
    safe: *mut AgpuContext,
    /// Buffers that only this thread writes.
    buffers: Vec<*mut AgpuBuffer>,
    views: Vec<AgpuView>,
    building: Vec<Building>,
    /// Memory of `agpu_host_alloc`.
    memory: Vec<usize>,
    /// Memory of this thread's own.
    words: Vec<u64>,
    counts: Counts,
}

/// The functions that are called, all of the interface's: a test compares them with the header's.
pub fn names() -> impl Iterator<Item = &'static str> {
    CALLS.iter().map(|call| call.0)
}

/// Runs the session of a seed; adds how often each function succeeded and failed.
pub fn session(seed: u64, counts: &mut Counts) -> Result<u64, Failure> {
    let shared = Shared::default();
    let done: Vec<Result<Counts, String>> = std::thread::scope(|scope| {
        let thread = |i| {
            let shared = &shared;
            scope.spawn(move || Thread::new(seed * THREADS as u64 + i, shared)?.run())
        };
        let running: Vec<_> = (0..THREADS as u64).map(thread).collect();
        let join = |t: std::thread::ScopedJoinHandle<'_, _>| t.join().unwrap_or(Err("a panic".into()));
        running.into_iter().map(join).collect()
    });
    let mut calls = 0;
    for of_thread in done {
        for (name, n) in of_thread.map_err(Failure::new)? {
            calls += n;
            *counts.entry(name).or_default() += n;
        }
    }
    free_all(shared);
    Ok(calls)
}

/// What is left is freed; much of it was before.
fn free_all(shared: Shared) {
    let all = |list: Mutex<Vec<usize>>| list.into_inner().unwrap_or_default().into_iter();
    // SAFETY: handles are numbers, which are checked.
    unsafe {
        for buffer in all(shared.buffers) {
            agpu_buffer_free(without_provenance_mut(buffer));
        }
        for event in all(shared.events) {
            agpu_event_free(without_provenance_mut(event));
        }
        for program in all(shared.programs) {
            agpu_program_free(without_provenance_mut(program));
        }
        for module in all(shared.modules) {
            agpu_loaded_module_free(without_provenance_mut(module));
        }
        for context in all(shared.contexts) {
            agpu_context_free(without_provenance_mut(context));
        }
    }
}

impl<'a> Thread<'a> {
    fn new(seed: u64, shared: &'a Shared) -> Result<Thread<'a>, String> {
        let options = AgpuContextOptions { device: AGPU_DEVICE_CPU, threads: 2, ..Default::default() };
        let mut safe = null_mut();
        // SAFETY: pointers to locals.
        let status = unsafe { agpu_context_create(&options, &mut safe) };
        if status != AgpuStatus::AgpuOk {
            return Err(format!("no context for right calls: {status:?}"));
        }
        Ok(Thread {
            rng: Rng::new(seed),
            shared,
            safe,
            buffers: Vec::new(),
            views: Vec::new(),
            building: Vec::new(),
            memory: Vec::new(),
            words: vec![0; WORDS],
            counts: Counts::new(),
        })
    }

    fn run(mut self) -> Result<Counts, String> {
        for at in 0..LENGTH {
            let (name, call) = self.rng.pick(CALLS);
            let environment = Environment::pick(&mut self.rng);
            let done = environment.within(|| call(&mut self));
            let succeeded = done.map_err(|e| format!("{name}: {e} (call {at} of its thread)"))?;
            *self.counts.entry(if succeeded { name.into() } else { format!("{name} fails") }).or_default() +=
                1;
            if !succeeded && self.rng.one_in(16) {
                self.right().map_err(|e| format!("after a failed {name}: {e}"))?;
            }
        }
        self.right()?;
        for building in std::mem::take(&mut self.building) {
            // SAFETY: it was not freed.
            unsafe { agpu_builder_free(building.builder) };
        }
        for buffer in self.buffers {
            // SAFETY: a handle is a number.
            unsafe { agpu_buffer_free(buffer) };
        }
        for memory in self.memory {
            // SAFETY: it was not freed.
            unsafe { agpu_host_free(memory as *mut std::ffi::c_void) };
        }
        let (mut in_use, mut peak) = (-1, -1);
        // SAFETY: pointers to locals, a context that is there.
        let status = unsafe { agpu_context_memory(self.safe, &mut in_use, &mut peak) };
        if status != AgpuStatus::AgpuOk || in_use != 0 {
            return Err(format!("{in_use} bytes are left in a context whose buffers are freed ({status:?})"));
        }
        // SAFETY: a handle is a number.
        unsafe { agpu_context_free(self.safe) };
        Ok(self.counts)
    }

    /// A number that is no handle, or one of another kind.
    fn junk(&mut self) -> usize {
        match self.rng.below(4) {
            0 => 0,
            1 => self.rng.below(1000),
            2 => self.rng.bits() as usize,
            _ => self.buffers.last().map_or(7, |b| b.addr()),
        }
    }

    /// One of a list that all threads have, which another one may free meanwhile, or junk.
    fn handle<T>(&mut self, of: impl Fn(&Shared) -> &Mutex<Vec<usize>>) -> *mut T {
        let junk = self.junk();
        let Ok(list) = of(self.shared).lock() else { return null_mut() };
        let of_list =
            if list.is_empty() || self.rng.one_in(8) { junk } else { list[self.rng.below(list.len())] };
        without_provenance_mut(of_list)
    }

    fn keep<T>(&self, of: impl Fn(&Shared) -> &Mutex<Vec<usize>>, handle: *mut T) {
        if let Ok(mut list) = of(self.shared).lock() {
            list.push(handle.expose_provenance());
        }
    }

    /// Forgets a handle that was freed, mostly: if freed handles were used often, few calls would
    /// be valid.
    fn forget<T>(&mut self, of: impl Fn(&Shared) -> &Mutex<Vec<usize>>, freed: bool, handle: *mut T) {
        if freed
            && !self.rng.one_in(8)
            && let Ok(mut list) = of(self.shared).lock()
        {
            list.retain(|n| *n != handle.addr());
        }
    }

    /// A context, of which one in four is wrong.
    fn context(&mut self) -> *mut AgpuContext {
        if self.rng.one_in(4) { null_mut() } else { self.handle(|s| &s.contexts) }
    }

    /// A number for an enum of `n` values: one in eight is none of them.
    fn number<T>(&mut self, n: usize) -> std::mem::MaybeUninit<T> {
        const { assert!(size_of::<T>() == 4) };
        let value = if self.rng.one_in(8) { self.rng.bits() as i32 } else { self.rng.below(n) as i32 };
        let mut out = std::mem::MaybeUninit::<T>::uninit();
        // SAFETY: the enums of the interface are four bytes.
        unsafe { out.as_mut_ptr().cast::<i32>().write(value) };
        out
    }

    /// An index, a length or a stride: mostly small, one in eight is anything but what there is
    /// memory for.
    fn int(&mut self) -> i64 {
        match self.rng.below(8) {
            0 => self.rng.pick(&[i64::MIN, i64::MAX, -1, 1 << 56, -(1 << 56), i64::MAX - 1]),
            _ => self.rng.between(0, 6),
        }
    }

    /// The options of a call.
    fn call(&mut self) -> AgpuCall {
        let context = self.context();
        let stream = if self.rng.one_in(6) { self.junk() } else { 0 };
        let mut call = AgpuCall::on(context, without_provenance_mut(stream));
        if self.rng.one_in(10) {
            call.size = self.rng.pick(&[0, 8, 24, usize::MAX]);
            if call.size == usize::MAX {
                // a newer program's options: only the known fields are read
                call.size = size_of::<AgpuCall>() + 64;
            }
        }
        if self.rng.one_in(6) {
            let words = self.words.as_mut_ptr();
            let at = words.cast::<u8>().align_offset(256) / 8 + self.rng.pick(&[0, 0, 0, 1]);
            call.workspace = words.wrapping_add(at).cast();
            call.workspace_bytes = self.rng.pick(&[0, 256, 4096, 8 * (WORDS - 64) as i64, -1]);
        }
        call
    }

    /// A text that ends, or none; one in eight is none of a program's.
    fn text<'t>(&mut self, good: &[&'t std::ffi::CStr]) -> Option<&'t std::ffi::CStr> {
        match self.rng.below(10) {
            0 => None,
            1 => Some(self.rng.pick(&[c"", c"no such thing", c"\xff\xfe", c"a b\n%0 = \"", c"agpu_"])),
            _ => Some(self.rng.pick(good)),
        }
    }
}

/// Its address, or NULL.
fn pointer(text: Option<&std::ffi::CStr>) -> *const std::ffi::c_char {
    text.map_or(std::ptr::null(), std::ffi::CStr::as_ptr)
}
