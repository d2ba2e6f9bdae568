//! The steps of a radix sort ([`crate::core::digits`]) as launches: the counts of digits in each tile, and the
//! moves of elements to where their digits go. A launch has one step, and the unit of its work is a tile.
//!
//! No output is an input: a tile stores to places whose elements another tile may not have read.

use crate::core::simplify::extent;
use crate::core::{Graph, NodeId, Op};
use crate::schedule::element::element;
use crate::schedule::groups::items::Item;

/// A step of a radix sort.
#[derive(Clone, Copy)]
pub struct RadixStep {
    tiles: NodeId,
    digits: NodeId,
    /// Where the elements of each digit and tile go, if they are moved; else they are counted.
    begins: Option<NodeId>,
}

impl RadixStep {
    /// Returns the step that an item is, if it is one.
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

    /// Returns the step that a fused group is.
    pub fn of(g: &Graph, group: &[Item]) -> Option<RadixStep> {
        group.first().and_then(|it| RadixStep::of_item(g, it))
    }

    /// Whether elements are moved, not counted.
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

    /// Returns where the elements of a digit and tile go, which have one number.
    pub fn begin(&self, g: &mut Graph, number: NodeId) -> Option<NodeId> {
        self.begins.map(|begins| element(g, begins, number))
    }

    /// Returns all that the launch computes of an element, for estimates.
    pub fn sample(&self, g: &mut Graph, items: &[Item], index: NodeId) -> Vec<NodeId> {
        let mut all = vec![self.digit(g, index)];
        if self.moves() {
            all.extend(items.iter().map(|it| element(g, it.node, index)));
        }
        all
    }
}
