//! Calls that another thread cancels, while they compile and while they run.
#![allow(clippy::undocumented_unsafe_blocks)] // Pointers are to locals; handles are valid.
#![cfg(unix)]

mod common;

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use common::*;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::unix::fs::PermissionsExt;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// The map `x * k + ..` of many terms. `terms` determines how long an element takes and which
/// program it is.
fn program(terms: i64) -> *mut AgpuProgram {
    let f32 = || MaybeUninit::new(AgpuType::AgpuF32);
    let (mut b, mut x, mut program) = (null_mut(), 0, null_mut());
    unsafe {
        ok(agpu_builder_create(c"long".as_ptr(), &mut b));
        ok(agpu_builder_param(b, c"x".as_ptr(), f32(), 1, &mut x));
        let mut value = x;
        for _ in 0..terms {
            let apply = |op: &CStr, a: AgpuNode, b2: AgpuNode| {
                let (operands, mut node) = ([a, b2], 0);
                ok(agpu_builder_apply(b, op.as_ptr(), operands.as_ptr(), 2, &mut node));
                node
            };
            let power = apply(c"pow", value, x);
            value = apply(c"add", power, x);
        }
        ok(agpu_builder_result(b, null(), value));
        ok(agpu_builder_compile(b, &mut program));
        ok(agpu_builder_free(b));
    }
    program
}

/// Runs the program over `elements` elements.
fn run(program: *mut AgpuProgram, context: *mut AgpuContext, elements: i64) -> AgpuStatus {
    let f32 = || MaybeUninit::new(AgpuType::AgpuF32);
    let mut buffers = [null_mut(); 2];
    for buffer in &mut buffers {
        ok(unsafe { agpu_buffer_create(context, f32(), elements, buffer) });
    }
    let [x, y] = buffers.map(Vector);
    let args = [input(x.view()), output(y.view())];
    unsafe { agpu_program_run(program, null(), args.as_ptr(), 2) }
}

/// Calls `f` while another thread raises the flag after `wait`. Returns the status of `f` and the
/// time between the flag and its return.
fn cancelled_after(wait: Duration, f: impl FnOnce() -> AgpuStatus) -> (AgpuStatus, Duration) {
    let flag = AtomicI32::new(0);
    ok(unsafe { agpu_set_cancel_flag(flag.as_ptr(), null_mut()) });
    let (status, began) = (AtomicI32::new(0), Instant::now());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(wait);
            flag.store(1, Ordering::Release);
        });
        status.store(f() as i32, Ordering::Relaxed);
    });
    let late = began.elapsed().saturating_sub(wait);
    ok(unsafe { agpu_set_cancel_flag(null(), null_mut()) });
    let is_cancelled = status.into_inner() == AgpuErrorCancelled as i32;
    (if is_cancelled { AgpuErrorCancelled } else { AgpuOk }, late)
}

#[test]
fn a_raised_flag_ends_what_compiles_and_runs() {
    let flag = AtomicI32::new(0);
    let (first, x) = (program(3), Vector::in_context(cpu(), &values(9)));
    unsafe { ok(agpu_set_cancel_flag(flag.as_ptr(), null_mut())) };
    ok(run(first, cpu(), 10));
    flag.store(1, Ordering::Release);
    let args = [input(x.view()), output(x.view())];
    let status = unsafe { agpu_program_run(first, null(), args.as_ptr(), 2) };
    assert_eq!((status, x.get()), (AgpuErrorCancelled, values(9)), "{}", message());
    assert!(message().contains("agpu_set_cancel_flag"), "{}", message());
    // Calls that only query, make or free something still succeed.
    let other = Vector::in_context(cpu(), &values(3));
    assert_eq!(other.get(), values(3));
    // A compilation that is cancelled keeps nothing, and the same program compiles afterwards.
    let b = std::thread::spawn(|| program(4).addr()).join().expect("another thread looks at its own flag");
    flag.store(0, Ordering::Release);
    ok(run(std::ptr::without_provenance_mut(b), cpu(), 10));
    ok(run(first, cpu(), 10));
    unsafe {
        let (mut builder, mut x, mut r, mut made) = (null_mut(), 0, 0, null_mut());
        ok(agpu_builder_create(c"other".as_ptr(), &mut builder));
        ok(agpu_builder_param(builder, c"x".as_ptr(), MaybeUninit::new(AgpuType::AgpuF64), 1, &mut x));
        ok(agpu_builder_apply(builder, c"exp".as_ptr(), [x].as_ptr(), 1, &mut r));
        ok(agpu_builder_result(builder, null(), r));
        flag.store(7, Ordering::Release);
        assert_eq!(agpu_builder_compile(builder, &mut made), AgpuErrorCancelled);
        assert!(made.is_null() && message().contains("E0901"), "{}", message());
        flag.store(0, Ordering::Release);
        ok(agpu_builder_compile(builder, &mut made));
        ok(agpu_program_free(made));
        ok(agpu_builder_free(builder));
        let mut before = null();
        ok(agpu_set_cancel_flag(null(), &mut before));
        assert_eq!(before, flag.as_ptr().cast_const());
        fails(
            agpu_set_cancel_flag(null::<i32>().byte_add(1), null_mut()),
            AgpuErrorInvalidArgument,
            &["aligned"],
        );
        ok(agpu_program_free(first));
    }
}

/// A run that would take minutes ends some milliseconds after its flag is raised, with one thread
/// and with several.
#[test]
fn a_long_run_is_cancelled() {
    let long = program(40);
    for threads in [1, 4] {
        let context = context(threads);
        ok(run(long, context, 10));
        let (status, late) = cancelled_after(Duration::from_millis(50), || run(long, context, 1 << 22));
        assert_eq!(status, AgpuErrorCancelled);
        assert!(late < Duration::from_secs(5), "{late:?} after the flag, with {threads} threads");
        ok(run(long, context, 10));
        ok(unsafe { agpu_context_free(context) });
    }
    ok(unsafe { agpu_program_free(long) });
}

/// The call does not wait for a slow C compiler.
#[test]
fn a_c_compiler_is_stopped() {
    if std::env::var_os("AGPU_TEST_SLOW_CC").is_none() {
        // The compiler's name is read from the environment once, so this runs in a separate
        // process.
        let folder = tempfile::tempdir().expect("a folder");
        let cc = folder.path().join("slow-cc");
        let script = "#!/bin/sh\ncase \"$*\" in *program.o*) exec sleep 60 ;; *) exec cc \"$@\" ;; esac\n";
        std::fs::write(&cc, script).unwrap();
        std::fs::set_permissions(&cc, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut own = std::process::Command::new(std::env::current_exe().unwrap());
        own.args(["--exact", "a_c_compiler_is_stopped"]).env("AGPU_TEST_SLOW_CC", "1");
        let done = own.env("CC", &cc).env("ARRAYGPU_CPU_CC", "1").output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
        return;
    }
    let slow = program(5);
    let (status, late) = cancelled_after(Duration::from_millis(200), || run(slow, cpu(), 10));
    assert_eq!(status, AgpuErrorCancelled, "{}", message());
    assert!(late < Duration::from_secs(5), "{late:?} after the flag");
}
