//! Makes the body of an array safe to compute at any index. A body is proven for the indices of its array: its plain
//! reads (`elem`) are in bounds, and its loops have as many steps as the author meant. If a total read (`at`) of a
//! computed array is fused, kernels compute the element even if the index is out of bounds, and then discard the
//! value. The body is therefore changed:
//!
//! ```text
//! a = generate n (%i) { elem %x, %i + 1 }                    a read of a in bounds
//!     ->      select (within %j, n) (at %x, %j + 1) 0        at %a, %j
//! ```
//!
//! Plain reads that depend on the index become total ones, and loops whose number of steps depends on it take 0 steps
//! if the index is out of bounds.

use super::simplify::{extent, simplify};
use super::{Graph, Lambda, NodeId, Op, Var};
use crate::scalar::{BinaryOp, Lit, Ty};
use rustc_hash::FxHashMap as HashMap;

/// An element that is read at an index that may be out of bounds.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// The array; only its extents are used here.
    pub array: NodeId,
    /// Its index.
    pub index: &'a [NodeId],
}

impl Asked<'_> {
    /// Returns `count`, the number of steps of a loop, where the index is in bounds, and 0 elsewhere. Out of bounds
    /// `count` may be any number, and the value of the loop is discarded. The test is an unsigned comparison, which
    /// leaves no error record, so that the host can compute the number of steps if nothing in it depends on an
    /// element.
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

    /// Makes the loops of `op` take 0 steps where the index is out of bounds, if their extents depend on the
    /// variables. `operands` are the operands that replace those of `op`; the extents come first.
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

/// Returns the lambda of the array that is `asked` for, in a form that is safe at any index: with total reads where
/// these depend on the parameters, and with limited loops.
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

/// Whether an operation has a loop whose extents depend on the variables. Such an extent may be any number, so that a
/// read at an index of the loop is not proven to be in bounds, although the index is below the extent.
pub fn has_unproven_indices(g: &Graph, op: &Op, vars: &[Var]) -> bool {
    extents_of(op).iter().any(|n| depends(g, *n, vars))
}

/// Replaces `elem` by `at` where an index depends on one of `vars`. If the extents of a loop depend on one of them,
/// the loop takes 0 steps out of bounds, and the loop's own indices join `vars`.
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
