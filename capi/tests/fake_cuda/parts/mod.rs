//! The parts that processes with the fake driver play. Each ends with `<<ok>>`.

use super::common::fake::*;
use super::common::gpu::*;
use super::common::*;
use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

macro_rules! parts {
    ($($module:ident: $($part:ident)*;)*) => {
        $(mod $module;)*

        /// The name and the function of each part.
        pub const PARTS: &[(&str, fn())] = &[$($((stringify!($part), $module::$part)),*),*];

        /// A test for each part, which starts its processes.
        mod tests {
            $($(#[test]
            fn $part() {
                super::start(stringify!($part));
            })*)*
        }
    };
}

parts! {
    lifetimes: lifetimes ending current_context;
    memory: memory_limit out_of_memory wrapped_memory;
    errors: failed_launch failed_wait failed_second_launch records_of_two_threads;
    failures: any_driver_call;
    code: rejected_code images absent_code unloading loads_at_once;
    launches: launches timed_launches dependent_launches;
    tuning: tuned_launches;
    staged: staged_values staged_launches staged_within_budget captured_version;
    iterations: iterations iterations_without_memory iterations_until;
    streams: streams threads readers_on_two_streams;
    capture: capture capture_known captured_in_turn capture_elsewhere legacy_stream;
    copies: strided_copies matrix_copies two_devices asynchronous_copies;
    asynchronous: lent_streams events records_and_events records_of_others callbacks tasks;
}

fn start(name: &str) {
    let (None, Some(driver)) = (part(), build(None)) else { return };
    for options in ["", "eager=1,"] {
        assert_eq!(play(&driver, name, options, &[]), "ok", "{name}");
    }
}

fn done() {
    println!("<<ok>>");
}

fn free(context: *mut AgpuContext) {
    // SAFETY: the argument is a handle.
    ok(unsafe { agpu_context_free(context) });
}

fn wait(context: *mut AgpuContext) {
    // SAFETY: the argument is a handle.
    ok(unsafe { agpu_context_synchronize(context) });
}

fn usage(context: *mut AgpuContext) -> (i64, i64) {
    let (mut used, mut peak) = (-1, -1);
    // SAFETY: the arguments are a handle and pointers to locals.
    ok(unsafe { agpu_context_memory(context, &mut used, &mut peak) });
    (used, peak)
}

fn work(context: *mut AgpuContext, stream: *mut c_void) {
    let x = values(5000);
    let (v, out) = (Vector::in_context(context, &x), Vector::in_context(context, &x));
    let (mut dot, mut made, mut version) = (0f32, null_mut(), 0);
    ok(call_on(context, stream, DOT, &[input(v.view()), input(v.view()), out_scalar(&mut dot)]));
    ok(call_on(context, stream, DOT, &[input(v.view()), input(v.view()), output(out.slice(0, 1, 1))]));
    let args = [scalar(&2f32), input(v.view()), out_new(&mut made), out_scalar(&mut version)];
    ok(call_on(context, stream, SCALE, &args));
    ok(call_on(context, stream, REVERSED, &[input(v.view()), output(v.view())]));
    ok(call_on(context, stream, GATHER, &[input(v.view()), scalar(&0i64), output(out.view())]));
    assert_eq!(Vector(made).get()[7], x[7] * 2.0);
    assert_eq!((out.get()[0], v.get()[4999]), (x[4999], x[0]));
}

/// A vector of one number in a context.
fn number(context: *mut AgpuContext) -> Vector {
    let mut buffer = null_mut();
    // SAFETY: the pointer is to a local.
    ok(unsafe { agpu_buffer_create(context, MaybeUninit::new(AgpuType::AgpuI64), 1, &mut buffer) });
    Vector(buffer)
}

fn gpu_number(ordinal: i32) -> Option<*mut AgpuContext> {
    let device = AGPU_DEVICE_CUDA + ordinal;
    let (options, mut context) = (AgpuContextOptions { device, ..AgpuContextOptions::default() }, null_mut());
    // SAFETY: the pointers are to locals.
    (unsafe { agpu_context_create(&options, &mut context) } == AgpuOk).then_some(context)
}
