//! The table of a substitution.

use crate::core::NodeId;

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

/// A clone starts empty, because the entries are needed during one substitution only.
impl Clone for Memo {
    fn clone(&self) -> Memo {
        Memo::default()
    }
}
