//! Elements that go to destinations which are data.

use super::{Builder, Operands};
use crate::Result;
use crate::core::bins::Bins;
use crate::core::destinations;
use crate::core::verify::Apart;
use crate::core::{NodeId, Op};
use crate::scalar::BinaryOp;

impl Builder {
    pub(super) fn scatter(&mut self, name: &str, of: Operands) -> Result<Vec<NodeId>> {
        let (to, n) = (of.values[0], of.values[1]);
        let (srcs, rest) = of.values[2..].split_at((of.values.len() - 2) / 2);
        let size = self.extents(to)[0];
        let (src, init) = (self.node(Op::Iota(size))?, self.number(-1));
        // the highest index of each destination
        let last = self.bins(name, &Bins { op: BinaryOp::Max, count: n, at: to, src, init })?;
        self.same(name, &[&[to], srcs].concat())?;
        Ok(destinations::scattered(self.graph(), last, n, (srcs, rest)))
    }

    /// Makes vectors in which each element is stored at its destination, which the author promises is no other's.
    pub(super) fn scatter_unique(&mut self, name: &str, of: Operands) -> Result<Vec<NodeId>> {
        let (at, n) = (of.values[0], of.values[1]);
        let (srcs, rest) = of.values[2..].split_at((of.values.len() - 2) / 2);
        self.made(name, n)?;
        self.same(name, &[&[at], srcs].concat())?;
        self.stands_outside(at, Apart::Scatter)?;
        let after = destinations::are_unique(self.graph(), at, n);
        let one = |(src, rest): (&NodeId, &NodeId)| {
            let base = self.node(Op::Fill(n, *rest))?;
            let put = self.node(Op::Put { at, src: *src, base, after })?;
            self.node(Op::Materialize(put))
        };
        srcs.iter().zip(rest).map(one).collect()
    }

    /// Makes the vector of the reductions of elements into bins, stored.
    pub(super) fn binned(&mut self, name: &str, bins: &Bins) -> Result<NodeId> {
        let joined = self.bins(name, bins)?;
        self.node(Op::Materialize(joined))
    }

    pub(super) fn scatter_reduce(
        &mut self,
        name: &str,
        of: Operands,
        is_unordered: bool,
    ) -> Result<Vec<NodeId>> {
        let (Some(join), k) = (of.operator, of.components()) else { return Ok(Vec::new()) };
        let (srcs, init, to, n) =
            (&of.values[..k], &of.values[k..2 * k], of.values[2 * k], of.values[2 * k + 1]);
        self.made(name, n)?;
        self.reduced(name, srcs, init, of)?;
        self.same(name, &[&[to], srcs].concat())?;
        if let Some(operators) = destinations::in_any_order(&self.function.graph, join, is_unordered) {
            let components = srcs.iter().zip(init).zip(operators);
            let one = |((src, init), op): ((&NodeId, &NodeId), BinaryOp)| {
                self.binned(name, &Bins { op, count: n, at: to, src: *src, init: *init })
            };
            return components.map(one).collect();
        }
        Ok(destinations::scatter_reduced(self.graph(), to, n, srcs, init, join))
    }
}
