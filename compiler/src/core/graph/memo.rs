//! The tables of substitutions and of other walks that map nodes to nodes.

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

/// The maximum number of entries of a table that a thread keeps for later substitutions.
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

/// The nodes that a walk has found for others. A walk takes a table that another one has given back.
pub struct Found(Memo);

impl Found {
    /// Begins a walk, which has found nothing.
    pub fn begin() -> Found {
        let mut memo = Memo::take();
        memo.begin(0);
        Found(memo)
    }

    /// What was found for a node.
    pub fn get(&self, n: NodeId) -> Option<NodeId> {
        let (round, found) = *self.0.of.get(n.0 as usize)?;
        (round == self.0.round).then_some(found)
    }

    /// Notes what was found for a node. The graph may have grown since the walk began.
    pub fn insert(&mut self, n: NodeId, found: NodeId) {
        if self.0.of.len() <= n.0 as usize {
            self.0.of.resize(n.0 as usize + 1, (0, NodeId(0)));
        }
        self.0.insert(n, found);
    }
}

impl Drop for Found {
    fn drop(&mut self) {
        std::mem::take(&mut self.0).give_back();
    }
}

/// A count for each node, 0 at first, in a table like those of [`Found`].
pub struct Counts(Found);

impl Default for Counts {
    fn default() -> Counts {
        Counts(Found::begin())
    }
}

impl Counts {
    /// The count of a node.
    pub fn of(&self, n: NodeId) -> u32 {
        self.0.get(n).map_or(0, |count| count.0)
    }

    /// Counts a node once more, and returns its count.
    pub fn add(&mut self, n: NodeId) -> u32 {
        let count = self.of(n) + 1;
        self.0.insert(n, NodeId(count));
        count
    }
}
