//! Items: what launches must compute, a stored array, a reduction or a fold each.

use crate::core::graph::marks::Visited;
use crate::core::{Graph, NodeId, Op};

/// A stored array, a reduction, a fold, or a state of an iteration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// The node: `generate` (a result), `materialize`, `reduce`, `dot`, `squared_deviations`,
    /// `fold` or `iterate`.
    pub node: NodeId,
    /// The number of the function's array result that the item is, if it is one.
    pub result: Option<u32>,
}

/// Whether the item is a stored array, and not a reduction, a fold or a state.
pub fn is_store(g: &Graph, it: &Item) -> bool {
    matches!(g.op(it.node), Op::Generate(..) | Op::Materialize(_))
}

/// Whether the item's elements have reductions, folds or loops of their own.
pub fn is_nested(g: &Graph, it: &Item) -> bool {
    any_inside(g, it, |op| op.needs_launch() || op.is_loop())
}

/// Whether the item's elements have reductions or folds, among them those in loops of their own.
pub fn has_reductions(g: &Graph, it: &Item) -> bool {
    any_inside(g, it, Op::needs_launch)
}

fn any_inside(g: &Graph, it: &Item, is: impl Fn(&Op) -> bool) -> bool {
    let array = if let Op::Materialize(x) = *g.op(it.node) { x } else { it.node };
    let (mut seen, mut stack) = (Visited::begin(), Vec::from_iter(g.op(array).lambda().map(|l| l.body)));
    while let Some(n) = stack.pop() {
        if !seen.insert(n.0) || g.is_closed(n) {
            continue;
        }
        let op = g.op(n);
        if is(op) {
            return true;
        }
        stack.extend(op.operands());
        stack.extend(op.lambda().filter(|_| matches!(op, Op::Loop { .. })).map(|step| step.body));
    }
    false
}
