//! Programs built node by node on a GPU, against the fake driver: what is linked and loaded, in processes that share the store, and in threads.
//! Nothing is launched there: the fake driver does not know their kernels.

mod common;

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use common::fake::*;
use common::gpu::gpu;
use common::*;
use std::mem::MaybeUninit;
use std::path::Path;
use std::ptr::{null, null_mut};

/// Builds `x op x` and runs it in a context.
fn run(context: *mut AgpuContext, op: &std::ffi::CStr) {
    let (v, out) = (Vector::in_context(context, &values(100)), Vector::in_context(context, &values(100)));
    let (mut b, mut program, mut x, mut node) = (null_mut(), null_mut(), 0, 0);
    let args = [input(v.view()), output(out.view())];
    // SAFETY: handles, pointers to locals, and arguments that live.
    unsafe {
        ok(agpu_builder_create(c"f".as_ptr(), &mut b));
        ok(agpu_builder_param(b, c"x".as_ptr(), MaybeUninit::new(AgpuType::AgpuF32), 1, &mut x));
        ok(agpu_builder_apply(b, op.as_ptr(), [x, x].as_ptr(), 2, &mut node));
        ok(agpu_builder_result(b, null(), node));
        ok(agpu_builder_compile(b, &mut program));
        ok(agpu_builder_free(b));
        (0..3).for_each(|_| ok(agpu_program_run(program, null(), args.as_ptr(), 2)));
        ok(agpu_program_free(program));
    }
}

/// Runs in the processes that the tests below start.
#[test]
fn child() {
    let Some(part) = part() else { return };
    let (fake, context) = (Fake::get(), gpu());
    let before = fake.counts();
    match part.as_str() {
        "one" => run(context, c"add"),
        _ => {
            let number = context.addr();
            fake.options("quiet=1,meet=5000");
            std::thread::scope(|s| {
                for op in [c"add", c"mul"] {
                    s.spawn(move || run(number as *mut AgpuContext, op));
                }
            });
        }
    }
    let after = fake.counts();
    let (links, machine_code) = (after.links - before.links, after.cubins - before.cubins);
    println!("<<{links} linked, {machine_code} + {} loaded>>", after.ptx - before.ptx);
}

#[test]
fn a_second_process_links_nothing() {
    let (None, Some(driver)) = (part(), build(None)) else { return };
    let folder = tempfile::tempdir().unwrap();
    let play = |part: &str, cache: &Path| {
        play(&driver, part, "quiet=1", &[("ARRAYGPU_CACHE", cache.to_str().unwrap())])
    };
    assert_eq!(play("one", folder.path()), "1 linked, 1 + 0 loaded");
    assert_eq!(play("one", folder.path()), "0 linked, 1 + 0 loaded");
    assert_eq!(play("one", Path::new("off")), "0 linked, 0 + 1 loaded");
    // two threads at once: one of the programs is there
    assert_eq!(play("both", folder.path()), "1 linked, 2 + 0 loaded");
    assert_eq!(play("both", folder.path()), "0 linked, 2 + 0 loaded");
}
