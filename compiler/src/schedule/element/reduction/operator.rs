//! How long a reduction's operator is. The tree has many joins, and each of them repeats the operator's code.

use super::{Kind, Reduction};
use crate::core::{Lambda, NodeId};
use crate::schedule::element::lower::LaunchContext;

/// From this number of operations on, an operator is long. Each turn of a loop over joins has about ten operations
/// and several shuffles besides the operator's.
const LONG: usize = 64;

impl Reduction {
    /// Whether the operator has loops of its own. Its code is then emitted as few times as possible.
    pub fn joins_by_loops(&self, l: &LaunchContext) -> bool {
        let Kind::Join(join, _) = &self.kind else { return false };
        operations(l, join).any(|n| l.g.op(n).is_loop())
    }

    /// Whether a block joins in loops, because the operator is long or has loops of its own.
    pub fn is_long(&self, l: &LaunchContext) -> bool {
        match &self.kind {
            Kind::Join(join, _) | Kind::Tuple(join, _) => {
                self.joins_by_loops(l) || operations(l, join).nth(LONG).is_some()
            }
            Kind::Dot(..) | Kind::SquaredDeviations(_) => false,
        }
    }
}

/// Returns the nodes that an operator computes from its operands.
fn operations<'a>(l: &'a LaunchContext, join: &Lambda) -> impl Iterator<Item = NodeId> + 'a {
    l.g.reachable([join.body]).into_iter().filter(|n| !l.g.is_closed(*n))
}
