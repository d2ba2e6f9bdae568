//! What a builder knows of nodes and of shape rules.

use crate::core::{NodeId, Rule};
use std::sync::Arc;

/// What is known of a node of the graph.
#[derive(Clone, Debug)]
pub(super) struct Fact {
    /// The parameters that it is computed from, as they appear.
    pub(super) params: Arc<[u32]>,
    /// Why the host cannot compute it before the function runs, if it cannot.
    pub(super) obstacle: Option<&'static str>,
}

/// What makes two rules one: the same comparison of the same difference.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Key {
    /// A rule about lengths of parameters: `b - a` as constant and terms.
    Difference(bool, i64, Vec<(NodeId, i64)>),
    /// A rule about anything else, which may wrap: the operands themselves.
    Operands(Rule, NodeId, NodeId),
}
