//! Filters (semantics 5.22), as the language writes them: an order of truth values, and how many are false.

use super::{Gen, ok};
use arraygpu_compiler::core::{NodeId, Op};
use arraygpu_compiler::scalar::{BinaryOp, Lit, Ty};

impl Gen<'_> {
    /// The elements of a vector that a condition keeps, and a value behind them. The number of these and the order
    /// may be in scope, too.
    pub(super) fn filtered(&mut self, x: NodeId) -> NodeId {
        self.note("filter");
        let left_out = self.map_of(x, Ty::Bool);
        let order = self.add(Op::Argsort(left_out));
        if !self.affords(order) {
            return x;
        }
        let [zero, one] = [0, 1].map(|n| self.int(n));
        let lambda = self.b.graph().lambda(&[Ty::Bool], |g, v| g.add(Op::Select(v[0], zero, one)));
        let src = self.add(Op::Map(lambda, vec![left_out]));
        let join = self.b.graph().lambda(&[Ty::I64; 2], |g, v| g.add(Op::Binary(BinaryOp::Add, v[0], v[1])));
        let count = self.add(Op::Reduce { join, init: zero, src, which: 0 });
        if !self.affords(count) {
            return x;
        }
        let ty = self.ty(x).elem;
        let behind = if self.rng.one_in(2) { self.start(ty) } else { self.lit(Lit::zero(ty)) };
        let n = self.b.extents(x)[0];
        let lambda = self.b.graph().lambda(&[Ty::I64], |g, i| {
            let from = g.add(Op::Elem(order, vec![i[0]]));
            let value = g.add(Op::Elem(x, vec![from]));
            let is_kept = g.add(Op::Binary(BinaryOp::Lt, i[0], count));
            g.add(Op::Select(is_kept, value, behind))
        });
        if self.rng.one_in(2) {
            self.scalars.push(count);
        }
        if self.rng.one_in(3) {
            self.keep(order);
        }
        ok(self.b.generate("generate", vec![n], lambda))
    }
}
