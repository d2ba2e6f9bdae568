//! What a program may provide for a context: a limit of memory, an allocator, its own threads.

mod common;

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use common::*;
use std::alloc::{Layout, alloc, dealloc};
use std::collections::HashSet;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering::SeqCst};
use std::thread;

fn cpu_context(options: AgpuContextOptions) -> Result<*mut AgpuContext, (AgpuStatus, String)> {
    let (options, mut context) = (AgpuContextOptions { device: AGPU_DEVICE_CPU, ..options }, null_mut());
    // SAFETY: the pointers are to locals.
    match unsafe { agpu_context_create(&options, &mut context) } {
        AgpuStatus::AgpuOk => Ok(context),
        status => Err((status, message())),
    }
}

fn used(context: *mut AgpuContext) -> (i64, i64) {
    let (mut now, mut peak) = (-1, -1);
    // SAFETY: the pointers are to locals.
    ok(unsafe { agpu_context_memory(context, &mut now, &mut peak) });
    (now, peak)
}

#[test]
fn a_limit_holds_for_arrays_temporaries_and_results() {
    let n = 100_000;
    let bytes = 4 * n as i64;
    let context = cpu_context(AgpuContextOptions { memory_limit: 3 * bytes, ..Default::default() }).unwrap();
    let v = Vector::in_context(context, &values(n));
    let out = Vector::in_context(context, &vec![7.0; n]);
    assert_eq!(used(context), (2 * bytes, 2 * bytes));
    // There is memory for a temporary, but not for a new result as well.
    let (mut doubled, mut reversed, mut version) = (null_mut(), null_mut(), 0);
    let new = [input(v.view()), out_new(&mut doubled), out_new(&mut reversed), out_scalar(&mut version)];
    fails(invoke(TWICE_THEN_REVERSED, &new), AgpuStatus::AgpuErrorOutOfMemory, &["limit", "1200000"]);
    assert!(doubled.is_null() && reversed.is_null());
    assert_eq!(used(context).0, 2 * bytes, "what a failed call had is given back");
    // A call that needs no memory still runs.
    ok(invoke(SCALE, &[scalar(&2f32), input(v.view()), output(out.view()), out_scalar(&mut version)]));
    assert_eq!(out.get()[1], values(n)[1] * 2.0);
    // SAFETY: the argument is a context of this test.
    ok(unsafe { agpu_context_set_memory_limit(context, i64::MAX) });
    ok(invoke(TWICE_THEN_REVERSED, &new));
    drop((Vector(doubled), Vector(reversed), v, out));
    assert_eq!(used(context).0, 0);
}

/// An allocator that records live allocations and may refuse.
#[derive(Default)]
struct Heap {
    out: Mutex<HashSet<(usize, usize)>>,
    calls: AtomicUsize,
    left: AtomicI64,
    shift: usize,
}

unsafe extern "C" fn allocate(user: *mut c_void, bytes: usize, alignment: usize) -> *mut c_void {
    // SAFETY: the pointer is to the heap below.
    let heap = unsafe { &*user.cast::<Heap>() };
    heap.calls.fetch_add(1, SeqCst);
    if heap.left.fetch_sub(1, SeqCst) <= 0 {
        return null_mut();
    }
    let layout = Layout::from_size_align(bytes + heap.shift, alignment).unwrap();
    // SAFETY: the layout is not empty.
    let data = unsafe { alloc(layout) }.wrapping_add(heap.shift);
    // The library has to clear arrays itself.
    // SAFETY: the memory was allocated above.
    unsafe { data.write_bytes(0xa5, bytes) };
    heap.out.lock().unwrap().insert((data.addr(), bytes));
    data.cast()
}

unsafe extern "C" fn release(user: *mut c_void, memory: *mut c_void, bytes: usize) {
    // SAFETY: the pointer is to the heap below.
    let heap = unsafe { &*user.cast::<Heap>() };
    assert!(heap.out.lock().unwrap().remove(&(memory.addr(), bytes)), "{memory:p}, {bytes} bytes");
    let layout = Layout::from_size_align(bytes + heap.shift, 64).unwrap();
    // SAFETY: the memory was allocated above with this layout.
    unsafe { dealloc(memory.cast::<u8>().wrapping_sub(heap.shift), layout) };
}

fn with(heap: &'static Heap) -> AgpuContextOptions {
    let user = std::ptr::from_ref(heap).cast_mut().cast();
    AgpuContextOptions { allocate: Some(allocate), release: Some(release), user, ..Default::default() }
}

fn heap(left: i64, shift: usize) -> &'static Heap {
    Box::leak(Box::new(Heap { left: AtomicI64::new(left), shift, ..Heap::default() }))
}

#[test]
fn arrays_come_from_the_programs_allocator_and_go_back() {
    let heap = heap(1 << 40, 0);
    let context = cpu_context(with(heap)).unwrap();
    let mut buffer = null_mut();
    // SAFETY: the pointers are to locals.
    ok(unsafe { agpu_buffer_create(context, MaybeUninit::new(AgpuType::AgpuF32), 1000, &mut buffer) });
    assert_eq!(Vector(buffer).get(), vec![0.0; 1000], "zeros");
    let n = 300_000;
    let v = Vector::in_context(context, &values(n));
    let (mut doubled, mut reversed, mut version) = (null_mut(), null_mut(), 0);
    let results = [out_new(&mut doubled), out_new(&mut reversed), out_scalar(&mut version)];
    ok(invoke(TWICE_THEN_REVERSED, &[&[input(v.view())], &results[..]].concat()));
    assert!(heap.calls.load(SeqCst) >= 5, "two arrays, two results, a temporary");
    let [doubled, reversed] = [Vector(doubled), Vector(reversed)];
    // SAFETY: the argument is a context of this test, and its buffers outlive it.
    ok(unsafe { agpu_context_free(context) });
    assert_eq!(doubled.get()[5], values(n)[5] * 4.0);
    drop((v, doubled, reversed));
    assert!(heap.out.lock().unwrap().is_empty(), "all of it came back");
}

/// Memory of agpu_host_alloc() outlives its context, and so does the allocator.
#[test]
fn memory_for_copies_goes_back_when_it_is_freed() {
    let (heap, mut memory) = (heap(1 << 40, 0), null_mut());
    let context = cpu_context(with(heap)).unwrap();
    // SAFETY: the arguments are a handle of this test and memory that is freed once.
    unsafe {
        ok(agpu_host_alloc(context, 1000, &mut memory));
        ok(agpu_context_free(context));
        assert_eq!(heap.out.lock().unwrap().len(), 1);
        ok(agpu_host_free(memory));
    }
    assert!(heap.out.lock().unwrap().is_empty());
}

#[test]
fn any_allocation_of_a_call_may_fail() {
    let n = 300_000;
    let mut failed = 0;
    for left in 0.. {
        let heap = heap(1, 0);
        let context = cpu_context(with(heap)).unwrap();
        let v = Vector::in_context(context, &values(n));
        heap.left.store(left, SeqCst);
        let (mut doubled, mut reversed, mut version) = (null_mut(), null_mut(), 0);
        let results = [out_new(&mut doubled), out_new(&mut reversed), out_scalar(&mut version)];
        let status = invoke(TWICE_THEN_REVERSED, &[&[input(v.view())], &results[..]].concat());
        let done = status == AgpuStatus::AgpuOk;
        if done {
            drop((Vector(doubled), Vector(reversed)));
        } else {
            fails(status, AgpuStatus::AgpuErrorOutOfMemory, &["no memory for 300000 elements"]);
            assert!(doubled.is_null() && reversed.is_null());
            failed += 1;
        }
        assert_eq!(v.get(), values(n), "inputs stay");
        drop(v);
        assert!(heap.out.lock().unwrap().is_empty());
        if done {
            break;
        }
    }
    assert!(failed >= 3, "{failed} allocations");
}

#[test]
fn memory_that_is_not_aligned_is_none() {
    let heap = heap(1 << 40, 8);
    let context = cpu_context(with(heap)).unwrap();
    let mut buffer = null_mut();
    // SAFETY: the pointers are to locals.
    let status = unsafe { agpu_buffer_create(context, MaybeUninit::new(AgpuType::AgpuF32), 10, &mut buffer) };
    fails(status, AgpuStatus::AgpuErrorOutOfMemory, &["10 elements"]);
    assert!(buffer.is_null() && heap.out.lock().unwrap().is_empty());
}

type Task = Option<unsafe extern "C" fn(*mut c_void, i64)>;

/// Counts the calls of `run_tasks` and the tasks.
#[derive(Default)]
struct Runner {
    jobs: AtomicUsize,
    tasks: AtomicI64,
}

/// Runs each task on a thread of its own.
unsafe extern "C" fn on_threads(user: *mut c_void, tasks: i64, task: Task, data: *mut c_void) {
    // SAFETY: the pointer is to the runner below.
    let runner = unsafe { &*user.cast::<Runner>() };
    runner.jobs.fetch_add(1, SeqCst);
    let (task, data) = (task.unwrap(), data.expose_provenance());
    thread::scope(|scope| {
        for i in 0..tasks {
            scope.spawn(move || {
                runner.tasks.fetch_add(1, SeqCst);
                // SAFETY: the library passed this pointer and waits.
                unsafe { task(std::ptr::with_exposed_provenance_mut(data), i) };
            });
        }
    });
}

/// Runs the tasks backwards on this thread, and one that does not exist.
unsafe extern "C" fn alone(_: *mut c_void, tasks: i64, task: Task, data: *mut c_void) {
    for i in (0..=tasks).rev() {
        // SAFETY: as above.
        unsafe { task.unwrap()(data, i) };
    }
}

/// A host that runs no task, so that the caller does all the work.
unsafe extern "C" fn never(_: *mut c_void, _: i64, _: Task, _: *mut c_void) {}

#[test]
fn the_programs_threads_compute_the_same_bits() {
    let n = 3_000_000;
    let x = values(n);
    let dot = |context| {
        let v = Vector::in_context(context, &x);
        let mut dot = -1f32;
        ok(invoke_in(context, DOT, &[input(v.view()), input(v.view()), out_scalar(&mut dot)]));
        dot.to_bits()
    };
    let expected = dot(context(1));
    let runner: &'static Runner = Box::leak(Box::default());
    let user = std::ptr::from_ref(runner).cast_mut().cast();
    let run =
        |run_tasks| AgpuContextOptions { threads: 4, run_tasks: Some(run_tasks), user, ..Default::default() };
    for run_tasks in [on_threads, alone as unsafe extern "C" fn(_, _, _, _), never] {
        assert_eq!(dot(cpu_context(run(run_tasks)).unwrap()), expected);
    }
    assert!(runner.jobs.load(SeqCst) >= 1 && runner.tasks.load(SeqCst) >= 2);
}

#[test]
fn options_of_an_older_version_and_wrong_ones() {
    // A program that knows two fields: nothing after its struct is read.
    let old = AgpuContextOptions { size: 16, memory_limit: -5, threads: 1, ..Default::default() };
    assert!(cpu_context(old).is_ok());
    let refused = |options, words: &str| {
        let (status, message) = cpu_context(options).unwrap_err();
        assert!(status == AgpuStatus::AgpuErrorInvalidArgument && message.contains(words), "{message}");
    };
    refused(AgpuContextOptions { size: 8, ..Default::default() }, "options.size is 8");
    refused(AgpuContextOptions { memory_limit: -1, ..Default::default() }, "options.memory_limit is -1");
    refused(AgpuContextOptions { allocate: Some(allocate), ..Default::default() }, "belong together");
}
