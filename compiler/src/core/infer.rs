//! The type of an operation from its operands: the typing rules of core IR.

use super::{Graph, Lambda, NodeId, Op, Type};
use crate::scalar::Ty;

/// The type of `op`, or what is wrong with it.
pub fn infer(g: &Graph, op: &Op) -> Result<Type, String> {
    let scalar = |n: NodeId, what: &str| match g.ty(n) {
        t if t.is_scalar() => Ok(t.elem),
        t => Err(format!("{what} must be a scalar, not {t}")),
    };
    let index = |n: NodeId, what: &str| match g.ty(n) {
        t if t == Type::scalar(Ty::I64) => Ok(()),
        t => Err(format!("{what} must be an i64 scalar, not {t}")),
    };
    let vector = |n: NodeId, what: &str| match g.ty(n) {
        t if t.rank == 1 => Ok(t.elem),
        t => Err(format!("{what} must be a vector, not {t}")),
    };
    let same = |a: Ty, b: Ty, what: &str| {
        if a == b { Ok(()) } else { Err(format!("{what} have the types {a} and {b}")) }
    };
    let lambda = |l: &Lambda, types: &[Ty], what: &str| {
        if l.params.iter().map(|p| p.1).ne(types.iter().copied()) {
            let list = types.iter().map(|t| t.name()).collect::<Vec<_>>().join(", ");
            return Err(format!("{what}'s function must take ({list})"));
        }
        scalar(l.body, "the function's result")
    };
    // a function of (T, T) that gives T
    let operator = |l: &Lambda, first: Ty, second: Ty, what: &str| {
        same(lambda(l, &[first, second], what)?, first, "accumulator and the function's result")
    };

    Ok(match op {
        Op::Const(l) => Type::scalar(l.ty),
        Op::Param(i) => *g.params().get(*i as usize).ok_or_else(|| format!("there is no parameter {i}"))?,
        Op::Var(_, ty) => Type::scalar(*ty),
        Op::Unary(op, a) => {
            let ty = scalar(*a, "the operand")?;
            if !op.accepts(ty) {
                return Err(format!("{op} does not take {ty}"));
            }
            Type::scalar(op.result(ty))
        }
        Op::Binary(op, a, b) => {
            let ty = scalar(*a, "the operand")?;
            same(ty, scalar(*b, "the operand")?, &format!("the operands of {op}"))?;
            if !op.accepts(ty) {
                return Err(format!("{op} does not take {ty}"));
            }
            Type::scalar(op.result(ty))
        }
        Op::MulAdd(a, b, c) => {
            let ty = scalar(*a, "the operand")?;
            same(ty, scalar(*b, "the operand")?, "the factors of mul_add")?;
            same(ty, scalar(*c, "the operand")?, "the operands of mul_add")?;
            if ty == Ty::Bool {
                return Err("mul_add does not take bool".into());
            }
            Type::scalar(ty)
        }
        Op::Select(c, a, b) => {
            same(scalar(*c, "the condition")?, Ty::Bool, "bool and the condition")?;
            let ty = scalar(*a, "the arm")?;
            same(ty, scalar(*b, "the arm")?, "the arms of select")?;
            Type::scalar(ty)
        }
        Op::Cast(ty, a) => scalar(*a, "the operand").map(|_| Type::scalar(*ty))?,
        Op::Len(x) => vector(*x, "the operand of len").map(|_| Type::scalar(Ty::I64))?,
        Op::At(x, i) | Op::Elem(x, i) => {
            index(*i, "the index")?;
            Type::scalar(vector(*x, "the array")?)
        }
        Op::Within(i, n) => {
            index(*i, "the index")?;
            index(*n, "the length")?;
            Type::scalar(Ty::Bool)
        }
        Op::Map(l, srcs) => {
            if srcs.is_empty() {
                return Err("map needs a vector".into());
            }
            let types = srcs.iter().map(|s| vector(*s, "map's argument")).collect::<Result<Vec<_>, _>>()?;
            Type::vector(lambda(l, &types, "map")?)
        }
        Op::Generate(n, l) => {
            index(*n, "the length")?;
            Type::vector(lambda(l, &[Ty::I64], "generate")?)
        }
        Op::Slice { src, start, stop, stride } => {
            for (n, what) in [(start, "start"), (stop, "stop"), (stride, "stride")] {
                index(*n, what)?;
            }
            Type::vector(vector(*src, "the operand of slice")?)
        }
        Op::Reverse(x) | Op::Materialize(x) => Type::vector(vector(*x, "the operand")?),
        Op::Iota(n) => index(*n, "the length").map(|_| Type::vector(Ty::I64))?,
        Op::Fill(n, v) => {
            index(*n, "the length")?;
            Type::vector(scalar(*v, "the value")?)
        }
        Op::Reduce { join, init, src } => {
            let ty = scalar(*init, "the initial value")?;
            same(ty, vector(*src, "the operand of reduce")?, "initial value and elements")?;
            operator(join, ty, ty, "reduce")?;
            Type::scalar(ty)
        }
        Op::Dot { init, a, b } => {
            let ty = scalar(*init, "the initial value")?;
            same(ty, vector(*a, "the operand of dot")?, "initial value and elements")?;
            same(ty, vector(*b, "the operand of dot")?, "initial value and elements")?;
            // a half's products would be rounded one by one: sums of them accumulate in f32
            if ty == Ty::Bool || ty.is_half() {
                return Err(format!("dot does not take {ty}"));
            }
            Type::scalar(ty)
        }
        Op::Fold { step, init, src } => {
            let ty = scalar(*init, "the initial value")?;
            operator(step, ty, vector(*src, "the operand of fold")?, "fold")?;
            Type::scalar(ty)
        }
    })
}
