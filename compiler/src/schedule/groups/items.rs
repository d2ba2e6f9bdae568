//! Items: what launches must compute. Each is a stored array, a reduction or a fold.

use crate::core::graph::Inside;
use crate::core::scan_stages::{is_index, scan_of_array};
use crate::core::{Graph, NodeId, Op, tuples};

/// A stored array, a reduction, a fold, or a state of an iteration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// The node: `generate` (a result), `materialize`, `reduce`, `dot`, `squared_deviations`,
    /// `fold` or `iterate`.
    pub node: NodeId,
    /// The number of the function's array result that the item is, if it is one.
    pub result: Option<u32>,
    /// For the elements that a put replaces: the array that the put stores. This item is written to the memory of
    /// that array, before the put writes over some of its elements.
    pub into: Option<NodeId>,
}

/// Whether the item is a stored array, rather than a reduction, a fold or a state.
pub fn is_store(g: &Graph, it: &Item) -> bool {
    matches!(g.op(it.node), Op::Generate(..) | Op::Materialize(_))
}

/// Returns the array that an item stores, or else its node.
pub fn array(g: &Graph, it: &Item) -> NodeId {
    if let Op::Materialize(x) = *g.op(it.node) { x } else { it.node }
}

/// Whether the kinds of two items allow that they share a group. Parts of scans, places, bins, puts and steps of
/// sorts have strategies of their own. Two of these may share a group if they
///
/// - are components of the same part of a scan, or maps of its results at their own indices, or
/// - are stored at the same places, at the same destinations, or by the same digits.
///
/// Bins are always alone. Any two items of other kinds may share a group.
pub fn may_share(g: &Graph, a: &Item, b: &Item) -> bool {
    let array = |it: &Item| array(g, it);
    match (g.op(array(a)), g.op(array(b))) {
        (Op::Place { at: a, .. }, Op::Place { at: b, .. }) if a != b || !is_index(g, *a) => a == b,
        (Op::Place { at, .. }, Op::Scan { .. }) | (Op::Scan { .. }, Op::Place { at, .. })
            if !is_index(g, *at) =>
        {
            false
        }
        (Op::Place { .. } | Op::Scan { .. }, Op::Place { .. } | Op::Scan { .. }) => {
            let scans = [a, b].map(|it| scan_of_array(g, array(it)));
            matches!(scans, [Some(a), Some(b)] if tuples::are_components(g, a, b))
        }
        (Op::Bins { .. }, _) | (_, Op::Bins { .. }) => false,
        (Op::Put { at: a, after: c, .. }, Op::Put { at: b, after: d, .. }) => (a, c) == (b, d),
        (Op::ByDigit { digits, ends, .. }, Op::ByDigit { digits: other_digits, ends: other_ends, .. }) => {
            (digits, ends) == (other_digits, other_ends)
        }
        (a_op, b_op) if a_op.is_stored_apart() || b_op.is_stored_apart() => {
            tuples::are_components(g, array(a), array(b))
        }
        _ => true,
    }
}

/// Whether the item's elements have reductions, folds or loops of their own.
pub fn is_nested(g: &Graph, it: &Item) -> bool {
    inside(g, it).is_some_and(|inside| inside.reductions || inside.loops)
}

/// Whether the item's elements have reductions or folds, including those inside of loops that elements end.
pub fn has_reductions(g: &Graph, it: &Item) -> bool {
    inside(g, it).is_some_and(|inside| inside.reductions)
}

/// Returns the operations inside of the item's elements, if these depend on their indices.
fn inside(g: &Graph, it: &Item) -> Option<Inside> {
    let array = array(g, it);
    let body = g.op(array).lambda()?.body;
    (!g.is_closed(body)).then(|| g.node(body).inside)
}
