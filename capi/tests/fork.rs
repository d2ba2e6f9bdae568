//! Children of `fork` compute, or get an error, but never wait for a thread that does not exist
//! there.
#![cfg(unix)]

mod common;

use arraygpu_capi::abi::*;
use common::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit status of a child that succeeds.
const FINE: i32 = 10;
const REFUSED: i32 = 11;
const WRONG: i32 = 12;

/// Forks, computes in the child, and returns its exit status; that of a signal is negative.
fn fork(x: &[f32], expected: f32) -> i32 {
    // SAFETY: the child calls the library and exits.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: an alarm ends a child that waits forever, and nothing else of the test runs in
        // the child.
        unsafe {
            libc::alarm(20);
            libc::_exit(compute(x, expected));
        }
    }
    let mut status = 0;
    // SAFETY: it is our child, and the pointer is to a local.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { -libc::WTERMSIG(status) }
}

fn compute(x: &[f32], expected: f32) -> i32 {
    let (mut buffer, mut dot) = (std::ptr::null_mut(), 0f32);
    let ty = std::mem::MaybeUninit::new(AgpuType::AgpuF32);
    // SAFETY: the pointers are to locals.
    let status = unsafe { arraygpu_capi::agpu_buffer_create(cpu(), ty, x.len() as i64, &mut buffer) };
    if status == AgpuErrorUnavailable && message().contains("forked while another thread was in a call") {
        return REFUSED;
    }
    if status != AgpuOk {
        return WRONG;
    }
    let v = Vector(buffer);
    // SAFETY: the memory has that length.
    let copied = unsafe { arraygpu_capi::agpu_copy_from_host(v.view(), x.as_ptr().cast(), x.len() as i64) };
    let called = invoke(DOT, &[input(v.view()), input(v.view()), out_scalar(&mut dot)]);
    if (copied, called, dot.to_bits()) == (AgpuOk, AgpuOk, expected.to_bits()) { FINE } else { WRONG }
}

#[test]
fn children() {
    let x = values(300_000);
    let (v, mut expected) = (Vector::in_context(cpu(), &x), 0f32);
    ok(invoke(DOT, &[input(v.view()), input(v.view()), out_scalar(&mut expected)]));
    // No other thread is in a call.
    for _ in 0..10 {
        assert_eq!(fork(&x, expected), FINE);
    }
    let stop = AtomicBool::new(false);
    let mut seen = Vec::new();
    std::thread::scope(|s| {
        for _ in 0..3 {
            let (stop, x) = (&stop, &x);
            s.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let (v, mut dot) = (Vector::in_context(cpu(), x), 0f32);
                    ok(invoke(DOT, &[input(v.view()), input(v.view()), out_scalar(&mut dot)]));
                    assert_eq!(dot.to_bits(), expected.to_bits());
                }
            });
        }
        seen.extend((0..60).map(|_| fork(&x, expected)));
        stop.store(true, Ordering::Relaxed);
    });
    assert!(seen.iter().all(|s| [FINE, REFUSED].contains(s)), "{seen:?}");
    assert!(seen.contains(&REFUSED), "three threads are in calls nearly always: {seen:?}");
    // No other thread is in a call any more.
    assert_eq!(fork(&x, expected), FINE);
}
