//! Calls on a GPU with kernels written by hand. They run on a real GPU, if there is one, and with
//! the fake driver.

mod common;

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use common::fake::{build, part};
use common::gpu::*;
use common::*;
use std::process::Command;
use std::ptr::null_mut;

/// Runs `test` in a context on a GPU, if there is one.
fn on_gpu(test: impl FnOnce(*mut AgpuContext)) {
    let context = gpu();
    if context.is_null() {
        assert!(part().is_none(), "the fake driver has a GPU");
        return println!("no GPU");
    }
    test(context);
    // SAFETY: the argument is a handle.
    ok(unsafe { agpu_context_free(context) });
}

fn scale(a: f32, x: AgpuView, out: AgpuView) -> i32 {
    let mut version = 0;
    ok(call(SCALE, &[scalar(&a), input(x), output(out), out_scalar(&mut version)]));
    version
}

#[test]
fn results_of_all_kinds() {
    on_gpu(|context| {
        for n in [0, 1, 5, 2047, 2048, 2049, 30_000] {
            let (x, y) = (values(n), values(n));
            let (vx, vy) = (Vector::in_context(context, &x), Vector::in_context(context, &y));
            assert_eq!(vx.get(), x);
            let mut dot = -1f32;
            ok(call(DOT, &[input(vx.view()), input(vy.view()), out_scalar(&mut dot)]));
            let tile = |(a, b): (&[f32], &[f32])| a.iter().zip(b).fold(0f32, |s, (a, b)| s + a * b);
            let tiles = x.chunks(2048).zip(y.chunks(2048)).map(tile);
            assert_eq!(dot, tiles.fold(0f32, |s, t| s + t));

            let (mut made, mut version) = (null_mut(), 0);
            ok(call(SCALE, &[scalar(&2f32), input(vx.view()), out_new(&mut made), out_scalar(&mut version)]));
            assert_eq!(Vector(made).get(), x.iter().map(|x| x * 2.0).collect::<Vec<_>>());
            assert_eq!(version, if n > 0 { 10 } else { 0 });
        }
        let mut result = 0f32;
        let args = [scalar(&2.5f32), scalar(&true), scalar(&-7i64), out_scalar(&mut result)];
        ok(call_on(context, null_mut(), SCALARS, &args));
        assert_eq!(result, 2.5);
    });
}

/// The first call of a thread has new vectors and no scalar result.
#[test]
fn new_vectors_alone() {
    let test = || {
        on_gpu(|context| {
            for n in [3000, 0] {
                let x = values(n);
                let v = Vector::in_context(context, &x);
                let mut made = [null_mut(); 2];
                ok(call(REVERSED, &[input(v.view()), out_new(&mut made[0])]));
                assert_eq!(Vector(made[0]).get(), x.iter().rev().copied().collect::<Vec<_>>());
                let [sum, difference] = &mut made;
                let args = [input(v.view()), input(v.view()), out_new(sum), out_new(difference)];
                ok(call(SUM_AND_DIFFERENCE, &args));
                assert_eq!(Vector(made[0]).get(), x.iter().map(|x| x + x).collect::<Vec<_>>());
                assert_eq!(Vector(made[1]).get(), vec![0.0; n]);
            }
        });
    };
    std::thread::spawn(test).join().unwrap();
}

#[test]
fn scalars_that_stay_on_the_device() {
    on_gpu(|context| {
        let x = values(1000);
        let (v, s) = (Vector::in_context(context, &x), Vector::in_context(context, &[7.0; 3]));
        let mut dot = 0f32;
        ok(call(DOT, &[input(v.view()), input(v.view()), out_scalar(&mut dot)]));
        ok(call(DOT, &[input(v.view()), input(v.view()), output(s.slice(1, 2, 1))]));
        assert_eq!(s.get(), [7.0, dot, 7.0]);
        // The result is written into an input.
        ok(call(DOT, &[input(v.view()), input(v.view()), output(v.slice(0, 1, 1))]));
        assert_eq!(v.get()[0], dot);
        fails(
            call(DOT, &[input(v.view()), input(v.view()), output(s.slice(0, 2, 1))]),
            AgpuErrorShape,
            &["one element"],
        );
    });
}

#[test]
fn versions_overlaps_and_strides() {
    on_gpu(|context| {
        let x = values(5000);
        let doubled: Vec<f32> = x.iter().map(|x| x * 2.0).collect();
        let new = |x: &[f32]| Vector::in_context(context, x);
        let (v, out) = (new(&x), new(&x));
        assert_eq!(scale(2.0, v.view(), out.view()), 10);
        assert_eq!(out.get(), doubled);
        // The call is in place, and the array is not aligned.
        assert_eq!(scale(2.0, v.view(), v.view()), 11);
        assert_eq!(v.get(), doubled);
        assert_eq!(scale(0.5, v.slice(1, 5000, 1), out.slice(0, 4999, 1)), 11);
        assert_eq!(out.get()[..4999], x[1..]);
        assert_eq!(scale(1.0, v.slice(0, 5000, 5), out.slice(0, 4000, 4)), 12);
        assert_eq!(read(out.slice(0, 4000, 4)), doubled.iter().step_by(5).copied().collect::<Vec<_>>());
        let backwards = AgpuView { offset: 4999, stride: axes(-1), ..v.view() };
        assert_eq!(read(backwards), doubled.iter().rev().copied().collect::<Vec<_>>());
        // The result is computed in a temporary.
        ok(call(REVERSED, &[input(v.view()), output(v.view())]));
        assert_eq!(v.get(), doubled.iter().rev().copied().collect::<Vec<_>>());
        let (mut a, mut b, mut version) = (null_mut(), null_mut(), 0);
        let args = [input(v.view()), out_new(&mut a), out_new(&mut b), out_scalar(&mut version)];
        ok(call(TWICE_THEN_REVERSED, &args));
        assert_eq!(Vector(b).get(), doubled);
        assert_eq!(Vector(a).get()[4999], doubled[0] * 4.0);
    });
}

#[test]
fn records() {
    on_gpu(|context| {
        let new = || Vector::in_context(context, &values(10_000));
        let (x, out) = (new(), new());
        let gather = |k: i64| call(GATHER, &[input(x.view()), scalar(&k), output(out.view())]);
        // SAFETY: the argument is a handle.
        let wait = || unsafe { agpu_context_synchronize(context) };
        ok(gather(0));
        ok(wait());
        ok(gather(3));
        ok(gather(5));
        fails(
            wait(),
            AgpuErrorRecord,
            &["an earlier call of stats::gather: x.at(i) is out of range (stats.rs:30:9)", "element 9995"],
        );
        ok(wait());
        ok(gather(-5000));
        let mut host = [0f32; 3];
        // SAFETY: the memory has that length.
        let copied = unsafe { agpu_copy_to_host(host.as_mut_ptr().cast(), out.view(), 3) };
        fails(copied, AgpuErrorRecord, &["too low", "element 0"]);
        ok(gather(-5000));
        let mut dot = -1f32;
        let status = call(DOT, &[input(x.view()), input(x.view()), out_scalar(&mut dot)]);
        fails(status, AgpuErrorRecord, &["stats::dot: an earlier call of stats::gather", "too low"]);
        assert_eq!(dot, -1.0);
        ok(call(DOT, &[input(x.view()), input(x.view()), out_scalar(&mut dot)]));
        // The second record is made right after the first was cleared.
        for _ in 0..2 {
            ok(gather(7));
            fails(wait(), AgpuErrorRecord, &["element 9993"]);
        }
    });
}

/// Runs all tests of this file with the fake driver.
#[test]
fn with_the_fake_driver() {
    // A sanitizer observes only the real driver.
    if std::env::var_os("ARRAYGPU_SANITIZER").is_some() {
        return;
    }
    let (None, Some(driver)) = (part(), build(None)) else { return };
    for options in ["", "eager=1"] {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env("LD_LIBRARY_PATH", &driver).env("FAKE_CUDA", options).env("ARRAYGPU_TEST_PART", "all");
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn matrices() {
    on_gpu(|context| matrix::turn(context, [11, 12], call));
}

/// Runs with kernels of all sizes. With the fake driver this has a part of its own.
#[test]
fn copies_of_matrices() {
    on_gpu(|context| {
        if part().is_none() {
            let contexts = [context, cpu()];
            matrix::copies(contexts, AgpuType::AgpuU8, &(0..200u8).collect::<Vec<_>>());
            matrix::copies(contexts, AgpuType::AgpuI16, &(0..200i16).collect::<Vec<_>>());
            matrix::copies(contexts, AgpuType::AgpuF32, &(0..200u16).map(f32::from).collect::<Vec<_>>());
            matrix::copies(contexts, AgpuType::AgpuF64, &(0..200).map(f64::from).collect::<Vec<_>>());
        }
    });
}
