//! A bottom-up walk that rebuilds nodes by a rule for single operations. The interior and the halo are made by it.

use crate::core::simplify::simplify;
use crate::core::{Graph, NodeId, Op};
use rustc_hash::FxHashMap as HashMap;

/// Rebuilds the nodes that the roots need, bottom-up, and returns the map from replaced nodes to new ones. `memo` has
/// the replacements that are given. `rule` gets each operation with its operands rebuilt, and may return a node for
/// it; if it returns `None`, the operation stays.
pub fn rebuilt(
    g: &mut Graph,
    roots: &[NodeId],
    mut memo: HashMap<NodeId, NodeId>,
    rule: &mut dyn FnMut(&mut Graph, &Op) -> Option<NodeId>,
) -> HashMap<NodeId, NodeId> {
    for n in g.reachable(roots.iter().copied()) {
        // a nested operation has indices of its own
        if g.is_closed(n) || g.op(n).lambda().is_some() || memo.contains_key(&n) {
            continue;
        }
        let (mut op, mut changed) = (g.op(n).clone(), false);
        op.each_operand(|o| {
            if let Some(made) = memo.get(o) {
                (*o, changed) = (*made, true);
            }
        });
        let before = g.set_loc(g.node(n).loc.clone());
        let made = match rule(g, &op) {
            Some(known) => known,
            None if changed => simplify(g, op),
            None => n,
        };
        g.set_loc(before);
        // a read that no longer depends on an index would be moved out of the loop, and would then run even if the
        // interior has no element
        let is_moved = matches!(g.op(n), Op::Elem(..) | Op::At(..)) && g.is_closed(made);
        if made != n && !is_moved {
            if g.node(n).bound {
                g.mark_bound(made);
            }
            memo.insert(n, made);
        }
    }
    memo
}
