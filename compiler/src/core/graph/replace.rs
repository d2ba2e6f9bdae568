//! Replacing a node by another one.

use super::Graph;
use crate::core::{NodeId, Op};
use crate::scalar::Ty;
use rustc_hash::FxHashMap as HashMap;

/// Replaces a node by another one, also inside of lambdas.
pub fn replaced(
    g: &mut Graph,
    n: NodeId,
    old: NodeId,
    new: NodeId,
    memo: &mut HashMap<NodeId, NodeId>,
) -> NodeId {
    replaced_by(g, n, (old, new), &mut |g, op| g.add(op), memo)
}

/// Does the same as [`replaced`]; `make` makes the nodes that change.
pub fn replaced_by(
    g: &mut Graph,
    n: NodeId,
    (old, new): (NodeId, NodeId),
    make: &mut dyn FnMut(&mut Graph, Op) -> NodeId,
    memo: &mut HashMap<NodeId, NodeId>,
) -> NodeId {
    if n == old {
        return new;
    }
    if g.is_closed(n) {
        return n;
    }
    if let Some(known) = memo.get(&n) {
        return *known;
    }
    let op = g.op(n).clone();
    let operands: Vec<NodeId> = op.operands().map(|o| replaced_by(g, o, (old, new), make, memo)).collect();
    let before = g.set_loc(g.node(n).loc.clone());
    let lambda = op.lambda().map(|l| {
        let types: Vec<Ty> = l.params.iter().map(|p| p.1).collect();
        g.lambda(&types, |g, v| {
            let body = g.open(l, v);
            replaced_by(g, body, (old, new), make, &mut HashMap::default())
        })
    });
    let changed = !op.operands().eq(operands.iter().copied()) || lambda.as_ref() != op.lambda();
    let made = if changed { make(g, op.with(&operands, lambda)) } else { n };
    g.set_loc(before);
    if changed {
        let (bound, once) = (g.node(n).bound, g.node(n).once);
        g.keep_marks(bound, once, made);
    }
    memo.insert(n, made);
    made
}
