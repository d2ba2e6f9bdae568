//! What of a package is read when. Its texts are written by hand; there are launches for GPUs and no code, so
//! that any machine runs this.

use super::*;
use crate::guard::agpu_last_error_message;
use std::ptr::null_mut;

const PLANS: &str = "
plan @first {
  param x: [f32]
  %0: i64 = len 0
  result out: [f32] extent %0
  launch 0 first over %0 cost 1 {
    pointwise param 0
    write result 0
    in %0
  }
}
plan @damaged {
  param x: [f32]
  launch 1 lost over %7 cost 1 {
  }
}
plan @third {
  param x: f32
}
";

const GPU: &str = "
gpu @first {
  version first_aligned threads 128 elements 512 contiguous aligned 0
  version first_any threads 128 elements 128
}
gpu @lost {
  version lost threads 100 elements 128
}
";

const STAGED: &str = "
func @third(%x: [f32]) -> () {
  return
}
";

fn module(state: &mut *mut std::ffi::c_void) -> AgpuModule {
    AgpuModule {
        name: c"texts".as_ptr(),
        plans: PLANS.as_ptr().cast(),
        plans_length: PLANS.len() as i64,
        kernels: 2,
        gpu: GPU.as_ptr().cast(),
        gpu_length: GPU.len() as i64,
        staged: STAGED.as_ptr().cast(),
        staged_length: STAGED.len() as i64,
        state,
        ..AgpuModule::EMPTY
    }
}

/// Calls a function without arguments, which fails at the latest where these are counted.
fn call(module: &AgpuModule, entry: i32) -> (AgpuStatus, String) {
    // SAFETY: the module is as it should be, or wrong in ways that are checked; a message is a C string.
    unsafe {
        let status = agpu_invoke(module, entry, std::ptr::null(), std::ptr::null(), 0);
        (status, CStr::from_ptr(agpu_last_error_message()).to_string_lossy().into_owned())
    }
}

#[test]
fn a_call_reads_its_function_alone() {
    let mut state = null_mut();
    let module = module(&mut state);
    // SAFETY: the module is valid.
    let loaded = unsafe { open(&module) }.unwrap_or_else(|e| panic!("{}", e.message));
    let read = || loaded.functions.iter().map(|f| f.known().is_some()).collect::<Vec<_>>();
    assert_eq!(read(), [false; 3]);

    let (status, message) = call(&module, 0);
    assert_eq!(status, INVALID_ARGUMENT, "{message}");
    assert!(message.contains("texts::first: 0 arguments"), "{message}");
    assert_eq!(read(), [true, false, false]);

    for (entry, words) in
        [(1, "texts::damaged: its plan cannot be read"), (2, "texts::third: what it stages cannot be read")]
    {
        let (status, message) = call(&module, entry);
        assert_eq!(status, MODULE, "{message}");
        assert!(message.contains(words), "{message}");
    }
    assert_eq!(read(), [true, false, false]);
}

#[test]
fn a_launch_reads_its_kernel_alone() {
    let mut state = null_mut();
    let module = module(&mut state);
    // SAFETY: the module is valid.
    let loaded = unsafe { open(&module) }.unwrap_or_else(|e| panic!("{}", e.message));
    let Some(images) = &loaded.images else { panic!("no launches") };
    assert_eq!((images.count(), images.read_kernels()), (3, 0));
    assert_eq!(images.kernel(0).map(|k| k.variants.len()).ok(), Some(2));
    assert_eq!(images.read_kernels(), 1);
    let Err(why) = images.kernel(1) else { panic!("100 threads") };
    assert_eq!(why.status, MODULE);
    assert!(why.message.contains("kernel 1 is launched cannot be read"), "{}", why.message);
}

/// What is missing at an end is found when the package is loaded.
#[test]
fn cut_off_texts() {
    let mut state = null_mut();
    let whole = module(&mut state);
    let texts = [
        AgpuModule { plans_length: whole.plans_length - 3, ..module(&mut state) },
        AgpuModule { gpu_length: whole.gpu_length - 3, ..module(&mut state) },
        AgpuModule { staged_length: whole.staged_length - 3, ..module(&mut state) },
    ];
    for (module, words) in texts.iter().zip([
        "the plans cannot be read",
        "launches for GPUs cannot",
        "functions that stage cannot",
    ]) {
        let (status, message) = call(module, 0);
        assert_eq!(status, MODULE, "{message}");
        assert!(message.contains(words) && message.contains("does not end"), "{message}");
    }
}
