//! The steps of a radix sort ([`crate::core::digits`]) as launches: one counts the digits in each tile, another moves
//! elements to the places of their digits. A launch is one step, and its unit of work is a tile.
//!
//! An output must not be an input: a tile stores to places whose elements another tile may not have read yet.

use crate::core::simplify::extent;
use crate::core::{Graph, NodeId, Op};
use crate::schedule::element::element;
use crate::schedule::groups::items::Item;

/// A step of a radix sort.
#[derive(Clone, Copy)]
pub struct RadixStep {
    tiles: NodeId,
    digits: NodeId,
    /// The places where the elements of each digit and tile begin, if elements are moved; `None` if they are counted.
    begins: Option<NodeId>,
}

impl RadixStep {
    /// Returns an item as a step of a radix sort, if it is one.
    pub fn of_item(g: &Graph, it: &Item) -> Option<RadixStep> {
        let Op::Materialize(x) = *g.op(it.node) else { return None };
        match *g.op(x) {
            Op::DigitCounts { tiles, digits, .. } => Some(RadixStep { tiles, digits, begins: None }),
            Op::ByDigit { tiles, digits, begins, .. } => {
                Some(RadixStep { tiles, digits, begins: Some(begins) })
            }
            _ => None,
        }
    }

    /// Returns a fused group as a step of a radix sort, if it is one.
    pub fn of(g: &Graph, group: &[Item]) -> Option<RadixStep> {
        group.first().and_then(|it| RadixStep::of_item(g, it))
    }

    /// Whether elements are moved, rather than counted.
    pub fn moves(&self) -> bool {
        self.begins.is_some()
    }

    /// Returns the number of tiles, as a node.
    pub fn tiles(&self) -> NodeId {
        self.tiles
    }

    /// Returns the number of elements, as a node.
    pub fn length(&self, g: &mut Graph) -> NodeId {
        extent(g, self.digits, 0)
    }

    /// Returns the digit of the element at an index.
    pub fn digit(&self, g: &mut Graph, index: NodeId) -> NodeId {
        element(g, self.digits, index)
    }

    /// Returns the place where the elements of a digit and tile begin. `number` is the index of that pair in the
    /// matrix of counts.
    pub fn begin(&self, g: &mut Graph, number: NodeId) -> Option<NodeId> {
        self.begins.map(|begins| element(g, begins, number))
    }

    /// Returns all nodes that the launch computes for an element, for estimates.
    pub fn sample(&self, g: &mut Graph, items: &[Item], index: NodeId) -> Vec<NodeId> {
        let mut all = vec![self.digit(g, index)];
        if self.moves() {
            all.extend(items.iter().map(|it| element(g, it.node, index)));
        }
        all
    }
}
