//! Folds of elements in shared memory: a thread takes several at once (a batch), and loads those of the next batch
//! before the steps of this one.

use super::steps::{Folded, next, step};
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::expressions::{int32, offset, shifted, to_i64};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::nested_loop::batches;

/// The maximum number of steps of a batch, and of one whose steps may leave records.
const MAX_BATCH: usize = 8;
const MAX_BATCH_WITH_RECORDS: usize = 2;
/// The maximum number of operations of the steps of a batch.
const MAX_UNROLLED: usize = 320;
/// The maximum number of registers for the elements of a batch, and as many for those of the next one.
const MAX_REGISTERS: usize = 32;

/// The elements of a chunk that a thread folds, which lie side by side in shared memory.
pub struct StagedChunk<'a> {
    pub folds: &'a [Folded],
    /// The values that the steps know beside the accumulators and the elements.
    pub known: Vec<(NodeId, Expr)>,
    /// The types of the elements' components.
    pub types: Vec<Ty>,
    /// The memory of each component.
    pub shared: Vec<Mem>,
    /// The number of elements of a whole chunk, all of which have values in shared memory.
    pub len: i64,
    /// The number of steps of a batch.
    batch: usize,
}

/// Returns the types of the components of the elements of some folds.
pub fn types_of(l: &Lower, folds: &[Folded]) -> Vec<Ty> {
    folds.iter().flat_map(|f| f.fold.types_of_elements(&l.launch.g)).collect()
}

impl<'a> StagedChunk<'a> {
    pub fn new(
        l: &mut Lower,
        folds: &'a [Folded],
        known: Vec<(NodeId, Expr)>,
        shared: Vec<Mem>,
        len: i64,
    ) -> Self {
        let types = types_of(l, folds);
        let vars: Vec<NodeId> = types.iter().map(|ty| l.launch.g.fresh_var(*ty).1).collect();
        let roots = next(l, folds, &vars, &mut Vec::new());
        let most = batches::operations(&l.launch.g, &roots).map_or(1, |each| MAX_UNROLLED / each.max(1));
        // records have conditions of their own, which no count of operations has
        let records = roots.iter().any(|n| l.launch.may_record(*n));
        let longest = if records { MAX_BATCH_WITH_RECORDS } else { MAX_BATCH };
        let batch = most.min(MAX_REGISTERS / types.len().max(1)).clamp(1, longest);
        StagedChunk { folds, known, types, shared, len, batch: 1 << batch.ilog2() }
    }

    /// Writes the loop over the chunks of `n` elements, which lie in two halves of shared memory of `size` places in
    /// turn: while some threads fold a chunk, others compute the next one. `compute` and `fold` write the code for a
    /// chunk, given its first element and its place. `apart` returns the statement that chooses between them, given
    /// whether there is a chunk to compute, and one to fold.
    pub fn each_chunk(
        &self,
        l: &mut Lower,
        (n, size): (&Expr, i32),
        compute: impl FnOnce(&mut Lower, (Expr, Expr), &mut Vec<Stmt>) -> Result<()>,
        fold: impl FnOnce(&mut Lower, (Expr, Expr), &mut Vec<Stmt>) -> Result<()>,
        apart: impl FnOnce([(Expr, Vec<Stmt>); 2]) -> Stmt,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        // the first element of the chunk that is computed, and its place
        let (base, place) = (l.k.reg("base", Ty::I64), l.k.reg("place", Ty::I32));
        out.push(Stmt::Var(base, Expr::int(0)));
        out.push(Stmt::Var(place, int32(0)));
        let other = int32(size).minus(Expr::Reg(place));
        // a sum with the number of elements may have no room in 32 bits
        let before = Expr::Reg(base).minus(Expr::int(self.len));
        let (mut computing, mut folding) = (Vec::new(), Vec::new());
        compute(l, (Expr::Reg(base), Expr::Reg(place)), &mut computing)?;
        let folded = bind(l, "before", before.clone(), &mut folding);
        fold(l, (folded, other.clone()), &mut folding)?;
        let is_left = Expr::binary(BinaryOp::Lt, Expr::Reg(base), n.clone());
        let is_computed = Expr::binary(BinaryOp::Gt, Expr::Reg(base), Expr::int(0));
        let body = vec![
            apart([(is_left, computing), (is_computed, folding)]),
            Stmt::Barrier,
            Stmt::Assign(base, Expr::Reg(base).plus(Expr::int(self.len))),
            Stmt::Assign(place, other),
        ];
        out.push(Stmt::While(Expr::binary(BinaryOp::Lt, before, n.clone()), body));
        Ok(())
    }

    /// Folds the elements of a chunk from number `base` on, up to number `n`. The first one is at `place`.
    pub fn fold(
        &self,
        l: &mut Lower,
        (base, place): (Expr, Expr),
        n: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let count = Expr::Cast(Ty::I32, Box::new(n.clone().minus(base.clone()).min(Expr::int(self.len))));
        let (count, mut from) = (bind(l, "count", count, out), int32(0));
        let place = bind(l, "from", place, out);
        if self.batch > 1 {
            let batches = bind(l, "batches", shifted(count.clone(), self.batch as i64), out);
            self.batches(l, (&base, &place), &batches, out)?;
            from = batches.times(int32(self.batch as i32));
        }
        let (j, mut body) = (l.k.reg("j", Ty::I32), Vec::new());
        let loads = self.load(&place.plus(Expr::Reg(j)), 0);
        let element = loads.into_iter().map(|(_, e)| bind(l, "e", e, &mut body)).collect();
        self.step(l, element, base.plus(to_i64(Expr::Reg(j))), &mut body)?;
        out.push(Stmt::Seq(j, from, count, body));
        Ok(())
    }

    /// Folds so many whole batches of a chunk.
    fn batches(
        &self,
        l: &mut Lower,
        (base, place): (&Expr, &Expr),
        batches: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let size = self.batch as i64;
        let mut elements: Vec<Vec<Reg>> = Vec::new();
        for u in 0..size {
            let mut regs = Vec::new();
            for (ty, e) in self.load(place, u) {
                let r = l.k.reg("e", ty);
                out.push(Stmt::Var(r, e));
                regs.push(r);
            }
            elements.push(regs);
        }
        let (batch, mut body) = (l.k.reg("batch", Ty::I32), Vec::new());
        let first = Expr::Reg(batch).times(int32(size as i32));
        // the last batch of a chunk has none behind it, and loads itself again
        let further = offset(first.clone(), size).min(int32((self.len - size) as i32));
        let further = bind(l, "further", place.clone().plus(further), &mut body);
        let mut moves = Vec::new();
        for (u, regs) in (0..).zip(&elements) {
            for (r, (_, e)) in regs.iter().zip(self.load(&further, u)) {
                moves.push(Stmt::Assign(*r, bind(l, "coming", e, &mut body)));
            }
        }
        for (u, regs) in (0..).zip(&elements) {
            let number = base.clone().plus(to_i64(offset(first.clone(), u)));
            self.step(l, regs.iter().map(|r| Expr::Reg(*r)).collect(), number, &mut body)?;
        }
        body.append(&mut moves);
        out.push(Stmt::Seq(batch, int32(0), batches.clone(), body));
        Ok(())
    }

    /// Returns the loads of the element's components at a place and so many further, with their types.
    fn load(&self, place: &Expr, further: i64) -> Vec<(Ty, Expr)> {
        let at = offset(place.clone(), further);
        self.types.iter().zip(&self.shared).map(|(ty, m)| (*ty, Expr::load(*m, at.clone()))).collect()
    }

    /// Writes the step of an element, whose components are known.
    fn step(&self, l: &mut Lower, element: Vec<Expr>, number: Expr, out: &mut Vec<Stmt>) -> Result<()> {
        let vars: Vec<NodeId> = self.types.iter().map(|ty| l.launch.g.fresh_var(*ty).1).collect();
        let mut known = self.known.clone();
        known.extend(vars.iter().copied().zip(element));
        step(l, self.folds, &vars, known, &number, out)
    }
}
