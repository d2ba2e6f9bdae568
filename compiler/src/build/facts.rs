//! What a builder knows about nodes and shape rules.

use crate::core::{NodeId, Rule};
use std::sync::Arc;

/// What is known about a node of the graph.
#[derive(Clone, Debug)]
pub(super) struct Fact {
    /// The parameters from which the node is computed, in order of first use.
    pub(super) params: Arc<[u32]>,
    /// The reason why the host cannot compute the node before the function runs, if it cannot.
    pub(super) obstacle: Option<&'static str>,
}

/// The identity of a rule. Rules with the same key are the same comparison of the same difference.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Key {
    /// A rule about lengths of parameters: whether it is an equality, and `b - a` as a constant and
    /// terms.
    Difference(bool, i64, Vec<(NodeId, i64)>),
    /// Any other rule, whose difference may wrap: the operands themselves.
    Operands(Rule, NodeId, NodeId),
}
