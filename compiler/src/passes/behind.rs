//! Fuses a map of a scan's result into the launch that scans the tiles, if element i needs the result at index i
//! only. The elements become a place ([`Op::Place`]) at their own indices. If nothing else needs the scan's result,
//! it is not stored.
//!
//! ```text
//! %s = materialize (scan_tiles (+) from %before over %x)
//! %y = materialize (generate %n (%i) { %s[%i] * 0.5 })
//!   ->
//! %y = materialize (place (generate %n (%i) { (scan_tiles (+) from %before over %x)[%i] * 0.5 })
//!                   at (generate %n (%i) { %i }))
//! ```
//!
//! Everything else that an element needs must be computed before that launch, so it must not depend on the scan. An
//! element must leave no error records, and must have no loops or reductions, because the strategies of scans have no
//! code for these.

use crate::core::graph::replace::{Found, replaced_by};
use crate::core::rewrite::rewrite_stored;
use crate::core::simplify::extent;
use crate::core::{Function, Graph, NodeId, Op, ScanPart, tuples};
use crate::error::Result;
use crate::scalar::Ty;
use rustc_hash::FxHashMap as HashMap;

/// Runs the pass.
pub fn run(f: Function) -> Result<Function> {
    if !f.needs(|n| stored_scan(&f.graph, n).is_some()) {
        return Ok(f);
    }
    Ok(rewrite_stored(&f, &mut behind))
}

/// Returns the component of a scan that a stored node is, if it is one.
fn stored_scan(g: &Graph, n: NodeId) -> Option<NodeId> {
    let Op::Materialize(x) = *g.op(n) else { return None };
    matches!(g.op(x), Op::Scan { part: ScanPart::Tiles, .. }).then_some(x)
}

/// Returns an array in the form in which the launch of the scan stores it at its own places, if that is possible.
fn behind(g: &mut Graph, x: NodeId) -> Option<NodeId> {
    let Op::Generate(extents, lambda) = g.op(x).clone() else { return None };
    let [n] = extents[..] else { return None };
    let (var, i) = g.fresh_var(Ty::I64);
    let body = g.open(&lambda, &[i]);
    let own: Vec<NodeId> = g.reachable_until([body], |n| g.is_closed(n));
    let is_plain = |n: &NodeId| g.is_closed(*n) || g.op(*n).lambda().is_none() && !g.op(*n).may_record(g);
    if !own.iter().all(is_plain) {
        return None;
    }
    let read = |g: &Graph, n: NodeId| match g.op(n) {
        Op::Elem(s, at) if at[..] == [i] => stored_scan(g, *s),
        _ => None,
    };
    let mut scans: Vec<NodeId> = own.iter().filter_map(|n| read(g, *n)).collect();
    scans.dedup_by(|a, b| tuples::are_components(g, *a, *b));
    let is_last = |g: &Graph, scan: NodeId| {
        let is_read = |n: NodeId| read(g, n).is_some_and(|s| tuples::are_components(g, s, scan));
        let all = g.reachable_until([body], is_read);
        !all.into_iter().any(|n| tuples::are_components(g, n, scan))
    };
    let is_long = |g: &mut Graph, scan: NodeId| match *g.op(scan) {
        Op::Scan { src, .. } => extent(g, src, 0) == n,
        _ => false,
    };
    let scan = scans.into_iter().find(|scan| is_last(g, *scan) && is_long(g, *scan))?;
    let lambda = g.lambda(&[Ty::I64], |g, j| {
        let find = &mut |g: &mut Graph, n: NodeId| {
            let own = read(g, n).filter(|s| tuples::are_components(g, *s, scan));
            let new = own.map(|s| g.add(Op::Elem(s, j.to_vec())));
            Found::of(g, n, new)
        };
        let body = replaced_by(g, body, find, &mut |g, op| g.add(op), &mut HashMap::default());
        g.substitute(body, &[(var, j[0])].into_iter().collect())
    });
    let src = g.add(Op::Generate(vec![n], lambda));
    let lambda = g.lambda(&[Ty::I64], |_, j| j[0]);
    let at = g.add(Op::Generate(vec![n], lambda));
    Some(g.add(Op::Place { at, src }))
}
