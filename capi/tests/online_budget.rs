//! ARRAYGPU_BUDGET: what a function that is built in this process may take to compile. It is read once
//! in a process, so each case is a separate one.

mod common;

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use common::*;
use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

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
        if done == AgpuOk && (child == "run" || child == "cancel") {
            let [v, out] = [(); 2].map(|()| Vector::in_context(cpu(), &[3.0; 10]));
            let run = || agpu_program_run(program, null(), [input(v.view()), output(out.view())].as_ptr(), 2);
            if child == "cancel" {
                cancel_twice(run);
            }
            done = run();
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

/// Cancels two calls while their compiler runs, which is slow as long as a file beside it says so.
fn cancel_twice(run: impl Fn() -> AgpuStatus) {
    let cc = std::env::var_os("CC").unwrap();
    let [slow, began] = ["slow", "began"].map(|name| Path::new(&cc).with_file_name(name));
    std::fs::write(&slow, "").unwrap();
    for _ in 0..2 {
        let (flag, has_ended) = (AtomicI32::new(0), AtomicBool::new(false));
        // SAFETY: the flag lives until it is taken back.
        ok(unsafe { agpu_set_cancel_flag(flag.as_ptr(), null_mut()) });
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !began.exists() && !has_ended.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(5));
                }
                flag.store(1, Ordering::Release);
            });
            let status = run();
            has_ended.store(true, Ordering::Relaxed);
            assert_eq!(status, AgpuErrorCancelled, "{}", message());
        });
        std::fs::remove_file(&began).unwrap();
        // SAFETY: there is no flag.
        ok(unsafe { agpu_set_cancel_flag(null(), null_mut()) });
    }
    std::fs::remove_file(slow).unwrap();
}

fn compiled_within(budget: Option<&str>) -> String {
    done_within("compile", budget)
}

fn done_within(what: &str, budget: Option<&str>) -> String {
    // the compiler may be slow, but not when it is asked who it is
    let folder = tempfile::tempdir().unwrap();
    let cc = folder.path().join("cc");
    let wait = "case \"$*\" in *program.o*) echo >${0%/*}/began; exec sleep 60 ;; esac";
    let is_slow = format!("test -e ${{0%/*}}/slow && {wait}");
    std::fs::write(&cc, format!("#!/bin/sh\n{is_slow}\nexec cc \"$@\"\n")).unwrap();
    std::fs::set_permissions(&cc, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]).env("ARRAYGPU_TEST_CHILD", what);
    command.envs([("ARRAYGPU_CPU_CC", "1"), ("ARRAYGPU_DEVICE", "cpu"), ("ARRAYGPU_CACHE", "off")]);
    command.env("CC", &cc).env_remove("ARRAYGPU_BUDGET").envs(budget.map(|b| ("ARRAYGPU_BUDGET", b)));
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

/// A call that was cancelled while the C compiler ran takes nothing of what the code may take.
#[test]
fn a_cancelled_compilation_costs_nothing() {
    let budgets = (8..20).map(|bits| format!("bytes={}", 1 << bits));
    let least = budgets.into_iter().find(|budget| done_within("run", Some(budget)) == "compiled").unwrap();
    assert_eq!(done_within("cancel", Some(&least)), "compiled", "{least}");
}
