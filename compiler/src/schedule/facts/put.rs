//! Elements that are stored at their destinations ([`Op::Put`]), in two launches. The first one, which is a map,
//! fills the result with the elements of the base array. The second one goes over the source and stores each element
//! at its destination, by plain stores: the author promises that no two elements have the same destination. If two
//! do, one of them is stored, because each store is of a whole element and in bounds.
//!
//! An output must not be an input: an element might be stored before another thread reads what it replaces.

use super::destinations::{Tests, in_short};
use crate::core::simplify::extent;
use crate::core::{Graph, NodeId, Op};
use crate::schedule::element::element;
use crate::schedule::groups::items::Item;

/// Elements that are stored at their destinations.
#[derive(Clone, Copy)]
pub struct Put {
    at: NodeId,
    base: NodeId,
}

impl Put {
    /// Returns the destinations of a fused group's elements, if it has them.
    pub fn of(g: &Graph, group: &[Item]) -> Option<Put> {
        let Op::Materialize(x) = *g.op(group.first()?.node) else { return None };
        let Op::Put { at, base, .. } = *g.op(x) else { return None };
        Some(Put { at, base })
    }

    /// Returns what the elements of a group replace: the array, and for each item one that stores it into the same
    /// place.
    pub fn base(g: &Graph, group: &[Item]) -> Option<(NodeId, Vec<Item>)> {
        let own = Put::of(g, group)?;
        let base = |it: &Item| {
            let put = Put::of(g, std::slice::from_ref(it))?;
            Some(Item { node: put.base, result: it.result, into: Some(it.node) })
        };
        Some((own.base, group.iter().filter_map(base).collect()))
    }

    /// Returns the number of elements of the result.
    pub fn count(self, g: &mut Graph) -> NodeId {
        extent(g, self.base, 0)
    }

    /// Returns the destination of an element, and its value in each array.
    pub fn element(self, g: &mut Graph, items: &[Item], index: NodeId) -> Vec<NodeId> {
        let at = element(g, self.at, index);
        let mut all = vec![in_short(g, at)];
        all.extend(items.iter().map(|it| element(g, it.node, index)));
        all
    }

    /// Returns the tests of a destination.
    pub fn tests(self, g: &mut Graph) -> Tests {
        let index = g.sample_index(1)[0].1;
        let at = element(g, self.at, index);
        let (at, count) = (in_short(g, at), self.count(g));
        Tests::of(g, at, count)
    }
}
