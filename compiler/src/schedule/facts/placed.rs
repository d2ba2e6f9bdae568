//! Elements stored at places that depend on a scan ([`Op::Place`]), such as the elements that a filter keeps: the
//! place of an element follows from the scan's partial result at the element's index. The last launch of the scan
//! ([`super::scans`]) stores the elements instead of the partial results.
//!
//! All places differ, so no thread waits for another one. They are all indices of the result, so the result need not
//! be filled before. An output must not be an input, because another thread might write over an element before it is
//! read.
//!
//! In a second form the place of an element is its own index, and the element reads the partial result there: a map
//! of the scan. Then an output may be an input.

use crate::core::scan_stages::{is_index, scan_of_places};
use crate::core::{Graph, NodeId, Op};
use crate::schedule::element::element;
use crate::schedule::groups::items::Item;

/// Elements that are stored at places that depend on a scan.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// The array of the places.
    at: NodeId,
    /// Whether the places are the elements' own indices.
    pub is_own: bool,
}

impl Placed {
    /// Returns the places of an item's elements, if it is such an array.
    pub fn of_item(g: &Graph, it: &Item) -> Option<Placed> {
        let Op::Materialize(x) = *g.op(it.node) else { return None };
        let Op::Place { at, .. } = *g.op(x) else { return None };
        Some(Placed { at, is_own: is_index(g, at) })
    }

    /// Returns a component of the scan on which the places, or the values that are stored, depend.
    pub fn scan(g: &Graph, at: NodeId, src: NodeId) -> NodeId {
        scan_of_places(g, at, src).expect("verified: places depend on a scan")
    }

    /// Returns where the element at an index of the source goes.
    pub fn place(self, g: &mut Graph, index: NodeId) -> NodeId {
        element(g, self.at, index)
    }

    /// Returns the place of the element at an index of the source, and after it its value in each array.
    pub fn of_element(self, g: &mut Graph, items: &[Item], index: NodeId) -> Vec<NodeId> {
        let mut all = vec![self.place(g, index)];
        all.extend(items.iter().map(|it| value(g, it, index)));
        all
    }
}

/// Returns the value of an item at an index. If the item is the scan itself, that is the partial result there.
pub fn value(g: &mut Graph, it: &Item, index: NodeId) -> NodeId {
    match *g.op(it.node) {
        Op::Materialize(x) if matches!(g.op(x), Op::Scan { .. }) => g.add(Op::Elem(x, vec![index])),
        _ => element(g, it.node, index),
    }
}
