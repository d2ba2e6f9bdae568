//! Constructs that are made of others, built by their names.
#![allow(clippy::undocumented_unsafe_blocks)] // Pointers are to locals; handles are valid.

mod common;

use arraygpu_capi::abi::*;
use arraygpu_capi::*;
use common::built::Built;
use common::*;
use std::ffi::CStr;
use std::ptr::null;

const F32: AgpuType = AgpuType::AgpuF32;
const I64: AgpuType = AgpuType::AgpuI64;

/// An operator: its variables and its result.
type Operator = ([AgpuNode; 2], AgpuNode);

/// The nodes of a composite by an operator or none, or the status of the failed call.
fn composite<const N: usize>(
    b: &Built,
    name: &CStr,
    operands: &[AgpuNode],
    operator: Option<Operator>,
) -> Result<[AgpuNode; N], AgpuStatus> {
    let (variables, body) = operator.unwrap_or_default();
    let (mut nodes, components) = ([77; N], i32::from(operator.is_some()));
    let count = operands.len() as i32;
    let status = unsafe {
        agpu_builder_composite(
            b.0,
            name.as_ptr(),
            operands.as_ptr(),
            count,
            variables.as_ptr(),
            &body,
            components,
            nodes.as_mut_ptr(),
            N as i32,
        )
    };
    if status == AgpuStatus::AgpuOk {
        return Ok(nodes);
    }
    assert_eq!(nodes, [77; N], "an error leaves the nodes as they were");
    Err(status)
}

fn plus(b: &Built) -> Operator {
    let variables = [b.variable(F32), b.variable(F32)];
    (variables, b.apply("add", &variables))
}

#[test]
fn composites_have_as_many_values_as_they_say() {
    let b = Built::new();
    let x = b.param(c"x", F32, 1);
    let zero = b.constant(F32, 0f32);
    let [scan] = composite(&b, c"scan", &[x, zero], Some(plus(&b))).unwrap();
    let [sorted, twice] = composite(&b, c"sort", &[scan, x], None).unwrap();
    let [values, _, count] = composite(&b, c"unique", &[sorted], None).unwrap();
    let program = b.compile(&[b.sum(values), count, b.sum(twice)]);
    let v = Vector::in_context(cpu(), &[1.0, -1.0, 1.0, 2.0]);
    let (mut sum, mut runs, mut all) = (0f32, 0i64, 0f32);
    let args = [input(v.view()), out_scalar(&mut sum), out_scalar(&mut runs), out_scalar(&mut all)];
    ok(unsafe { agpu_program_run(program, null(), args.as_ptr(), 4) });
    // the scan is 1, 0, 1, 3, the runs 0, 1, 3, behind which the other 1 is
    assert_eq!((sum, runs, all), (5.0, 3, 3.0));
    ok(unsafe { agpu_program_free(program) });
}

#[test]
fn runs_that_are_none_read_nothing_outside() {
    let b = Built::new();
    let x = b.param(c"x", F32, 1);
    let zero = b.constant(F32, 0f32);
    let [order] = composite(&b, c"argsort", &[x], None).unwrap();
    let squares = b.apply("mul", &[order, order]);
    let below = b.apply("sub", &[order, squares]);
    let mut sums = Vec::new();
    for (begins, count, end) in [(squares, 4i64, 1i64 << 40), (below, 4, 2), (order, 99, -7), (order, -3, 4)]
    {
        let [count, end] = [count, end].map(|n| b.constant(I64, n));
        let [reduced] =
            composite(&b, c"reduce_by_key", &[x, zero, begins, count, end], Some(plus(&b))).unwrap();
        sums.push(b.sum(reduced));
    }
    let program = b.compile(&sums);
    let v = Vector::in_context(cpu(), &[1.0, 2.0, 4.0, 8.0]);
    let mut found = [f32::NAN; 4];
    let [p, q, r, s] = &mut found;
    let args = [input(v.view()), out_scalar(p), out_scalar(q), out_scalar(r), out_scalar(s)];
    ok(unsafe { agpu_program_run(program, null(), args.as_ptr(), 5) });
    // only parts inside of the vector have elements: [0, 1) and [1, 4) of the first
    assert_eq!(found[0], 15.0);
    assert_eq!(found[3], 0.0);
    assert!(found.iter().all(|sum| sum.is_finite()), "{found:?}");
    ok(unsafe { agpu_program_free(program) });
}

/// Arrays beside the results may be longer than the author's: the message has the author's numbers.
#[test]
fn lengths_that_nobody_can_count_are_the_calls() {
    let b = Built::new();
    let (x, n) = (b.param(c"x", F32, 1), b.param(c"groups", I64, 0));
    let (zero, first) = (b.constant(F32, 0f32), b.constant(I64, 0i64));
    let [order] = composite(&b, c"argsort", &[x], None).unwrap();
    let [sums] = composite(&b, c"scatter_reduce", &[x, zero, order, n], Some(plus(&b))).unwrap();
    let mut sum = 0;
    ok(unsafe { agpu_builder_read(b.0, sums, &first, 1, &mut sum) });
    let program = b.compile(&[sum]);
    let (v, mut found) = (Vector::in_context(cpu(), &[1.0, 2.0]), 0f32);
    let mut run = |groups: i64| {
        let args = [input(v.view()), scalar(&groups), out_scalar(&mut found)];
        unsafe { agpu_program_run(program, null(), args.as_ptr(), 3) }
    };
    ok(run(3));
    let words = ["more elements than can be counted", "len(x) = 2", "groups = 9223372036854775807"];
    fails(run(i64::MAX), AgpuStatus::AgpuErrorShape, &words);
    assert_eq!(found, 1.0);
    ok(unsafe { agpu_program_free(program) });
}

#[test]
fn what_does_not_fit_is_refused() {
    let b = Built::new();
    let (x, m, i) = (b.param(c"x", F32, 1), b.param(c"m", F32, 2), b.param(c"i", I64, 1));
    let (zero, n) = (b.constant(F32, 0f32), b.constant(I64, 3i64));
    let refused = |made: Result<[AgpuNode; 1], AgpuStatus>, words: &[&str]| {
        fails(made.expect_err("it is refused"), AgpuStatus::AgpuErrorInvalidArgument, words);
    };
    refused(composite(&b, c"sorted", &[x], None), &["there is no composite `sorted`"]);
    refused(composite(&b, c"unique", &[x], None), &["unique has 3 values, not 1"]);
    let types = ["it does not take operands of the types"];
    refused(composite(&b, c"argsort", &[m], None), &types);
    refused(composite(&b, c"argsort", &[], None), &types);
    refused(composite(&b, c"scan", &[x, zero], None), &types);
    refused(composite(&b, c"argsort", &[x], Some(plus(&b))), &types);
    refused(composite(&b, c"segmented_reduce", &[x, zero, x], Some(plus(&b))), &types);
    refused(composite(&b, c"scan_rows", &[x, zero], Some(plus(&b))), &types);
    refused(composite(&b, c"scan_planes", &[m, zero], Some(plus(&b))), &types);
    refused(composite(&b, c"scan_cols", &[m, zero, zero], Some(plus(&b))), &types);
    refused(composite(&b, c"reduce_by_key", &[x, zero, i], Some(plus(&b))), &types);
    refused(composite(&b, c"histogram", &[x, n], None), &types);
    refused(composite(&b, c"scatter", &[i, n, x, n], None), &types);
    refused(composite(&b, c"scatter_unique", &[i, n, x, n], None), &types);
    refused(composite(&b, c"filled", &[n, x], None), &types);
    // the operator is of f32, the vector is not
    refused(composite(&b, c"segmented_reduce", &[i, n, i], Some(plus(&b))), &[]);
    let variable = b.variable(F32);
    let mut spread = 0;
    ok(unsafe { agpu_builder_fill(b.0, n, variable, &mut spread) });
    let (mut nodes, name) = ([77], c"sort");
    let status = unsafe {
        agpu_builder_composite(b.0, name.as_ptr(), &spread, 1, null(), null(), 0, nodes.as_mut_ptr(), 1)
    };
    assert_ne!(status, AgpuStatus::AgpuOk, "it depends on a variable");
    assert!(message().contains("inside of a closure"), "{}", message());
}

/// A composite has nodes inside, which the caller does not know.
#[test]
fn numbers_that_nobody_gave_are_no_nodes() {
    let b = Built::new();
    let x = b.param(c"x", F32, 1);
    let unique: [AgpuNode; 3] = composite(&b, c"unique", &[x], None).unwrap();
    let last = unique.into_iter().max().unwrap();
    let given = |node: &AgpuNode| *node == x || unique.contains(node);
    let no_node = |node: AgpuNode| {
        let refused = b.try_apply("neg", &[node]).unwrap_err();
        assert!(refused.contains("operand 0 is no node of this builder"), "{refused}");
    };
    let inner: Vec<AgpuNode> = (x..last).filter(|node| !given(node)).collect();
    assert!(!inner.is_empty());
    inner.into_iter().for_each(no_node);
    // neither are nodes that a failed call made, whatever takes their places
    assert!(composite::<1>(&b, c"unique", &[b.apply("neg", &[x])], None).is_err());
    let [order] = composite(&b, c"argsort", &[unique[0]], None).unwrap();
    (order + 1..order + 9).for_each(no_node);
    for node in [x, order].into_iter().chain(unique) {
        b.apply("neg", &[node]);
    }
}
