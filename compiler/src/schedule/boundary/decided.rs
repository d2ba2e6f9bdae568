//! What `interior.rs` returns about some elements: which nodes are simpler in the interior, and how wide the boundary
//! then is. It is computed once for a group and used by the group's facts and by the strategies of both targets.

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
    /// For each node that is simpler in the interior, the simpler node.
    pub memo: HashMap<NodeId, NodeId>,
    /// The boundary widths, one pair per axis: `memo` is right for indices that keep these distances from the edges.
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
