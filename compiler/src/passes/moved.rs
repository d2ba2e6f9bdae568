//! Turns gathers by an order into scatters. A scan has made the order ([`Op::Place`]): it knows where each element
//! goes. So the elements are stored at these places by the scan's last launch, and the order need not be stored or
//! read.
//!
//! ```text
//! %order = materialize (place (generate %n (%j) { %j }) at %places)
//! %y = generate %n (%i) { select(%i < %count, %x[%order[%i]], 0) }
//!   ->
//! %y = materialize (place (generate %n (%j) { select(%places[%j] < %count, %x[%j], 0) }) at %places)
//! ```
//!
//! This is done only if an element reads nothing else at its own index i, because in the scatter neighbours would
//! read places far apart; and if it leaves no error record, because a record has the element's index i.
//!
//! Other elements that read an array in such an order remain, reductions for example. For these the array itself is
//! stored in that order, so that they read it at their own index, and often nothing reads the order any more:
//!
//! ```text
//! %sum = reduce (+) from 0 over generate %n (%i) { select(%i < %count, %x[%order[%i]], 0) }
//!   ->
//! %y = materialize (place (generate %n (%j) { %x[%j] }) at %places)
//! %sum = reduce (+) from 0 over generate %n (%i) { select(%i < %count, %y[%i], 0) }
//! ```
//!
//! If all of them read only the first elements of a stable partition, as here, the stored array has one value for all
//! others (`select(%places[%j] < %count, %x[%j], 0)`): it is a filter, which is stored faster.

use crate::core::graph::replace::{Found, replaced, replaced_by};
use crate::core::records::may_record_here;
use crate::core::rewrite::{rewrite_from, rewrite_stored};
use crate::core::scan_stages::is_index;
use crate::core::simplify::extent;
use crate::core::{Function, Graph, Lambda, NodeId, Op};
use crate::error::Result;
use crate::scalar::{BinaryOp, Lit, Ty};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    if !f.needs(|n| places(&f.graph, n).is_some()) {
        return Ok(f);
    }
    let f = rewrite_stored(&f, &mut moved);
    let f = rewrite_from(&f, true, &mut |g, op, _| in_order(g, &op).unwrap_or_else(|| g.add(op)));
    Ok(filtered(f))
}

/// Lets each array that is stored in an order have one value for the elements behind a number of first ones, if only
/// these are read.
fn filtered(f: Function) -> Function {
    let mut refused: HashSet<NodeId> = HashSet::default();
    loop {
        // the nodes, in `f`, of arrays that may be replaced, and those that were
        let (mut stored, mut gone) = (HashMap::default(), HashSet::default());
        let new = rewrite_from(&f, true, &mut |g, op, old| {
            if let Op::Select(condition, a, b) = op {
                let a = of_first(g, (condition, a), &stored, &mut gone);
                return g.add(Op::Select(condition, a, b));
            }
            let n = g.add(op);
            if in_an_order(g, n).is_some() && !refused.contains(&old) {
                stored.insert(n, old);
            }
            n
        });
        let read = new.graph.reachable(new.roots());
        let left: Vec<NodeId> = read.into_iter().filter(|n| gone.contains(n)).collect();
        if left.is_empty() {
            return new;
        }
        refused.extend(left.iter().map(|n| stored[n]));
    }
}

/// Returns the places, the length and the elements of a vector whose elements are stored in an order.
fn in_an_order(g: &Graph, n: NodeId) -> Option<(NodeId, NodeId, Lambda)> {
    let Op::Materialize(x) = *g.op(n) else { return None };
    let Op::Place { at, src } = *g.op(x) else { return None };
    let Op::Generate(extents, lambda) = g.op(src) else { return None };
    let is_plain = !matches!(g.op(lambda.body), Op::Select(..));
    (extents.len() == 1 && is_plain).then(|| (at, extents[0], lambda.clone()))
}

/// Returns a value that is needed only if `condition` holds, with reads of arrays that have one value for all elements
/// which the condition leaves out. Notes in `gone` the arrays that it read.
fn of_first(
    g: &mut Graph,
    (condition, value): (NodeId, NodeId),
    stored: &HashMap<NodeId, NodeId>,
    gone: &mut HashSet<NodeId>,
) -> NodeId {
    let Op::Binary(BinaryOp::Lt, index, count) = *g.op(condition) else { return value };
    if g.is_closed(index) || !g.is_closed(count) {
        return value;
    }
    let find = &mut |g: &mut Graph, n: NodeId| {
        let array = match g.op(n) {
            Op::Elem(x, at) if at[..] == [index] && stored.contains_key(x) => Some(*x),
            _ => None,
        };
        let new = array.and_then(|x| of_first_elements(g, x, count));
        if let (Some(x), Some(_)) = (array, new) {
            gone.insert(x);
        }
        let new = new.map(|x| g.add(Op::Elem(x, vec![index])));
        Found::of(g, n, new)
    };
    replaced_by(g, value, find, &mut |g, op| g.add(op), &mut HashMap::default())
}

/// Returns the array with the elements of one that is stored in an order, in which all but the first `count` are zero,
/// if its order is a partition by this number.
fn of_first_elements(g: &mut Graph, x: NodeId, count: NodeId) -> Option<NodeId> {
    let (at, length, elements) = in_an_order(g, x)?;
    let Op::Generate(_, goes) = g.op(at).clone() else { return None };
    if !g.reachable([goes.body]).contains(&count) {
        return None;
    }
    let zero = g.lit(Lit::zero(g.ty(x).elem));
    let lambda = g.lambda(&[Ty::I64], |g, j| {
        let place = g.open(&goes, j);
        let is_first = g.add(Op::Binary(BinaryOp::Lt, place, count));
        let own = g.open(&elements, j);
        g.add(Op::Select(is_first, own, zero))
    });
    let src = g.add(Op::Generate(vec![length], lambda));
    let placed = g.add(Op::Place { at, src });
    Some(g.add(Op::Materialize(placed)))
}

/// Returns a read, in an order, of a stored array as a read of an array that is stored in that order.
fn in_order(g: &mut Graph, op: &Op) -> Option<NodeId> {
    let Op::Elem(x, index) = op else { return None };
    // elements of a matrix stay where they are
    let [index] = index[..] else { return None };
    let Op::Elem(order, at_order) = g.op(index).clone() else { return None };
    let (length, at) = places(g, order)?;
    if !g.is_stored(*x) || extent(g, *x, 0) != length {
        return None;
    }
    let lambda = g.lambda(&[Ty::I64], |g, j| g.add(Op::Elem(*x, j.to_vec())));
    let src = g.add(Op::Generate(vec![length], lambda));
    let placed = g.add(Op::Place { at, src });
    let stored = g.add(Op::Materialize(placed));
    Some(g.add(Op::Elem(stored, at_order)))
}

/// Returns the length and the places of an array that is the inverse of these places: it stores each index where the
/// element goes.
fn places(g: &Graph, order: NodeId) -> Option<(NodeId, NodeId)> {
    let Op::Materialize(x) = *g.op(order) else { return None };
    let Op::Place { at, src } = *g.op(x) else { return None };
    let Op::Generate(extents, _) = g.op(src) else { return None };
    is_index(g, src).then_some((extents[0], at))
}

/// Returns the array with its elements stored where they go, if it reads them in such an order.
fn moved(g: &mut Graph, x: NodeId) -> Option<NodeId> {
    let Op::Generate(extents, lambda) = g.op(x).clone() else { return None };
    let [n] = extents[..] else { return None };
    let (var, i) = g.fresh_var(Ty::I64);
    let body = g.open(&lambda, &[i]);
    let own = |g: &Graph| {
        let all = g.reachable_until([body], |n| g.is_closed(n));
        all.into_iter().filter(|n| !g.is_closed(*n)).collect::<Vec<NodeId>>()
    };
    let (read, order) = own(g).into_iter().find_map(|n| match g.op(n) {
        Op::Elem(order, at) if at[..] == [i] && places(g, *order).is_some() => Some((n, *order)),
        _ => None,
    })?;
    let (length, at) = places(g, order)?;
    let Op::Generate(_, goes) = g.op(at).clone() else { return None };
    let is_plain = |n: NodeId| {
        let reads_at_own = match g.op(n) {
            Op::Elem(_, index) => n != read && index.iter().any(|k| mentions(g, *k, i, read)),
            _ => false,
        };
        !reads_at_own && g.op(n).lambda().is_none() && !g.op(n).may_record(g)
    };
    // a value that depends on no index but leaves a record leaves it for each element, too
    if length != n || !own(g).into_iter().all(is_plain) || may_record_here(g, [body]) {
        return None;
    }
    let lambda = g.lambda(&[Ty::I64], |g, j| {
        let body = replaced(g, body, read, j[0], &mut HashMap::default());
        let place = g.open(&goes, j);
        g.substitute(body, &[(var, place)].into_iter().collect())
    });
    let src = g.add(Op::Generate(vec![n], lambda));
    Some(g.add(Op::Place { at, src }))
}

/// Whether a value depends on a variable other than through `known`.
fn mentions(g: &Graph, n: NodeId, variable: NodeId, known: NodeId) -> bool {
    g.reachable_until([n], |m| m == known).into_iter().any(|m| m == variable)
}
