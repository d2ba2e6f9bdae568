//! Keeps chains of stencils in two forms. Fusion has stored their stages (`core/recompute/stages.rs`), matrices that
//! one launch may compute in tiles on the way to its result. Not every target has such a launch. So this pass
//! rewrites the function as if stages were not stored: readers compute their elements again. The results as they were
//! are kept beside it ([`Function::by_stages`]), and the schedule takes the cheaper form for each launch.
//!
//! ```text
//! %t = materialize (generate n, m (%i, %j) { .. elem %x, (%i - 1), %j .. })
//! %r = generate n, m (%i, %j) { .. elem %t, %i, (%j + 1) .. }
//!     ->   %r = generate n, m (%i, %j) { .. elem %x, (%i - 1), (%j + 1) .. }     by stages: the %r before
//! ```

use crate::core::graph::replace::{Found, replaced_by};
use crate::core::simplify::settle;
use crate::core::{Function, Graph, NodeId, Op};
use crate::error::Result;
use crate::scalar::Ty;
use rustc_hash::FxHashMap as HashMap;

/// Runs the pass.
pub fn run(mut f: Function) -> Result<Function> {
    if !f.has_stages {
        return Ok(f);
    }
    let g = &mut f.graph;
    let mut again: HashMap<NodeId, NodeId> = HashMap::default();
    for n in g.reachable(f.results.iter().map(|r| r.value)) {
        // vectors, and elements with loops, are no stages: `hoist` and `flatten` stored them, and they stay stored
        if let Op::Materialize(x) = *g.op(n)
            && g.is_closed(n)
            && g.ty(n).rank == 2
            && !has_loops(g, x)
        {
            let made = computed_again(g, x, &again);
            again.insert(n, made);
        }
    }
    f.by_stages = f.results.iter().map(|r| r.value).collect();
    for r in &mut f.results {
        r.value = computed_again(g, r.value, &again);
    }
    Ok(f)
}

/// Whether an element of an array reduces or searches.
fn has_loops(g: &Graph, array: NodeId) -> bool {
    let Op::Generate(_, lambda) = g.op(array) else { return true };
    g.reachable([lambda.body]).into_iter().any(|n| !g.is_closed(n) && (g.op(n).is_loop() || g.ty(n).rank > 0))
}

/// Returns a matrix with elements that compute those of stages again. Arrays of another rank stay: elements with more
/// indices would compute again, for each of them, what depends on two indices only.
fn computed_again(g: &mut Graph, array: NodeId, again: &HashMap<NodeId, NodeId>) -> NodeId {
    let Op::Generate(extents, lambda) = g.op(array).clone() else { return array };
    if extents.len() != 2 {
        return array;
    }
    let before = g.set_loc(g.node(array).loc.clone());
    let types: Vec<Ty> = lambda.params.iter().map(|p| p.1).collect();
    let lambda = g.lambda(&types, |g, index| {
        let body = g.open(&lambda, index);
        let element = &mut |g: &mut Graph, n| {
            let computed = match g.op(n).clone() {
                Op::Elem(x, at) => again.get(&x).and_then(|x| match g.op(*x).clone() {
                    Op::Generate(_, lambda) => Some(g.open(&lambda, &at)),
                    _ => None,
                }),
                _ => None,
            };
            Found::of(g, n, computed)
        };
        let body = replaced_by(g, body, element, &mut |g, op| g.add(op), &mut HashMap::default());
        settled(g, body)
    });
    let made = g.add(Op::Generate(extents, lambda));
    g.set_loc(before);
    made
}

/// Returns an element with every node simplified, so that equal reads of an array become one node.
fn settled(g: &mut Graph, body: NodeId) -> NodeId {
    let mut made: HashMap<NodeId, NodeId> = HashMap::default();
    for n in g.reachable([body]) {
        let op = g.op(n).clone();
        if g.is_closed(n) || op.lambda().is_some() || matches!(op, Op::Var(..)) {
            continue;
        }
        let operands: Vec<NodeId> = op.operands().map(|o| made.get(&o).copied().unwrap_or(o)).collect();
        let before = g.set_loc(g.node(n).loc.clone());
        let new = settle(g, op.with(&operands, None));
        g.set_loc(before);
        if new != n {
            let (bound, once) = (g.node(n).bound, g.node(n).once);
            g.keep_marks(bound, once, new);
            made.insert(n, new);
        }
    }
    made.get(&body).copied().unwrap_or(body)
}
