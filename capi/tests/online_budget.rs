//! ARRAYGPU_BUDGET: what a function that is built in this process may take to compile. It is read once
//! in a process, so each case is a separate one.

mod common;

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use common::*;
use std::ffi::CString;
use std::mem::MaybeUninit;
use std::process::Command;
use std::ptr::{null, null_mut};

/// Runs in the processes that the tests below start: builds and compiles the square of a vector, and runs it or
/// asks for the text of a stage.
#[test]
fn child() {
    if std::env::var_os("ARRAYGPU_TEST_CHILD").is_none() {
        return;
    }
    let (mut builder, mut x, mut square, mut program) = (null_mut(), 0, 0, null_mut());
    let ty = MaybeUninit::new(AgpuType::AgpuF32);
    // SAFETY: pointers are to locals; handles are valid.
    unsafe {
        ok(agpu_builder_create(c"f".as_ptr(), &mut builder));
        ok(agpu_builder_param(builder, c"x".as_ptr(), ty, 1, &mut x));
        ok(agpu_builder_apply(builder, c"mul".as_ptr(), [x, x].as_ptr(), 2, &mut square));
        ok(agpu_builder_result(builder, null(), square));
        let mut done = agpu_builder_compile(builder, &mut program);
        let child = std::env::var("ARRAYGPU_TEST_CHILD").unwrap();
        if done == AgpuOk && child == "run" {
            let [v, out] = [(); 2].map(|()| Vector::in_context(cpu(), &[3.0; 10]));
            done = agpu_program_run(program, null(), [input(v.view()), output(out.view())].as_ptr(), 2);
        } else if done == AgpuOk && child != "compile" {
            let (stage, mut text) = (CString::new(child).unwrap(), null());
            done = agpu_program_text(program, stage.as_ptr(), &mut text);
        }
        match done {
            AgpuOk => println!("<<compiled>>"),
            _ => println!("<<{}>>", message()),
        }
        ok(agpu_builder_free(builder));
    }
}

fn compiled_within(budget: Option<&str>) -> String {
    done_within("compile", budget)
}

fn done_within(what: &str, budget: Option<&str>) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]).env("ARRAYGPU_TEST_CHILD", what);
    command.envs([("ARRAYGPU_CPU_CC", "1"), ("ARRAYGPU_DEVICE", "cpu"), ("ARRAYGPU_CACHE", "off")]);
    command.env_remove("ARRAYGPU_BUDGET").envs(budget.map(|b| ("ARRAYGPU_BUDGET", b)));
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    text.split_once("<<").unwrap().1.split_once(">>").unwrap().0.to_string()
}

#[test]
fn a_budget_of_the_environment_ends_a_compilation() {
    assert_eq!(compiled_within(None), "compiled");
    assert_eq!(compiled_within(Some("nodes=100000,seconds=60")), "compiled");
    let refused = compiled_within(Some("nodes=2"));
    assert!(refused.contains("more than 2 nodes") && refused.contains("its budget allows"), "{refused}");
    // what is no budget changes nothing
    assert_eq!(compiled_within(Some("many")), "compiled");
}

/// The C of a program that runs here, PTX that someone asks for, and what a report needs.
#[test]
fn a_budget_limits_the_code_that_is_written() {
    for what in ["run", "first_ptx", "ptx", "explain"] {
        assert_eq!(done_within(what, Some("bytes=1000000")), "compiled", "{what}");
        let refused = done_within(what, Some("bytes=100"));
        assert!(
            refused.contains("E0903") && refused.contains("more than 100 bytes of code"),
            "{what}: {refused}"
        );
    }
}
