//! The C functions that add nodes to a builder, by what they build.

use super::builder::{Builder, make, variables_of};
use super::nodes::{axis, construct, elementwise, summed};
use crate::abi::{AgpuBuilder, AgpuNode, AgpuStatus, AgpuType};
use crate::buffer::ty as type_of;
use crate::error::{INVALID_ARGUMENT, Result, fail};
use crate::interrupt::refused;
use arraygpu_compiler::build;
use arraygpu_compiler::core::{Lambda, NodeId, Op};
use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;

/// A scalar operation, by its name in docs/ir.md: add, exp, mul_add, select .. With arrays among the
/// operands it is elementwise: these must have the same extents (a shape rule), and scalars are repeated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_apply(
    builder: *mut AgpuBuilder,
    op: *const c_char,
    operands: *const AgpuNode,
    count: i32,
    node: *mut AgpuNode,
) -> AgpuStatus {
    make("agpu_builder_apply", builder, node, |b| {
        if op.is_null() {
            fail!(INVALID_ARGUMENT, "op is NULL");
        }
        // SAFETY: a C string (the caller's promise).
        let name = unsafe { CStr::from_ptr(op) }.to_string_lossy();
        // SAFETY: the caller's promise.
        let operands = unsafe { b.nodes(operands, count, "operand") }?;
        let make = crate::online::nodes::operation(&name, operands.len())?;
        elementwise(b.function(), construct(&name), &operands, make)
    })
}

/// The value as another type, as in docs/semantics.md; of arrays elementwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_cast(
    builder: *mut AgpuBuilder,
    r#type: MaybeUninit<AgpuType>,
    value: AgpuNode,
    node: *mut AgpuNode,
) -> AgpuStatus {
    make("agpu_builder_cast", builder, node, |b| {
        let ty = type_of(r#type)?;
        let value = b.node(value, "the value")?;
        elementwise(b.function(), "cast", &[value], |o| Op::Cast(ty, o[0]))
    })
}

/// An array of the values of a function of the arrays' elements: `body`, in which `variables` stand for
/// them. The arrays have the same extents (a shape rule).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_map(
    builder: *mut AgpuBuilder,
    variables: *const AgpuNode,
    arrays: *const AgpuNode,
    count: i32,
    body: AgpuNode,
    node: *mut AgpuNode,
) -> AgpuStatus {
    make("agpu_builder_map", builder, node, |b| {
        // SAFETY: the caller's promise.
        let (variables, arrays) =
            unsafe { (variables_of(b, variables, count)?, b.nodes(arrays, count, "array")?) };
        let body = b.node(body, "the body")?;
        let lambda = b.lambda(&variables, body)?;
        b.function().map("map", lambda, arrays).map_err(refused)
    })
}

/// An array of these extents from its indices, i64 variables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_generate(
    builder: *mut AgpuBuilder,
    extents: *const AgpuNode,
    variables: *const AgpuNode,
    rank: i32,
    body: AgpuNode,
    node: *mut AgpuNode,
) -> AgpuStatus {
    make("agpu_builder_generate", builder, node, |b| {
        // SAFETY: the caller's promise.
        let (extents, variables) =
            unsafe { (b.nodes(extents, rank, "extent")?, variables_of(b, variables, rank)?) };
        let body = b.node(body, "the body")?;
        let lambda = b.lambda(&variables, body)?;
        b.function().generate("generate", extents, lambda).map_err(refused)
    })
}

/// All elements joined by an associative, commutative operator, `body` of the variables `left` and `right`,
/// in the fixed order of docs/semantics.md 5.1; `init` joins last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_reduce(
    builder: *mut AgpuBuilder,
    left: AgpuNode,
    right: AgpuNode,
    body: AgpuNode,
    init: AgpuNode,
    array: AgpuNode,
    node: *mut AgpuNode,
) -> AgpuStatus {
    make("agpu_builder_reduce", builder, node, |b| {
        let (join, init, src) = folding(b, [left, right, body, init, array])?;
        b.function().node(Op::Reduce { join, init, src }).map_err(refused)
    })
}

/// The same along one axis, for each index of the others.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_reduce_axis(
    builder: *mut AgpuBuilder,
    left: AgpuNode,
    right: AgpuNode,
    body: AgpuNode,
    init: AgpuNode,
    array: AgpuNode,
    axis: i32,
    node: *mut AgpuNode,
) -> AgpuStatus {
    make("agpu_builder_reduce_axis", builder, node, |b| {
        let (join, init, src) = folding(b, [left, right, body, init, array])?;
        let axis = crate::online::nodes::axis(b.function(), src, axis)?;
        crate::online::nodes::reduce_axis(b.function(), join, init, src, axis)
    })
}

/// A strict left fold in index order: `body` of the variables `accumulator` and `element`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_fold(
    builder: *mut AgpuBuilder,
    accumulator: AgpuNode,
    element: AgpuNode,
    body: AgpuNode,
    init: AgpuNode,
    array: AgpuNode,
    node: *mut AgpuNode,
) -> AgpuStatus {
    make("agpu_builder_fold", builder, node, |b| {
        let (step, init, src) = folding(b, [accumulator, element, body, init, array])?;
        b.function().node(Op::Fold { step, init, src }).map_err(refused)
    })
}

pub(super) fn folding(b: &mut Builder, nodes: [AgpuNode; 5]) -> Result<(Lambda, NodeId, NodeId)> {
    let [left, right, body, init, array] = nodes;
    let variables = [b.variable(left, "the first variable")?, b.variable(right, "the second variable")?];
    let (body, init) = (b.node(body, "the body")?, b.node(init, "the initial value")?);
    let array = b.node(array, "the array")?;
    Ok((b.lambda(&variables, body)?, init, array))
}

/// The number of elements along an axis, i64.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_length(
    builder: *mut AgpuBuilder,
    array: AgpuNode,
    axis: i32,
    node: *mut AgpuNode,
) -> AgpuStatus {
    make("agpu_builder_length", builder, node, |b| {
        let array = b.node(array, "the array")?;
        let axis = crate::online::nodes::axis(b.function(), array, axis)?;
        Ok(b.function().extents(array)[usize::from(axis)])
    })
}

/// The sum of the products of two vectors' elements, by multiply-adds in the fixed order of
/// docs/semantics.md 5.3.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_dot(
    builder: *mut AgpuBuilder,
    x: AgpuNode,
    y: AgpuNode,
    node: *mut AgpuNode,
) -> AgpuStatus {
    make("agpu_builder_dot", builder, node, |b| {
        let (x, y) = (b.node(x, "x")?, b.node(y, "y")?);
        summed(b.function(), x, y, build::Builder::dot)
    })
}

/// The matrix product, docs/semantics.md 5.7.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_matmul(
    builder: *mut AgpuBuilder,
    x: AgpuNode,
    y: AgpuNode,
    node: *mut AgpuNode,
) -> AgpuStatus {
    make("agpu_builder_matmul", builder, node, |b| {
        let (x, y) = (b.node(x, "x")?, b.node(y, "y")?);
        b.matmul(x, y)
    })
}

/// An element, by an i64 index for each axis; outside of the array it is 0 and leaves an error record.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_read(
    builder: *mut AgpuBuilder,
    array: AgpuNode,
    index: *const AgpuNode,
    rank: i32,
    node: *mut AgpuNode,
) -> AgpuStatus {
    make("agpu_builder_read", builder, node, |b| {
        let array = b.node(array, "the array")?;
        // SAFETY: the caller's promise.
        let index = unsafe { b.nodes(index, rank, "index") }?;
        b.function().node(Op::At(array, index)).map_err(refused)
    })
}

/// The elements start, start + stride .. below stop of one axis, i64 scalars that the host can compute;
/// 0 <= start <= stop <= length and 1 <= stride are shape rules. stride 0: none, which is 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_slice(
    builder: *mut AgpuBuilder,
    array: AgpuNode,
    axis: i32,
    start: AgpuNode,
    stop: AgpuNode,
    stride: AgpuNode,
    node: *mut AgpuNode,
) -> AgpuStatus {
    make("agpu_builder_slice", builder, node, |b| {
        let array = b.node(array, "the array")?;
        let (start, stop) = (b.node(start, "start")?, b.node(stop, "stop")?);
        let stride = if stride == 0 { b.function().number(1) } else { b.node(stride, "stride")? };
        let axis = crate::online::nodes::axis(b.function(), array, axis)?;
        b.function().slice("slice", array, axis, [start, stop, stride]).map_err(refused)
    })
}

/// The same elements in reverse along an axis.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_reverse(
    builder: *mut AgpuBuilder,
    array: AgpuNode,
    axis: i32,
    node: *mut AgpuNode,
) -> AgpuStatus {
    make("agpu_builder_reverse", builder, node, |b| {
        let array = b.node(array, "the array")?;
        let axis = crate::online::nodes::axis(b.function(), array, axis)?;
        b.function().node(Op::Reverse(array, axis)).map_err(refused)
    })
}

/// The array with two axes exchanged.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_transpose(
    builder: *mut AgpuBuilder,
    array: AgpuNode,
    first: i32,
    second: i32,
    node: *mut AgpuNode,
) -> AgpuStatus {
    make("agpu_builder_transpose", builder, node, |b| {
        let array = b.node(array, "the array")?;
        let (first, second) = (axis(b.function(), array, first)?, axis(b.function(), array, second)?);
        let mut axes: Vec<u8> = (0..b.function().ty(array).rank).collect();
        axes.swap(first.into(), second.into());
        b.function().node(Op::Permute(array, axes)).map_err(refused)
    })
}

/// The part of an array at an index of one axis, which it loses: a row, a column. An index that the host
/// can compute is inside by a shape rule; else its elements are read as by agpu_builder_read().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_pick(
    builder: *mut AgpuBuilder,
    array: AgpuNode,
    axis: i32,
    index: AgpuNode,
    node: *mut AgpuNode,
) -> AgpuStatus {
    make("agpu_builder_pick", builder, node, |b| {
        let (array, index) = (b.node(array, "the array")?, b.node(index, "the index")?);
        let axis = crate::online::nodes::axis(b.function(), array, axis)?;
        b.function().pick("pick", array, axis, index, false).map_err(refused)
    })
}

/// n times an array, along a new axis of that number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_spread(
    builder: *mut AgpuBuilder,
    array: AgpuNode,
    axis: i32,
    n: AgpuNode,
    node: *mut AgpuNode,
) -> AgpuStatus {
    make("agpu_builder_spread", builder, node, |b| {
        let (array, n) = (b.node(array, "the array")?, b.node(n, "n")?);
        let Ok(axis) = u8::try_from(axis) else {
            fail!(INVALID_ARGUMENT, "an array cannot get a new axis {axis}");
        };
        b.function().spread("spread", array, axis, n).map_err(refused)
    })
}

/// 0, 1, .. n-1 as i64.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_iota(
    builder: *mut AgpuBuilder,
    n: AgpuNode,
    node: *mut AgpuNode,
) -> AgpuStatus {
    make("agpu_builder_iota", builder, node, |b| {
        let n = b.node(n, "n")?;
        b.function().iota(n).map_err(refused)
    })
}

/// n times a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_fill(
    builder: *mut AgpuBuilder,
    n: AgpuNode,
    value: AgpuNode,
    node: *mut AgpuNode,
) -> AgpuStatus {
    make("agpu_builder_fill", builder, node, |b| {
        let (n, value) = (b.node(n, "n")?, b.node(value, "the value")?);
        b.function().fill(n, value).map_err(refused)
    })
}

/// The same value, computed once where it is used several times, and named in the generated code (slet).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_bind(
    builder: *mut AgpuBuilder,
    value: AgpuNode,
    node: *mut AgpuNode,
) -> AgpuStatus {
    make("agpu_builder_bind", builder, node, |b| {
        let value = b.node(value, "the value")?;
        Ok(b.function().bind(value))
    })
}

/// The same value, which becomes a constant of the code: a program is compiled for each of its values (at
/// most 16 are kept). It is made of lengths, constants and scalar parameters.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_stage(
    builder: *mut AgpuBuilder,
    value: AgpuNode,
    node: *mut AgpuNode,
) -> AgpuStatus {
    make("agpu_builder_stage", builder, node, |b| {
        let value = b.node(value, "the value")?;
        b.function().stage(value).map_err(refused)
    })
}

/// The same array, stored before it is used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_materialize(
    builder: *mut AgpuBuilder,
    array: AgpuNode,
    node: *mut AgpuNode,
) -> AgpuStatus {
    make("agpu_builder_materialize", builder, node, |b| {
        let array = b.node(array, "the array")?;
        b.function().node(Op::Materialize(array)).map_err(refused)
    })
}
