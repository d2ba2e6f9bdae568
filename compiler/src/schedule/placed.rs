//! Elements in other places ([`Op::Place`]) as a launch: a fused group has arrays whose elements go to the same places,
//! and nothing else.
//!
//! An element of the index space is one of the source. Because places differ, no thread waits for another one, and
//! because they are all indices of the result, nothing is stored beforehand. An output is never an input: another thread
//! may have stored an element before it is read.

use super::element::element;
use super::groups::FusedGroup;
use super::items::Item;
use crate::core::{Graph, NodeId, Op};

/// Elements in other places.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// The array of the places.
    at: NodeId,
}

impl Placed {
    /// Returns where the elements of an item go, if it is such an array.
    pub fn of_item(g: &Graph, it: &Item) -> Option<Placed> {
        let Op::Materialize(x) = *g.op(it.node) else { return None };
        let Op::Place { at, .. } = *g.op(x) else { return None };
        Some(Placed { at })
    }

    /// Returns where the elements of a fused group go, if it has such arrays.
    pub fn of(g: &Graph, fused: &FusedGroup) -> Option<Placed> {
        fused.items.first().and_then(|it| Placed::of_item(g, it))
    }

    /// Returns the place of the element at an index of the source, and behind it its value in each array.
    pub fn of_element(self, g: &mut Graph, fused: &FusedGroup, index: NodeId) -> Vec<NodeId> {
        let mut all = vec![element(g, self.at, index)];
        all.extend(fused.items.iter().map(|it| element(g, it.node, index)));
        all
    }
}
