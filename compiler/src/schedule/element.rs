//! Helpers of every strategy: the element of an array as a node, and its value as it is stored.

use crate::core::index_space::indices;
use crate::core::{Graph, NodeId, Op};
use crate::kernel::{Expr, Kernel, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};

/// Returns the element of a `generate` (or of the array that an item stores) whose number in
/// row-major order is `index`.
pub fn element(g: &mut Graph, array: NodeId, index: NodeId) -> NodeId {
    match g.op(array).clone() {
        Op::Generate(extents, lambda) => {
            let index = indices(g, index, &extents);
            g.open(&lambda, &index)
        }
        Op::Materialize(x)
        | Op::Place { src: x, .. }
        | Op::ByDigit { src: x, .. }
        | Op::Put { src: x, .. } => element(g, x, index),
        op => unreachable!("fused: {op:?} is no array"),
    }
}

/// Returns the element of such an array at the indices `index`, one per axis.
pub fn opened(g: &mut Graph, array: NodeId, index: &[NodeId]) -> NodeId {
    match g.op(array).clone() {
        Op::Generate(_, lambda) => g.open(&lambda, index),
        Op::Materialize(x)
        | Op::Place { src: x, .. }
        | Op::ByDigit { src: x, .. }
        | Op::Put { src: x, .. } => opened(g, x, index),
        op => unreachable!("fused: {op:?} is no array"),
    }
}

/// Returns the value as it is stored in a result: every NaN is the canonical NaN (semantics 2.4).
pub fn canonical(e: Expr, ty: Ty, k: &mut Kernel, out: &mut Vec<Stmt>) -> Expr {
    if !ty.is_float() {
        return e;
    }
    let nan = Expr::Lit(Lit::float(ty, f64::NAN).canonical());
    let e = match e {
        Expr::Reg(_) | Expr::Lit(_) | Expr::In(_) => e,
        e => {
            let r = k.reg("value", ty);
            out.push(Stmt::Let(r, e, Default::default()));
            Expr::Reg(r)
        }
    };
    let compared = if ty.is_half() { Expr::Cast(Ty::F32, Box::new(e.clone())) } else { e.clone() };
    let is_nan = Expr::binary(BinaryOp::Ne, compared.clone(), compared);
    Expr::Select(Box::new(is_nan), Box::new(nan), Box::new(e))
}
