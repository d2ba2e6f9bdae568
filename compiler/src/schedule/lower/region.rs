//! A region: the code of one element, of one loop's body, or of one branch, while its nodes are
//! lowered. A region remembers the values that its nodes have already, so that each node is
//! computed once.

use crate::core::NodeId;
use crate::kernel::{Expr, Stmt};
use rustc_hash::FxHashMap as HashMap;

/// The state of a region that is being lowered.
pub(in crate::schedule) struct Region {
    /// The nodes that have a value: the expression and its depth.
    pub(in crate::schedule) memo: HashMap<NodeId, (Expr, u32)>,
    pub(in crate::schedule) uses: Uses,
    pub(super) conditions: HashMap<NodeId, NodeId>,
    pub(super) records: Vec<(u32, NodeId, Expr)>,
    /// The nested operations that are being computed, outermost first.
    pub(in crate::schedule) computing: Vec<NodeId>,
    /// Nested operations whose error records are emitted once all values are known.
    pub(in crate::schedule) recorded_later: Vec<NodeId>,
    /// The number of the element that error records name.
    pub(in crate::schedule) at: Expr,
    /// The statements so far.
    pub(in crate::schedule) out: Vec<Stmt>,
}

/// The number of uses of each node in a region. It is 0 for a node that was not counted.
#[derive(Default)]
pub(in crate::schedule) struct Uses(HashMap<NodeId, u32>);

impl Uses {
    /// Counts one more use of a node, and returns the number of uses so far.
    pub(super) fn add(&mut self, n: NodeId) -> u32 {
        let uses = self.0.entry(n).or_insert(0);
        *uses += 1;
        *uses
    }

    pub(super) fn of(&self, n: NodeId) -> u32 {
        self.0.get(&n).copied().unwrap_or(0)
    }

    /// Returns the nodes that are used, in order.
    pub(in crate::schedule) fn nodes(&self) -> impl Iterator<Item = NodeId> {
        let mut nodes: Vec<NodeId> = self.0.keys().copied().collect();
        nodes.sort_unstable();
        nodes.into_iter()
    }
}

impl Region {
    /// Returns an empty region whose error records name element `at`.
    pub(super) fn at(at: &Expr) -> Region {
        Region {
            memo: HashMap::default(),
            uses: Uses::default(),
            conditions: HashMap::default(),
            records: Vec::new(),
            computing: Vec::new(),
            recorded_later: Vec::new(),
            at: at.clone(),
            out: Vec::new(),
        }
    }

    /// Returns the condition under which a node that may leave an error record is needed, if it is
    /// known.
    pub(in crate::schedule) fn condition(&self, n: NodeId) -> Option<NodeId> {
        self.conditions.get(&n).copied()
    }

    /// Returns all nodes that have a value, with these values.
    pub(in crate::schedule) fn known(&self) -> Vec<(NodeId, Expr)> {
        self.memo.iter().map(|(n, e)| (*n, e.0.clone())).collect()
    }
}

/// The surroundings of a nested operation's code: known values, and the element that error records
/// name.
pub struct Surroundings<'a> {
    /// Nodes whose values are known.
    pub vars: &'a [(NodeId, Expr)],
    /// The number of the element that error records name.
    pub at: &'a Expr,
}
