//! A cache of the nodes and closures that were made, by the old ones and the facts that were known around these.

use crate::core::linear::Linear;
use crate::core::{Graph, Lambda, NodeId, Var};
use crate::scalar::Ty;
use rustc_hash::FxHashMap as HashMap;

/// The variables of an opened closure.
pub(super) type Vars = Vec<(Var, NodeId)>;
/// The number of a set of indices and conditions around a node.
pub(super) type Known = u32;
/// The indices around a node, with their extents, and the conditions.
type Around = (Vec<(NodeId, NodeId, usize)>, Vec<Linear>);

/// A closure: its body, the types of its parameters, the indices around it, and the extents of its own indices.
type Closure = (NodeId, Vec<Ty>, Known, Vec<NodeId>);

/// What was made so far.
#[derive(Default)]
pub(super) struct Made {
    /// The numbers of the sets of facts that may be known.
    known: HashMap<Around, Known>,
    /// The number of the set that is known at the current node, once it has been asked for.
    pub(super) here: Option<Known>,
    pub(super) nodes: HashMap<(NodeId, Known), NodeId>,
    /// The variables and bodies of opened closures.
    pub(super) opened: HashMap<Closure, (Vars, NodeId)>,
    /// Whether something in a node is still to be proven.
    pub(super) open: HashMap<NodeId, bool>,
    /// The new steps of loops of elements, by their old ones and their counts. All values of a loop have the same
    /// step.
    pub(super) steps: HashMap<(NodeId, NodeId, Known), Lambda>,
}

impl Made {
    /// Returns the number of what is known.
    pub(super) fn number(&mut self, around: Around) -> Known {
        let next = self.known.len() as Known;
        *self.known.entry(around).or_insert(next)
    }
}

/// Returns the closure with another body.
pub(super) fn closed(g: &mut Graph, lambda: &Lambda, vars: &Vars, body: NodeId) -> Lambda {
    let vars: Vec<(Var, Ty)> = vars.iter().zip(&lambda.params).map(|(v, p)| (v.0, p.1)).collect();
    g.close(&vars, body)
}
