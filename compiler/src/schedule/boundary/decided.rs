//! The interior of a group's elements: computed once, used by its facts and by the strategies of both targets.

use crate::core::NodeId;
use rustc_hash::FxHashMap as HashMap;

/// The boundary width of an axis: how many of its first indices, and how many of its last ones, are
/// not in the interior.
pub type BoundaryWidth = (i64, i64);

/// The interior of some elements.
pub struct Decided {
    /// The indices of an element.
    pub index: Vec<NodeId>,
    /// The program's values of the element at these indices.
    pub roots: Vec<NodeId>,
    /// The nodes that the interior replaces, with what replaces them.
    pub memo: HashMap<NodeId, NodeId>,
    /// The boundary widths within which that is right.
    pub widths: Vec<BoundaryWidth>,
}

impl Decided {
    /// Whether these are the values `roots` at `index`.
    pub fn is_of(&self, index: &[NodeId], roots: &[NodeId]) -> bool {
        self.index == index && self.roots == roots
    }

    /// The values in the interior.
    pub fn inner(&self) -> Vec<NodeId> {
        self.roots.iter().map(|n| self.memo.get(n).copied().unwrap_or(*n)).collect()
    }
}
