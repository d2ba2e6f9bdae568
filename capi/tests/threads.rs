//! Threads: the same bits for any number of threads, many concurrent callers, contexts that are
//! freed during calls, and very large views.

mod common;

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use common::*;
use std::mem::MaybeUninit;
use std::ptr::null_mut;

#[test]
fn the_number_of_threads_changes_no_bit() {
    for n in [0, 1, 70_000, 1_000_003] {
        let x = values(n);
        let mut results = Vec::new();
        for threads in [1, 2, 3, 8, 31] {
            let c = context(threads);
            let (v, mut dot, mut made, mut version) = (Vector::in_context(c, &x), 0f32, null_mut(), 0);
            for _ in 0..5 {
                ok(invoke(DOT, &[input(v.view()), input(v.view()), out_scalar(&mut dot)]));
            }
            ok(invoke(
                SCALE,
                &[scalar(&0.1f32), input(v.view()), out_new(&mut made), out_scalar(&mut version)],
            ));
            results.push((dot.to_bits(), Vector(made).get()));
            // SAFETY: the argument is a handle.
            ok(unsafe { agpu_context_free(c) });
        }
        assert!(results.iter().all(|r| *r == results[0]), "{n}");
    }
}

#[test]
fn many_callers() {
    let x = values(300_000);
    let shared = Vector::new(&x);
    let mut expected = 0f32;
    ok(invoke(DOT, &[input(shared.view()), input(shared.view()), out_scalar(&mut expected)]));
    let view = shared.view();
    std::thread::scope(|s| {
        for t in 0..8 {
            let x = &x;
            s.spawn(move || {
                let out = Vector::new(&vec![0.0; x.len()]);
                for i in 0..30 {
                    let (mut dot, mut version) = (0f32, 0);
                    ok(invoke(DOT, &[input(view), input(view), out_scalar(&mut dot)]));
                    assert_eq!(dot.to_bits(), expected.to_bits());
                    let a = (t * 100 + i) as f32;
                    ok(invoke(
                        SCALE,
                        &[scalar(&a), input(view), output(out.view()), out_scalar(&mut version)],
                    ));
                    assert_eq!(out.get()[i * 1000], x[i * 1000] * a);
                    // Each thread has its own error message.
                    fails(invoke(DOT, &[]), AgpuErrorInvalidArgument, &["0 arguments"]);
                }
            });
        }
    });
}

#[test]
fn freed_while_others_compute() {
    for _ in 0..20 {
        let c = context(3);
        let v = Vector::in_context(c, &values(500_000));
        let view = v.view();
        std::thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(move || {
                    let mut dot = 0f32;
                    loop {
                        match invoke(DOT, &[input(view), input(view), out_scalar(&mut dot)]) {
                            AgpuOk => {}
                            status => break assert_eq!(status, AgpuErrorInvalidHandle),
                        }
                    }
                });
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
            // SAFETY: the arguments are handles, which may be freed at any time.
            unsafe {
                ok(agpu_context_free(c));
                ok(agpu_buffer_free(v.0));
            }
        });
    }
}

#[test]
fn more_than_two_billion_elements() {
    let (n, ty) = ((1i64 << 31) + 5, MaybeUninit::new(AgpuType::AgpuU8));
    let mut buffer = null_mut();
    // SAFETY: the pointers are to locals, and the memory is zeroed pages of the system until it is
    // touched.
    unsafe {
        ok(agpu_buffer_create(cpu(), ty, n, &mut buffer));
        let (v, one) = (Vector(buffer), 1u8);
        let mut tail = v.slice(n - 3, n, 1);
        ok(agpu_fill(tail, (&raw const one).cast()));
        tail = v.slice(n - 6, n, 2);
        let mut host = [9u8; 3];
        ok(agpu_copy_to_host(host.as_mut_ptr().cast(), tail, 3));
        assert_eq!((host, tail.offset), ([0, 0, 1], n - 6));
    }
}

/// A kernel runs over a view that repeats one element 2^31 + 5 times, so counts of elements exceed
/// 32 bits.
#[test]
fn a_call_over_more_than_two_billion_elements() {
    let v = Vector::new(&[2.5]);
    let n = (1i64 << 31) + 5;
    let all = AgpuView { extent: axes(n), stride: axes(0), ..v.view() };
    let (mut last, mut one_call) = (0f32, 0i64);
    ok(invoke(LAST, &[input(all), out_scalar(&mut last), out_scalar(&mut one_call)]));
    assert_eq!((last, one_call), (2.5, 1));
    // An output of that length does not fit; only a status is returned.
    let (huge, mut made, mut version) = (AgpuView { extent: axes(1 << 56), ..all }, null_mut(), 0);
    let args = [scalar(&1f32), input(huge), out_new(&mut made), out_scalar(&mut version)];
    fails(invoke(SCALE, &args), AgpuErrorOutOfMemory, &["stats::scale: result", "72057594037927936"]);
    assert!(made.is_null());
}
