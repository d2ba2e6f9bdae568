//! A part of an array replaced: a `generate` that selects, where the index lies in the part. The part is read at an index that is inside whatever the index is.

use super::Lowering;
use arraygpu_compiler::core::linear::sub;
use arraygpu_compiler::core::{NodeId, Op};
use arraygpu_compiler::passes::simplify::simplify;
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty};

impl Lowering {
    pub(super) fn replaced(&mut self, src: NodeId, part: NodeId, start: &[NodeId]) -> NodeId {
        let (extents, lengths) = (self.extents[&src].clone(), self.extents[&part].clone());
        let g = &mut self.f.graph;
        let lambda = g.lambda(&vec![Ty::I64; extents.len()], |g, index| {
            let [zero, one] = [0, 1].map(|k| g.lit(Lit::i64(k)));
            let (mut inside, mut at) = (None, Vec::new());
            for ((i, start), n) in index.iter().zip(start).zip(&lengths) {
                let j = sub(g, *i, *start);
                let above = g.add(Op::Binary(BinaryOp::Ge, j, zero));
                let below = g.add(Op::Binary(BinaryOp::Lt, j, *n));
                let both = g.add(Op::Binary(BinaryOp::And, above, below));
                inside = Some(inside.map_or(both, |all| g.add(Op::Binary(BinaryOp::And, all, both))));
                let low = simplify(g, Op::Binary(BinaryOp::Max, j, zero));
                let last = sub(g, *n, one);
                at.push(simplify(g, Op::Binary(BinaryOp::Min, low, last)));
            }
            let new = g.add(Op::Elem(part, at));
            let old = g.add(Op::Elem(src, index.to_vec()));
            inside.map_or(old, |inside| g.add(Op::Select(inside, new, old)))
        });
        g.add(Op::Generate(extents, lambda))
    }
}
