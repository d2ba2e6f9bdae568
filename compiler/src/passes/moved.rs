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

use crate::core::graph::replace::replaced;
use crate::core::records::may_record_here;
use crate::core::rewrite::{rewrite_from, rewrite_stored};
use crate::core::scan_stages::is_index;
use crate::core::simplify::extent;
use crate::core::{Function, Graph, NodeId, Op};
use crate::error::Result;
use crate::scalar::Ty;
use rustc_hash::FxHashMap as HashMap;

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    if !f.needs(|n| places(&f.graph, n).is_some()) {
        return Ok(f);
    }
    let f = rewrite_stored(&f, &mut moved);
    Ok(rewrite_from(&f, true, &mut |g, op, _| in_order(g, &op).unwrap_or_else(|| g.add(op))))
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
