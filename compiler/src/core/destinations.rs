//! Elements that go to destinations which are data (semantics 5.21): `scatter`, `scatter_reduce`, `histogram`.
//!
//! A destination's elements are found by sorting the destinations; equal ones keep the order of the elements.

use super::arithmetic::{binary, select, with_number};
use super::orders::{generated, inside, mapped, ordered};
use super::segments::{first_where, reduced};
use super::simplify::extent;
use super::{Graph, Lambda, NodeId, Op};
use crate::scalar::BinaryOp;

/// What happens to elements whose destination is outside of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// Each leaves an error record.
    Recorded,
    /// They go nowhere.
    Ignored,
    /// They go to the first or the last element.
    Clamped,
}

/// Returns destinations in a result of n elements, from 0 to n: n is nowhere. It is written so that a sort knows how
/// many digits they have.
pub fn destinations(g: &mut Graph, indices: NodeId, n: NodeId, outside: Outside) -> NodeId {
    let all = mapped(g, indices, |g, i| {
        let i = match outside {
            Outside::Recorded => {
                let is_inside = g.add(Op::Within(i, n));
                select(g, is_inside, i, n)
            }
            Outside::Ignored => {
                let (from, to) = (with_number(g, BinaryOp::Ge, i, 0), binary(g, BinaryOp::Lt, i, n));
                let is_inside = binary(g, BinaryOp::And, from, to);
                select(g, is_inside, i, n)
            }
            Outside::Clamped => {
                let last = with_number(g, BinaryOp::Sub, n, 1);
                let i = binary(g, BinaryOp::Min, i, last);
                with_number(g, BinaryOp::Max, i, 0)
            }
        };
        let i = binary(g, BinaryOp::Min, i, n);
        with_number(g, BinaryOp::Max, i, 0)
    });
    g.add(Op::Materialize(all))
}

/// Elements in the order of their destinations.
struct Grouped {
    order: NodeId,
    /// How many elements have lower destinations than 0, 1, .. n.
    firsts: NodeId,
}

fn grouped(g: &mut Graph, destinations: NodeId, n: NodeId) -> Grouped {
    let order = g.add(Op::Argsort(destinations));
    let sorted = ordered(g, order, &[destinations])[0];
    let sorted = g.add(Op::Materialize(sorted));
    let count = extent(g, destinations, 0);
    let ends = with_number(g, BinaryOp::Add, n, 1);
    let firsts = generated(g, ends, |g, k| {
        vec![first_where(g, count, |g, i| {
            let own = inside(g, sorted, i);
            binary(g, BinaryOp::Ge, own, k)
        })]
    });
    Grouped { order, firsts: g.add(Op::Materialize(firsts[0])) }
}

/// The first element of destination k in the order, and the first one behind it.
fn part(g: &mut Graph, all: &Grouped, k: NodeId) -> (NodeId, NodeId) {
    let next = with_number(g, BinaryOp::Add, k, 1);
    (inside(g, all.firsts, k), inside(g, all.firsts, next))
}

/// Returns how many destinations are 0, 1, .. n - 1.
pub fn histogram(g: &mut Graph, destinations: NodeId, n: NodeId) -> NodeId {
    let all = grouped(g, destinations, n);
    let counts = generated(g, n, |g, k| {
        let (first, end) = part(g, &all, k);
        vec![binary(g, BinaryOp::Sub, end, first)]
    });
    counts[0]
}

/// Returns vectors of n elements, which are the last ones that go there of other vectors, or these values.
pub fn scattered(
    g: &mut Graph,
    destinations: NodeId,
    n: NodeId,
    (srcs, rest): (&[NodeId], &[NodeId]),
) -> Vec<NodeId> {
    let all = grouped(g, destinations, n);
    generated(g, n, |g, k| {
        let (first, end) = part(g, &all, k);
        let is_any = binary(g, BinaryOp::Gt, end, first);
        // both reads are total, because there may be no elements at all
        let last = with_number(g, BinaryOp::Sub, end, 1);
        let element = g.add(Op::At(all.order, vec![last]));
        let one = |(src, rest): (&NodeId, &NodeId)| {
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
