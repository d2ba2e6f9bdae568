//! Nodes of a builder's function that bind no variables, and scalar operations on arrays.

use super::builder::{Builder, make};
use crate::abi::{AgpuBuilder, AgpuNode, AgpuStatus};
use crate::error::{INVALID_ARGUMENT, Result, fail};
use crate::interrupt::refused;
use arraygpu_compiler::build;
use arraygpu_compiler::core::{Lambda, NodeId, Op, Var};
use arraygpu_compiler::scalar::{BinaryOp, Ty, UnaryOp};

/// A variable of a lambda that is being built.
pub(super) type Variable = (Var, Ty);

/// What makes the operation of a name from its operands.
pub(super) fn operation(name: &str, operands: usize) -> Result<impl Fn(&[NodeId]) -> Op + use<>> {
    enum Kind {
        Unary(UnaryOp),
        Binary(BinaryOp),
        MulAdd,
        Select,
    }
    let (kind, takes) = match (name, UnaryOp::parse(name), BinaryOp::parse(name)) {
        ("mul_add", ..) => (Kind::MulAdd, 3),
        ("select", ..) => (Kind::Select, 3),
        (_, Some(op), _) => (Kind::Unary(op), 1),
        (_, _, Some(op)) => (Kind::Binary(op), 2),
        _ => fail!(INVALID_ARGUMENT, "there is no operation `{name}`"),
    };
    if operands != takes {
        fail!(INVALID_ARGUMENT, "{name} takes {takes} operands, not {operands}");
    }
    Ok(move |o: &[NodeId]| match kind {
        Kind::Unary(op) => Op::Unary(op, o[0]),
        Kind::Binary(op) => Op::Binary(op, o[0], o[1]),
        Kind::MulAdd => Op::MulAdd(o[0], o[1], o[2]),
        Kind::Select => Op::Select(o[0], o[1], o[2]),
    })
}

/// What shape rules call an elementwise operation: as it is written where it has an operator.
pub(super) fn construct(name: &str) -> &str {
    const WRITTEN: [(&str, &str); 16] = [
        ("add", "+"),
        ("sub", "-"),
        ("mul", "*"),
        ("div", "/"),
        ("rem", "%"),
        ("and", "&"),
        ("or", "|"),
        ("xor", "^"),
        ("shl", "<<"),
        ("shr", ">>"),
        ("eq", "=="),
        ("ne", "!="),
        ("lt", "<"),
        ("le", "<="),
        ("gt", ">"),
        ("ge", ">="),
    ];
    WRITTEN.iter().find(|w| w.0 == name).map_or(name, |w| w.1)
}

/// A scalar operation, elementwise where operands are arrays.
pub(super) fn elementwise(
    b: &mut build::Builder,
    construct: &str,
    operands: &[NodeId],
    op: impl FnOnce(&[NodeId]) -> Op,
) -> Result<NodeId> {
    let arrays: Vec<NodeId> = operands.iter().copied().filter(|o| !b.ty(*o).is_scalar()).collect();
    if arrays.is_empty() {
        return b.node(op(operands)).map_err(refused);
    }
    let mut variables: Vec<Variable> = Vec::new();
    let scalars: Vec<NodeId> = operands
        .iter()
        .map(|o| match b.ty(*o) {
            ty if ty.is_scalar() => *o,
            ty => {
                let (var, node) = b.graph().fresh_var(ty.elem);
                variables.push((var, ty.elem));
                node
            }
        })
        .collect();
    let body = b.node(op(&scalars)).map_err(refused)?;
    let lambda = b.graph().close(&variables, body);
    b.map(construct, lambda, arrays).map_err(refused)
}

/// An axis of an array.
pub(super) fn axis(b: &build::Builder, array: NodeId, axis: i32) -> Result<u8> {
    let ty = b.ty(array);
    match u8::try_from(axis) {
        Ok(a) if a < ty.rank => Ok(a),
        _ => fail!(INVALID_ARGUMENT, "{ty} has no axis {axis}"),
    }
}

/// One reduction along an axis for each index of the others.
pub(super) fn reduce_axis(
    b: &mut build::Builder,
    join: Lambda,
    init: NodeId,
    src: NodeId,
    axis: u8,
) -> Result<NodeId> {
    let rank = b.ty(src).rank;
    if rank == 1 {
        return b.node(Op::Reduce { join, init, src }).map_err(refused);
    }
    let others: Vec<u8> = (0..rank).filter(|a| *a != axis).collect();
    let extents: Vec<NodeId> = others.iter().map(|a| b.extents(src)[usize::from(*a)]).collect();
    let variables: Vec<_> = others.iter().map(|_| b.graph().fresh_var(Ty::I64)).collect();
    // the last axis first, so that the others keep their numbers
    let mut part = src;
    for (a, (_, index)) in others.iter().zip(&variables).rev() {
        part = b.pick("reduce", part, *a, *index, true).map_err(refused)?;
    }
    let body = b.node(Op::Reduce { join, init, src: part }).map_err(refused)?;
    let variables: Vec<Variable> = variables.iter().map(|v| (v.0, Ty::I64)).collect();
    let lambda = b.graph().close(&variables, body);
    b.generate("reduce", extents, lambda).map_err(refused)
}

/// A sum of products; of halves in f32, rounded once.
fn summed(
    b: &mut build::Builder,
    x: NodeId,
    y: NodeId,
    sum: fn(&mut build::Builder, NodeId, NodeId) -> arraygpu_compiler::Result<NodeId>,
) -> Result<NodeId> {
    let ty = b.ty(x).elem;
    if !ty.is_half() || b.ty(y).elem != ty {
        return sum(b, x, y).map_err(refused);
    }
    let mut wide = |n| elementwise(b, "cast", &[n], |o| Op::Cast(Ty::F32, o[0]));
    let (x, y) = (wide(x)?, wide(y)?);
    let value = sum(b, x, y).map_err(refused)?;
    b.node(Op::Cast(ty, value)).map_err(refused)
}

impl Builder {
    fn matmul(&mut self, x: NodeId, y: NodeId) -> Result<NodeId> {
        let b = self.function();
        let (tx, ty) = (b.ty(x), b.ty(y));
        if tx.rank != 2 || ty.rank != 2 {
            fail!(INVALID_ARGUMENT, "matmul takes two matrices, not {tx} and {ty}");
        }
        let extents = vec![b.extents(x)[0], b.extents(y)[1]];
        let [(row, i), (column, j)] = [0, 1].map(|_| b.graph().fresh_var(Ty::I64));
        let left = b.pick("matmul", x, 0, i, true).map_err(refused)?;
        let right = b.pick("matmul", y, 1, j, true).map_err(refused)?;
        let body = summed(b, left, right, build::Builder::panel_dot)?;
        let lambda = b.graph().close(&[(row, Ty::I64), (column, Ty::I64)], body);
        b.generate("matmul", extents, lambda).map_err(refused)
    }
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
        let axis = self::axis(b.function(), array, axis)?;
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
        let axis = self::axis(b.function(), array, axis)?;
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
        let axis = self::axis(b.function(), array, axis)?;
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
        let axis = self::axis(b.function(), array, axis)?;
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
