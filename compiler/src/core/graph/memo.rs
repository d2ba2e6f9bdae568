//! The table that a substitution is done with.

use crate::core::NodeId;

/// What nodes become, of one substitution.
#[derive(Default, Debug)]
pub(super) struct Memo {
    /// An entry is of this substitution if it has its number.
    round: u32,
    of: Vec<(u32, NodeId)>,
}

impl Memo {
    /// Forgets all, and has room for so many nodes.
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

/// A copy starts without.
impl Clone for Memo {
    fn clone(&self) -> Memo {
        Memo::default()
    }
}
