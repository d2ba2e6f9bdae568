//! Orders of vectors, and what depends on them: descending orders, elements in an order, and which elements are kept.

use super::arithmetic::{binary, select, with_number};
use super::simplify::extent;
use super::{Graph, NodeId, Op, Type};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};

/// Returns the array of the values of a function of an array's elements.
pub fn mapped(g: &mut Graph, x: NodeId, f: impl FnOnce(&mut Graph, NodeId) -> NodeId) -> NodeId {
    let lambda = g.lambda(&[g.ty(x).elem], |g, v| f(g, v[0]));
    g.add(Op::Map(lambda, vec![x]))
}

/// Returns the vectors of the values of a function of their index.
pub fn generated(g: &mut Graph, n: NodeId, f: impl FnOnce(&mut Graph, NodeId) -> Vec<NodeId>) -> Vec<NodeId> {
    generated_over(g, &[n], |g, index| f(g, index[0]))
}

/// Returns arrays of these extents with the values of a function of their indices.
pub fn generated_over(
    g: &mut Graph,
    extents: &[NodeId],
    f: impl FnOnce(&mut Graph, &[NodeId]) -> Vec<NodeId>,
) -> Vec<NodeId> {
    let (vars, index): (Vec<_>, Vec<_>) = extents.iter().map(|_| g.fresh_var(Ty::I64)).unzip();
    let vars: Vec<_> = vars.into_iter().map(|var| (var, Ty::I64)).collect();
    let of = |g: &mut Graph, value| {
        let lambda = g.close(&vars, value);
        g.add(Op::Generate(extents.to_vec(), lambda))
    };
    f(g, &index).into_iter().map(|value| of(g, value)).collect()
}

/// Returns the element at an index that is in bounds wherever the value is needed.
pub fn inside(g: &mut Graph, x: NodeId, i: NodeId) -> NodeId {
    g.add(Op::Elem(x, vec![i]))
}

/// Returns keys that decrease where the elements of a vector increase. `-x` is a NaN exactly if `x` is.
pub fn falling(g: &mut Graph, x: NodeId) -> NodeId {
    let op = if g.ty(x).elem.is_float() { UnaryOp::Neg } else { UnaryOp::Not };
    mapped(g, x, |g, v| g.add(Op::Unary(op, v)))
}

/// Returns vectors with their elements in an order, which has as many indices as they have elements.
pub fn ordered(g: &mut Graph, order: NodeId, srcs: &[NodeId]) -> Vec<NodeId> {
    let all = [&[order], srcs].concat();
    let types: Vec<Ty> = all.iter().map(|x| g.ty(*x).elem).collect();
    let one = |src: &NodeId| {
        let lambda = g.lambda(&types, |g, v| inside(g, *src, v[0]));
        g.add(Op::Map(lambda, all.clone()))
    };
    srcs.iter().map(one).collect()
}

/// Returns the number of truth values that hold, i64. It is the sum of the same numbers that the places of a sort by
/// these values sum, so that the totals of tiles serve both.
pub fn count(g: &mut Graph, conditions: NodeId) -> NodeId {
    let src = mapped(g, conditions, |g, v| {
        let [one, zero] = [1, 0].map(|n| g.lit(Lit::i64(n)));
        select(g, v, one, zero)
    });
    let join = g.lambda(&[Ty::I64; 2], |g, v| g.add(Op::Binary(BinaryOp::Add, v[0], v[1])));
    let init = g.lit(Lit::i64(0));
    g.add(Op::Reduce { join, init, src, which: 0 })
}

/// Returns for each element of a vector whether it begins a run of equal ones.
pub fn begins_of_runs(g: &mut Graph, x: NodeId) -> NodeId {
    let n = extent(g, x, 0);
    let begins = generated(g, n, |g, i| {
        let before = with_number(g, BinaryOp::Sub, i, 1);
        let before = with_number(g, BinaryOp::Max, before, 0);
        let is_first = with_number(g, BinaryOp::Eq, i, 0);
        let [own, before] = [i, before].map(|i| inside(g, x, i));
        let differs = binary(g, BinaryOp::Ne, own, before);
        vec![binary(g, BinaryOp::Or, is_first, differs)]
    });
    begins[0]
}

/// Returns the indices at which runs begin, with `end` behind the first `count` of them. An order of elements by
/// whether they begin a run has the indices of all other elements there, which nobody needs: with one value in their
/// place the order is a filter.
pub fn marked_begins(g: &mut Graph, begins: NodeId, count: NodeId, end: NodeId) -> NodeId {
    let Op::Argsort(conditions) = *g.op(begins) else { return begins };
    if g.ty(conditions).elem != Ty::Bool {
        return begins;
    }
    let marked = filled(g, count, &[begins], &[end])[0];
    g.add(Op::Materialize(marked))
}

/// Returns how many elements the runs have that begin at the first `count` of these indices. The last run ends before
/// index `end`.
pub fn lengths_of_runs(g: &mut Graph, begins: NodeId, count: NodeId, end: NodeId) -> NodeId {
    let n = extent(g, begins, 0);
    let lengths = generated(g, n, |g, k| {
        let next = with_number(g, BinaryOp::Add, k, 1);
        let has_next = binary(g, BinaryOp::Lt, next, count);
        let last = with_number(g, BinaryOp::Sub, n, 1);
        let next = binary(g, BinaryOp::Min, next, last);
        let next = inside(g, begins, next);
        let end = select(g, has_next, next, end);
        let begin = inside(g, begins, k);
        vec![binary(g, BinaryOp::Sub, end, begin)]
    });
    lengths[0]
}

/// Returns vectors whose first `count` elements are those of other vectors, and whose other elements are `rest`.
pub fn filled(g: &mut Graph, count: NodeId, srcs: &[NodeId], rest: &[NodeId]) -> Vec<NodeId> {
    let n = extent(g, srcs[0], 0);
    generated(g, n, |g, i| {
        let is_kept = binary(g, BinaryOp::Lt, i, count);
        let one = |(src, rest): (&NodeId, &NodeId)| {
            let own = inside(g, *src, i);
            let rest = if g.ty(*rest) == Type::vector(g.ty(*src).elem) { inside(g, *rest, i) } else { *rest };
            select(g, is_kept, own, rest)
        };
        srcs.iter().zip(rest).map(one).collect()
    })
}
