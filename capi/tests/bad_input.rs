//! Invalid arguments of every function: each gives an error with the right status and message,
//! never a crash, and leaves the outputs unchanged.

mod common;

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use common::*;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut, without_provenance_mut};

const F32: MaybeUninit<AgpuType> = MaybeUninit::new(AgpuType::AgpuF32);

/// Returns a number in place of an enum, as C may pass it.
fn number<E>(n: i32) -> MaybeUninit<E> {
    let mut e = MaybeUninit::<E>::uninit();
    // SAFETY: the enums have the size of an i32.
    unsafe { e.as_mut_ptr().cast::<i32>().write(n) };
    e
}

#[test]
fn buffers() {
    let mut b = null_mut();
    // SAFETY: the arguments are wrong on purpose; all pointers are null or to locals.
    unsafe {
        fails(
            agpu_buffer_create(cpu(), F32, -1, &mut b),
            AgpuErrorInvalidArgument,
            &["agpu_buffer_create", "-1"],
        );
        fails(
            agpu_buffer_create(cpu(), number(1000), 1, &mut b),
            AgpuErrorInvalidArgument,
            &["1000 is no element type"],
        );
        fails(agpu_buffer_create(cpu(), number(-1), 1, &mut b), AgpuErrorInvalidArgument, &["-1"]);
        fails(agpu_buffer_create(cpu(), F32, 1, null_mut()), AgpuErrorInvalidArgument, &["out is NULL"]);
        for count in [i64::MAX, i64::MAX / 4, i64::MAX / 4 - 64, 1 << 60, 1 << 50] {
            fails(agpu_buffer_create(cpu(), F32, count, &mut b), AgpuErrorOutOfMemory, &[&count.to_string()]);
        }
        let invented = without_provenance_mut(0x123456789);
        fails(agpu_buffer_create(invented, F32, 1, &mut b), AgpuErrorInvalidHandle, &["context"]);

        let mut host = [0f32; 4];
        let data: *mut c_void = host.as_mut_ptr().cast();
        fails(
            agpu_buffer_wrap(cpu(), F32, null_mut(), 4, &mut b),
            AgpuErrorInvalidArgument,
            &["data is NULL"],
        );
        fails(
            agpu_buffer_wrap(cpu(), F32, data.byte_add(1), 1, &mut b),
            AgpuErrorInvalidArgument,
            &["aligned"],
        );
        fails(agpu_buffer_wrap(cpu(), F32, data, -1, &mut b), AgpuErrorInvalidArgument, &["-1"]);
        fails(
            agpu_buffer_wrap(cpu(), F32, data, i64::MAX, &mut b),
            AgpuErrorInvalidArgument,
            &["memory holds"],
        );
        let top = without_provenance_mut(usize::MAX & !3);
        fails(agpu_buffer_wrap(cpu(), F32, top, 2, &mut b), AgpuErrorInvalidArgument, &["address space"]);
        assert!(b.is_null());
        ok(agpu_buffer_wrap(cpu(), F32, null_mut(), 0, &mut b));
        ok(agpu_buffer_free(b));
        ok(agpu_buffer_free(null_mut()));
    }
}

#[test]
fn use_after_free_and_double_free() {
    let v = Vector::new(&[1., 2.]);
    let (view, mut count, mut ty, mut data) = (v.view(), -1, AgpuType::AgpuU8, null_mut());
    // SAFETY: the handles were freed on purpose.
    unsafe {
        ok(agpu_buffer_free(v.0));
        fails(agpu_buffer_free(v.0), AgpuErrorInvalidHandle, &["agpu_buffer_free", "freed"]);
        let next = Vector::new(&[7.]); // The new vector very likely has the same slot.
        fails(agpu_buffer_count(v.0, &mut count), AgpuErrorInvalidHandle, &["freed"]);
        fails(agpu_buffer_type(v.0, &mut ty), AgpuErrorInvalidHandle, &[]);
        fails(agpu_buffer_data(v.0, &mut data), AgpuErrorInvalidHandle, &[]);
        fails(agpu_fill(view, (&raw const count).cast()), AgpuErrorInvalidHandle, &["agpu_fill"]);
        fails(agpu_copy(next.view(), view), AgpuErrorInvalidHandle, &["agpu_copy: src"]);
        fails(agpu_buffer_free(v.0), AgpuErrorInvalidHandle, &[]);
        assert_eq!((count, ty, data, next.get()), (-1, AgpuType::AgpuU8, null_mut(), vec![7.]));
        let mut sum = -1f32;
        fails(
            invoke(DOT, &[input(next.view()), input(view), out_scalar(&mut sum)]),
            AgpuErrorInvalidHandle,
            &["stats::dot: y: the buffer was freed"],
        );
        let null = AgpuView { buffer: null_mut(), ..view };
        fails(
            invoke(DOT, &[input(null), input(view), out_scalar(&mut sum)]),
            AgpuErrorInvalidHandle,
            &["x", "NULL"],
        );
        // These are handles of another kind.
        let context = context(1);
        fails(agpu_buffer_free(context.cast()), AgpuErrorInvalidHandle, &["no handle of a buffer"]);
        ok(agpu_context_free(context));
        assert_eq!(sum, -1.0);
    }
}

#[test]
fn views() {
    let v = Vector::new(&values(10));
    let mut out = MaybeUninit::<AgpuView>::uninit();
    let mut slice = |view, start, stop, stride| {
        // SAFETY: `out` is a local.
        unsafe { agpu_view_slice(view, 0, start, stop, stride, out.as_mut_ptr()) }
    };
    let all = v.view();
    for (start, stop) in
        [(-1, 3), (0, 11), (4, 3), (11, 11), (i64::MIN, i64::MAX), (0, i64::MAX), (i64::MAX, i64::MIN)]
    {
        fails(slice(all, start, stop, 1), AgpuErrorOutOfBounds, &[&format!("{start}..{stop}"), "length 10"]);
    }
    fails(slice(all, 0, 5, 0), AgpuErrorInvalidArgument, &["stride is 0"]);
    fails(slice(all, 0, 5, -1), AgpuErrorInvalidArgument, &["stride is -1"]);
    ok(slice(all, 9, 10, i64::MAX));
    ok(slice(all, 10, 10, 1));
    // Invented views are passed to all functions that take views.
    let made_up = [
        AgpuView { offset: 1, ..all },
        AgpuView { offset: -1, ..all },
        AgpuView { extent: axes(11), ..all },
        AgpuView { extent: axes(i64::MAX), ..all },
        AgpuView { extent: axes(-1), ..all },
        AgpuView { extent: axes(i64::MIN), ..all },
        AgpuView { stride: axes(2), ..all },
        AgpuView { stride: axes(-1), ..all },
        AgpuView { stride: axes(i64::MAX), ..all },
        AgpuView { stride: axes(i64::MIN), ..all },
        AgpuView { offset: i64::MAX, extent: axes(2), ..all },
        AgpuView { offset: 11, extent: axes(0), ..all },
    ];
    let mut host = [0f32; 10];
    for view in made_up {
        let host: *mut c_void = host.as_mut_ptr().cast();
        fails(slice(view, 0, 0, 1), AgpuErrorOutOfBounds, &["agpu_view_slice"]);
        // SAFETY: the host memory has 10 elements.
        unsafe {
            fails(agpu_copy_to_host(host, view, 0), AgpuErrorOutOfBounds, &["agpu_copy_to_host"]);
            fails(agpu_copy_from_host(view, host, 0), AgpuErrorOutOfBounds, &["agpu_copy_from_host"]);
            fails(agpu_copy(view, all), AgpuErrorOutOfBounds, &["agpu_copy: dst"]);
            fails(agpu_fill(view, host), AgpuErrorOutOfBounds, &["agpu_fill"]);
        }
        fails(
            invoke(REVERSED, &[input(view), output(all)]),
            AgpuErrorOutOfBounds,
            &["stats::reversed: x: the view"],
        );
        fails(
            invoke(REVERSED, &[input(all), output(view)]),
            AgpuErrorOutOfBounds,
            &["stats::reversed: result"],
        );
    }
    // Reserved fields, which a later version will use, are not 0 here.
    for view in [
        AgpuView { element: AgpuElement { kind: 1, size: 8 }, ..all },
        AgpuView { element: AgpuElement { kind: 0, size: 8 }, ..all },
    ] {
        let words = ["agpu_view_slice", "f32", "of type", "8 bytes"];
        fails(slice(view, 0, 1, 1), AgpuErrorTypeMismatch, &words);
    }
    for view in [AgpuView { length: &7, ..all }, AgpuView { reserved: [0, 1], ..all }] {
        fails(slice(view, 0, 1, 1), AgpuErrorInvalidArgument, &["`reserved` must be 0"]);
    }
    assert_eq!(all.element, AgpuElement { kind: 0, size: 4 });
    ok(slice(AgpuView { element: AgpuElement::default(), ..all }, 0, 1, 1));
    for rank in [0, 4, 6, 7, -1, i64::MAX] {
        fails(slice(AgpuView { rank, ..all }, 0, 1, 1), AgpuErrorShape, &["rank"]);
    }
    assert_eq!(v.get(), values(10));
}

#[test]
fn copies() {
    let v = Vector::new(&values(4));
    let mut host = [9f32; 8];
    let memory: *mut c_void = host.as_mut_ptr().cast();
    // SAFETY: the host memory has 8 elements.
    unsafe {
        fails(agpu_copy_to_host(memory, v.view(), 5), AgpuErrorOutOfBounds, &["5 elements", "length 4"]);
        fails(agpu_copy_to_host(memory, v.view(), i64::MAX), AgpuErrorOutOfBounds, &[]);
        fails(agpu_copy_to_host(memory, v.view(), -1), AgpuErrorInvalidArgument, &["-1"]);
        fails(agpu_copy_to_host(null_mut(), v.view(), 1), AgpuErrorInvalidArgument, &["dst is NULL"]);
        fails(agpu_copy_from_host(v.view(), null(), 1), AgpuErrorInvalidArgument, &["src is NULL"]);
        fails(agpu_copy_from_host(v.view(), memory, 5), AgpuErrorOutOfBounds, &["agpu_copy_from_host"]);
        fails(agpu_fill(v.view(), null()), AgpuErrorInvalidArgument, &["value is NULL"]);
        fails(agpu_copy(v.view(), v.slice(0, 3, 1)), AgpuErrorShape, &["length 4", "3"]);
        let mut doubles = null_mut();
        ok(agpu_buffer_create(cpu(), MaybeUninit::new(AgpuType::AgpuF64), 4, &mut doubles));
        let doubles = Vector(doubles);
        fails(agpu_copy(v.view(), doubles.view()), AgpuErrorTypeMismatch, &["f32", "f64"]);
        let mut sum = -1f32;
        fails(
            invoke(DOT, &[input(v.view()), input(doubles.view()), out_scalar(&mut sum)]),
            AgpuErrorTypeMismatch,
            &["stats::dot: y: expected a vector of f32, got one of f64"],
        );
        ok(agpu_copy_to_host(null_mut(), v.view(), 0));
        ok(agpu_copy_to_host(memory, v.view(), 2));
        assert_eq!(host, [values(4)[0], values(4)[1], 9., 9., 9., 9., 9., 9.]);

        // Any byte except 0 is true.
        let mut bytes = [0u8, 1, 2, 255];
        let (mut b, mut back) = (null_mut(), [9u8; 4]);
        let ty = MaybeUninit::new(AgpuType::AgpuBool);
        ok(agpu_buffer_wrap(cpu(), ty, bytes.as_mut_ptr().cast(), 4, &mut b));
        ok(agpu_copy_to_host(back.as_mut_ptr().cast(), Vector(b).view(), 4));
        assert_eq!(back, [0, 1, 1, 1]);
    }
}

#[test]
fn contexts() {
    let (mut made, mut threads) = (null_mut(), -1);
    let good = AgpuContextOptions { device: AGPU_DEVICE_CPU, ..AgpuContextOptions::default() };
    let mut create = |o: &AgpuContextOptions| {
        // SAFETY: the pointers are to locals.
        unsafe { agpu_context_create(o, &mut made) }
    };
    fails(create(&AgpuContextOptions { size: 0, ..good }), AgpuErrorInvalidArgument, &["sizeof"]);
    fails(create(&AgpuContextOptions { device: 99, ..good }), AgpuErrorUnavailable, &["agpu_context_create"]);
    fails(create(&AgpuContextOptions { device: -2, ..good }), AgpuErrorInvalidArgument, &["-2 is no device"]);
    fails(create(&AgpuContextOptions { threads: -1, ..good }), AgpuErrorInvalidArgument, &["-1 threads"]);
    fails(create(&AgpuContextOptions { threads: i32::MAX, ..good }), AgpuErrorInvalidArgument, &["threads"]);
    assert!(made.is_null());
    // SAFETY: the arguments are handles, some of which were freed on purpose.
    unsafe {
        fails(agpu_context_create(null(), null_mut()), AgpuErrorInvalidArgument, &["out is NULL"]);
        ok(agpu_context_create(&good, &mut made));
        ok(agpu_context_threads(made, &mut threads));
        assert!(threads > 0);
        let default = &mut null_mut();
        ok(agpu_context_default(default));
        fails(agpu_context_free(*default), AgpuErrorInvalidArgument, &["default"]);

        // The arguments belong to two contexts.
        let (here, there) = (Vector::new(&[1.]), Vector::in_context(made, &[1.]));
        let mut dot = -1f32;
        fails(
            invoke(DOT, &[input(here.view()), input(there.view()), out_scalar(&mut dot)]),
            AgpuErrorWrongContext,
            &["stats::dot: x, y"],
        );
        let args = [input(here.view()), input(here.view()), out_scalar(&mut dot)];
        fails(invoke_in(made, DOT, &args), AgpuErrorWrongContext, &["stats::dot: x"]);
        ok(invoke_in(cpu(), DOT, &args));

        // A buffer outlives its context, and calls on it run.
        ok(agpu_context_free(made));
        fails(agpu_context_free(made), AgpuErrorInvalidHandle, &["freed"]);
        fails(agpu_context_threads(made, &mut threads), AgpuErrorInvalidHandle, &[]);
        let mut context = null_mut();
        fails(agpu_buffer_context(there.0, &mut context), AgpuErrorInvalidHandle, &["context was freed"]);
        ok(invoke(DOT, &[input(there.view()), input(there.view()), out_scalar(&mut dot)]));
        fails(invoke_in(made, DOT, &args), AgpuErrorInvalidHandle, &["stats::dot", "context was freed"]);
        ok(agpu_context_free(null_mut()));
    }
}

#[test]
fn invocations() {
    let v = Vector::new(&[1., 2.]);
    let mut dot = -1f32;
    let good = [input(v.view()), input(v.view()), out_scalar(&mut dot)];
    // SAFETY: the arguments are wrong on purpose.
    unsafe {
        fails(
            agpu_invoke(null(), DOT, null(), good.as_ptr(), 3),
            AgpuErrorInvalidArgument,
            &["module is NULL"],
        );
        fails(agpu_invoke(&MODULE, -1, null(), good.as_ptr(), 3), AgpuErrorInvalidArgument, &["no entry -1"]);
        fails(agpu_invoke(&MODULE, 99, null(), good.as_ptr(), 3), AgpuErrorInvalidArgument, &["stats", "99"]);
        fails(agpu_invoke(&MODULE, DOT, null(), null(), 3), AgpuErrorInvalidArgument, &["expected 3"]);
        for count in [0, 2, 4, -1, i32::MIN] {
            let status = agpu_invoke(&MODULE, DOT, null(), good.as_ptr(), count);
            fails(status, AgpuErrorInvalidArgument, &["stats::dot", &count.to_string(), "expected 3"]);
        }
        let call = AgpuCall { size: 8, ..AgpuCall::on(null_mut(), null_mut()) };
        fails(
            agpu_invoke(&MODULE, DOT, &call, good.as_ptr(), 3),
            AgpuErrorInvalidArgument,
            &["call.size is 8"],
        );
        let call = AgpuCall::on(null_mut(), without_provenance_mut(64));
        fails(agpu_invoke(&MODULE, DOT, &call, good.as_ptr(), 3), AgpuErrorInvalidArgument, &["stream"]);
    }
    // These structs are not aligned as their type requires.
    // SAFETY: the addresses lie inside locals and are not read.
    unsafe {
        fails(
            agpu_invoke(&MODULE, DOT, null(), good.as_ptr().byte_add(4), 3),
            AgpuErrorInvalidArgument,
            &["stats::dot: the arguments at", "not aligned to 8 bytes"],
        );
        let calls = [AgpuCall::on(null_mut(), null_mut()); 2];
        let call = calls.as_ptr().byte_add(2);
        fails(
            agpu_invoke(&MODULE, DOT, call, good.as_ptr(), 3),
            AgpuErrorInvalidArgument,
            &["call at", "not aligned"],
        );
        let module = (&raw const MODULE).byte_add(1);
        fails(
            agpu_invoke(module, DOT, null(), good.as_ptr(), 3),
            AgpuErrorInvalidArgument,
            &["the module at", "not aligned"],
        );
        let mut context = null_mut();
        let options = [AgpuContextOptions { size: 16, ..AgpuContextOptions::default() }; 2];
        let options = options.as_ptr().byte_add(4);
        fails(
            agpu_context_create(options, &mut context),
            AgpuErrorInvalidArgument,
            &["options at", "not aligned"],
        );
        assert!(context.is_null());
    }
    let kinds =
        [[output(v.view()), good[1], good[2]], [good[2], good[1], good[2]], [good[0], good[1], good[0]]];
    for (args, name) in kinds.iter().zip(["x", "x", "result"]) {
        fails(invoke(DOT, args), AgpuErrorInvalidArgument, &[&format!("stats::dot: {name}"), "kind"]);
    }
    let odd = AgpuArg { kind: number(77), ..good[0] };
    fails(invoke(DOT, &[odd, good[1], good[2]]), AgpuErrorInvalidArgument, &["kind 77"]);
    let nowhere = AgpuArg { scalar: null(), ..good[2] };
    fails(
        invoke(DOT, &[good[0], good[1], nowhere]),
        AgpuErrorInvalidArgument,
        &["stats::dot: result: the pointer is NULL"],
    );
    assert_eq!(dot, -1.0);
}

#[test]
fn broken_modules() {
    let open = |change: &dyn Fn(&mut AgpuModule), status, words: &[&str]| {
        let (mut module, mut state) = (MODULE, null_mut::<c_void>());
        module.state = &mut state;
        change(&mut module);
        // SAFETY: the module is wrong only in ways that are checked.
        fails(unsafe { agpu_invoke(&module, 0, null(), null(), 0) }, status, words);
    };
    open(&|m| m.size = 8, AgpuErrorModule, &["8 bytes"]);
    open(&|m| m.abi_version = 99, AgpuErrorModule, &["ABI version 99", "install a newer libarraygpu"]);
    open(&|m| m.abi_version = 4, AgpuErrorModule, &["ABI version 4", "those of 5 to 8", "make it again"]);
    open(&|m| m.name = null(), AgpuErrorModule, &["NULL"]);
    open(&|m| m.plans = null(), AgpuErrorModule, &["NULL"]);
    open(&|m| m.state = null_mut(), AgpuErrorModule, &["state"]);
    open(&|m| m.plans_length = -1, AgpuErrorModule, &["stats", "negative"]);
    open(&|m| m.plans_length -= 3, AgpuErrorModule, &["stats", "cannot be read"]);
    open(&|m| m.kernels = 0, AgpuErrorModule, &["no kernel 0"]);
    open(&|m| m.cpu_v2 = null(), AgpuErrorModule, &["no code for this processor"]);
    let text = |m: &mut AgpuModule, text: &'static str| {
        (m.plans, m.plans_length) = (text.as_ptr().cast(), text.len() as i64);
    };
    open(&|m| text(m, "plan @f { free 0 }"), AgpuErrorModule, &["cannot be read"]);
    open(
        &|m| text(m, "plan @f { %0: i64 = const 1i64 temp t: [f32] extent %0 free 0 alloc 0 }"),
        AgpuErrorModule,
        &["stats::f", "before it is allocated"],
    );
    open(
        &|m| text(m, "plan @f { param x: [f32] %0: i64 = len 0 launch 5 f over %0 cost 1 { read param 0 } }"),
        AgpuErrorModule,
        &["stats::f", "lacks code"],
    );
    open(
        &|m| {
            text(m, "plan @f { param x: [f32] %0: i64 = len 0 launch 2 f over %0 cost 1 { write param 0 } }")
        },
        AgpuErrorModule,
        &["writes a parameter"],
    );
    open(&|m| text(m, "plan @f { launch 2 f cost 1 { finish } }"), AgpuErrorModule, &["lacks code"]);
    open(&|m| text(m, "plan @f { \u{0} }"), AgpuErrorModule, &["cannot be read"]);
}

#[test]
fn names() {
    // SAFETY: the strings are static.
    let name = |n| unsafe { std::ffi::CStr::from_ptr(agpu_status_name(number(n))) }.to_str().unwrap();
    assert_eq!(
        (name(0), name(14), name(15), name(-1)),
        ("AGPU_OK", "AGPU_ERROR_CANCELLED", "unknown status", "unknown status")
    );
    assert_eq!(agpu_abi_version(), AGPU_ABI_VERSION);
    std::thread::spawn(|| assert_eq!(message(), "")).join().unwrap();
}
