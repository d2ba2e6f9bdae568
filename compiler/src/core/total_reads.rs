//! Bodies whose reads are total, because an index from outside may be anything, and whose loops end.

use super::simplify::{extent, simplify};
use super::{Graph, Lambda, NodeId, Op, Var};
use crate::scalar::{BinaryOp, Lit, Ty};
use rustc_hash::FxHashMap as HashMap;

/// An element that is asked for at an index from outside of its array, perhaps.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The array, of which nothing but its extents is needed.
    pub array: NodeId,
    /// Its index.
    pub index: &'a [NodeId],
}

impl Asked<'_> {
    /// Returns the number of steps where the index is inside, and 0 elsewhere: there it may be any number, and
    /// what the loop computes is not needed. The test leaves no error record, so the host can compute the number.
    fn steps(&self, g: &mut Graph, count: NodeId) -> NodeId {
        let unsigned = |g: &mut Graph, n| simplify(g, Op::Cast(Ty::U64, n));
        let tests = (0u8..).zip(self.index).map(|(axis, i)| {
            let n = extent(g, self.array, axis);
            let (i, n) = (unsigned(g, *i), unsigned(g, n));
            simplify(g, Op::Binary(BinaryOp::Lt, i, n))
        });
        let tests: Vec<NodeId> = tests.collect();
        let inside = tests.into_iter().reduce(|a, b| simplify(g, Op::Binary(BinaryOp::And, a, b)));
        let none = g.lit(Lit::i64(0));
        simplify(g, Op::Select(inside.expect("an index an axis"), count, none))
    }

    /// Gives the loops of an operation no steps outside if their extents depend on the variables. The operands of
    /// `op` are replaced already by these.
    pub fn limit(&self, g: &mut Graph, op: &Op, vars: &[Var], operands: &mut [NodeId]) {
        for (extent, operand) in extents_of(op).into_iter().zip(operands) {
            if depends(g, extent, vars) {
                *operand = self.steps(g, *operand);
            }
        }
    }
}

/// Returns the extents of the loops of an operation, which are its first operands.
fn extents_of(op: &Op) -> Vec<NodeId> {
    match op {
        Op::Loop { count, .. } => vec![*count],
        Op::Generate(extents, _) => extents.clone(),
        _ => Vec::new(),
    }
}

/// Returns the lambda of an array, of which an element is `asked` for, with total reads where they depend on the
/// parameters.
pub fn total(g: &mut Graph, lambda: &Lambda, asked: Asked) -> Lambda {
    let types: Vec<Ty> = lambda.params.iter().map(|p| p.1).collect();
    g.lambda(&types, |g, i| {
        let body = g.open(lambda, i);
        let mut vars: Vec<Var> = i.iter().flat_map(|i| g.node(*i).free.iter().copied()).collect();
        total_reads(g, body, &mut vars, asked, &mut HashMap::default())
    })
}

/// Whether a node depends on one of the variables.
fn depends(g: &Graph, n: NodeId, vars: &[Var]) -> bool {
    g.node(n).free.iter().any(|v| vars.contains(v))
}

/// Whether an operation has a loop whose extents depend on the variables. Its indices are proven to be below these
/// extents, which may be anything, so reads at its indices are not proven.
pub fn has_unproven_indices(g: &Graph, op: &Op, vars: &[Var]) -> bool {
    extents_of(op).iter().any(|n| depends(g, *n, vars))
}

/// Replaces `elem` by `at` if an index depends on one of the variables. The indices of loops whose extents
/// depend on them are added to these, and such a loop has no steps where the index is outside.
fn total_reads(
    g: &mut Graph,
    n: NodeId,
    vars: &mut Vec<Var>,
    asked: Asked,
    memo: &mut HashMap<NodeId, NodeId>,
) -> NodeId {
    if !depends(g, n, vars) || matches!(g.op(n), Op::Var(..)) {
        return n;
    }
    if let Some(m) = memo.get(&n) {
        return *m;
    }
    let op = g.op(n).clone();
    let before = g.set_loc(g.node(n).loc.clone());
    let mut operands: Vec<_> = op.operands().map(|o| total_reads(g, o, vars, asked, memo)).collect();
    asked.limit(g, &op, vars, &mut operands);
    let is_unproven = has_unproven_indices(g, &op, vars);
    let lambda = op.lambda().map(|l| {
        let types: Vec<Ty> = l.params.iter().map(|p| p.1).collect();
        g.lambda(&types, |g, v| {
            if is_unproven {
                vars.extend(v.iter().flat_map(|v| g.node(*v).free.iter().copied()));
            }
            let body = g.open(l, v);
            total_reads(g, body, vars, asked, memo)
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
