//! Elements that go to destinations which are data (semantics 5.21): `scatter`, `scatter_reduce`, `histogram`.
//!
//! If the order of an operator is free, elements are joined in bins, one for each destination ([`super::bins`]). So
//! are the indices of elements that are scattered. Otherwise the elements of a destination are found by sorting the
//! destinations; equal ones keep the order of the elements.

use super::arithmetic::{binary, select, with_number};
use super::bins::{self, Bins};
use super::orders::{generated, inside, mapped, ordered};
use super::segments::{first_where, reduced};
use super::simplify::extent;
use super::{Graph, Lambda, NodeId, Op, Tested};
use crate::scalar::{BinaryOp, Lit, Ty};

/// The number of neighbouring destinations whose searches have common bounds.
const BLOCK: i64 = 64;

/// What happens to elements whose destination is outside of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// Each leaves an error record.
    Recorded,
    /// They are not stored.
    Ignored,
    /// They go to the first or the last element.
    Clamped,
}

/// Returns destinations in a result of n elements. An element that goes nowhere gets a number outside of 0, 1, .. n -
/// 1, which is -1 if it leaves a record.
pub fn destinations(g: &mut Graph, indices: NodeId, n: NodeId, outside: Outside) -> NodeId {
    match outside {
        Outside::Recorded => mapped(g, indices, |g, i| {
            let is_inside = g.add(Op::Within(i, n, Tested::Destination));
            let nowhere = g.lit(Lit::i64(-1));
            select(g, is_inside, i, nowhere)
        }),
        Outside::Ignored => indices,
        Outside::Clamped => mapped(g, indices, |g, i| {
            let last = with_number(g, BinaryOp::Sub, n, 1);
            let i = binary(g, BinaryOp::Min, i, last);
            with_number(g, BinaryOp::Max, i, 0)
        }),
    }
}

/// Returns for each element whether it is the first one with its destination; if not, leaves a record. There are as
/// many elements as destinations if the call is checked ([`Op::Checked`]), else none, so that nothing is launched.
pub fn are_unique(g: &mut Graph, to: NodeId, n: NodeId) -> NodeId {
    let checked = g.add(Op::Checked);
    let count = extent(g, to, 0);
    let [count, bins] = [count, n].map(|n| binary(g, BinaryOp::Mul, n, checked));
    let at = generated(g, count, |g, i| vec![inside(g, to, i)])[0];
    let (src, none) = (g.add(Op::Iota(count)), g.lit(Lit::greatest(Ty::I64)));
    let firsts = Bins { op: BinaryOp::Min, count: bins, at, src, init: none };
    let Op::Bins { op, parts, count: bins, at, src } = firsts.parts_as_op(g) else { unreachable!("bins") };
    let parts = binary(g, BinaryOp::Mul, parts, checked);
    let of_parts = g.add(Op::Bins { op, parts, count: bins, at, src });
    let joined = firsts.joined(g, of_parts);
    let firsts = g.add(joined);
    let firsts = g.add(Op::Materialize(firsts));
    let one = g.lit(Lit::i64(1));
    let are_first = generated(g, count, |g, i| {
        let own = inside(g, to, i);
        let (from, end) = (with_number(g, BinaryOp::Ge, own, 0), binary(g, BinaryOp::Lt, own, n));
        let is_inside = binary(g, BinaryOp::And, from, end);
        let first = g.add(Op::At(firsts, vec![own]));
        let first = select(g, is_inside, first, i);
        let is_second = binary(g, BinaryOp::Ne, first, i);
        let index = g.add(Op::Cast(Ty::I64, is_second));
        vec![g.add(Op::Within(index, one, Tested::Index))]
    })[0];
    g.add(Op::Materialize(are_first))
}

/// Returns the operator of each component, if the components do not depend on one another and the order of each is
/// free, in itself or by the author's permission.
pub fn in_any_order(g: &Graph, join: &Lambda, is_unordered: bool) -> Option<Vec<BinaryOp>> {
    let k = join.params.len() / 2;
    let bodies = match g.op(join.body) {
        Op::Tuple(bodies) if k > 1 => bodies.clone(),
        _ => vec![join.body],
    };
    let is = |n: NodeId, param: usize| matches!(g.op(n), Op::Var(v, _) if *v == join.params[param].0);
    let operator = |(i, body): (usize, &NodeId)| match *g.op(*body) {
        Op::Binary(op, x, y) if (is(x, i) && is(y, i + k)) || (is(x, i + k) && is(y, i)) => {
            let ty = g.ty(*body).elem;
            (bins::is_exact(op, ty) || is_unordered && bins::is_unordered(op, ty)).then_some(op)
        }
        _ => None,
    };
    bodies.iter().enumerate().map(operator).collect()
}

/// Elements in the order of their destinations.
struct Grouped {
    order: NodeId,
    /// How many elements have destinations lower than 0, 1, .. n.
    firsts: NodeId,
}

fn grouped(g: &mut Graph, destinations: NodeId, n: NodeId) -> Grouped {
    // all keys are between 0 and n; written as a clamp, this tells the sort how many digits they have
    let keys = mapped(g, destinations, |g, i| {
        let (from, to) = (with_number(g, BinaryOp::Ge, i, 0), binary(g, BinaryOp::Lt, i, n));
        let is_inside = binary(g, BinaryOp::And, from, to);
        let i = select(g, is_inside, i, n);
        let i = binary(g, BinaryOp::Min, i, n);
        with_number(g, BinaryOp::Max, i, 0)
    });
    let keys = g.add(Op::Materialize(keys));
    let order = g.add(Op::Argsort(keys));
    // not stored, because the sort has stored it
    let sorted = ordered(g, order, &[keys])[0];
    Grouped { order, firsts: firsts(g, sorted, n) }
}

/// Returns how many of the sorted keys are lower than 0, 1, .. n. A search for every 64th number comes first and
/// bounds the searches in between.
fn firsts(g: &mut Graph, sorted: NodeId, n: NodeId) -> NodeId {
    let count = extent(g, sorted, 0);
    let search = |g: &mut Graph, range: [NodeId; 2], k: NodeId| {
        first_where(g, range, |g, i| {
            let own = inside(g, sorted, i);
            binary(g, BinaryOp::Ge, own, k)
        })
    };
    // of too many destinations, this number is negative, too, and the message is the same
    let all = with_number(g, BinaryOp::Add, n, 1);
    let blocks = with_number(g, BinaryOp::Div, all, BLOCK);
    let ends = with_number(g, BinaryOp::Add, blocks, 2);
    let bounds = generated(g, ends, |g, block| {
        let zero = g.lit(Lit::i64(0));
        let k = with_number(g, BinaryOp::Mul, block, BLOCK);
        vec![search(g, [zero, count], k)]
    })[0];
    let bounds = g.add(Op::Materialize(bounds));
    let firsts = generated(g, all, |g, k| {
        let block = with_number(g, BinaryOp::Div, k, BLOCK);
        let next = with_number(g, BinaryOp::Add, block, 1);
        let range = [block, next].map(|block| inside(g, bounds, block));
        vec![search(g, range, k)]
    })[0];
    g.add(Op::Materialize(firsts))
}

/// Returns the first element of destination k in that order, and the first one after those of k.
fn part(g: &mut Graph, all: &Grouped, k: NodeId) -> (NodeId, NodeId) {
    let next = with_number(g, BinaryOp::Add, k, 1);
    (inside(g, all.firsts, k), inside(g, all.firsts, next))
}

/// Returns vectors of n elements: elements of other vectors at these indices, or values where an index is -1.
pub fn scattered(
    g: &mut Graph,
    last: NodeId,
    n: NodeId,
    (srcs, rest): (&[NodeId], &[NodeId]),
) -> Vec<NodeId> {
    generated(g, n, |g, k| {
        let element = inside(g, last, k);
        let is_any = with_number(g, BinaryOp::Ge, element, 0);
        let one = |(src, rest): (&NodeId, &NodeId)| {
            // this is a total read, because there may be no elements at all
            let value = g.add(Op::At(*src, vec![element]));
            select(g, is_any, value, *rest)
        };
        srcs.iter().zip(rest).map(one).collect()
    })
}

/// Returns the reductions of the elements that go to 0, 1, .. n - 1, in the order of their indices.
pub fn scatter_reduced(
    g: &mut Graph,
    destinations: NodeId,
    n: NodeId,
    srcs: &[NodeId],
    init: &[NodeId],
    join: &Lambda,
) -> Vec<NodeId> {
    let all = grouped(g, destinations, n);
    let values = ordered(g, all.order, srcs);
    let lengths = generated(g, n, |g, k| {
        let (first, end) = part(g, &all, k);
        vec![binary(g, BinaryOp::Sub, end, first)]
    });
    reduced(g, &values, (all.firsts, lengths[0]), init, join)
}
