//! `ARRAYGPU_CHECK=1` in separate processes, on the CPU and on a GPU of the fake driver. It reports
//! where NaN arises and where something was written beside an array, and changes nothing else.

mod common;

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use common::gpu::call_on;
use common::*;
use std::process::Command;
use std::ptr::null_mut;

/// Runs in the processes that the tests below start.
#[test]
fn child() {
    match fake::part().as_deref() {
        Some("cpu") => checked(cpu()),
        Some("gpu") => checked(gpu::gpu()),
        Some("unchecked") => unchecked(),
        _ => return,
    }
    println!("<<ok>>");
}

fn checked(context: *mut AgpuContext) {
    assert!(!context.is_null());
    let call = |entry, args: &[AgpuArg]| call_on(context, null_mut(), entry, args);
    let new = |values: &[f32]| Vector::in_context(context, values);
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let (x, zeros, out) = (new(&[1.0, inf, 3.0, inf]), new(&[0.0; 4]), new(&[9.0; 4]));
    let (mut dot, mut version) = (0f32, 0);

    // This is a reduction with inf * 0.
    let args = [input(x.view()), input(zeros.view()), out_scalar(&mut dot)];
    fails(
        call(DOT, &args),
        AgpuErrorRecord,
        &["stats::dot: check: result is NaN (stats.rs:12:5)", "kernel dot"],
    );
    let args = [input(x.view()), input(zeros.view()), output(out.slice(2, 3, 1))];
    fails(call(DOT, &args), AgpuErrorRecord, &["check: result is NaN (stats.rs:12:5)"]);
    // With strides, too, the reported index is that of the view.
    let scale = |a: &f32, x: AgpuView, out: AgpuView, version: &mut i32| {
        call(SCALE, &[scalar(a), input(x), output(out), out_scalar(version)])
    };
    let status = scale(&0.0, x.view(), out.view(), &mut version);
    fails(status, AgpuErrorRecord, &["stats::scale: check: result at 1 is NaN (stats.rs:16:5)"]);
    let status = scale(&0.0, x.slice(0, 4, 2), out.slice(0, 4, 2), &mut version);
    ok(status);
    let status = scale(&0.0, x.slice(2, 4, 1), out.slice(0, 4, 3), &mut version);
    fails(status, AgpuErrorRecord, &["result at 1 is NaN"]);
    // This call is in place.
    let again = new(&[inf, 1.0]);
    let status = scale(&0.0, again.view(), again.view(), &mut version);
    fails(status, AgpuErrorRecord, &["result at 0 is NaN"]);

    // An element whose input is NaN may be NaN.
    let bad = new(&[1.0, nan, 3.0, 4.0]);
    ok(scale(&2.0, bad.view(), out.view(), &mut version));
    ok(scale(&nan, x.view(), out.view(), &mut version));
    ok(call(DOT, &[input(bad.view()), input(zeros.view()), out_scalar(&mut dot)]));
    assert!(dot.is_nan() && out.get()[3].is_nan());
    // Other results are as always.
    ok(scale(&2.0, x.view(), out.view(), &mut version));
    assert_eq!(out.get(), [2.0, inf, 6.0, inf]);

    // The host writes after the end of an array, and the next launch reports it.
    let (y, mut data) = (new(&[1.0; 5]), null_mut());
    // SAFETY: the arguments are a handle and a pointer to a local. The fake driver's device memory
    // is host memory, and guard bytes follow the elements.
    unsafe {
        ok(agpu_context_synchronize(context));
        ok(agpu_buffer_data(y.0, &mut data));
        data.cast::<f32>().add(5).write(0.0);
    }
    let status = scale(&2.0, y.view(), out.slice(0, 4, 1), &mut version);
    assert_eq!(status, AgpuErrorShape, "checked before anything runs");
    let out = new(&[0.0; 5]);
    let status = scale(&2.0, y.view(), out.view(), &mut version);
    fails(status, AgpuErrorInternal, &["check: something was written outside of x, by the kernel scale"]);
    let status = scale(&2.0, out.view(), y.view(), &mut version);
    fails(
        status,
        AgpuErrorInternal,
        &["outside of result, by the kernel scale (stats.rs:16:5, stats.rs:17:5)"],
    );
}

fn unchecked() {
    let (x, zeros, mut dot) = (Vector::new(&[f32::INFINITY]), Vector::new(&[0.0]), 0f32);
    ok(invoke(DOT, &[input(x.view()), input(zeros.view()), out_scalar(&mut dot)]));
    assert!(dot.is_nan());
}

#[test]
fn on_the_cpu() {
    let play = |part: &str, value: &str| {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "child", "--nocapture"]).env("ARRAYGPU_TEST_PART", part);
        let output = child.env("ARRAYGPU_CHECK", value).env("ARRAYGPU_LOG", "warn").output().unwrap();
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(output.status.success() && said[0].contains("<<ok>>"), "{}", said.join("\n"));
        said[1].clone()
    };
    play("cpu", "1");
    for off in ["", "0", "off"] {
        assert!(!play("unchecked", off).contains("ARRAYGPU_CHECK"));
    }
    assert!(play("unchecked", "yes").contains("ARRAYGPU_CHECK is `yes`, expected 1 or 0"));
}

#[test]
fn on_a_gpu() {
    let (None, Some(driver)) = (fake::part(), fake::build(None)) else { return };
    for options in ["", "eager=1,"] {
        assert_eq!(fake::play(&driver, "gpu", options, &[("ARRAYGPU_CHECK", "1")]), "ok");
    }
}
