//! ARRAYGPU_BUDGET: what a function that is built in this process may take to compile. It is read once
//! in a process, so each case is a separate one.

mod common;

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use common::*;
use std::mem::MaybeUninit;
use std::process::Command;
use std::ptr::{null, null_mut};

/// Runs in the processes that the test below starts: builds and compiles the square of a vector.
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
        match agpu_builder_compile(builder, &mut program) {
            AgpuOk => println!("<<compiled>>"),
            _ => println!("<<{}>>", message()),
        }
        ok(agpu_builder_free(builder));
    }
}

fn compiled_within(budget: Option<&str>) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]).env("ARRAYGPU_TEST_CHILD", "1");
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
