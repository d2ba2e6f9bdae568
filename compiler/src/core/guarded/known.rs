//! The facts that are known around a node: indices with extents, and conditions. The same node may stand under many
//! conditions, and nests of closures multiply their number. To keep the work small,
//!
//! - a closure is opened once, for all conditions around it;
//! - conditions on indices on which a node does not depend are dropped;
//! - if everything in a node can be proven without any conditions, they are dropped as well;
//! - what was made from a node is found again wherever the same facts are known.

use super::once::{Known, Vars};
use super::{Guards, is_wanted};
use crate::core::linear::Linear;
use crate::core::{Graph, Lambda, NodeId};

impl Guards<'_> {
    /// Returns the number of the set of facts that are known here.
    pub(super) fn known(&mut self) -> Known {
        if let Some(here) = self.made.here {
            return here;
        }
        let here = self.made.number((self.indices.clone(), self.conditions.clone()));
        self.made.here = Some(here);
        here
    }

    /// Goes back to this many indices and conditions.
    pub(super) fn forget(&mut self, indices: usize, conditions: usize) {
        self.indices.truncate(indices);
        self.conditions.truncate(conditions);
        self.made.here = None;
    }

    /// Returns the conditions that may matter to a node: those on indices on which it depends, and those on lengths
    /// alone. Returns `None` if all conditions are of that kind.
    pub(super) fn fewer_conditions(&self, g: &Graph, n: NodeId) -> Option<Vec<Linear>> {
        let free = &g.node(n).free;
        let is_about = |known: &&Linear| {
            let mut vars = known.terms.keys().flat_map(|t| g.node(*t).free.iter()).peekable();
            vars.peek().is_none() || vars.any(|v| free.contains(v))
        };
        let all = self.conditions.iter().all(|known| is_about(&known));
        (!all).then(|| self.conditions.iter().filter(is_about).cloned().collect())
    }

    /// Returns what a node becomes without the conditions, if everything in it can be proven without them. The
    /// conditions would give the same node: they decide whether a read can be clamped, and not how.
    pub(super) fn without_conditions(&mut self, g: &mut Graph, n: NodeId) -> Option<NodeId> {
        if self.conditions.is_empty() {
            return None;
        }
        let made = self.within(self.indices.clone(), vec![], |own| own.node(g, n));
        (!self.is_open(g, made)).then_some(made)
    }

    /// Runs `f` where these indices and conditions are known.
    pub(super) fn within<T>(
        &mut self,
        indices: Vec<(NodeId, NodeId, usize)>,
        conditions: Vec<Linear>,
        f: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let indices = std::mem::replace(&mut self.indices, indices);
        let conditions = std::mem::replace(&mut self.conditions, conditions);
        let here = self.made.here.take();
        let made = f(self);
        (self.indices, self.conditions, self.made.here) = (indices, conditions, here);
        made
    }

    /// Returns the variables of a closure, and its body with these.
    pub(super) fn opened(&mut self, g: &mut Graph, lambda: &Lambda, extents: &[NodeId]) -> (Vars, NodeId) {
        let around = self.made.number((self.indices.clone(), vec![]));
        // closures whose bodies depend on no parameter may have the same body and other parameters
        let types = lambda.params.iter().map(|p| p.1).collect();
        let key = (lambda.body, types, around, extents.to_vec());
        if let Some(known) = self.made.opened.get(&key) {
            return known.clone();
        }
        let vars: Vars = lambda.params.iter().map(|p| g.fresh_var(p.1)).collect();
        let nodes: Vec<NodeId> = vars.iter().map(|v| v.1).collect();
        let body = g.open(lambda, &nodes);
        self.lead(g, body);
        self.made.opened.insert(key, (vars.clone(), body));
        (vars, body)
    }

    /// Whether something in a node is still to be proven.
    fn is_open(&mut self, g: &Graph, n: NodeId) -> bool {
        if let Some(known) = self.made.open.get(&n) {
            return *known;
        }
        let op = g.op(n);
        let mut inside = op.operands().chain(op.lambda().map(|l| l.body));
        let is_open = is_wanted(g, op) || inside.any(|o| self.is_open(g, o));
        self.made.open.insert(n, is_open);
        is_open
    }
}
