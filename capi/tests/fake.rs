//! The CUDA runtime with the fake driver: what it does, how it fails, and what it leaves behind.
//! Each part is a separate process.

mod common;
#[path = "fake_cuda/parts/mod.rs"]
mod parts;

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use common::fake::*;
use common::*;
use std::ffi::CStr;
use std::ptr::{null, null_mut};

/// Runs in the processes that the tests below start.
#[test]
fn child() {
    if let Some(part) = part() {
        match parts::PARTS.iter().find(|(name, _)| *name == part) {
            Some((_, run)) => run(),
            None => println!("<<{}>>", answer()),
        }
    }
}

/// Returns the number of GPUs, the problem, the device of the default context or the reason why
/// there is none, and a GPU's context or the reason why there is none.
fn answer() -> String {
    let (mut count, mut problem, mut context, mut device) = (-1, null(), null_mut(), -1);
    // SAFETY: the pointers are to locals.
    unsafe {
        ok(agpu_device_count(&mut count));
        ok(agpu_device_problem(&mut problem));
        let problem = CStr::from_ptr(problem).to_str().unwrap();
        let default = match agpu_context_default(&mut context) {
            AgpuOk => {
                ok(agpu_context_device(context, &mut device));
                format!("device {device}")
            }
            status => format!("{status:?} {}", message()),
        };
        let options = AgpuContextOptions { device: AGPU_DEVICE_CUDA, ..AgpuContextOptions::default() };
        let gpu = match agpu_context_create(&options, &mut context) {
            AgpuOk => "a GPU".to_string(),
            status => format!("{status:?} {}", message()),
        };
        format!("{count} | {problem} | {default} | {gpu}")
    }
}

/// Runs `answer` in a process with that driver, these options and this ARRAYGPU_DEVICE.
#[track_caller]
fn answers(without: Option<&str>, options: &str, device: &str, expected: [&str; 4]) {
    let (None, Some(driver)) = (part(), build(without)) else { return };
    let variables = [("ARRAYGPU_DEVICE", device)];
    let said = play(&driver, "answer", options, if device.is_empty() { &[] } else { &variables });
    let words: Vec<_> = said.split(" | ").collect();
    assert_eq!(words.len(), 4, "{said}");
    for (word, expected) in words.iter().zip(expected) {
        let fits = if expected.is_empty() { word.is_empty() } else { word.contains(expected) };
        assert!(fits, "`{expected}` is not in `{word}`: {said}");
    }
}

/// With `ARRAYGPU_CHECK=1` more driver calls may fail: those of guards and of what is read back.
#[test]
fn any_driver_call_while_launches_are_checked() {
    let (None, Some(driver)) = (part(), build(None)) else { return };
    assert_eq!(play(&driver, "any_driver_call", "", &[("ARRAYGPU_CHECK", "1")]), "ok");
}

/// Where the code of a specialised version may not be made, the general version runs.
#[test]
fn general_version_beyond_a_budget() {
    let (None, Some(driver)) = (part(), build(None)) else { return };
    for budget in ["bytes=100", "nodes=2", "seconds=0"] {
        assert_eq!(
            play(&driver, "staged_within_budget", "", &[("ARRAYGPU_BUDGET", budget)]),
            "ok",
            "{budget}"
        );
    }
}

#[test]
fn dependent_launches_of_older_devices_and_drivers() {
    for options in ["capability=80", "capability=89", "version=12020"] {
        let (None, Some(driver)) = (part(), build(None)) else { return };
        assert_eq!(play(&driver, "dependent_launches", options, &[]), "ok", "{options}");
    }
}

/// A driver that cannot say which capture a stream is a part of, or when a graph is destroyed, leaves a workspace to
/// each graph.
#[test]
fn graphs_of_older_drivers() {
    for without in ["cuStreamGetCaptureInfo_v2", "cuUserObjectCreate", "cuGraphRetainUserObject"] {
        let (None, Some(driver)) = (part(), build(Some(without))) else { return };
        let variables = [("ARRAYGPU_TEST_WITHOUT", without)];
        assert_eq!(play(&driver, "captured_in_turn", "", &variables), "ok", "{without}");
    }
}

#[test]
fn drivers_that_will_do() {
    answers(None, "", "", ["1", "", "device 2", "a GPU"]);
    answers(None, "version=12000", "cuda", ["1", "", "device 2", "a GPU"]);
    answers(Some("cuStreamGetId"), "", "cuda:0", ["1", "", "device 2", "a GPU"]);
    answers(None, "", "cpu", ["1", "", "device 1", "a GPU"]);
    answers(None, "devices=2", "cuda:1", ["2", "", "device 3", "a GPU"]);
    // The first GPU that is supported becomes the default.
    answers(None, "devices=2,capability=75", "", ["2", "", "device 3", "AgpuErrorUnavailable"]);
    answers(
        None,
        "devices=2,capability=75",
        "cuda",
        ["2", "", "device 3", "sm_75) is too old: sm_80 or newer"],
    );
}

#[test]
fn what_is_asked_for_and_not_there() {
    let unavailable = "AgpuErrorUnavailable ARRAYGPU_DEVICE=cuda";
    answers(None, "capability=75", "cuda", ["1", "Fake GPU 0, sm_75) is too old", unavailable, "too old"]);
    answers(None, "pools=0", "cuda", ["1", "memory pools", unavailable, "memory pools"]);
    answers(None, "", "cuda:1", ["1", "", "ARRAYGPU_DEVICE=cuda:1: there is no CUDA device 1", "a GPU"]);
    for bad in ["gpu", "cuda:", "cuda:x", "CUDA"] {
        let message =
            format!("AgpuErrorInvalidArgument ARRAYGPU_DEVICE is `{bad}`, expected cpu, cuda, or cuda:1");
        answers(None, "", bad, ["1", "", &message, "a GPU"]);
    }
}

#[test]
fn drivers_that_will_not_do() {
    for (without, options, problem) in [
        (None, "version=11080", "too old: it supports CUDA 11.8, CUDA 12.0 (driver 525) or newer is needed"),
        (None, "init=100", "there is no NVIDIA GPU: cuInit: CUDA_ERROR_NO_DEVICE (100)"),
        (None, "init=803", "the NVIDIA driver does not start: cuInit: CUDA error 803"),
        (None, "devices=0", "there is no NVIDIA GPU"),
        (Some("cuMemPoolCreate"), "", "(CUDA 12.4) lacks the function cuMemPoolCreate"),
        (Some("cuDriverGetVersion"), "", "lacks the function cuDriverGetVersion"),
    ] {
        // Without a usable GPU and without ARRAYGPU_DEVICE, the CPU is used.
        answers(without, options, "", ["0", problem, "device 1", problem]);
        answers(
            without,
            options,
            "cuda",
            ["0", problem, "AgpuErrorUnavailable ARRAYGPU_DEVICE=cuda", problem],
        );
    }
    // The version is checked first.
    answers(Some("cuMemPoolCreate"), "version=11000", "", ["0", "CUDA 11.0", "device 1", "too old"]);
    // Making a context fails, for example because another process has the device.
    answers(
        None,
        "retain=46",
        "",
        [
            "1",
            "",
            "device 1",
            "AgpuErrorDevice agpu_context_create: using CUDA device 0 (Fake GPU 0, sm_90): CUDA error 46",
        ],
    );
    answers(
        None,
        "retain=46",
        "cuda",
        ["1", "", "AgpuErrorDevice ARRAYGPU_DEVICE=cuda: using", "CUDA error 46"],
    );
}

#[test]
fn no_driver() {
    if part().is_some() {
        return;
    }
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-cuda");
    std::fs::create_dir_all(&folder).unwrap();
    // This also holds if the system has a driver.
    std::fs::write(folder.join("libcuda.so.1"), "no library").unwrap();
    let problem = "there is no NVIDIA driver: libcuda.so.1 cannot be loaded";
    let said = play(&folder, "answer", "", &[]);
    assert!(
        said.starts_with(&format!("0 | {problem}")) && said.contains("| device 1 | AgpuErrorUnavailable"),
        "{said}"
    );
    let said = play(&folder, "answer", "", &[("ARRAYGPU_DEVICE", "cuda")]);
    assert!(said.contains(&format!("| AgpuErrorUnavailable ARRAYGPU_DEVICE=cuda: {problem}")), "{said}");
}
