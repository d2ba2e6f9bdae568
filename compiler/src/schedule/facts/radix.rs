//! The steps of a radix sort ([`crate::core::digits`]) as launches: one counts the digits in each tile, another one
//! sums the counts of each digit, and the last one moves elements to the places of their digits. A launch is one
//! step, and its unit of work is a tile, or a digit for sums.
//!
//! An output must not be an input: a tile stores to places whose elements another tile may not have read yet.

use crate::core::graph::replace::replaced;
use crate::core::simplify::extent;
use crate::core::{Graph, NodeId, Op};
use crate::scalar::Ty;
use crate::schedule::element::element;
use crate::schedule::groups::items::Item;
use rustc_hash::FxHashMap as HashMap;

/// A step of a radix sort.
#[derive(Clone, Copy)]
pub struct RadixStep {
    tiles: NodeId,
    /// The digits of the elements, or the counts that are summed.
    src: NodeId,
    /// What it does.
    pub work: Work,
}

/// What a step does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// It counts the digits of each tile.
    Count,
    /// It sums the counts of each digit over the tiles.
    Sum,
    /// It moves elements, given how many there are of each digit up to the end of each tile.
    Move {
        /// The sums of the counts.
        ends: NodeId,
    },
}

impl RadixStep {
    /// Returns an item as a step of a radix sort, if it is one.
    pub fn of_item(g: &Graph, it: &Item) -> Option<RadixStep> {
        let Op::Materialize(x) = *g.op(it.node) else { return None };
        match *g.op(x) {
            Op::DigitCounts { tiles, digits: src, .. } => Some(RadixStep { tiles, src, work: Work::Count }),
            Op::DigitEnds { tiles, counts: src, .. } => Some(RadixStep { tiles, src, work: Work::Sum }),
            Op::ByDigit { tiles, digits: src, ends, .. } => {
                Some(RadixStep { tiles, src, work: Work::Move { ends } })
            }
            _ => None,
        }
    }

    /// Returns a fused group as a step of a radix sort, if it is one.
    pub fn of(g: &Graph, group: &[Item]) -> Option<RadixStep> {
        group.first().and_then(|it| RadixStep::of_item(g, it))
    }

    /// Whether elements are moved.
    pub fn moves(&self) -> bool {
        matches!(self.work, Work::Move { .. })
    }

    /// Returns the number of tiles, as a node.
    pub fn tiles(&self) -> NodeId {
        self.tiles
    }

    /// Returns the number of elements, as a node.
    pub fn length(&self, g: &mut Graph) -> NodeId {
        extent(g, self.src, 0)
    }

    /// Returns the digit of the element at an index, or the count that is summed.
    pub fn digit(&self, g: &mut Graph, index: NodeId) -> NodeId {
        element(g, self.src, index)
    }

    /// Returns the digit of an element whose value in `array`, which is moved, is `value`. Returns `None` if the digit
    /// depends on more than that value.
    pub fn digit_of(&self, g: &mut Graph, array: NodeId, value: NodeId) -> Option<NodeId> {
        let (var, index) = g.fresh_var(Ty::I64);
        let (digit, own) = (self.digit(g, index), element(g, array, index));
        let digit = replaced(g, digit, own, value, &mut HashMap::default());
        (!g.node(digit).free.contains(&var)).then_some(digit)
    }

    /// Returns how many elements with a digit there are up to the end of a tile, if elements are moved. `number` is
    /// the index of that pair in the matrix of counts.
    pub fn end(&self, g: &mut Graph, number: NodeId) -> Option<NodeId> {
        match self.work {
            Work::Move { ends } => Some(element(g, ends, number)),
            Work::Count | Work::Sum => None,
        }
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
