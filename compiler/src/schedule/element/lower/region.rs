//! A region: the code of one element, of one loop's body, or of one branch, while its nodes are
//! lowered. A region remembers the values that its nodes have already, so that each node is
//! computed once.

use crate::core::graph::memo::Counts;
use crate::core::{Graph, NodeId};
use crate::kernel::{Expr, Stmt};
use crate::schedule::element::unlikely::arms;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use std::collections::BTreeSet;

/// The state of a region that is being lowered.
pub(in crate::schedule) struct Region {
    /// The nodes that have a value.
    pub(in crate::schedule) memo: Values,
    pub(in crate::schedule) uses: Uses,
    pub(super) conditions: HashMap<NodeId, NodeId>,
    /// The nodes of these conditions, whose values are needed again after the region's own.
    pub(super) asked_again: HashSet<NodeId>,
    pub(super) records: Vec<Record>,
    /// The nested operations that are being computed, outermost first.
    pub(in crate::schedule) computing: Vec<NodeId>,
    /// Nested operations whose error records are emitted once all values are known.
    pub(in crate::schedule) recorded_later: Vec<NodeId>,
    /// The number of the element that error records name.
    pub(in crate::schedule) at: Expr,
    /// The statements so far.
    pub(in crate::schedule) out: Vec<Stmt>,
}

/// An error record that is left after the values.
#[derive(Clone)]
pub(super) struct Record {
    pub site: u32,
    /// The condition under which the value is needed.
    pub condition: NodeId,
    /// What is wrong.
    pub bad: Expr,
    /// The number that names the element, if that is not the region's element.
    pub number: Option<Expr>,
}

/// The values of nodes: for each the expression and its depth.
#[derive(Default)]
pub(in crate::schedule) struct Values {
    of: HashMap<NodeId, (Expr, u32)>,
    /// The former entries of what has changed since the outermost open branch began.
    before: Vec<(NodeId, Option<(Expr, u32)>)>,
    branches: u32,
}

impl Values {
    pub(in crate::schedule) fn get(&self, n: &NodeId) -> Option<&(Expr, u32)> {
        self.of.get(n)
    }

    pub(in crate::schedule) fn contains_key(&self, n: &NodeId) -> bool {
        self.of.contains_key(n)
    }

    pub(in crate::schedule) fn insert(&mut self, n: NodeId, value: (Expr, u32)) {
        let before = self.of.insert(n, value);
        if self.branches > 0 {
            self.before.push((n, before));
        }
    }

    /// Begins a branch, whose values are not available after it.
    pub(in crate::schedule) fn enter_branch(&mut self) -> usize {
        self.branches += 1;
        self.before.len()
    }

    /// Ends the branch that began with `mark`.
    pub(in crate::schedule) fn leave_branch(&mut self, mark: usize) {
        self.branches -= 1;
        for (n, before) in self.before.drain(mark..).rev() {
            match before {
                Some(value) => self.of.insert(n, value),
                None => self.of.remove(&n),
            };
        }
    }
}

impl FromIterator<(NodeId, (Expr, u32))> for Values {
    fn from_iter<I: IntoIterator<Item = (NodeId, (Expr, u32))>>(values: I) -> Values {
        Values { of: values.into_iter().collect(), ..Values::default() }
    }
}

/// The number of uses of each node in a region. It is 0 for a node that was not counted.
#[derive(Default)]
pub(in crate::schedule) struct Uses {
    of: Counts,
    /// The nodes that are used, in the order in which they were counted first.
    order: Vec<NodeId>,
    /// The unlikely selects among the first `sorted` of the used nodes, by their condition.
    unlikely: HashMap<NodeId, BTreeSet<NodeId>>,
    sorted: usize,
}

impl Uses {
    /// Counts one more use of a node, and returns the number of uses so far.
    pub(super) fn add(&mut self, n: NodeId) -> u32 {
        let uses = self.of.add(n);
        if uses == 1 {
            self.order.push(n);
        }
        uses
    }

    pub(in crate::schedule) fn of(&self, n: NodeId) -> u32 {
        self.of.of(n)
    }

    /// Returns the unlikely selects with this condition that are used, in the order of nodes.
    pub(in crate::schedule) fn unlikely(&mut self, g: &Graph, condition: NodeId) -> Vec<NodeId> {
        for n in &self.order[self.sorted..] {
            if let Some((condition, ..)) = arms(g, *n) {
                self.unlikely.entry(condition).or_default().insert(*n);
            }
        }
        self.sorted = self.order.len();
        self.unlikely.get(&condition).into_iter().flatten().copied().collect()
    }
}

impl Region {
    /// Returns an empty region whose error records name element `at`.
    pub(super) fn at(at: &Expr) -> Region {
        Region {
            memo: Values::default(),
            uses: Uses::default(),
            conditions: HashMap::default(),
            asked_again: HashSet::default(),
            records: Vec::new(),
            computing: Vec::new(),
            recorded_later: Vec::new(),
            at: at.clone(),
            out: Vec::new(),
        }
    }

    /// Sets the conditions under which nodes are needed that may leave an error record.
    pub(super) fn set_conditions(&mut self, g: &Graph, conditions: HashMap<NodeId, NodeId>) {
        let open = conditions.values().copied().filter(|c| !g.is_closed(*c));
        self.asked_again = g.reachable_until(open, |n| g.is_closed(n)).into_iter().collect();
        self.conditions = conditions;
    }

    /// Whether a value that is used once may be needed again: by the condition of an error record, or by the question
    /// whether a record was left already.
    pub(super) fn may_ask_again(&self, g: &Graph, n: NodeId) -> bool {
        !self.conditions.is_empty() && (self.asked_again.contains(&n) || g.op(n).may_record(g))
    }

    /// Returns the condition under which a node that may leave an error record is needed, if it is
    /// known.
    pub(in crate::schedule) fn condition(&self, n: NodeId) -> Option<NodeId> {
        self.conditions.get(&n).copied()
    }

    /// Returns all nodes that have a value, with these values.
    pub(in crate::schedule) fn known(&self) -> Vec<(NodeId, Expr)> {
        self.memo.of.iter().map(|(n, e)| (*n, e.0.clone())).collect()
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
