//! Launches in which only the first segments have elements, and a number on the device says how many these are. In a
//! reduction by key, for example, each run of equal keys is a segment. There may be as many runs as elements, so that
//! many segments are launched, but mostly there are far fewer. A block whose segments are all beyond that number
//! reads nothing else.

use crate::core::graph::replace::{Found, replaced_by};
use crate::core::simplify::simplify;
use crate::core::{Graph, NodeId, Op};
use crate::scalar::{BinaryOp, Lit};
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::facts::Segments;
use crate::schedule::facts::segments::nested;
use rustc_hash::FxHashMap as HashMap;

/// Which segments may have elements.
pub struct Ended {
    /// The condition that a segment may have elements.
    pub condition: NodeId,
    /// The results of all other segments, which need no reduction.
    pub others: Vec<NodeId>,
}

impl Ended {
    /// Finds the condition in the node of the segments' length, and what the results become if it is false.
    pub fn of(l: &mut LaunchContext, s: &Segments) -> Option<Ended> {
        let condition = condition(&l.g, s.length, s.index)?;
        let no = l.g.lit(Lit::bool(false));
        let mut memo = HashMap::default();
        let mut without = |n: &NodeId| {
            let find = &mut |g: &mut Graph, n| Found::of(g, n, (n == condition).then_some(no));
            replaced_by(&mut l.g, *n, find, &mut |g, op| simplify(g, op), &mut memo)
        };
        let others: Vec<NodeId> = s.bodies.iter().map(&mut without).collect();
        nested(l, &others).is_none().then_some(Ended { condition, others })
    }
}

/// Returns a condition `index < count`, with the same `count` for all segments, such that `length` is 0 where it is
/// false: from `select(index < count, .., 0)`, possibly inside minima and other such selections.
fn condition(g: &Graph, length: NodeId, index: NodeId) -> Option<NodeId> {
    let is_zero = |n: NodeId| g.as_lit(n).is_some_and(|n| n.as_i64() == 0);
    match *g.op(length) {
        Op::Binary(BinaryOp::Min, a, b) => [a, b].into_iter().find_map(|n| condition(g, n, index)),
        Op::Select(c, some, none) if is_zero(none) => match *g.op(c) {
            Op::Binary(BinaryOp::Lt, a, b) if a == index && g.is_closed(b) => Some(c),
            _ => condition(g, some, index),
        },
        Op::Select(_, none, some) if is_zero(none) => condition(g, some, index),
        _ => None,
    }
}
