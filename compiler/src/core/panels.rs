//! Inner products in panels (semantics 5.7) as sums of panels.

use super::simplify::simplify;
use super::{Graph, Lambda, NodeId, Op, PANEL, linear};
use crate::scalar::{BinaryOp, Lit, Ty};

/// Writes a `panel_dot` that is not part of an element as a fold over a sequence whose elements are
/// the sums of the panels (semantics 5.7).
pub fn sum(g: &mut Graph, init: NodeId, a: NodeId, b: NodeId) -> NodeId {
    let (Op::Generate(extents, of_a), Op::Generate(_, of_b)) = (g.op(a).clone(), g.op(b).clone()) else {
        unreachable!("sequences are generated")
    };
    let ty = g.ty(init).elem;
    let panel = g.lit(Lit::i64(PANEL));
    let before = g.lit(Lit::i64(PANEL - 1));
    let up = linear::add(g, extents[0], before);
    let count = simplify(g, Op::Binary(BinaryOp::Div, up, panel));
    // adding the empty sum changes no bit
    let nothing = g.lit(Lit::no_sum(ty));
    let each = g.lambda(&[Ty::I64], |g, p| {
        let first = linear::mul(g, p[0], panel);
        let left = linear::sub(g, extents[0], first);
        let len = simplify(g, Op::Binary(BinaryOp::Min, left, panel));
        let mut part = |of: &Lambda| {
            let lambda = g.lambda(&[Ty::I64], |g, q| {
                let k = linear::add(g, first, q[0]);
                g.open(of, &[k])
            });
            g.add(Op::Generate(vec![len], lambda))
        };
        let (a, b) = (part(&of_a), part(&of_b));
        g.add(Op::PanelDot { init: nothing, a, b })
    });
    let src = g.add(Op::Generate(vec![count], each));
    let step = g.lambda(&[ty, ty], |g, v| exact_sum(g, v[0], v[1]));
    let sum = g.add(Op::Fold { step, init: nothing, src, which: 0 });
    exact_sum(g, init, sum)
}

/// Adds two numbers in a sum that the author did not write, which `fast_math` must not approximate. Until the
/// author's own sums have been approximated, it is a multiply-add, which has the same bits.
fn exact_sum(g: &mut Graph, a: NodeId, b: NodeId) -> NodeId {
    let ty = g.ty(a).elem;
    if !g.approximates || !ty.is_float() {
        return g.add(Op::Binary(BinaryOp::Add, a, b));
    }
    let one = g.lit(Lit::one(ty));
    g.add(Op::MulAdd(a, one, b))
}
