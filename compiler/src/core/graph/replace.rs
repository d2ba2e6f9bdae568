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
    replaced_by(g, n, &mut |g, n| Found::of(g, n, (n == old).then_some(new)), &mut |g, op| g.add(op), memo)
}

/// What replaces a node.
pub enum Found {
    /// Another node.
    By(NodeId),
    /// The node is rebuilt around what replaces its operands.
    Inside,
    /// It stays as it is.
    Nothing,
}

impl Found {
    /// Returns how a node is replaced: by `new`, if that is given; otherwise, unless the node is closed, by
    /// rebuilding it around what replaces its operands.
    pub fn of(g: &Graph, n: NodeId, new: Option<NodeId>) -> Found {
        match new {
            Some(new) => Found::By(new),
            None if g.is_closed(n) => Found::Nothing,
            None => Found::Inside,
        }
    }
}

/// Finds how a node is replaced.
type Find<'f> = dyn FnMut(&mut Graph, NodeId) -> Found + 'f;
/// Makes a node.
type Make<'m> = dyn FnMut(&mut Graph, Op) -> NodeId + 'm;

/// Replaces the nodes that `find` finds, also inside of lambdas; `make` makes the nodes around them.
pub fn replaced_by(
    g: &mut Graph,
    n: NodeId,
    find: &mut Find,
    make: &mut Make,
    memo: &mut HashMap<NodeId, NodeId>,
) -> NodeId {
    match find(g, n) {
        Found::By(new) => return new,
        Found::Nothing => return n,
        Found::Inside => {}
    }
    if let Some(known) = memo.get(&n) {
        return *known;
    }
    let op = g.op(n).clone();
    let operands: Vec<NodeId> = op.operands().map(|o| replaced_by(g, o, find, make, memo)).collect();
    let before = g.set_loc(g.node(n).loc.clone());
    let lambda = op.lambda().map(|l| {
        let types: Vec<Ty> = l.params.iter().map(|p| p.1).collect();
        g.lambda(&types, |g, v| {
            let body = g.open(l, v);
            replaced_by(g, body, find, make, &mut HashMap::default())
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
