//! Reductions whose order is free: the operator is associative and commutative in every bit, so that a thread may
//! fold the elements one after another, in place of the tree of semantics 5.1.
//!
//! So are sums and products of integers, which wrap, minima and maxima, which are one of their operands (semantics
//! 2.2), and the operators of bits. The order of a reduction of tuples is free if its components do not depend on one
//! another and each is such a reduction. It is free as well for a pair of an extreme element and its number: of equal
//! elements the one with the least number stays (semantics 5.15), whatever the order of joins is.

use crate::core::{Graph, Lambda, NodeId, Op, Var, tuples};
use crate::scalar::{BinaryOp, Ty, UnaryOp};
use crate::schedule::identity::commutative;

/// Whether the order of a reduction's elements is free.
pub fn is_order_free(g: &mut Graph, node: NodeId) -> bool {
    let Op::Reduce { join, src, .. } = g.op(node).clone() else { return false };
    let Op::Generate(_, of) = g.op(src).clone() else { return false };
    // whether a component of an element is its number, so that no two elements have the same
    let elements = tuples::components(g, of.body);
    let is_number =
        |g: &Graph, at: usize| matches!(g.op(elements[at]), Op::Var(v, _) if *v == of.params[0].0);
    let joined = tuples::components(g, join.body);
    let parts = independent(g, &join, &joined);
    parts.iter().all(|part| match part[..] {
        [one] => is_free(g, &join, &joined, one),
        [a, b] => {
            [[a, b], [b, a]].into_iter().any(|of| is_number(g, of[1]) && is_place(g, &join, &joined, of))
        }
        _ => false,
    })
}

/// Returns the components in parts that do not depend on one another.
fn independent(g: &Graph, join: &Lambda, joined: &[NodeId]) -> Vec<Vec<usize>> {
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for (at, n) in joined.iter().enumerate() {
        let is_used = |of: &usize| {
            let vars = [join.params[*of].0, join.params[*of + joined.len()].0];
            vars.iter().any(|v| g.node(*n).free.contains(v))
        };
        let mut own = vec![at];
        own.extend((0..joined.len()).filter(|of| is_used(of) && *of != at));
        let (with, apart) = parts.into_iter().partition(|p: &Vec<usize>| p.iter().any(|c| own.contains(c)));
        let with: Vec<Vec<usize>> = with;
        own.extend(with.concat());
        own.sort_unstable();
        own.dedup();
        parts = apart;
        parts.push(own);
    }
    parts
}

/// Whether a component by itself is joined by an operator whose order is free.
fn is_free(g: &Graph, join: &Lambda, joined: &[NodeId], at: usize) -> bool {
    let vars: [Var; 2] = [join.params[at].0, join.params[at + joined.len()].0];
    let is = |n: NodeId, i: usize| matches!(g.op(n), Op::Var(v, _) if *v == vars[i]);
    let ty = g.ty(joined[at]).elem;
    match commutative(g, joined[at], is) {
        Some(BinaryOp::Min | BinaryOp::Max) => true,
        Some(BinaryOp::Add | BinaryOp::Mul | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor) => !ty.is_float(),
        _ => false,
    }
}

/// Whether two components are an extreme element and its number.
fn is_place(g: &mut Graph, join: &Lambda, joined: &[NodeId], [value, number]: [usize; 2]) -> bool {
    let var = |g: &mut Graph, at: usize| g.add(Op::Var(join.params[at].0, join.params[at].1));
    let n = joined.len();
    let [x, i, y, j] = [value, number, value + n, number + n].map(|at| var(g, at));
    if g.ty(i).elem != Ty::I64 {
        return false;
    }
    [BinaryOp::Lt, BinaryOp::Gt].into_iter().any(|better| {
        let takes = takes_second(g, better, [x, i], [y, j]);
        let chosen = [(x, y), (i, j)].map(|(a, b)| g.add(Op::Select(takes, b, a)));
        same(g, chosen[0], joined[value]) && same(g, chosen[1], joined[number])
    })
}

/// Whether the second of two elements with their numbers is the extreme one (semantics 5.15), as the language
/// writes it.
fn takes_second(g: &mut Graph, better: BinaryOp, [x, i]: [NodeId; 2], [y, j]: [NodeId; 2]) -> NodeId {
    let binary = |g: &mut Graph, op, a, b| g.add(Op::Binary(op, a, b));
    let (mut is_better, mut is_same) = (binary(g, better, y, x), binary(g, BinaryOp::Eq, x, y));
    if g.ty(x).elem.is_float() {
        let [x, y] = [x, y].map(|v| binary(g, BinaryOp::Ne, v, v));
        let number = g.add(Op::Unary(UnaryOp::Not, x));
        let first = binary(g, BinaryOp::And, y, number);
        is_better = binary(g, BinaryOp::Or, is_better, first);
        let both = binary(g, BinaryOp::And, x, y);
        is_same = binary(g, BinaryOp::Or, is_same, both);
    }
    let [i, j] = [i, j].map(|n| g.add(Op::Cast(Ty::U64, n)));
    let is_before = binary(g, BinaryOp::Lt, j, i);
    let is_before = binary(g, BinaryOp::And, is_same, is_before);
    binary(g, BinaryOp::Or, is_better, is_before)
}

/// Whether two values are the same operations, up to the order of operands that commute.
fn same(g: &Graph, a: NodeId, b: NodeId) -> bool {
    let both = |x: [NodeId; 2], y: [NodeId; 2]| same(g, x[0], y[0]) && same(g, x[1], y[1]);
    a == b
        || match (g.op(a), g.op(b)) {
            (Op::Binary(p, x, y), Op::Binary(q, z, w)) if p == q => {
                both([*x, *y], [*z, *w]) || p.is_commutative() && both([*x, *y], [*w, *z])
            }
            (Op::Unary(p, x), Op::Unary(q, y)) => p == q && same(g, *x, *y),
            (Op::Cast(p, x), Op::Cast(q, y)) => p == q && same(g, *x, *y),
            (Op::Select(c, x, y), Op::Select(d, z, w)) => same(g, *c, *d) && both([*x, *y], [*z, *w]),
            _ => false,
        }
}
