//! ARRAYGPU_CPU_LEVEL and ARRAYGPU_THREADS. They are read once in a process, so each case is a
//! separate process.

mod common;

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use common::*;
use std::ffi::c_void;
use std::path::Path;
use std::process::Command;
use std::ptr::{null, null_mut};

unsafe extern "C" fn two(args: *const AgpuKernelArgs, _: i64, _: i64) {
    // SAFETY: the kernel has one slot, which is an i32.
    unsafe { (*(*args).slots).cast::<i32>().write(2) };
}
unsafe extern "C" fn three(args: *const AgpuKernelArgs, _: i64, _: i64) {
    // SAFETY: as above.
    unsafe { (*(*args).slots).cast::<i32>().write(3) };
}
unsafe extern "C" fn four(args: *const AgpuKernelArgs, _: i64, _: i64) {
    // SAFETY: as above.
    unsafe { (*(*args).slots).cast::<i32>().write(4) };
}

const fn table(f: unsafe extern "C" fn(*const AgpuKernelArgs, i64, i64)) -> AgpuCpuKernel {
    AgpuCpuKernel { finish: Some(f), ..AgpuCpuKernel::NONE }
}
static V2: AgpuCpuKernel = table(two);
static V3: AgpuCpuKernel = table(three);
static V4: AgpuCpuKernel = table(four);

/// Returns the level that ran in this process, or the error.
fn level(v2: *const AgpuCpuKernel, v3: *const AgpuCpuKernel, v4: *const AgpuCpuKernel) -> String {
    let mut state: *mut c_void = null_mut();
    let plans = "plan @level { result level: i32 launch 0 level cost 1 { slot result 0 finish } }";
    let module = AgpuModule {
        plans: plans.as_ptr().cast(),
        plans_length: plans.len() as i64,
        kernels: 1,
        cpu_v2: v2,
        cpu_v3: v3,
        cpu_v4: v4,
        gpu: std::ptr::null(),
        gpu_length: 0,
        images: std::ptr::null(),
        image_count: 0,
        state: &mut state,
        ..MODULE
    };
    let mut level = 0;
    // SAFETY: the module and the argument live during the call.
    match unsafe { agpu_invoke(&module, 0, null(), [out_scalar(&mut level)].as_ptr(), 1) } {
        AgpuOk => level.to_string(),
        _ => message(),
    }
}

/// Runs in the processes that the tests below start.
#[test]
fn child() {
    if std::env::var_os("ARRAYGPU_TEST_CHILD").is_none() {
        return;
    }
    let (mut context, mut threads) = (null_mut(), 0);
    // SAFETY: the pointers are to locals.
    unsafe {
        if agpu_context_default(&mut context) == AgpuOk {
            ok(agpu_context_threads(context, &mut threads));
            let [all, lower, highest] =
                [level(&V2, &V3, &V4), level(&V2, &V3, null()), level(null(), null(), &V4)];
            println!("<<v4 alone: {highest}; level {all} without v4 {lower} threads {threads}>>");
        } else {
            println!("<<{}>>", message());
        }
    }
}

fn run(variables: &[(&str, &str)]) -> String {
    run_program(&std::env::current_exe().unwrap(), variables)
}

fn run_program(program: &Path, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(program);
    command.args(["--exact", "child", "--nocapture"]).env("ARRAYGPU_TEST_CHILD", "1");
    command
        .env_remove("ARRAYGPU_CPU_LEVEL")
        .env_remove("ARRAYGPU_THREADS")
        .env("ARRAYGPU_DEVICE", "cpu")
        .envs(variables.iter().copied());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    text.split_once("<<").unwrap().1.split_once(">>").unwrap().0.to_string()
}

#[test]
fn threads() {
    let all = std::thread::available_parallelism().unwrap();
    assert!(run(&[]).ends_with(&format!("threads {all}")));
    assert!(run(&[("ARRAYGPU_THREADS", "")]).ends_with(&format!("threads {all}")));
    assert!(run(&[("ARRAYGPU_THREADS", "3")]).ends_with("threads 3"));
    for bad in ["0", "-1", "many"] {
        let error = run(&[("ARRAYGPU_THREADS", bad)]);
        assert!(error.contains(&format!("ARRAYGPU_THREADS is `{bad}`, expected a number")), "{error}");
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn levels() {
    let with = |level: &str| run(&[("ARRAYGPU_CPU_LEVEL", level), ("ARRAYGPU_THREADS", "1")]);
    let alone = "the package has no code for this processor, which runs x86-64-v2 and below";
    let lowest = with("v2");
    assert!(lowest.ends_with("level 2 without v4 2 threads 1") && lowest.contains(alone), "{lowest}");
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        assert!(with("v3").ends_with("level 3 without v4 3 threads 1"));
    }
    if std::arch::is_x86_feature_detected!("avx512vl") && std::arch::is_x86_feature_detected!("avx512bw") {
        assert_eq!(with("v4"), "v4 alone: 4; level 4 without v4 3 threads 1");
        assert_eq!(run(&[("ARRAYGPU_THREADS", "1")]), with("v4"));
    }
    let error = with("v5");
    assert!(error.contains("ARRAYGPU_CPU_LEVEL is `v5`, expected v2, v3 or v4"), "{error}");
}

/// A program with more rights than the user who started it ignores that user's variables. Only root
/// can make such a program.
#[test]
fn privileged_programs_obey_no_variable() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    // Another process copies the file: a program that another test starts may briefly hold a file
    // that this process has open for writing, and running it would fail with "text file busy".
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status().unwrap();
    assert!(copied.success());
    if chown(&program, Some(65534), None).is_err() {
        return println!("not run: only root gives files away");
    }
    for path in [folder.path(), &program] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o4755)).unwrap();
    }
    let said = run_program(
        &program,
        &[("ARRAYGPU_CPU_LEVEL", "v5"), ("ARRAYGPU_THREADS", "none"), ("ARRAYGPU_DEVICE", "abacus")],
    );
    let all = std::thread::available_parallelism().unwrap();
    assert!(said.contains("; level ") && said.ends_with(&format!("threads {all}")), "{said}");
}
