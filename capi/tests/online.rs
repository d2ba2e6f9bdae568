//! Programs built node by node, and errors in building them.
#![allow(clippy::undocumented_unsafe_blocks)] // Pointers are to locals; handles are valid.

mod common;

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use common::built::Built;
use common::*;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

fn saxpy() -> (Built, *mut AgpuProgram) {
    let b = Built::new();
    let a = b.param(c"a", AgpuType::AgpuF32, 0);
    let x = b.param(c"x", AgpuType::AgpuF32, 1);
    let y = b.param(c"y", AgpuType::AgpuF32, 1);
    let r = b.apply("add", &[b.apply("mul", &[a, x]), y]);
    b.try_result(r).unwrap();
    let program = b.compile(&[]);
    (b, program)
}

#[test]
fn a_program_runs_in_place_and_through_slices() {
    let (_b, program) = saxpy();
    let x: Vec<f32> = (0..5000).map(|i| i as f32 * 0.5).collect();
    let y: Vec<f32> = (0..5000).map(|i| 1.0 / (i + 1) as f32).collect();
    let (vx, vy) = (Vector::in_context(cpu(), &x), Vector::in_context(cpu(), &y));
    let args = [scalar(&3f32), input(vx.view()), input(vy.view()), output(vy.view())];
    ok(unsafe { agpu_program_run(program, null(), args.as_ptr(), 4) });
    let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 3.0 * x + y).collect();
    assert!(vy.get() == expected, "{:?}", &vy.get()[..8]);
    let mut kernels = 0;
    ok(unsafe { agpu_program_kernels(program, &mut kernels) });
    assert_eq!(kernels, 1);
    ok(unsafe { agpu_program_free(program) });
    assert_ne!(unsafe { agpu_program_run(program, null(), args.as_ptr(), 4) }, AgpuOk);
    assert!(message().contains("freed"), "{}", message());
}

#[test]
fn sizes_that_differ_are_named() {
    let (_b, program) = saxpy();
    let (x, y) = (Vector::in_context(cpu(), &[1.0; 3]), Vector::in_context(cpu(), &[2.0; 4]));
    let args = [scalar(&3f32), input(x.view()), input(y.view()), output(y.view())];
    assert_eq!(unsafe { agpu_program_run(program, null(), args.as_ptr(), 4) }, AgpuErrorShape);
    assert_eq!(message(), "f: operator +: x, y: the lengths 3 and 4 differ; len(x) = 3, len(y) = 4");
    assert_eq!(y.get(), [2.0; 4]);
}

#[test]
fn a_remembered_program_runs_by_its_key() {
    let b = Built::new();
    let x = b.param(c"x", AgpuType::AgpuF32, 1);
    let total = b.sum(b.apply("mul", &[x, x]));
    b.try_result(total).unwrap();
    let program = b.compile(&[]);
    let key = b"sum of squares";
    let mut result = 0f32;
    let vx = Vector::in_context(cpu(), &[1.0, 2.0, 3.0]);
    let args = [input(vx.view()), out_scalar(&mut result)];
    let mut known = true;
    let run = |known: &mut bool| unsafe {
        agpu_run_remembered(key.as_ptr().cast(), key.len() as i64, null(), args.as_ptr(), 2, known)
    };
    ok(run(&mut known));
    assert!(!known && result == 0.0);
    ok(unsafe { agpu_program_remember(program, key.as_ptr().cast(), key.len() as i64) });
    ok(unsafe { agpu_program_free(program) });
    ok(run(&mut known));
    assert!(known);
    assert_eq!(result, 14.0);
    // another program takes its place
    let b = Built::new();
    let x = b.param(c"x", AgpuType::AgpuF32, 1);
    let program = b.compile(&[b.sum(x)]);
    ok(unsafe { agpu_program_remember(program, key.as_ptr().cast(), key.len() as i64) });
    ok(unsafe { agpu_program_free(program) });
    ok(run(&mut known));
    assert_eq!((known, result), (true, 6.0));
}

#[test]
fn misuse_is_an_error_that_says_what_is_wrong() {
    let (b, other) = (Built::new(), Built::new());
    let x = b.param(c"x", AgpuType::AgpuF32, 1);
    let k = b.param(c"k", AgpuType::AgpuI64, 1);
    let foreign = other.param(c"x", AgpuType::AgpuF32, 1);
    let says = |e: Result<AgpuNode, String>, text: &str| {
        let e = e.unwrap_err();
        assert!(e.contains(text), "{e}");
    };
    says(b.try_apply("add", &[x, k]), "f32 and i64");
    says(b.try_apply("add", &[x]), "add takes 2 operands, not 1");
    says(b.try_apply("plus", &[x, x]), "there is no operation `plus`");
    says(b.try_apply("add", &[x, foreign]), "operand 1 is a node of another builder");
    says(b.try_apply("add", &[x, 0]), "operand 1 is no node");
    says(b.try_apply("add", &[x, x + 1000]), "operand 1 is no node of this builder");
    says(b.try_apply("and", &[x, x]), "and does not take f32");
    b.apply("neg", &[x]);
    let mut late = 0;
    let status = unsafe {
        agpu_builder_param(b.0, c"late".as_ptr(), MaybeUninit::new(AgpuType::AgpuF32), 1, &mut late)
    };
    assert_eq!((status, late), (AgpuErrorInvalidArgument, 0));
    assert!(message().contains("parameters come before all other nodes"), "{}", message());
    let v = b.variable(AgpuType::AgpuF32);
    let unbound = b.apply("add", &[v, v]);
    assert!(b.try_result(unbound).unwrap_err().contains("depends on a variable"));
    let mut program = null_mut();
    assert_eq!(unsafe { agpu_builder_compile(b.0, &mut program) }, AgpuErrorInvalidArgument);
    assert!(program.is_null() && message().contains("no result"), "{}", message());
    // The node belongs to a builder that was freed.
    let gone = {
        let g = Built::new();
        g.param(c"x", AgpuType::AgpuF32, 1)
    };
    says(b.try_apply("neg", &[gone]), "another builder");
}

/// A failing call adds neither a node nor a shape rule, so later calls are as if it had not been
/// made.
#[test]
fn a_failed_call_leaves_nothing_behind() {
    let b = Built::new();
    let x = b.param(c"x", AgpuType::AgpuF32, 1);
    let n = b.param(c"n", AgpuType::AgpuI64, 0);
    let twice = b.apply("add", &[x, x]);
    let mut made = 77;
    let refused = |status: AgpuStatus| assert_eq!(status, AgpuErrorInvalidArgument, "{}", message());
    // 0 <= n would be a shape rule of each call.
    unsafe {
        refused(agpu_builder_fill(b.0, n, x, &mut made));
        refused(agpu_builder_iota(b.0, b.apply("neg", &[x]), &mut made));
        refused(agpu_builder_spread(b.0, n, 0, n, &mut made));
    }
    assert_eq!(made, 77);
    b.try_result(twice).unwrap();
    let program = b.compile(&[]);
    let (from, to) = (Vector::in_context(cpu(), &[1.0, 2.0, 3.0]), Vector::in_context(cpu(), &[0.0; 3]));
    let args = [input(from.view()), scalar(&-5i64), output(to.view())];
    ok(unsafe { agpu_program_run(program, null(), args.as_ptr(), 3) });
    assert_eq!(to.get(), [2.0, 4.0, 6.0]);
    ok(unsafe { agpu_program_free(program) });
    // Valid calls still work.
    ok(unsafe { agpu_builder_fill(b.0, n, b.constant(AgpuType::AgpuF32, 1f32), &mut made) });
    assert!(b.try_result(made).is_ok());
    let program = b.compile(&[]);
    let filled = Vector::in_context(cpu(), &[0.0; 2]);
    let args = [input(from.view()), scalar(&2i64), output(to.view()), output(filled.view())];
    ok(unsafe { agpu_program_run(program, null(), args.as_ptr(), 4) });
    assert_eq!(filled.get(), [1.0, 1.0]);
    let args = [input(from.view()), scalar(&-5i64), output(to.view()), output(filled.view())];
    assert_eq!(unsafe { agpu_program_run(program, null(), args.as_ptr(), 4) }, AgpuErrorShape);
    ok(unsafe { agpu_program_free(program) });
}

/// What the author allows is in the program's text, and may be taken back.
#[test]
fn permissions_are_in_the_text() {
    let text = |allow: &dyn Fn(*mut AgpuBuilder)| {
        let b = Built::new();
        let [x, y] = [c"x", c"y"].map(|name| b.param(name, AgpuType::AgpuF32, 2));
        let mut product = 0;
        ok(unsafe { agpu_builder_matmul(b.0, x, y, &mut product) });
        allow(b.0);
        b.try_result(product).unwrap();
        let (program, mut text) = (b.compile(&[]), null());
        ok(unsafe { agpu_program_text(program, c"core".as_ptr(), &mut text) });
        let text = unsafe { CStr::from_ptr(text) }.to_str().unwrap().lines().next().unwrap().to_string();
        ok(unsafe { agpu_program_free(program) });
        text
    };
    let fast = |b| ok(unsafe { agpu_builder_fast_math(b, true) });
    let tensor = |on| move |b| ok(unsafe { agpu_builder_tensor_cores(b, on) });
    assert!(text(&|_| ()).ends_with(") {"));
    assert!(text(&|b| (fast(b), tensor(true)(b)).0).ends_with(") fast tensor_cores {"));
    assert!(text(&tensor(true)).ends_with(") tensor_cores {"));
    assert!(text(&|b| (tensor(true)(b), tensor(false)(b)).1).ends_with(") {"));
    let stencil = |name: Option<&'static CStr>| {
        move |b| ok(unsafe { agpu_builder_stencil(b, name.map_or(null(), CStr::as_ptr)) })
    };
    for name in [c"direct", c"planes"] {
        let wanted = format!(") stencil {} {{", name.to_str().unwrap());
        assert!(text(&stencil(Some(name))).ends_with(&wanted), "{wanted}");
    }
    assert!(text(&|b| (stencil(Some(c"tile"))(b), stencil(None)(b)).1).ends_with(") {"));
    let unknown = |b| {
        stencil(Some(c"rows"))(b);
        let found = unsafe { agpu_builder_stencil(b, c"walk".as_ptr()) };
        fails(
            found,
            AgpuErrorInvalidArgument,
            &["agpu_builder_stencil", "there is no strategy `walk`: direct, window"],
        );
    };
    assert!(text(&unknown).ends_with(") stencil rows {"));
}

#[test]
fn staged_values_are_the_calls() {
    let b = Built::new();
    let x = b.param(c"x", AgpuType::AgpuF32, 1);
    let a = b.param(c"a", AgpuType::AgpuF32, 0);
    let (mut staged, mut untouched) = (0, 77);
    ok(unsafe { agpu_builder_stage(b.0, b.apply("add", &[a, a]), &mut staged) });
    fails(
        unsafe { agpu_builder_stage(b.0, b.sum(x), &mut untouched) },
        AgpuErrorInvalidArgument,
        &["agpu_builder_stage", "computed by a reduction, so only the device knows it"],
    );
    fails(unsafe { agpu_builder_stage(b.0, x, &mut untouched) }, AgpuErrorInvalidArgument, &["scalar"]);
    assert_eq!(untouched, 77);
    b.try_result(b.apply("mul", &[x, staged])).unwrap();
    let program = b.compile(&[]);
    // The same function without the stage is another program.
    let plain = Built::new();
    let (x, a) = (plain.param(c"x", AgpuType::AgpuF32, 1), plain.param(c"a", AgpuType::AgpuF32, 0));
    plain.try_result(plain.apply("mul", &[x, plain.apply("add", &[a, a])])).unwrap();
    let general = plain.compile(&[]);
    let v = Vector::in_context(cpu(), &[1.0, 2.0, 3.0]);
    let out = [Vector::in_context(cpu(), &[0.0; 3]), Vector::in_context(cpu(), &[0.0; 3])];
    for k in (0..20).chain(0..3) {
        let a = k as f32 * 0.25;
        for (program, out) in [program, general].into_iter().zip(&out) {
            let args = [input(v.view()), scalar(&a), output(out.view())];
            ok(unsafe { agpu_program_run(program, null(), args.as_ptr(), 3) });
        }
        assert_eq!(out[0].get(), [2.0 * a, 4.0 * a, 6.0 * a]);
        assert_eq!(out[0].get(), out[1].get());
    }
    for program in [program, general] {
        ok(unsafe { agpu_program_free(program) });
    }
}

#[test]
fn with_a_c_compiler_the_bits_are_the_same() {
    let x: Vec<f32> = (0..3000).map(|i| (i as f32 * 0.37).sin()).collect();
    let v = Vector::in_context(cpu(), &x);
    let run = |name: &CStr| {
        let b = Built::new();
        let p = b.param(name, AgpuType::AgpuF32, 1);
        b.try_result(b.sum(b.apply("exp", &[p]))).unwrap();
        let program = b.compile(&[]);
        let mut result = 0f32;
        let args = [input(v.view()), out_scalar(&mut result)];
        ok(unsafe { agpu_program_run(program, null(), args.as_ptr(), 2) });
        ok(unsafe { agpu_program_free(program) });
        result.to_bits()
    };
    // Other names make another program.
    ok(unsafe { agpu_allow_cpu_compiler(false) });
    let interpreted = run(c"interpreted");
    ok(unsafe { agpu_allow_cpu_compiler(true) });
    let compiled = run(c"compiled");
    ok(unsafe { agpu_allow_cpu_compiler(false) });
    assert_eq!(interpreted, compiled);
}
