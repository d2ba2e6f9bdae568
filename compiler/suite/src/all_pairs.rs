//! Programs whose work is that of all pairs of elements: tests give them fewer.

use arraygpu_compiler::core::{Function, NodeId, Op};
use arraygpu_compiler::scalar::BinaryOp;

/// Whether elements of the program reduce whole vectors each, or there is one for each pair of those of vectors: all
/// pairs of elements are computed.
pub fn has_pairs(f: &Function) -> bool {
    let g = &f.graph;
    let vectors = f.params.iter().any(|p| p.ty.rank == 1);
    let is_product = |n: &NodeId| matches!(g.op(*n), Op::Binary(BinaryOp::Mul, ..));
    let all = g.reachable(f.results.iter().map(|r| r.value));
    all.into_iter().any(|n| match g.op(n) {
        Op::Reduce { .. } | Op::ReduceOrdered { .. } | Op::Fold { .. } | Op::Dot { .. } => {
            vectors && !g.is_closed(n)
        }
        Op::Generate(extents, _) => vectors && extents.iter().any(is_product),
        _ => false,
    })
}
