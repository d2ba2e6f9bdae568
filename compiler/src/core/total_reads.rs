//! Bodies whose reads become total, because an index from outside may be anything.

use super::{Graph, Lambda, NodeId, Op, Var};
use crate::scalar::Ty;
use rustc_hash::FxHashMap as HashMap;

/// Returns the body of a `generate` or a `map`. Its reads are proven for the index space only.
pub fn opened(g: &mut Graph, lambda: Lambda, args: &[NodeId], proven: bool) -> NodeId {
    let lambda = if proven { lambda } else { total(g, &lambda) };
    g.open(&lambda, args)
}

/// Returns the lambda with total reads where they depend on the parameters.
pub fn total(g: &mut Graph, lambda: &Lambda) -> Lambda {
    let types: Vec<Ty> = lambda.params.iter().map(|p| p.1).collect();
    g.lambda(&types, |g, i| {
        let body = g.open(lambda, i);
        let mut vars: Vec<Var> = i.iter().flat_map(|i| g.node(*i).free.iter().copied()).collect();
        total_reads(g, body, &mut vars, &mut HashMap::default())
    })
}

/// Whether a node depends on one of the variables.
fn depends(g: &Graph, n: NodeId, vars: &[Var]) -> bool {
    g.node(n).free.iter().any(|v| vars.contains(v))
}

/// Whether an operation has a loop whose extents depend on the variables. Its indices are proven to be below these
/// extents, which may be anything, so reads at its indices are not proven.
pub fn has_unproven_indices(g: &Graph, op: &Op, vars: &[Var]) -> bool {
    match op {
        Op::Loop { .. } => op.operands().take(1).any(|count| depends(g, count, vars)),
        Op::Generate(extents, _) => extents.iter().any(|n| depends(g, *n, vars)),
        _ => false,
    }
}

/// Replaces `elem` by `at` if an index depends on one of the variables. The indices of loops whose extents depend on
/// these are added to them.
fn total_reads(g: &mut Graph, n: NodeId, vars: &mut Vec<Var>, memo: &mut HashMap<NodeId, NodeId>) -> NodeId {
    if !depends(g, n, vars) || matches!(g.op(n), Op::Var(..)) {
        return n;
    }
    if let Some(m) = memo.get(&n) {
        return *m;
    }
    let op = g.op(n).clone();
    let before = g.set_loc(g.node(n).loc.clone());
    let operands: Vec<_> = op.operands().map(|o| total_reads(g, o, vars, memo)).collect();
    let is_unproven = has_unproven_indices(g, &op, vars);
    let lambda = op.lambda().map(|l| {
        let types: Vec<Ty> = l.params.iter().map(|p| p.1).collect();
        g.lambda(&types, |g, v| {
            if is_unproven {
                vars.extend(v.iter().flat_map(|v| g.node(*v).free.iter().copied()));
            }
            let body = g.open(l, v);
            total_reads(g, body, vars, memo)
        })
    });
    let out = match op.with(&operands, lambda) {
        Op::Elem(x, index) if index.iter().any(|i| depends(g, *i, vars)) => g.add(Op::At(x, index)),
        op => g.add(op),
    };
    g.set_loc(before);
    let (bound, once) = (g.node(n).bound, g.node(n).once);
    g.keep_marks(bound, once, out);
    memo.insert(n, out);
    out
}
