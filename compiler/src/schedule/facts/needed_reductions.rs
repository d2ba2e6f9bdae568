//! Reductions of a segment that may leave error records and are needed only under a condition.
//!
//! The lanes of a segment compute a reduction even if a `select` then discards its value, and they leave its error
//! records. But the program leaves these records only where the value is needed. So the condition of the `select`
//! moves into the elements:
//!
//! ```text
//! select %c (reduce + over x.at(..)) 0   ->   select %c (reduce + over (select %c x.at(..) 0)) 0
//! ```
//!
//! If the condition depends on a reduction itself, or may leave a record, the reduction is computed without its
//! records, and another reduction, of labels, tells which of them the arm leaves (`core/kept_records.rs`).

use crate::core::graph::replace::replaced;
use crate::core::records::may_record;
use crate::core::{Graph, NodeId, Op, kept_records, tuples};
use crate::scalar::{Lit, Ty};
use crate::schedule::element::error_records;
use crate::schedule::element::lower::LaunchContext;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// Returns the values of a segment in a form in which each of the `nested` reductions may be computed in any case.
/// Returns `None` if that is impossible, because the operator of a reduction that is not always needed may leave
/// records.
pub fn always(l: &mut LaunchContext, mut bodies: Vec<NodeId>, nested: Vec<NodeId>) -> Option<Vec<NodeId>> {
    let sometimes = |n: &NodeId| records(l, *n) && !is_always_needed(l, &bodies, *n);
    let sometimes: Vec<NodeId> = nested.into_iter().filter(sometimes).collect();
    if sometimes.is_empty() {
        return Some(bodies);
    }
    let conditions = error_records::conditions(&mut l.g, &bodies);
    for n in sometimes {
        let condition = *conditions.get(&n)?;
        let is_simple = !has_loops(l, condition) && !records(l, condition);
        let made = match is_simple {
            true => only_if(l, n, condition)?,
            false => kept_records::beside(&mut l.g, n)?,
        };
        let mut memo = HashMap::default();
        bodies = bodies.into_iter().map(|b| replaced(&mut l.g, b, n, made, &mut memo)).collect();
    }
    Some(bodies)
}

/// Whether values need each of these reductions that may leave records, whatever the conditions are.
pub fn are_always_needed(l: &LaunchContext, bodies: &[NodeId], nested: &[NodeId]) -> bool {
    nested.iter().all(|n| !records(l, *n) || is_always_needed(l, bodies, *n))
}

/// Returns a reduction whose elements and initial value are computed only if the condition holds. Its value is then
/// the same.
fn only_if(l: &mut LaunchContext, n: NodeId, condition: NodeId) -> Option<NodeId> {
    let g = &mut l.g;
    let op = g.op(n).clone();
    if op.lambda().is_some_and(|join| may_record(g, join.body)) {
        return None;
    }
    let made = op.operands().map(|o| match g.op(o).clone() {
        Op::Generate(extents, lambda) => {
            let types: Vec<Ty> = lambda.params.iter().map(|p| p.1).collect();
            let lambda = g.lambda(&types, |g, index| {
                let element = g.open(&lambda, index);
                tuples::each(g, element, |g, value| where_needed(g, condition, value))
            });
            g.add(Op::Generate(extents, lambda))
        }
        _ if may_record(g, o) => tuples::each(g, o, |g, value| where_needed(g, condition, value)),
        _ => o,
    });
    let operands: Vec<NodeId> = made.collect();
    let before = l.g.set_loc(l.g.node(n).loc.clone());
    let made = l.g.add(op.with(&operands, op.lambda().cloned()));
    l.g.set_loc(before);
    Some(made)
}

/// Returns a value that may leave a record; where the condition does not hold, it is 0.
fn where_needed(g: &mut Graph, condition: NodeId, value: NodeId) -> NodeId {
    if !may_record(g, value) {
        return value;
    }
    let zero = g.lit(Lit::zero(g.ty(value).elem));
    g.add(Op::Select(condition, value, zero))
}

/// Returns whether a value needs a reduction or a fold that depends on the segment.
fn has_loops(l: &LaunchContext, n: NodeId) -> bool {
    let open = l.g.reachable_until([n], |n| l.g.is_closed(n));
    open.into_iter().any(|n| !l.g.is_closed(n) && l.g.op(n).needs_launch())
}

/// Returns whether a value may leave an error record.
fn records(l: &LaunchContext, n: NodeId) -> bool {
    l.g.reachable([n]).into_iter().any(|n| l.g.op(n).may_record(&l.g))
}

/// Returns whether some body needs a value whatever the conditions are.
fn is_always_needed(l: &LaunchContext, bodies: &[NodeId], value: NodeId) -> bool {
    let (mut stack, mut seen) = (bodies.to_vec(), HashSet::default());
    while let Some(n) = stack.pop() {
        if n == value {
            return true;
        }
        if !seen.insert(n) || l.g.is_closed(n) {
            continue;
        }
        match l.g.op(n) {
            Op::Select(condition, ..) => stack.push(*condition),
            op => stack.extend(op.operands()),
        }
    }
    false
}
