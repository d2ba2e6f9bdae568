//! What makes functions, the language and the C ABI, takes time and memory by the size of the function
//! and no more. As in `compiler/suite/tests/growth.rs`, this is measured by counts that are the same on
//! every machine.

use arraygpu::prelude::*;
use arraygpu_capi::abi::{AgpuBuilder, AgpuNode, AgpuStatus, AgpuType};
use arraygpu_capi::{
    agpu_builder_apply, agpu_builder_at, agpu_builder_compile, agpu_builder_constant, agpu_builder_create,
    agpu_builder_free, agpu_builder_param, agpu_builder_result, agpu_program_free, agpu_program_kernels,
};
use arraygpu_compiler::budget;
use arraygpu_compiler::core::graph::marks;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

/// Counts the bytes that each thread allocates.
struct Counting;

thread_local! {
    static ALLOCATED: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is handed to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATED.try_with(|all| all.set(all.get() + layout.size() as u64));
        // SAFETY: the caller promises a layout that is not empty.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller promises that `at` was allocated with this layout.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Visited and made nodes and allocated bytes while `f` runs.
fn counted(f: impl FnOnce()) -> [u64; 3] {
    let now = || [marks::visited(), budget::made(), ALLOCATED.get()];
    let before = now();
    f();
    let after = now();
    [0, 1, 2].map(|i| after[i] - before[i])
}

/// Counts for `n` and 8 `n` must be in proportion; tables double, so bytes may jump by two.
fn is_linear(n: usize, make: impl Fn(usize)) {
    grows(n, 8.8, make);
}

/// 8 `n` may visit and make so many times as many nodes as `n`.
fn grows(n: usize, most: f64, make: impl Fn(usize)) {
    make(n);
    let (small, large) = (counted(|| make(n)), counted(|| make(8 * n)));
    let most = [most, most, 16.0];
    for i in 0..3 {
        let bound = most[i] * small[i].max(1000) as f64;
        assert!(large[i] as f64 <= bound, "{small:?} for {n}, {large:?} for {}", 8 * n);
    }
}

fn ok(status: AgpuStatus) {
    assert!(matches!(status, AgpuStatus::AgpuOk));
}

/// An expression of `n` operations on an array, and as many results.
fn built(n: usize, results: usize) {
    with_builder(n, results, |_| ());
}

/// Such an expression with one result, compiled for CPUs.
fn compiled(n: usize) {
    let mut kernels = 0;
    with_builder(n, 0, |b| {
        let mut program = null_mut();
        // SAFETY: the handles are valid, and the pointers are to locals.
        unsafe {
            ok(agpu_builder_compile(b, &mut program));
            ok(agpu_program_kernels(program, &mut kernels));
            ok(agpu_program_free(program));
        }
    });
    // the pass `split` puts 5,000 operations into one
    assert_eq!(kernels as usize, n.div_ceil(5000), "{n} operations");
}

fn with_builder(n: usize, results: usize, then: impl FnOnce(*mut AgpuBuilder)) {
    let f32 = || MaybeUninit::new(AgpuType::AgpuF32);
    let (mut b, mut x) = (null_mut(), 0);
    // SAFETY: the handles are valid, and the pointers are to locals.
    unsafe {
        ok(agpu_builder_create(c"long".as_ptr(), &mut b));
        ok(agpu_builder_param(b, c"x".as_ptr(), f32(), 1, &mut x));
        let apply = |op: &CStr, a: AgpuNode, c: AgpuNode| {
            let (operands, mut node) = ([a, c], 0);
            ok(agpu_builder_apply(b, op.as_ptr(), operands.as_ptr(), 2, &mut node));
            node
        };
        let mut value = x;
        for i in 0..n {
            let (k, mut c) = (i as f32, 0);
            ok(agpu_builder_at(b, c"long.cpp".as_ptr(), i as i32));
            ok(agpu_builder_constant(b, f32(), (&raw const k).cast(), &mut c));
            value = apply([c"add", c"mul"][i % 2], value, if i % 3 == 0 { x } else { c });
            if i < results {
                ok(agpu_builder_result(b, null(), value));
            }
        }
        ok(agpu_builder_result(b, null(), value));
        then(b);
        ok(agpu_builder_free(b));
    }
}

#[test]
fn the_c_builder_is_linear() {
    is_linear(1000, |n| built(n, 0));
    is_linear(1000, |n| built(n, n));
    built(100_000, 1000);
}

/// From the first node to the kernels, also of as many as the largest programs that are promised to compile.
#[test]
fn expressions_of_the_c_builder_compile_in_time_n_log_n() {
    // smaller ones are a single kernel, without the rewrite that cuts them
    // n log n is 9.8 times as much
    grows(12_500, 9.8, compiled);
}

/// A function of the language with `n` operations on arrays, of each kind.
fn lowered(n: usize) {
    let body = move |x: VExp<f32>, y: VExp<f32>| {
        let mut v = x;
        for i in 0..n {
            v = match i % 4 {
                0 => v.map(|a| a * 0.5),
                1 => v.zip_with(y, |a, b| a + b),
                2 => v.materialize(),
                _ => v.map(|a| a.exp()),
            };
        }
        v
    };
    let package = Package::new("grown").function("f", ["x", "y"], "r", body);
    let functions = package.functions().expect("the function is right");
    assert!(functions[0].graph.len() > n);
}

#[test]
fn the_language_is_linear() {
    is_linear(500, lowered);
}
