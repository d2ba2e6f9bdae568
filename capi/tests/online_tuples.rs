//! Constructs with several values, built node by node: reductions and folds of tuples, loops of an element.
#![allow(clippy::undocumented_unsafe_blocks)] // Pointers are to locals; handles are valid.

mod common;

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use common::built::Built;
use common::*;
use std::ptr::{null, null_mut};

const F32: AgpuType = AgpuType::AgpuF32;
const I64: AgpuType = AgpuType::AgpuI64;

/// The sum of one vector and the product of another, by one reduction.
fn sum_and_product(b: &Built, arrays: [AgpuNode; 2]) -> [AgpuNode; 2] {
    let [left, right] = [0, 1].map(|_| [b.variable(F32), b.variable(F32)]);
    let body = [b.apply("add", &[left[0], right[0]]), b.apply("mul", &[left[1], right[1]])];
    let init = [b.constant(F32, 0f32), b.constant(F32, 1f32)];
    let mut nodes = [77; 2];
    ok(unsafe {
        agpu_builder_reduce_tuples(
            b.0,
            arrays.as_ptr(),
            left.as_ptr(),
            right.as_ptr(),
            body.as_ptr(),
            init.as_ptr(),
            2,
            nodes.as_mut_ptr(),
        )
    });
    nodes
}

#[test]
fn a_reduction_has_a_node_for_each_component() {
    let b = Built::new();
    let arrays = [b.param(c"x", F32, 1), b.param(c"y", F32, 1)];
    let program = b.compile(&sum_and_product(&b, arrays));
    let mut kernels = 0;
    ok(unsafe { agpu_program_kernels(program, &mut kernels) });
    assert_eq!(kernels, 1);
    let [x, y] = [[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]].map(|v| Vector::in_context(cpu(), &v));
    let (mut sum, mut product) = (0f32, 0f32);
    let args = [input(x.view()), input(y.view()), out_scalar(&mut sum), out_scalar(&mut product)];
    ok(unsafe { agpu_program_run(program, null(), args.as_ptr(), 4) });
    assert_eq!((sum, product), (6.0, 24.0));
    let short = Vector::in_context(cpu(), &[1.0; 2]);
    let args = [input(x.view()), input(short.view()), out_scalar(&mut sum), out_scalar(&mut product)];
    let status = unsafe { agpu_program_run(program, null(), args.as_ptr(), 4) };
    fails(status, AgpuErrorShape, &["f: reduce: x, y: the lengths 3 and 2 differ"]);
    ok(unsafe { agpu_program_free(program) });
}

#[test]
fn an_ordered_reduction_joins_a_part_with_the_part_behind_it() {
    // the last element that is not 0: the operator is not commutative
    let b = Built::new();
    let (x, left, right) = (b.param(c"x", F32, 1), b.variable(F32), b.variable(F32));
    let zero = b.constant(F32, 0f32);
    let body = b.apply("select", &[b.apply("eq", &[right, zero]), left, right]);
    let mut node = 0;
    ok(unsafe { agpu_builder_reduce_noncommutative(b.0, &x, &left, &right, &body, &zero, 1, &mut node) });
    let program = b.compile(&[node]);
    for n in [0, 1, 17, 5000] {
        let x: Vec<f32> = (0..n).map(|i| if i % 4 == 3 || i > 4000 { 0.0 } else { (i + 1) as f32 }).collect();
        let expected = x.iter().copied().rfind(|x| *x != 0.0).unwrap_or(0.0);
        let (x, mut last) = (Vector::in_context(cpu(), &x), 77f32);
        let args = [input(x.view()), out_scalar(&mut last)];
        ok(unsafe { agpu_program_run(program, null(), args.as_ptr(), 2) });
        assert_eq!(last, expected, "{n} elements");
    }
    ok(unsafe { agpu_program_free(program) });
}

#[test]
fn a_fold_has_its_own_accumulators() {
    // the sum of the elements times their numbers, and how many there are
    let b = Built::new();
    let x = b.param(c"x", F32, 1);
    let (sum, count, element) = (b.variable(F32), b.variable(F32), b.variable(F32));
    let body = [b.apply("mul_add", &[element, count, sum]), b.apply("add", &[count, b.constant(F32, 1f32)])];
    let init = [b.constant(F32, 0f32); 2];
    let mut nodes = [0; 2];
    ok(unsafe {
        agpu_builder_fold_tuples(
            b.0,
            &x,
            &element,
            1,
            [sum, count].as_ptr(),
            body.as_ptr(),
            init.as_ptr(),
            2,
            nodes.as_mut_ptr(),
        )
    });
    let program = b.compile(&nodes);
    let v = Vector::in_context(cpu(), &[5.0, 6.0, 7.0]);
    let (mut sum, mut count) = (0f32, 0f32);
    let args = [input(v.view()), out_scalar(&mut sum), out_scalar(&mut count)];
    ok(unsafe { agpu_program_run(program, null(), args.as_ptr(), 3) });
    assert_eq!((sum, count), (20.0, 3.0));
    ok(unsafe { agpu_program_free(program) });
}

/// How often a number above 1 can be halved: the states are the number and nothing else.
fn halvings(b: &Built, x: AgpuNode, most: i64) -> [AgpuNode; 2] {
    let (step, state) = (b.variable(I64), b.variable(F32));
    let condition = b.apply("gt", &[state, b.constant(F32, 1f32)]);
    let next = b.apply("div", &[state, b.constant(F32, 2f32)]);
    let mut nodes = [0; 2];
    let most = b.constant(I64, most);
    ok(unsafe { agpu_builder_loop(b.0, most, step, &state, condition, &next, &x, 1, nodes.as_mut_ptr()) });
    nodes
}

#[test]
fn a_loop_has_its_states_and_its_steps() {
    let b = Built::new();
    let x = b.param(c"x", F32, 0);
    let [last, steps] = halvings(&b, x, 10);
    let inside = b.apply("within", &[steps, b.constant(I64, 5i64)]);
    let program = b.compile(&[last, steps, inside]);
    let run = |x: f32| {
        let (mut last, mut steps, mut inside) = (0f32, 0i64, false);
        let args = [scalar(&x), out_scalar(&mut last), out_scalar(&mut steps), out_scalar(&mut inside)];
        let status = unsafe { agpu_program_run(program, null(), args.as_ptr(), 4) };
        (status, last, steps, inside)
    };
    assert_eq!(run(12.0), (AgpuOk, 0.75, 4, true));
    assert_eq!(run(1.0), (AgpuOk, 1.0, 0, true));
    assert_eq!(run(1e9).0, AgpuErrorRecord, "not within: {}", message());
    ok(unsafe { agpu_program_free(program) });
}

#[test]
fn misuse_is_an_error_that_says_what_is_wrong() {
    let b = Built::new();
    let (x, k) = (b.param(c"x", F32, 1), b.param(c"k", I64, 1));
    let (u, v, one) = (b.variable(F32), b.variable(F32), b.constant(F32, 1f32));
    let mut nodes = [77; 3];
    let out = nodes.as_mut_ptr();
    let reduce = |arrays: &[AgpuNode], left, right, body: AgpuNode, init: AgpuNode, count, out| unsafe {
        agpu_builder_reduce_tuples(b.0, arrays.as_ptr(), &left, &right, &body, &init, count, out)
    };
    let refused = |status, text: &str| fails(status, AgpuErrorInvalidArgument, &[text]);
    refused(reduce(&[x], u, v, u, one, 1, null_mut()), "nodes is NULL");
    refused(reduce(&[x], u, v, u, one, 0, out), "0 values: 1 to");
    refused(reduce(&[x], u, v, u, one, -1, out), "-1 values");
    refused(reduce(&[x], one, v, u, one, 1, out), "variable 0 is no variable");
    refused(reduce(&[x], u, u, u, one, 1, out), "a variable is bound twice");
    refused(reduce(&[k], u, v, u, one, 1, out), "initial value and elements differ in type");
    refused(reduce(&[x], u, v, x, one, 1, out), "it must be a scalar");
    refused(reduce(&[one], u, v, u, one, 1, out), "must be an array");
    refused(reduce(&[0], u, v, u, one, 1, out), "array 0 is no node");
    let pairs = |body: AgpuNode, init: AgpuNode| unsafe {
        let (left, right) = ([u, v], [b.variable(F32), b.variable(F32)]);
        let (body, init, arrays) = ([u, body], [one, init], [x, x]);
        let (l, r, b_, i) = (left.as_ptr(), right.as_ptr(), body.as_ptr(), init.as_ptr());
        agpu_builder_reduce_tuples(b.0, arrays.as_ptr(), l, r, b_, i, 2, out)
    };
    refused(pairs(v, x), "the component of a tuple must be a scalar, not [f32]");
    refused(pairs(x, one), "the component of a tuple must be a scalar, not [f32]");
    let (step, most) = (b.variable(I64), b.constant(I64, 3i64));
    let looped = |most, step, condition, next: AgpuNode, init: AgpuNode| unsafe {
        agpu_builder_loop(b.0, most, step, &u, condition, &next, &init, 1, out)
    };
    refused(looped(one, step, 0, u, one), "the number of steps must be an i64");
    refused(looped(most, v, 0, u, one), "loop's function must take (i64, f32)");
    refused(looped(most, step, u, u, one), "a condition and the next states");
    refused(looped(most, step, 0, step, one), "a condition and the next states");
    refused(looped(most, step, 0, u, x), "the state must be a scalar");
    let fold = |count| unsafe { agpu_builder_fold_tuples(b.0, &x, &v, count, &u, &u, &one, 1, out) };
    refused(fold(0), "0 arrays: 1 to");
    ok(fold(1));
    assert_eq!(nodes[1..], [77, 77]);
}
