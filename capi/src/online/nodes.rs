//! Nodes of a builder's function that bind no variables, and scalar operations on arrays.

use super::builder::{Builder, Variable};
use crate::error::{INVALID_ARGUMENT, Result, fail};
use crate::interrupt::refused;
use arraygpu_compiler::build;
use arraygpu_compiler::core::{Lambda, NodeId, Op, Tested};
use arraygpu_compiler::scalar::{BinaryOp, Ty, UnaryOp};

/// Returns the function that makes the operation with this name from its operands.
pub(super) fn operation(name: &str, operands: usize) -> Result<impl Fn(&[NodeId]) -> Op + use<>> {
    enum Kind {
        Unary(UnaryOp),
        Binary(BinaryOp),
        MulAdd,
        Select,
        Within(Tested),
    }
    let (kind, takes) = match (name, UnaryOp::parse(name), BinaryOp::parse(name)) {
        ("mul_add", ..) => (Kind::MulAdd, 3),
        ("select", ..) => (Kind::Select, 3),
        ("within", ..) => (Kind::Within(Tested::Index), 2),
        ("within_small_read", ..) => (Kind::Within(Tested::SmallRead), 2),
        ("within_small_update", ..) => (Kind::Within(Tested::SmallUpdate), 2),
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
        Kind::Within(tested) => Op::Within(o[0], o[1], tested),
    })
}

/// Returns the name that shape rules give an elementwise operation: its operator if it has one.
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

/// Adds a scalar operation, which is elementwise if operands are arrays.
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

/// Checks the number of an axis of an array.
pub(super) fn axis(b: &build::Builder, array: NodeId, axis: i32) -> Result<u8> {
    let ty = b.ty(array);
    match u8::try_from(axis) {
        Ok(a) if a < ty.rank => Ok(a),
        _ => fail!(INVALID_ARGUMENT, "{ty} has no axis {axis}"),
    }
}

/// Adds a reduction along one axis for each index of the other axes.
pub(super) fn reduce_axis(
    b: &mut build::Builder,
    join: Lambda,
    init: NodeId,
    src: NodeId,
    axis: u8,
) -> Result<NodeId> {
    let rank = b.ty(src).rank;
    if rank == 1 {
        return b.node(Op::Reduce { join, init, src, which: 0 }).map_err(refused);
    }
    let others: Vec<u8> = (0..rank).filter(|a| *a != axis).collect();
    let extents: Vec<NodeId> = others.iter().map(|a| b.extents(src)[usize::from(*a)]).collect();
    let variables: Vec<_> = others.iter().map(|_| b.graph().fresh_var(Ty::I64)).collect();
    // the last axis is picked first, so that the others keep their numbers
    let mut part = src;
    for (a, (_, index)) in others.iter().zip(&variables).rev() {
        part = b.pick("reduce", part, *a, *index, true).map_err(refused)?;
    }
    let body = b.node(Op::Reduce { join, init, src: part, which: 0 }).map_err(refused)?;
    let variables: Vec<Variable> = variables.iter().map(|v| (v.0, Ty::I64)).collect();
    let lambda = b.graph().close(&variables, body);
    b.generate("reduce", extents, lambda).map_err(refused)
}

/// Adds a sum of products. The sum of f16 or bf16 is computed in f32 and rounded once.
pub(super) fn summed(
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

/// The number of planes of both factors: the rule that it is one belongs to a function of their numbers.
fn number_of_planes(b: &mut build::Builder, x: NodeId, y: NodeId) -> Result<NodeId> {
    let mut numbers = |of| {
        let n = b.extents(of)[0];
        b.iota(n).map_err(refused)
    };
    let numbers = vec![numbers(x)?, numbers(y)?];
    let first = b.graph().lambda(&[Ty::I64, Ty::I64], |_, v| v[0]);
    let planes = b.map("matmul of planes", first, numbers).map_err(refused)?;
    Ok(b.extents(planes)[0])
}

impl Builder {
    pub fn matmul(&mut self, x: NodeId, y: NodeId) -> Result<NodeId> {
        let b = self.function();
        let (tx, ty) = (b.ty(x), b.ty(y));
        if tx.rank != ty.rank || !(2..=3).contains(&tx.rank) {
            fail!(INVALID_ARGUMENT, "matmul takes two matrices, or two arrays of planes, not {tx} and {ty}");
        }
        let planes = usize::from(tx.rank) - 2;
        let mut extents = vec![b.extents(x)[planes], b.extents(y)[planes + 1]];
        let mut variables = Vec::new();
        let (mut left, mut right) = (x, y);
        if planes == 1 {
            extents.insert(0, number_of_planes(b, x, y)?);
            let (plane, k) = b.graph().fresh_var(Ty::I64);
            variables.push((plane, Ty::I64));
            left = b.pick("matmul", x, 0, k, true).map_err(refused)?;
            right = b.pick("matmul", y, 0, k, true).map_err(refused)?;
        }
        let [(row, i), (column, j)] = [0, 1].map(|_| b.graph().fresh_var(Ty::I64));
        left = b.pick("matmul", left, 0, i, true).map_err(refused)?;
        right = b.pick("matmul", right, 1, j, true).map_err(refused)?;
        let body = summed(b, left, right, build::Builder::panel_dot)?;
        variables.extend([(row, Ty::I64), (column, Ty::I64)]);
        let lambda = b.graph().close(&variables, body);
        b.generate("matmul", extents, lambda).map_err(refused)
    }
}
