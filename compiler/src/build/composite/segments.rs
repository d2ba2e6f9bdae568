//! Composites that reduce parts of vectors: `segmented_reduce` by offsets, `reduce_by_key` by runs of keys.

use super::{Builder, Operands};
use crate::Result;
use crate::core::{NodeId, Op, orders, segments};
use crate::scalar::{BinaryOp, Ty};

impl Builder {
    /// Checks that vectors of one length can be reduced by the operator: the node is not needed.
    pub(super) fn reduced(
        &mut self,
        name: &str,
        values: &[NodeId],
        init: &[NodeId],
        of: Operands,
    ) -> Result<()> {
        let Some(join) = of.operator else { return Ok(()) };
        let (src, init) = (self.zipped(name, values.to_vec())?, self.tuple(init.to_vec())?);
        self.node(Op::Reduce { join: join.clone(), init, src, which: 0 })?;
        Ok(())
    }

    fn parts(
        &mut self,
        values: &[NodeId],
        (begins, lengths): (NodeId, NodeId),
        init: &[NodeId],
        of: Operands,
    ) -> Vec<NodeId> {
        let Some(join) = of.operator else { return Vec::new() };
        segments::reduced(self.graph(), values, (begins, lengths), init, join)
    }

    pub(super) fn segmented_reduce(&mut self, name: &str, of: Operands) -> Result<Vec<NodeId>> {
        let k = of.components();
        let (values, init, offsets) = (&of.values[..k], &of.values[k..2 * k], of.values[2 * k]);
        self.reduced(name, values, init, of)?;
        let (zero, one) = (self.number(0), self.number(1));
        let count = self.extents(offsets)[0];
        let segments = self.node(Op::Binary(BinaryOp::Sub, count, one))?;
        let begins = self.slice(name, offsets, 0, [zero, segments, one])?;
        let ends = self.slice(name, offsets, 0, [one, count, one])?;
        let end = self.extents(values[0])[0];
        let lambda = self.graph().lambda(&[Ty::I64; 2], |g, v| {
            let both = segments::are_bounds(g, [v[0], v[1]], end);
            let length = g.add(Op::Binary(BinaryOp::Sub, v[1], v[0]));
            g.add(Op::Select(both, length, zero))
        });
        let lengths = self.map(name, lambda, vec![begins, ends])?;
        let lengths = self.node(Op::Materialize(lengths))?;
        Ok(self.parts(values, (begins, lengths), init, of))
    }

    /// Where runs begin, their number, and where the last one ends.
    pub(super) fn runs(&mut self, of: &[NodeId]) -> (NodeId, NodeId, NodeId) {
        let end = of.get(2).copied().unwrap_or_else(|| self.extents(of[0])[0]);
        (orders::marked_begins(self.graph(), of[0], of[1], end), of[1], end)
    }

    pub(super) fn reduce_by_key(&mut self, name: &str, of: Operands) -> Result<Vec<NodeId>> {
        let (Some(join), k) = (of.operator, of.components()) else { return Ok(Vec::new()) };
        let (values, init, runs) = (&of.values[..k], &of.values[k..2 * k], &of.values[2 * k..]);
        self.reduced(name, values, init, of)?;
        self.same(name, &[&runs[..1], values].concat())?;
        let runs = self.runs(runs);
        Ok(segments::of_runs(self.graph(), values, runs, init, join))
    }
}
