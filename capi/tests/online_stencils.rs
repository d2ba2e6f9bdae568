//! Margins beyond the edges of arrays, arrays with a part replaced, and products of planes, built node by node.
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

/// A node that a call makes, or its message.
fn made(call: impl FnOnce(&mut AgpuNode) -> AgpuStatus) -> Result<AgpuNode, String> {
    let mut node = 77;
    if call(&mut node) == AgpuStatus::AgpuOk {
        return Ok(node);
    }
    assert_eq!(node, 77, "an error leaves the node as it was");
    Err(message())
}

fn pad(
    b: &Built,
    array: AgpuNode,
    margins: [i64; 2],
    edge: &CStr,
    value: AgpuNode,
) -> Result<AgpuNode, String> {
    let [before, after] = margins.map(|n| b.constant(I64, n));
    made(|node| unsafe { agpu_builder_pad(b.0, array, 0, before, after, edge.as_ptr(), value, node) })
}

fn replace(b: &Built, array: AgpuNode, part: AgpuNode, start: &[AgpuNode]) -> Result<AgpuNode, String> {
    made(|node| unsafe { agpu_builder_replace(b.0, array, part, start.as_ptr(), start.len() as i32, node) })
}

/// What a program of one vector gives for 1, 2, 3.
fn run(b: &Built, result: AgpuNode, count: usize) -> Vec<f32> {
    let program = b.compile(&[result]);
    let (x, y) = (Vector::in_context(cpu(), &[1.0, 2.0, 3.0]), Vector::in_context(cpu(), &vec![0.0; count]));
    let args = [input(x.view()), output(y.view())];
    ok(unsafe { agpu_program_run(program, null(), args.as_ptr(), 2) });
    ok(unsafe { agpu_program_free(program) });
    y.get()
}

#[test]
fn margins_are_those_of_the_boundary() {
    for (edge, wanted) in [
        (c"clamp", [1.0, 1.0, 1.0, 2.0, 3.0, 3.0f32]),
        (c"mirror", [2.0, 1.0, 1.0, 2.0, 3.0, 3.0]),
        (c"wrap", [2.0, 3.0, 1.0, 2.0, 3.0, 1.0]),
        (c"constant", [7.0, 7.0, 1.0, 2.0, 3.0, 7.0]),
    ] {
        let b = Built::new();
        let x = b.param(c"x", F32, 1);
        let value = if edge == c"constant" { b.constant(F32, 7f32) } else { 0 };
        let padded = pad(&b, x, [2, 1], edge, value).unwrap();
        assert_eq!(run(&b, padded, 6), wanted, "{edge:?}");
    }
}

#[test]
fn a_part_replaces_elements() {
    let b = Built::new();
    let x = b.param(c"x", F32, 1);
    let wide = pad(&b, x, [1, 1], c"clamp", 0).unwrap();
    let replaced = replace(&b, wide, b.apply("neg", &[x]), &[b.constant(I64, 2i64)]).unwrap();
    assert_eq!(run(&b, replaced, 5), [1.0, 1.0, -1.0, -2.0, -3.0]);
}

#[test]
fn misuse_is_an_error_that_says_what_is_wrong() {
    let b = Built::new();
    let (x, m, d) = (b.param(c"x", F32, 1), b.param(c"m", F32, 2), b.param(c"d", AgpuType::AgpuF64, 1));
    let (one, number) = (b.constant(I64, 1i64), b.constant(F32, 1f32));
    let says = |found: Result<AgpuNode, String>, wanted: &str| {
        let message = found.unwrap_err();
        assert!(message.contains(wanted), "{message}");
    };
    says(pad(&b, x, [1, 1], c"edge", 0), "there is no boundary `edge`");
    says(pad(&b, x, [1, 1], c"constant", 0), "the value is no node");
    says(pad(&b, x, [1, 1], c"constant", one), "the value is a i64, it must be a f32");
    says(pad(&b, number, [1, 1], c"clamp", 0), "has no axis 0");
    let of =
        |margin| made(|node| unsafe { agpu_builder_pad(b.0, x, 0, margin, one, c"clamp".as_ptr(), 0, node) });
    says(of(number), "before is a f32, it must be a i64");
    says(
        made(|node| unsafe { agpu_builder_pad(b.0, x, 0, one, one, null(), 0, node) }),
        "the boundary is NULL",
    );
    says(replace(&b, x, m, &[one]), "the part is a");
    says(replace(&b, x, d, &[one]), "the part is a");
    says(replace(&b, m, m, &[one]), "1 indices of a");
    says(replace(&b, number, number, &[]), "0 indices of a f32");
    says(replace(&b, x, x, &[number]), "an index is a f32");
    // a margin that only the device knows
    let device =
        made(|node| unsafe { agpu_builder_cast(b.0, std::mem::MaybeUninit::new(I64), b.sum(x), node) })
            .unwrap();
    says(of(device), "padded");
}

#[test]
fn products_of_planes_are_those_of_matrices() {
    let b = Built::new();
    let (x, y) = (b.param(c"x", F32, 3), b.param(c"y", F32, 3));
    let product = made(|node| unsafe { agpu_builder_matmul(b.0, x, y, node) }).unwrap();
    let total = b.sum(product);
    let program = b.compile(&[total]);
    let numbers: Vec<f32> = (1..=8).map(|i| i as f32).collect();
    let v = Vector::in_context(cpu(), &numbers);
    let planes = |n| AgpuView { rank: 3, extent: [n, 2, 2, 1, 1, 1], stride: [4, 2, 1, 1, 1, 1], ..v.view() };
    let result = Vector::in_context(cpu(), &[0.0]);
    let args = [input(planes(2)), input(planes(2)), output(result.view())];
    ok(unsafe { agpu_program_run(program, null(), args.as_ptr(), 3) });
    // 1 2 / 3 4 squared is 7 10 / 15 22, 5 6 / 7 8 squared 67 78 / 91 106
    assert_eq!(result.get(), [54.0 + 342.0]);
    let args = [input(planes(2)), input(planes(1)), output(result.view())];
    assert_eq!(unsafe { agpu_program_run(program, null(), args.as_ptr(), 3) }, AgpuStatus::AgpuErrorShape);
    assert!(message().contains("matmul of planes"), "{}", message());
    ok(unsafe { agpu_program_free(program) });
    let m = Built::new();
    let (x, y) = (m.param(c"x", F32, 3), m.param(c"y", F32, 2));
    let mixed = made(|node| unsafe { agpu_builder_matmul(m.0, x, y, node) });
    assert!(mixed.unwrap_err().contains("two matrices, or two arrays of planes"));
}
