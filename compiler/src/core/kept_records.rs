//! Stores an array whose elements may leave an error record, without leaving it.
//!
//! A record belongs to the element that needs the value (semantics 6), and some of the elements may not be needed at
//! all. So their values are computed without records, and a second array says which record each of them would leave:
//! 0 for none, or the label of its place (`labels.rs`). Code that reads a value also reads its label, and leaves the
//! record then.
//!
//! ```text
//! generate n (%i) { 7 / %x[%i] }  ->  %v = materialize (generate n (%i) { %x[%i] == 0 ? 0 : 7 / %x[%i] })
//!                                     %l = materialize (generate n (%i) { %x[%i] == 0 ? 5 : 0 })
//!                                     generate n (%i) { %l[%i] != 0 ? (leave %l[%i] ? %v[%i] : 0) : %v[%i] }
//! ```
//!
//! An array that reads such values passes the labels on; it needs to know nothing else about their places.

mod element_loop;
mod joint;
mod kept;
mod quiet;

use super::records::may_record;
use super::simplify::simplify;
use super::{Graph, NodeId, Op};
use crate::scalar::Ty;
use kept::{Kept, of_left, type_of};
use quiet::Quiet;

/// Stores the elements of a `generate` that depends on nothing. Returns the array that replaces it. Returns `None` if
/// it cannot be stored, because an array in it that has a launch of its own leaves a record.
pub fn stored(g: &mut Graph, generate: NodeId) -> Option<NodeId> {
    if !may_record(g, generate) {
        return Some(once(g, generate));
    }
    let Op::Generate(extents, lambda) = g.op(generate).clone() else { return None };
    let types: Vec<Ty> = lambda.params.iter().map(|p| p.1).collect();
    let mut quiet = Quiet::with_operators();
    let vars: Vec<_> = types.iter().map(|ty| (g.fresh_var(*ty), *ty)).collect();
    let index: Vec<NodeId> = vars.iter().map(|v| v.0.1).collect();
    let body = g.open(&lambda, &index);
    let kept = quiet.kept(g, body)?;
    let value = quiet.value(g, body);
    let vars: Vec<_> = vars.iter().map(|v| (v.0.0, v.1)).collect();
    let array = |g: &mut Graph, element: NodeId| {
        let lambda = g.close(&vars, element);
        let array = g.add(Op::Generate(extents.clone(), lambda));
        once(g, array)
    };
    let values = array(g, value);
    let label = kept.label().map(|(label, labels)| {
        let narrow = simplify(g, Op::Cast(type_of(labels), *label));
        (array(g, narrow), labels.clone())
    });
    let lambda = g.lambda(&types, |g, i| {
        let value = g.add(Op::Elem(values, i.to_vec()));
        let Some((stored, labels)) = label else { return value };
        let label = g.add(Op::Elem(stored, i.to_vec()));
        let label = g.add(Op::Cast(Ty::U32, label));
        Kept::of(label, labels).left(g, value)
    });
    Some(g.add(Op::Generate(extents, lambda)))
}

/// Returns the element of a stored array, or of one that leaves the records of a stored array.
pub fn element(g: &mut Graph, array: NodeId, index: &[NodeId]) -> NodeId {
    match g.op(array).clone() {
        Op::Generate(_, lambda) => g.open(&lambda, index),
        _ => g.add(Op::Elem(array, index.to_vec())),
    }
}

/// Takes the records of a nested operation over stored arrays out of its loop: its value is computed without them,
/// and a second loop joins the labels of its elements. So any strategy without records can compute the value. Returns
/// the node itself if its elements leave records of their own.
pub fn apart(g: &mut Graph, n: NodeId) -> NodeId {
    if g.is_closed(n) || !may_record(g, n) {
        return n;
    }
    let mut quiet = Quiet::default();
    let value = quiet.value(g, n);
    let is_plain = |n: NodeId| !g.op(n).may_record(g);
    if !g.reachable_until([value], |m| g.is_closed(m)).into_iter().all(is_plain) {
        return n;
    }
    match quiet.kept(g, n) {
        // what is closed leaves its records elsewhere, and nothing else leaves one
        Some(kept) if kept.is_none() => value,
        Some(kept) => kept.left(g, value),
        None => n,
    }
}

/// Returns a nested operation whose records are labels, joined by a second loop. Code that needs the value leaves the
/// records, so that the value itself may be computed in any case. Returns `None` if its operator leaves a record.
pub fn beside(g: &mut Graph, n: NodeId) -> Option<NodeId> {
    let mut quiet = Quiet::default();
    let value = quiet.value(g, n);
    Some(quiet.kept(g, n)?.left(g, value))
}

/// Whether a value leaves records that were kept when it was computed.
pub fn is_left(g: &Graph, n: NodeId) -> bool {
    of_left(g, n).is_some()
}

/// Returns the stored array. It leaves no record, or leaves it in any case; later passes might not be able to prove
/// the former, so the node is marked.
pub fn once(g: &mut Graph, generate: NodeId) -> NodeId {
    let array = g.add(Op::Materialize(generate));
    g.mark_once(array);
    array
}
