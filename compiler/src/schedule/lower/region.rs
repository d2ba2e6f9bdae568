//! A region: the code of one element, one loop's body or one branch while it is being lowered.

use crate::core::NodeId;
use crate::kernel::{Expr, Stmt};
use rustc_hash::FxHashMap as HashMap;

/// One region being lowered.
pub(in crate::schedule) struct Region {
    /// What has a value already.
    pub(in crate::schedule) memo: HashMap<NodeId, (Expr, u32)>,
    pub(in crate::schedule) uses: Uses,
    pub(super) conditions: HashMap<NodeId, NodeId>,
    pub(super) records: Vec<(u32, NodeId, Expr)>,
    /// Nested operations that are being computed, outermost first.
    pub(in crate::schedule) computing: Vec<NodeId>,
    /// Nested operations whose records wait until all values are known.
    pub(in crate::schedule) recorded_later: Vec<NodeId>,
    /// The element that records name.
    pub(in crate::schedule) at: Expr,
    /// Its statements.
    pub(in crate::schedule) out: Vec<Stmt>,
}

/// How often each node is used in a region; 0 is not known.
#[derive(Default)]
pub(in crate::schedule) struct Uses(pub(super) Vec<u32>);

impl Uses {
    /// Once more; gives how often.
    pub(super) fn add(&mut self, n: NodeId) -> u32 {
        let i = n.0 as usize;
        if self.0.len() <= i {
            self.0.resize(i + 1, 0);
        }
        self.0[i] += 1;
        self.0[i]
    }

    pub(super) fn of(&self, n: NodeId) -> u32 {
        self.0.get(n.0 as usize).copied().unwrap_or(0)
    }

    /// The nodes that are used, in order.
    pub(in crate::schedule) fn nodes(&self) -> impl Iterator<Item = NodeId> {
        self.0.iter().zip(0..).filter(|u| *u.0 > 0).map(|u| NodeId(u.1))
    }
}

impl Region {
    /// Nothing is known yet; records name that element.
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

    /// Under which condition a node that may leave a record is needed, if that is known.
    pub(in crate::schedule) fn condition(&self, n: NodeId) -> Option<NodeId> {
        self.conditions.get(&n).copied()
    }

    /// All values that are known.
    pub(in crate::schedule) fn known(&self) -> Vec<(NodeId, Expr)> {
        self.memo.iter().map(|(n, e)| (*n, e.0.clone())).collect()
    }
}
