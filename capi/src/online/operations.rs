//! The C functions that add nodes to a builder, ordered by the nodes that they add.

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

/// Adds a scalar operation, by its name in docs/ir.md: add, exp, mul_add, select and others. If
/// operands are arrays, it is elementwise: the arrays must have the same extents (a shape rule),
/// and scalars are repeated.
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
        // SAFETY: the caller promises a C string.
        let name = unsafe { CStr::from_ptr(op) }.to_string_lossy();
        // SAFETY: the caller promises it.
        let operands = unsafe { b.nodes(operands, count, "operand") }?;
        let make = crate::online::nodes::operation(&name, operands.len())?;
        elementwise(b.function(), construct(&name), &operands, make)
    })
}

/// Converts a value to another type, as docs/semantics.md defines; arrays are converted
/// elementwise.
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

/// Adds an array whose elements are a function of the elements of other arrays: `body`, in which
/// `variables` stand for them. The arrays must have the same extents (a shape rule).
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
        // SAFETY: the caller promises it.
        let (variables, arrays) =
            unsafe { (variables_of(b, variables, count)?, b.nodes(arrays, count, "array")?) };
        let body = b.node(body, "the body")?;
        let lambda = b.lambda(&variables, body)?;
        b.function().map("map", lambda, arrays).map_err(refused)
    })
}

/// Adds an array with these extents whose elements are a function of their indices: `body`, in
/// which `variables`, of i64, stand for them.
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
        // SAFETY: the caller promises it.
        let (extents, variables) =
            unsafe { (b.nodes(extents, rank, "extent")?, variables_of(b, variables, rank)?) };
        let body = b.node(body, "the body")?;
        let lambda = b.lambda(&variables, body)?;
        b.function().generate("generate", extents, lambda).map_err(refused)
    })
}

/// Reduces all elements of an array by an associative, commutative operator: `body`, in which the
/// variables `left` and `right` stand for its operands. The order is the fixed one of
/// docs/semantics.md 5.1; `init` is joined last.
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
        b.function().node(Op::Reduce { join, init, src, which: 0 }).map_err(refused)
    })
}

/// Reduces an array along one axis, for each index of the other axes, as agpu_builder_reduce()
/// does.
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

/// Folds the elements of an array strictly from the left, in index order: `body` is the next value,
/// in which the variables `accumulator` and `element` stand for the old value and the element.
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
        b.function().node(Op::Fold { step, init, src, which: 0 }).map_err(refused)
    })
}

pub(super) fn folding(b: &mut Builder, nodes: [AgpuNode; 5]) -> Result<(Lambda, NodeId, NodeId)> {
    let [left, right, body, init, array] = nodes;
    let variables = [b.variable(left, "the first variable")?, b.variable(right, "the second variable")?];
    let (body, init) = (b.node(body, "the body")?, b.node(init, "the initial value")?);
    let array = b.node(array, "the array")?;
    Ok((b.lambda(&variables, body)?, init, array))
}

/// Adds the number of elements along an axis, an i64.
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

/// Adds the sum of the products of two vectors' elements, by multiply-adds in the fixed order of
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

/// Adds the sum of the squared deviations of an array's elements, f32 or f64, from their mean, in one
/// pass (docs/semantics.md 5.12).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_squared_deviations(
    builder: *mut AgpuBuilder,
    array: AgpuNode,
    node: *mut AgpuNode,
) -> AgpuStatus {
    make("agpu_builder_squared_deviations", builder, node, |b| {
        let array = b.node(array, "the array")?;
        b.function().squared_deviations(array).map_err(refused)
    })
}

/// Adds the matrix product of docs/semantics.md 5.7; of two arrays of rank 3, that of each plane with the
/// same plane.
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

/// Adds an element of an array, by an i64 index for each axis. An element outside of the array is 0
/// and leaves an error record.
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
        // SAFETY: the caller promises it.
        let index = unsafe { b.nodes(index, rank, "index") }?;
        b.function().node(Op::At(array, index)).map_err(refused)
    })
}

/// Adds the elements start, start + stride .. below stop along one axis. All three are i64 scalars
/// that the host can compute; 0 <= start <= stop <= length and 1 <= stride are shape rules. A
/// stride that is no node (0) means 1.
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

/// Adds the array with its elements in reverse order along an axis.
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

/// Adds the array with two axes exchanged.
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

/// Adds the part of an array at an index of one axis, which the part does not have: a row or a
/// column, say. If the host can compute the index, a shape rule checks that it is inside; otherwise
/// elements are read as by agpu_builder_read().
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

/// Adds an array that repeats another one n times along a new axis.
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

/// Adds the vector 0, 1, .. n-1 of i64.
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

/// Adds a vector that repeats a value n times.
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

/// Adds the same value, which is computed once even if it is used several times, and named in the
/// generated code (slet).
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

/// Adds the same value, which becomes a constant of the code: a program is compiled for each value
/// that it has in calls (at most 16 are kept). It must be made of lengths, constants and scalar
/// parameters.
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

/// Adds the same array, which is stored before it is used.
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
