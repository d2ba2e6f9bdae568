//! Iterations, built node by node: steps, checks, and misuse.
#![allow(clippy::undocumented_unsafe_blocks)] // Pointers are to locals; handles are valid.

mod common;

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use common::built::Built;
use common::*;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

const F32: AgpuType = AgpuType::AgpuF32;
const I64: AgpuType = AgpuType::AgpuI64;

/// The builder of a step, with the nodes that stand for its arguments and for its number.
fn step<const N: usize>(b: &Built, args: &[AgpuNode]) -> (Built, [AgpuNode; N]) {
    assert_eq!(N, args.len() + 1);
    let (mut made, mut params) = (null_mut(), [0; N]);
    ok(unsafe {
        agpu_builder_step(b.0, args.as_ptr(), args.len() as i32, 1, &mut made, params.as_mut_ptr())
    });
    (Built(made), params)
}

/// x = x * c + t, while its first element is below the limit: the vector x after the steps, and their number.
fn grown(b: &Built, [x, c, most]: [AgpuNode; 3], limit: f32) -> [AgpuNode; 2] {
    let (inner, [state, factor, turn]) = step(b, &[x, c]);
    let mut number = 0;
    ok(unsafe { agpu_builder_cast(inner.0, MaybeUninit::new(F32), turn, &mut number) });
    let next = inner.apply("add", &[inner.apply("mul", &[state, factor]), number]);
    let (check, [before, ..]) = step::<3>(b, &[x, c]);
    let (zero, mut first) = (check.constant(I64, 0i64), 0);
    ok(unsafe { agpu_builder_read(check.0, before, &zero, 1, &mut first) });
    let below = check.apply("lt", &[first, check.constant(F32, limit)]);
    let mut nodes = [0; 2];
    ok(unsafe {
        agpu_builder_iterate(b.0, most, inner.0, &next, 1, false, check.0, below, 2, nodes.as_mut_ptr())
    });
    nodes
}

#[test]
fn an_iteration_that_a_check_ends() {
    let b = Built::new();
    let params = [b.param(c"x", F32, 1), b.param(c"c", F32, 0), b.param(c"most", I64, 0)];
    let [last, numbers] = grown(&b, params, 10.0);
    let (zero, mut steps) = (b.constant(I64, 0i64), 0);
    ok(unsafe { agpu_builder_read(b.0, numbers, &zero, 1, &mut steps) });
    let program = b.compile(&[last, steps]);
    let x = Vector::in_context(cpu(), &[1.0, 2.0]);
    let run = |most: i64| {
        let (last, mut steps, c) = (Vector::in_context(cpu(), &[0.0; 2]), 77i64, 2f32);
        let args = [input(x.view()), scalar(&c), scalar(&most), output(last.view()), out_scalar(&mut steps)];
        (unsafe { agpu_program_run(program, null(), args.as_ptr(), 5) }, last.get(), steps)
    };
    // the first element is 1, 2, 5, 12, 27, of which 1, 5 and 27 are checked
    assert_eq!(run(9), (AgpuOk, vec![27.0, 43.0], 4));
    // the last state is checked, too
    assert_eq!(run(3), (AgpuOk, vec![12.0, 20.0], 3));
    assert_eq!(run(1).2, -1);
    assert_eq!(run(-1).0, AgpuErrorShape);
    ok(unsafe { agpu_program_free(program) });
}

#[test]
fn collected_states() {
    let b = Built::new();
    let x = b.param(c"x", F32, 1);
    let (inner, [state, _]) = step(&b, &[x]);
    let next = inner.apply("add", &[state, state]);
    let mut all = 0;
    let three = b.constant(I64, 3i64);
    ok(unsafe { agpu_builder_iterate(b.0, three, inner.0, &next, 1, true, null_mut(), 0, 0, &mut all) });
    let program = b.compile(&[b.sum(all)]);
    let (x, mut total) = (Vector::in_context(cpu(), &[1.0, 2.0]), 0f32);
    let args = [input(x.view()), out_scalar(&mut total)];
    ok(unsafe { agpu_program_run(program, null(), args.as_ptr(), 2) });
    assert_eq!(total, 42.0);
    ok(unsafe { agpu_program_free(program) });
}

/// Turns whose arguments are prepared once are timed as the others are.
#[test]
fn the_launches_of_all_turns_are_timed() {
    // other tests run in the common context at the same time
    let context = context(1);
    let b = Built::new();
    let x = b.param(c"x", F32, 1);
    let (inner, [state, _]) = step(&b, &[x]);
    // an element needs the other one, or all turns would be one launch
    let mut other = 0;
    ok(unsafe { agpu_builder_reverse(inner.0, state, 0, &mut other) });
    let next = inner.apply("add", &[state, other]);
    let (ten, mut last) = (b.constant(I64, 10i64), 0);
    ok(unsafe { agpu_builder_iterate(b.0, ten, inner.0, &next, 1, false, null_mut(), 0, 0, &mut last) });
    let program = b.compile(&[last]);
    let (x, y) = (Vector::in_context(context, &[1.0, 2.0]), Vector::in_context(context, &[0.0; 2]));
    let (args, mut count) = ([input(x.view()), output(y.view())], 0);
    unsafe {
        ok(agpu_context_profile(context, true));
        ok(agpu_program_run(program, null(), args.as_ptr(), 2));
        ok(agpu_context_launch_times(context, null_mut(), 0, &mut count));
        ok(agpu_context_profile(context, false));
        ok(agpu_program_free(program));
    }
    assert_eq!((y.get(), count), (vec![1536.0, 1536.0], 10));
}

#[test]
fn misuse_is_an_error_that_says_what_is_wrong() {
    let b = Built::new();
    let (x, c) = (b.param(c"x", F32, 1), b.param(c"c", F32, 0));
    let (three, v) = (b.constant(I64, 3i64), b.variable(F32));
    let begin = |args: &[AgpuNode], states| {
        let (mut made, mut params) = (null_mut(), [0; 4]);
        let count = args.len() as i32;
        unsafe { agpu_builder_step(b.0, args.as_ptr(), count, states, &mut made, params.as_mut_ptr()) }
    };
    let refused = |status, text: &str| fails(status, AgpuErrorInvalidArgument, &[text]);
    refused(begin(&[x, c], 0), "0 states among 2 arguments");
    refused(begin(&[x], 2), "2 states among 1 argument");
    refused(begin(&[c, x], 1), "state 0 is a scalar");
    refused(begin(&[x, v], 1), "argument 1 depends on a variable");
    let (inner, [state, factor, turn]) = step(&b, &[x, c]);
    let next = inner.apply("mul", &[state, factor]);
    let mut node = 77;
    let mut iterate = |most, step, next: AgpuNode, states, collect, check, condition, every| unsafe {
        agpu_builder_iterate(b.0, most, step, &next, states, collect, check, condition, every, &mut node)
    };
    let none = null_mut();
    refused(iterate(three, b.0, next, 1, false, none, 0, 0), "the step is the builder itself");
    fails(iterate(three, none, next, 1, false, none, 0, 0), AgpuErrorInvalidHandle, &["the builder is NULL"]);
    refused(iterate(three, inner.0, x, 1, false, none, 0, 0), "next state 0 is a node of another builder");
    refused(
        iterate(three, inner.0, factor, 1, false, none, 0, 0),
        "state 0 is a [f32], the step gives a f32",
    );
    refused(iterate(three, inner.0, turn, 1, false, none, 0, 0), "state 0 is a [f32], the step gives a i64");
    refused(iterate(c, inner.0, next, 1, false, none, 0, 0), "");
    let (other, [before, _]) = step(&b, &[x]);
    let truth = other.constant(AgpuType::AgpuBool, true);
    refused(
        iterate(three, inner.0, next, 1, true, other.0, truth, 1),
        "are collected of iterations without a check",
    );
    refused(iterate(three, inner.0, next, 1, false, other.0, truth, 0), "every 1 or more steps, not every 0");
    refused(iterate(three, inner.0, next, 1, false, other.0, before, 1), "it must be a bool");
    refused(iterate(three, inner.0, next, 1, false, other.0, truth, 1), "other arguments than the step");
    refused(
        iterate(three, inner.0, next, 1, false, inner.0, truth, 1),
        "the condition is a node of another builder",
    );
    let stranger = Built::new();
    let y = stranger.param(c"y", F32, 1);
    let (foreign, [state, _]) = step(&stranger, &[y]);
    refused(iterate(three, foreign.0, state, 1, false, none, 0, 0), "the step was begun for another builder");
    refused(iterate(three, stranger.0, y, 1, false, none, 0, 0), "not begun by agpu_builder_step");
    // a step is no function of its own
    inner.try_result(next).unwrap();
    let mut program = null_mut();
    refused(unsafe { agpu_builder_compile(inner.0, &mut program) }, "is the step of an iteration");
    // nothing of this is left
    ok(iterate(three, inner.0, next, 1, false, none, 0, 0));
}

/// What a step allows GPUs to do holds for the program that takes the step, and for no other.
#[test]
fn a_refused_iteration_allows_nothing() {
    let core = |is_refused: bool| {
        let b = Built::new();
        let x = b.param(c"x", F32, 1);
        let (inner, [state, _]) = step(&b, &[x]);
        ok(unsafe { agpu_builder_fast_math(inner.0, true) });
        ok(unsafe { agpu_builder_tensor_cores(inner.0, true) });
        ok(unsafe { agpu_builder_stencil(inner.0, c"tile".as_ptr()) });
        let next = inner.apply("add", &[state, state]);
        let (other, [before, _]) = step(&b, &[x]);
        let three = b.constant(I64, 3i64);
        let mut last = x;
        // the step fits, the check does not
        let check = if is_refused { other.0 } else { null_mut() };
        let status = unsafe {
            agpu_builder_iterate(b.0, three, inner.0, &next, 1, false, check, before, 1, &mut last)
        };
        assert_eq!(status != AgpuOk, is_refused);
        let (program, mut text) = (b.compile(&[b.apply("neg", &[last])]), null());
        ok(unsafe { agpu_program_text(program, c"core".as_ptr(), &mut text) });
        let text = unsafe { std::ffi::CStr::from_ptr(text) }.to_str().unwrap().to_string();
        ok(unsafe { agpu_program_free(program) });
        text
    };
    let [taken, refused] = [false, true].map(core);
    assert!(taken.contains("fast tensor_cores stencil tile"), "{taken}");
    assert!(["fast", "tensor_cores", "stencil"].iter().all(|word| !refused.contains(word)), "{refused}");
}
