//! Finds the products that tensor cores can compute.

use crate::core::{Graph, NodeId, Op};
use crate::scalar::Ty;
use crate::schedule::facts::loop_nests::Order;
use crate::schedule::facts::products::Product;

/// The operands of a product.
#[derive(Clone, Copy)]
pub struct Operands {
    /// Their type: f16, bf16, or f32, which is rounded to tf32.
    pub ty: Ty,
    /// The values of this type at (i, k) and at (k, j).
    pub values: [NodeId; 2],
}

/// Returns the operands of a matrix product, or of a batch of them, that tensor cores compute.
pub fn find(g: &Graph, p: &Product) -> Option<Operands> {
    let inner = &p.of.inner[0];
    let is_sum = p.is_matrix && p.of.order == Order::Panels && inner.ty == Ty::F32;
    let ([a], [b]) = (&p.sides[0].parts[..], &p.sides[1].parts[..]) else { return None };
    let Op::MulAdd(x, y, _) = *g.op(inner.next) else { return None };
    if !is_sum || ![[*a, *b], [*b, *a]].contains(&[x, y]) {
        return None;
    }
    // tensor cores add products of halves in f32, so values of f32 that are cast from halves count as operands of
    // halves
    let half = |n: NodeId| match *g.op(n) {
        Op::Cast(_, h) if g.ty(h).elem.is_half() => Some(h),
        _ => None,
    };
    Some(match (half(*a), half(*b)) {
        (Some(a), Some(b)) if g.ty(a) == g.ty(b) => Operands { ty: g.ty(a).elem, values: [a, b] },
        _ => Operands { ty: Ty::F32, values: [*a, *b] },
    })
}
