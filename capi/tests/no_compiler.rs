//! A C compiler that is allowed but does not work: programs still run, and the library says why
//! they are slow. This is the only test of its process, whose environment it sets.
#![allow(clippy::undocumented_unsafe_blocks)] // Pointers are to locals; handles are valid.

mod common;

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use common::*;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

#[test]
fn a_compiler_that_fails_is_told_of() {
    let variables = [("ARRAYGPU_CPU_CC", "1"), ("CC", "/bin/false"), ("ARRAYGPU_CACHE", "off")];
    // SAFETY: no other thread reads the environment yet.
    variables.iter().for_each(|(name, value)| unsafe { std::env::set_var(name, value) });
    let problem = || {
        let mut text = null();
        ok(unsafe { agpu_cache_problem(&mut text) });
        unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_string()
    };
    assert_eq!(problem(), "");
    let (mut b, mut x, mut y, mut program) = (null_mut(), 0, 0, null_mut());
    let v = Vector::in_context(cpu(), &[1.0, 2.0, 3.0]);
    unsafe {
        ok(agpu_builder_create(c"f".as_ptr(), &mut b));
        ok(agpu_builder_param(b, c"x".as_ptr(), MaybeUninit::new(AgpuType::AgpuF32), 1, &mut x));
        ok(agpu_builder_apply(b, c"add".as_ptr(), [x, x].as_ptr(), 2, &mut y));
        ok(agpu_builder_result(b, null(), y));
        ok(agpu_builder_compile(b, &mut program));
        ok(agpu_program_run(program, null(), [input(v.view()), output(v.view())].as_ptr(), 2));
        ok(agpu_program_free(program));
        ok(agpu_builder_free(b));
    }
    assert_eq!(v.get(), [2.0, 4.0, 6.0]);
    let said = problem();
    assert!(
        said.contains("the C compiler is not used, kernels are interpreted: ") && said.contains("/bin/false"),
        "{said}"
    );
}
