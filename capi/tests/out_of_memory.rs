//! Each allocation fails once, or all allocations fail from one on. Calls end with a status, and
//! the same calls work afterwards.
#![allow(clippy::undocumented_unsafe_blocks)] // Pointers are to locals; handles are valid.

mod common;

use arraygpu_capi::abi::*;
use arraygpu_capi::reserve::Reserve;
use arraygpu_capi::*;
use arraygpu_suite::today;
use common::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// The library's allocator on top of one that fails on demand.
#[global_allocator]
static ALLOCATOR: Reserve<Failing> = Reserve(Failing);

/// The system's allocator, which fails when a thread's count is used up.
struct Failing;

thread_local! {
    /// The number of allocations of this thread that still succeed; negative: all of them.
    static LEFT: Cell<i64> = const { Cell::new(-1) };
    /// Whether only one allocation fails.
    static ONCE: Cell<bool> = const { Cell::new(false) };
    /// Whether an allocation has failed.
    static FAILED: Cell<bool> = const { Cell::new(false) };
}

/// The number of live allocations.
static LIVE: AtomicI64 = AtomicI64::new(0);

fn fails() -> bool {
    match LEFT.get() {
        0 => {
            FAILED.set(true);
            if ONCE.get() {
                LEFT.set(-1);
            }
            true
        }
        left => {
            LEFT.set(left - i64::from(left > 0));
            false
        }
    }
}

// SAFETY: the memory is the system's, or there is none.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if fails() {
            return null_mut();
        }
        LIVE.fetch_add(1, Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        LIVE.fetch_sub(1, Relaxed);
        unsafe { System.dealloc(p, layout) }
    }

    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if fails() { null_mut() } else { unsafe { System.realloc(p, layout, size) } }
    }
}

/// Converts the status of a call to success or an error. The only error allowed is lack of memory.
fn said(status: AgpuStatus) -> Result<(), ()> {
    match status {
        AgpuOk => Ok(()),
        AgpuErrorOutOfMemory => Err(()),
        other => panic!("{other:?}: {}", message()),
    }
}

/// What the host holds. It is freed when memory is available again.
struct Held {
    builder: *mut AgpuBuilder,
    program: *mut AgpuProgram,
    context: *mut AgpuContext,
    buffer: *mut AgpuBuffer,
}

impl Drop for Held {
    fn drop(&mut self) {
        LEFT.set(-1);
        unsafe {
            ok(agpu_program_free(self.program));
            ok(agpu_builder_free(self.builder));
            ok(agpu_buffer_free(self.buffer));
            ok(agpu_context_free(self.context));
        }
    }
}

/// Makes a context with a buffer, and compiles and runs a program with that factor. Returns the sum
/// of the elements' exponentials.
fn work(factor: f32, x: &Vector) -> Result<f32, ()> {
    let mut held = Held { builder: null_mut(), program: null_mut(), context: null_mut(), buffer: null_mut() };
    let f32 = || MaybeUninit::new(AgpuType::AgpuF32);
    let (mut total, mut copied) = (0f32, [0f32; 3]);
    unsafe {
        let options =
            AgpuContextOptions { device: AGPU_DEVICE_CPU, threads: 2, ..AgpuContextOptions::default() };
        said(agpu_context_create(&options, &mut held.context))?;
        said(agpu_buffer_create(held.context, f32(), 3, &mut held.buffer))?;
        let mut view = x.view();
        said(agpu_buffer_view(held.buffer, &mut view))?;
        said(agpu_copy_from_host(view, values(3).as_ptr().cast(), 3))?;
        said(agpu_copy_to_host(copied.as_mut_ptr().cast(), view, 3))?;
        assert_eq!(copied[..], values(3));
        said(agpu_builder_create(c"f".as_ptr(), &mut held.builder))?;
        let b = held.builder;
        let (mut px, mut k, mut scaled, mut e, mut zero) = (0, 0, 0, 0, 0);
        said(agpu_builder_param(b, c"x".as_ptr(), f32(), 1, &mut px))?;
        said(agpu_builder_constant(b, f32(), (&raw const factor).cast(), &mut k))?;
        said(agpu_builder_apply(b, c"mul".as_ptr(), [px, k].as_ptr(), 2, &mut scaled))?;
        said(agpu_builder_apply(b, c"exp".as_ptr(), [scaled].as_ptr(), 1, &mut e))?;
        let nothing = 0f32;
        said(agpu_builder_constant(b, f32(), (&raw const nothing).cast(), &mut zero))?;
        let (mut one, mut other, mut body, mut sum) = (0, 0, 0, 0);
        said(agpu_builder_variable(b, f32(), &mut one))?;
        said(agpu_builder_variable(b, f32(), &mut other))?;
        said(agpu_builder_apply(b, c"add".as_ptr(), [one, other].as_ptr(), 2, &mut body))?;
        said(agpu_builder_reduce(b, one, other, body, zero, e, &mut sum))?;
        said(agpu_builder_result(b, null(), sum))?;
        said(agpu_builder_compile(b, &mut held.program))?;
        let args = [input(x.view()), out_scalar(&mut total)];
        said(agpu_program_run(held.program, null(), args.as_ptr(), 2))?;
        // The call fails with an error whose message takes memory.
        let status = agpu_program_run(held.program, null(), args.as_ptr(), 1);
        assert!(matches!(status, AgpuErrorInvalidArgument | AgpuErrorOutOfMemory), "{status:?}");
    }
    Ok(total)
}

/// The numbers of the allocations that fail: every seventh, others on each day, or all if there is
/// time.
fn which() -> impl Iterator<Item = i64> {
    let (first, step) = if today::takes_all() { (0, 1) } else { (today::day() as i64 % 7, 7) };
    (first..).step_by(step)
}

/// Repeats the work until no allocation is left that could fail.
fn sweep(once: bool) {
    let x = Vector::new(&[0.25, 0.5, 1.0]);
    // This makes what a process makes only once.
    let expected = work(0.5, &x).expect("there is memory");
    let near = |total: f32| (total - expected).abs() < 0.1;
    let (mut failed, mut factor) = (0, 0.5f32);
    for n in which() {
        factor = factor.next_up();
        let live = LIVE.load(Relaxed);
        ONCE.set(once);
        FAILED.set(false);
        LEFT.set(n);
        let done = work(factor, &x);
        failed += i32::from(done.is_err());
        assert!(done.is_err() || done.is_ok_and(near), "{done:?} without allocation {n}");
        let again = work(factor, &x).expect("there is memory again");
        assert!(near(again), "{again} after allocation {n}");
        // The program stays in the caches.
        let more = LIVE.load(Relaxed) - live;
        assert!(more < 4_000, "{more} pieces are left of allocation {n}");
        if !FAILED.get() {
            break;
        }
    }
    assert!(failed > 20, "{failed} calls failed");
}

/// Only one thread runs, so that live allocations can be counted.
#[test]
fn allocations_fail() {
    sweep(false);
    sweep(true);
}
