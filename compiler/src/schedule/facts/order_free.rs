//! Reductions whose order is free: the operator is associative and commutative in every bit, so that a thread may
//! fold the elements one after another, in place of the tree of semantics 5.1.
//!
//! The order is free for sums and products of integers, which wrap, for minima and maxima, which return one of their
//! operands (semantics 2.2), and for operators on bits. It is free for a reduction of tuples if its components do not
//! depend on one another and the order of each is free. It is also free for argmin and argmax, a pair of an extreme
//! element and its number: of equal elements the one with the least number stays (semantics 5.15), whatever the order
//! of joins. In a fold in index order that is the element that came first ([`in_order`]), so numbers need not be
//! compared.

use crate::core::{Graph, Lambda, NodeId, Op, Var, tuples};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use crate::schedule::identity::commutative;

/// Whether the order of a reduction's elements is free.
pub fn is_order_free(g: &mut Graph, node: NodeId) -> bool {
    let Op::Reduce { join, src, .. } = g.op(node).clone() else { return false };
    let Op::Generate(_, of) = g.op(src).clone() else { return false };
    // whether a component of an element is the element's number, so that no two elements have the same
    let elements = tuples::components(g, of.body);
    let is_number =
        |g: &Graph, at: usize| matches!(g.op(elements[at]), Op::Var(v, _) if *v == of.params[0].0);
    let joined = tuples::components(g, join.body);
    let parts = independent(g, &join, &joined);
    parts.iter().all(|part| match part[..] {
        [one] => is_free(g, &join, &joined, one),
        [a, b] => {
            let places = [[a, b], [b, a]];
            places.into_iter().any(|of| is_number(g, of[1]) && place(g, &join, &joined, of).is_some())
        }
        _ => false,
    })
}

/// Returns the components in groups that do not depend on one another.
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

/// If two components are an extreme element and its number, returns the comparison: `Lt` for a minimum, `Gt` for a
/// maximum.
fn place(g: &mut Graph, join: &Lambda, joined: &[NodeId], [value, number]: [usize; 2]) -> Option<BinaryOp> {
    let var = |g: &mut Graph, at: usize| g.add(Op::Var(join.params[at].0, join.params[at].1));
    let n = joined.len();
    let [x, i, y, j] = [value, number, value + n, number + n].map(|at| var(g, at));
    if g.ty(i).elem != Ty::I64 {
        return None;
    }
    [BinaryOp::Lt, BinaryOp::Gt].into_iter().find(|better| {
        let takes = takes_second(g, *better, [x, i], [y, j]);
        let chosen = [(x, y), (i, j)].map(|(a, b)| g.add(Op::Select(takes, b, a)));
        same(g, chosen[0], joined[value]) && same(g, chosen[1], joined[number])
    })
}

/// Returns the operator for folding the elements of a reduction whose order is free, in index order. An extreme
/// element stays unless a later one is more extreme, by one comparison. The first element always replaces the initial
/// value, which is the least extreme value of the type.
pub fn in_order(g: &mut Graph, node: NodeId) -> Option<Lambda> {
    let Op::Reduce { join, init, .. } = g.op(node).clone() else { return None };
    let joined = tuples::components(g, join.body);
    let begins = tuples::components(g, init);
    let mut places = Vec::new();
    for part in independent(g, &join, &joined) {
        let [a, b] = part[..] else { continue };
        for of in [[a, b], [b, a]] {
            let Some(better) = place(g, &join, &joined, of) else { continue };
            let ty = g.ty(joined[of[0]]).elem;
            let worst = if better == BinaryOp::Lt { Lit::greatest(ty) } else { Lit::least(ty) };
            if of.map(|at| g.as_lit(begins[at])) == [Some(worst), Some(Lit::i64(-1))] {
                places.push((of, better));
            }
        }
    }
    let types: Vec<_> = join.params.iter().map(|p| p.1).collect();
    Some(g.lambda(&types, |g, v| {
        let body = g.open(&join, v);
        let mut next = tuples::components(g, body);
        for ([value, number], better) in places {
            let takes = takes_later(g, better, v[value], v[value + next.len()], v[number + next.len()]);
            for at in [value, number] {
                next[at] = g.add(Op::Select(takes, v[at + next.len()], v[at]));
            }
        }
        if next.len() == 1 { next[0] } else { g.add(Op::Tuple(next)) }
    }))
}

/// Whether an element y replaces x, which came before it or is the initial value: it is the first one, or more
/// extreme. The first NaN is the most extreme.
fn takes_later(g: &mut Graph, better: BinaryOp, x: NodeId, y: NodeId, number: NodeId) -> NodeId {
    let binary = |g: &mut Graph, op, a, b| g.add(Op::Binary(op, a, b));
    let zero = g.lit(Lit::i64(0));
    let is_first = binary(g, BinaryOp::Eq, number, zero);
    let is_better = match g.ty(x).elem.is_float() {
        false => binary(g, better, y, x),
        true => {
            let stays = if better == BinaryOp::Lt { BinaryOp::Le } else { BinaryOp::Ge };
            let stays = binary(g, stays, x, y);
            let goes = g.add(Op::Unary(UnaryOp::Not, stays));
            let is_number = binary(g, BinaryOp::Eq, x, x);
            binary(g, BinaryOp::And, is_number, goes)
        }
    };
    binary(g, BinaryOp::Or, is_better, is_first)
}

/// Whether the second of two elements with their numbers is the extreme one (semantics 5.15), as the language writes
/// that test.
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

/// Whether two values are the same operations, apart from the order of commutative operands.
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
