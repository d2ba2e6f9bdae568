//! Helpers for all strategies: the element of an array as a node, and its value as it is stored.

pub(super) mod approximate;
pub mod counter;
pub(super) mod division;
pub(super) mod element_loop;
pub(super) mod error_records;
pub(super) mod folds;
pub(super) mod in_bounds;
pub mod lower;
pub mod nested_loop;
pub(super) mod placed_stores;
pub(super) mod put_stores;
pub mod reduction;
pub mod scalars;
pub mod scan_operator;
pub(super) mod slots;
pub mod slow_path;
pub(super) mod unlikely;
pub mod unroll_and_jam;

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
