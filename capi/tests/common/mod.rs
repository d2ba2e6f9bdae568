//! A package written by hand, with plans as text and kernels as Rust functions, and short forms of
//! calls of the C functions.
#![allow(dead_code, missing_docs)]

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

pub mod built;
pub mod counting;
pub mod fake;
pub mod gpu;
pub mod matrix;
pub mod tiny;

pub use AgpuStatus::*;

pub const PLANS: &str = include_str!("plans.txt");

/// What ends `doubled_until`: the first element is so great. Six steps are made between two checks.
pub const REACHED: f32 = 1000.0;
/// The greatest first element before a step that is not behind the end.
pub const BEHIND: f32 = REACHED * 64.0;

/// The entries of the package.
pub const DOT: i32 = 0;
pub const SCALE: i32 = 1;
pub const REVERSED: i32 = 2;
pub const SUM_AND_DIFFERENCE: i32 = 3;
pub const GATHER: i32 = 4;
pub const TWICE_THEN_REVERSED: i32 = 5;
pub const WINDOW: i32 = 6;
pub const SCALARS: i32 = 7;
pub const LAST: i32 = 8;
pub const TURNED: i32 = 9;
pub const SCALED_AGAIN: i32 = 10;
pub const DOUBLED_UNTIL: i32 = 11;
/// The same iteration behind another launch, which writes a third result.
pub const DOUBLED_BEHIND: i32 = 12;

const TILE: i64 = 2048;

/// The arguments of a kernel.
#[derive(Clone, Copy)]
struct K(AgpuKernelArgs);

impl K {
    unsafe fn get(&self, array: usize, i: i64) -> f32 {
        // SAFETY: the runtime guarantees that element i of the array exists.
        unsafe {
            (*self.0.arrays.add(array)).cast::<f32>().offset((i * *self.0.strides.add(array)) as isize).read()
        }
    }
    unsafe fn set(&self, array: usize, i: i64, value: f32) {
        // SAFETY: as above.
        unsafe {
            (*self.0.arrays.add(array))
                .cast::<f32>()
                .offset((i * *self.0.strides.add(array)) as isize)
                .write(value)
        }
    }
    unsafe fn scalar(&self, i: usize) -> u64 {
        // SAFETY: the launch has that many scalars.
        unsafe { *self.0.scalars.add(i) }
    }
    unsafe fn slot<T>(&self, i: usize, value: T) {
        // SAFETY: the launch has that many slots, and this one has this type.
        unsafe { (*self.0.slots.add(i)).cast::<T>().write(value) }
    }
    unsafe fn scratch(&self, tile: i64) -> *mut f32 {
        // SAFETY: the launch has one scratch array with one value for each tile.
        unsafe { (*self.0.scratch).cast::<f32>().offset(tile as isize) }
    }
    unsafe fn record(&self, site: usize, element: i64) {
        // SAFETY: the launch has that many sites, and other threads also access them only
        // atomically.
        let cell = unsafe { std::sync::atomic::AtomicI64::from_ptr(self.0.records.add(site)) };
        cell.fetch_min(element, Ordering::Relaxed);
    }
}

macro_rules! kernel {
    ($name:ident($k:ident, $begin:ident, $end:ident) $body:block) => {
        pub unsafe extern "C" fn $name(args: *const AgpuKernelArgs, $begin: i64, $end: i64) {
            // SAFETY: the runtime calls this with the arguments of this kernel.
            #[allow(unused_unsafe)]
            unsafe {
                let $k = K(*args);
                $body
            }
        }
    };
}

fn tile(t: i64, n: i64) -> std::ops::Range<i64> {
    t * TILE..(t * TILE + TILE).min(n)
}

kernel!(dot(k, begin, end) {
    for t in begin..end {
        *k.scratch(t) = tile(t, k.scalar(0) as i64).map(|i| k.get(0, i) * k.get(1, i)).sum();
    }
});
kernel!(dot_finish(k, _begin, tiles) {
    k.slot::<f32>(0, (0..tiles).map(|t| *k.scratch(t)).sum());
});

unsafe fn scale(k: K, begin: i64, end: i64, version: i32) {
    // SAFETY: the variants below call this.
    unsafe {
        let a = f32::from_bits(k.scalar(1) as u32);
        for i in (begin..end).flat_map(|t| tile(t, k.scalar(0) as i64)) {
            k.set(1, i, k.get(0, i) * a);
        }
        if begin == 0 {
            k.slot::<i32>(0, version);
        }
    }
}
kernel!(scale_contiguous(k, begin, end) {
    // This is as fast as a package's kernel, for the benchmark.
    let (a, from) = (f32::from_bits(k.scalar(1) as u32), (begin * TILE) as usize);
    let len = (end * TILE).min(k.scalar(0) as i64) as usize - from;
    let x = std::slice::from_raw_parts((*k.0.arrays).cast::<f32>().add(from), len);
    let y = std::slice::from_raw_parts_mut((*k.0.arrays.add(1)).cast::<f32>().add(from), len);
    y.iter_mut().zip(x).for_each(|(y, x)| *y = *x * a);
    if begin == 0 { k.slot::<i32>(0, 1); }
});
kernel!(scale_in_place(k, begin, end) { scale(k, begin, end, 2) });
kernel!(scale_strided(k, begin, end) { scale(k, begin, end, 3) });
kernel!(reversed(k, begin, end) {
    let n = k.scalar(0) as i64;
    for i in (begin..end).flat_map(|t| tile(t, n)) {
        k.set(1, i, k.get(0, n - 1 - i));
    }
});
kernel!(both(k, begin, end) {
    for i in (begin..end).flat_map(|t| tile(t, k.scalar(0) as i64)) {
        let (x, y) = (k.get(0, i), k.get(1, i));
        k.set(2, i, x + y);
        k.set(3, i, x - y);
    }
});
kernel!(gather(k, begin, end) {
    let n = k.scalar(0) as i64;
    for i in (begin..end).flat_map(|t| tile(t, n)) {
        let at = i + k.scalar(1) as i64;
        if at >= n { k.record(0, i); }
        if at < 0 { k.record(1, i); }
        k.set(1, i, if (0..n).contains(&at) { k.get(0, at) } else { 0.0 });
    }
});
kernel!(scalars_finish(k, _begin, _end) { k.slot::<f32>(0, f32::from_bits(k.scalar(0) as u32)); });
kernel!(last(k, begin, end) {
    let n = k.scalar(0) as i64;
    k.slot::<i64>(1, if (begin, end) == (0, (n + TILE - 1) / TILE) { 1 } else { 0 });
    k.slot::<f32>(0, k.get(0, n - 1));
});

unsafe fn turned(k: K, begin: i64, end: i64, version: i32) {
    // SAFETY: the variants below call this. Element (i, j) of the result is element (j, i) of the
    // matrix.
    unsafe {
        let [rows, columns, a0, a1, r0, r1] = [0, 1, 2, 3, 4, 5].map(|i| k.scalar(i) as i64);
        // The variants that may assume a dense matrix do so.
        let (a1, r0, r1) = if version < 3 { (1, rows, 1) } else { (a1, r0, r1) };
        let (a, r) = ((*k.0.arrays).cast::<f32>(), (*k.0.arrays.add(1)).cast::<f32>());
        for t in (begin..end).flat_map(|t| tile(t, rows * columns)) {
            let (i, j) = (t / rows, t % rows);
            r.offset((i * r0 + j * r1) as isize).write(a.offset((j * a0 + i * a1) as isize).read());
        }
        if begin == 0 {
            k.slot::<i32>(0, version);
        }
    }
}
kernel!(turned_contiguous(k, begin, end) { turned(k, begin, end, 1) });
kernel!(turned_in_place(k, begin, end) { turned(k, begin, end, 2) });
kernel!(turned_strided(k, begin, end) { turned(k, begin, end, 3) });

kernel!(reached(k, _begin, _end) {
    let number = if k.get(0, 0) >= REACHED { k.scalar(1) as i64 } else { -1 };
    (*k.0.arrays.add(1)).cast::<i64>().write(number);
});
kernel!(doubled(k, begin, end) {
    for i in (begin..end).flat_map(|t| tile(t, k.scalar(0) as i64)) {
        if k.get(0, 0) >= BEHIND { k.record(0, i); }
        k.set(1, i, k.get(0, i) * f32::from_bits(k.scalar(1) as u32));
    }
});

const fn same(f: unsafe extern "C" fn(*const AgpuKernelArgs, i64, i64)) -> AgpuCpuKernel {
    AgpuCpuKernel { contiguous: Some(f), in_place: Some(f), strided: Some(f), ..AgpuCpuKernel::NONE }
}

pub static KERNELS: [AgpuCpuKernel; 11] = [
    AgpuCpuKernel { finish: Some(dot_finish), ..same(dot) },
    AgpuCpuKernel {
        contiguous: Some(scale_contiguous),
        in_place: Some(scale_in_place),
        strided: Some(scale_strided),
        ..AgpuCpuKernel::NONE
    },
    same(reversed),
    same(both),
    same(gather),
    AgpuCpuKernel { finish: Some(scalars_finish), ..AgpuCpuKernel::NONE },
    same(last),
    AgpuCpuKernel {
        contiguous: Some(turned_contiguous),
        in_place: Some(turned_in_place),
        strided: Some(turned_strided),
        ..AgpuCpuKernel::NONE
    },
    AgpuCpuKernel {
        contiguous: Some(scale_contiguous),
        in_place: Some(scale_in_place),
        strided: Some(scale_strided),
        ..AgpuCpuKernel::NONE
    },
    same(reached),
    same(doubled),
];

static STATE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

pub static MODULE: AgpuModule = AgpuModule {
    name: c"stats".as_ptr(),
    plans: PLANS.as_ptr().cast(),
    plans_length: PLANS.len() as i64,
    kernels: KERNELS.len() as i32,
    cpu_v2: KERNELS.as_ptr(),
    state: STATE.as_ptr(),
    ..AgpuModule::EMPTY
};

pub fn message() -> String {
    // SAFETY: it is a C string, which is valid until this thread's next failing call.
    unsafe { CStr::from_ptr(agpu_last_error_message()) }.to_str().unwrap().to_string()
}

#[track_caller]
pub fn ok(status: AgpuStatus) {
    assert_eq!(status, AgpuOk, "{}", message());
}

/// Checks that the status is this one and that the message contains these words.
#[track_caller]
pub fn fails(status: AgpuStatus, expected: AgpuStatus, words: &[&str]) {
    let message = message();
    assert_eq!(status, expected, "{message}");
    for word in words {
        assert!(message.contains(word), "no `{word}` in: {message}");
    }
}

/// A buffer of f32, which is freed when it is dropped.
pub struct Vector(pub *mut AgpuBuffer);

impl Vector {
    pub fn new(values: &[f32]) -> Vector {
        Vector::in_context(cpu(), values)
    }
    pub fn in_context(context: *mut AgpuContext, values: &[f32]) -> Vector {
        let mut buffer = null_mut();
        // SAFETY: the pointers are to locals.
        unsafe {
            ok(agpu_buffer_create(
                context,
                MaybeUninit::new(AgpuType::AgpuF32),
                values.len() as i64,
                &mut buffer,
            ));
            let v = Vector(buffer);
            ok(agpu_copy_from_host(v.view(), values.as_ptr().cast(), values.len() as i64));
            v
        }
    }
    pub fn view(&self) -> AgpuView {
        let mut view = MaybeUninit::uninit();
        // SAFETY: the pointer is to a local.
        unsafe {
            ok(agpu_buffer_view(self.0, view.as_mut_ptr()));
            view.assume_init()
        }
    }
    pub fn slice(&self, start: i64, stop: i64, stride: i64) -> AgpuView {
        let mut view = MaybeUninit::uninit();
        // SAFETY: the pointer is to a local.
        unsafe {
            ok(agpu_view_slice(self.view(), 0, start, stop, stride, view.as_mut_ptr()));
            view.assume_init()
        }
    }
    pub fn get(&self) -> Vec<f32> {
        read(self.view())
    }
}

impl Drop for Vector {
    fn drop(&mut self) {
        // SAFETY: the argument is a handle, and an error does not matter.
        unsafe { agpu_buffer_free(self.0) };
    }
}

pub fn read(view: AgpuView) -> Vec<f32> {
    let mut host = vec![0f32; view.extent[0] as usize];
    // SAFETY: the memory has the view's length.
    ok(unsafe { agpu_copy_to_host(host.as_mut_ptr().cast(), view, host.len() as i64) });
    host
}

pub fn scalar<T>(value: &T) -> AgpuArg {
    AgpuArg { scalar: (&raw const *value).cast(), ..AgpuArg::new(AgpuArgKind::AgpuArgScalar) }
}
/// The extents or strides of a vector.
pub fn axes(first: i64) -> [i64; AGPU_MAX_RANK] {
    let mut all = [1; AGPU_MAX_RANK];
    all[0] = first;
    all
}
pub fn input(view: AgpuView) -> AgpuArg {
    AgpuArg { view, ..AgpuArg::new(AgpuArgKind::AgpuArgView) }
}
pub fn output(view: AgpuView) -> AgpuArg {
    AgpuArg { view, ..AgpuArg::new(AgpuArgKind::AgpuArgResultView) }
}
pub fn out_scalar<T>(value: &mut T) -> AgpuArg {
    AgpuArg { scalar: (&raw mut *value).cast(), ..AgpuArg::new(AgpuArgKind::AgpuArgResultScalar) }
}
pub fn out_new(made: &mut *mut AgpuBuffer) -> AgpuArg {
    AgpuArg { made, ..AgpuArg::new(AgpuArgKind::AgpuArgResultNew) }
}

pub fn invoke(entry: i32, args: &[AgpuArg]) -> AgpuStatus {
    // The call runs in the first array's context, or else on the CPU.
    let call = AgpuCall::on(cpu(), null_mut());
    let arrays = args.iter().any(|a| matches!(kind(a), 1 | 3));
    // SAFETY: it is the package above, with arguments that point at locals of the caller.
    unsafe {
        let call = if arrays { null() } else { &raw const call };
        agpu_invoke(&MODULE, entry, call, args.as_ptr(), args.len() as i32)
    }
}

fn kind(arg: &AgpuArg) -> i32 {
    // SAFETY: the kind was initialised by the functions above or by a test.
    unsafe { arg.kind.as_ptr().cast::<i32>().read() }
}

pub fn invoke_in(context: *mut AgpuContext, entry: i32, args: &[AgpuArg]) -> AgpuStatus {
    let call = AgpuCall::on(context, null_mut());
    // SAFETY: as above.
    unsafe { agpu_invoke(&MODULE, entry, &call, args.as_ptr(), args.len() as i32) }
}

/// Returns a CPU context that lives as long as the process. The default context may be on a GPU.
pub fn cpu() -> *mut AgpuContext {
    static CPU: OnceLock<usize> = OnceLock::new();
    std::ptr::without_provenance_mut(*CPU.get_or_init(|| context(0).addr()))
}

pub fn context(threads: i32) -> *mut AgpuContext {
    let options = AgpuContextOptions { device: AGPU_DEVICE_CPU, threads, ..AgpuContextOptions::default() };
    let mut context = null_mut();
    // SAFETY: the pointers are to locals.
    ok(unsafe { agpu_context_create(&options, &mut context) });
    context
}

/// Returns `n` values that are exact in f32 and whose sums are not.
pub fn values(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7919) % 1013) as f32 * 0.1 - 40.0).collect()
}
