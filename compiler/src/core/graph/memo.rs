//! The table of a substitution.

use crate::core::NodeId;
use std::cell::RefCell;

/// Maps nodes to what they become in one substitution.
#[derive(Default, Debug)]
pub(super) struct Memo {
    /// The number of the current substitution. An entry is valid only if it has this number.
    round: u32,
    of: Vec<(u32, NodeId)>,
}

impl Memo {
    /// Starts a new substitution: forgets all entries, and makes room for `nodes` nodes.
    pub(super) fn begin(&mut self, nodes: usize) {
        self.round += 1;
        if self.of.len() < nodes {
            self.of.resize(nodes, (0, NodeId(0)));
        }
    }

    /// What a node became.
    pub(super) fn get(&self, n: NodeId) -> Option<NodeId> {
        let (round, made) = self.of[n.0 as usize];
        (round == self.round).then_some(made)
    }

    /// Notes what a node became.
    pub(super) fn insert(&mut self, n: NodeId, made: NodeId) {
        self.of[n.0 as usize] = (self.round, made);
    }
}

thread_local! {
    /// Tables that no substitution uses at present.
    static UNUSED: RefCell<Vec<Memo>> = const { RefCell::new(Vec::new()) };
}

/// The most entries of a table that a thread keeps for later substitutions.
const KEPT: usize = 1 << 21;

impl Memo {
    /// Returns a table that no substitution uses.
    pub(super) fn take() -> Memo {
        UNUSED.with(|all| all.borrow_mut().pop()).unwrap_or_default()
    }

    /// Keeps the table for a later substitution.
    pub(super) fn give_back(self) {
        if self.of.len() <= KEPT && self.round < u32::MAX {
            UNUSED.with(|all| all.borrow_mut().push(self));
        }
    }
}
