//! Replaces a part of an array: a `generate` selects the part at the indices that lie in it. The
//! part is read at an index that is always in range.

use super::Builder;
use super::pad::{clamped, within};
use crate::Result;
use crate::core::linear::sub;
use crate::core::{NodeId, Op};
use crate::scalar::{BinaryOp, Ty};

impl Builder {
    /// Returns the array with its elements from `start` on replaced by those of `part`.
    pub fn replace(
        &mut self,
        construct: &str,
        src: NodeId,
        part: NodeId,
        start: &[NodeId],
    ) -> Result<NodeId> {
        let start: Vec<NodeId> = start.iter().map(|n| self.bound(*n)).collect();
        self.part(construct, src, part, &start)?;
        let (extents, lengths) = (self.extents[&src].clone(), self.extents[&part].clone());
        let g = &mut self.function.graph;
        let lambda = g.lambda(&vec![Ty::I64; extents.len()], |g, index| {
            let (mut inside, mut at) = (None, Vec::new());
            for ((i, start), n) in index.iter().zip(&start).zip(&lengths) {
                let j = sub(g, *i, *start);
                let both = within(g, j, *n);
                inside = Some(inside.map_or(both, |all| g.add(Op::Binary(BinaryOp::And, all, both))));
                at.push(clamped(g, j, *n));
            }
            let new = g.add(Op::Elem(part, at));
            let old = g.add(Op::Elem(src, index.to_vec()));
            inside.map_or(old, |inside| g.add(Op::Select(inside, new, old)))
        });
        self.node(Op::Generate(extents, lambda))
    }
}
