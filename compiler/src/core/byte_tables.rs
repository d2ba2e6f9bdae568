//! Recognises reads of tables of the values of a function of a byte, which `passes/tables` makes.

use super::{Graph, NodeId, Op};
use crate::scalar::{BinaryOp, Lit, Ty};

/// The number of values of a byte.
pub const BYTES: i64 = 256;

/// Whether values of the type are bytes.
pub fn is_byte(ty: Ty) -> bool {
    matches!(ty, Ty::U8 | Ty::I8)
}

/// If a node reads a stored array of 256 elements at a byte, returns the array.
pub fn read(g: &Graph, n: NodeId) -> Option<NodeId> {
    let Op::Elem(table, index) = g.op(n) else { return None };
    let Op::Materialize(values) = *g.op(*table) else { return None };
    let is_at_byte = |i: NodeId| match *g.op(i) {
        Op::Cast(Ty::I64, byte) => is_byte(g.ty(byte).elem),
        _ => false,
    };
    // signed bytes count from -128
    let is_at_signed = |i: NodeId| match *g.op(i) {
        Op::Binary(BinaryOp::Add, a, b) => {
            is_at_byte(a) && g.as_lit(b).is_some_and(|l| l == Lit::i64(BYTES / 2))
        }
        _ => false,
    };
    let Op::Generate(extents, _) = g.op(values) else { return None };
    let ([n], [i]) = (&extents[..], &index[..]) else { return None };
    let is_of_bytes = g.as_lit(*n) == Some(Lit::i64(BYTES));
    (is_of_bytes && (is_at_byte(*i) || is_at_signed(*i))).then_some(*table)
}
