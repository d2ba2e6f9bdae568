//! Folds through shared memory. There are two chunks: while thread 0 folds one, the threads behind its warp compute the
//! elements of the next one, so that it never waits for memory. It takes several elements at once (a batch), and loads
//! those of the next batch before the steps of this one.
//!
//! ```text
//! thread 0      |         fold chunk 0   fold chunk 1   fold chunk 2
//! others        | chunk 0      chunk 1        chunk 2
//! barriers              |              |              |
//! ```

use super::{COMPUTING, Folded, next, step};
use crate::core::{Graph, NodeId};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, STATIC_SHARED, Stmt, WARP};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::expressions::{int32, offset, shifted, thread, to_i64};
use crate::schedule::element::lower::{Lower, bind};

/// The maximum number of elements of a chunk that each thread computes.
const MAX_PER_THREAD: u32 = 4;
/// The maximum number of operations of the elements that each thread computes.
const MAX_COMPUTED: usize = 200;
/// The maximum number of steps of a batch.
const MAX_BATCH: usize = 8;
/// The maximum number of operations of the steps of a batch.
const MAX_UNROLLED: usize = 320;
/// The maximum number of registers for the elements of a batch, and as many for those of the next one.
const MAX_REGISTERS: usize = 32;
/// The number of chunks.
const CHUNKS: u32 = 2;

/// How chunks are computed and folded.
pub struct Chunks<'a> {
    folds: &'a [Folded],
    /// The index, and the elements at that index.
    index: NodeId,
    elements: &'a [NodeId],
    types: Vec<Ty>,
    /// The number of elements of a chunk that each thread computes.
    per_thread: u32,
    /// The number of steps of a batch.
    batch: usize,
}

/// Returns the number of operations of some values without loops.
fn operations(g: &Graph, roots: &[NodeId]) -> Option<usize> {
    let inside = g.reachable_until(roots.iter().copied(), |n| g.is_closed(n));
    inside.iter().all(|n| !g.op(*n).is_loop()).then_some(inside.len())
}

impl<'a> Chunks<'a> {
    /// Returns `None` if chunks have no room in shared memory.
    pub fn of(l: &mut Lower, folds: &'a [Folded], (index, elements): (NodeId, &'a [NodeId])) -> Option<Self> {
        let types: Vec<Ty> = folds.iter().flat_map(|f| f.fold.types_of_elements(&l.launch.g)).collect();
        let bytes = CHUNKS * COMPUTING * types.iter().map(|ty| ty.size() as u32).sum::<u32>();
        let counts = std::iter::successors(Some(MAX_PER_THREAD), |n| (*n > 1).then_some(n / 2));
        let computed = operations(&l.launch.g, elements).map_or(1, |each| MAX_COMPUTED / each.max(1)).max(1);
        let per_thread = counts.filter(|n| *n as usize <= computed).find(|n| n * bytes <= STATIC_SHARED)?;
        let vars: Vec<NodeId> = types.iter().map(|ty| l.launch.g.fresh_var(*ty).1).collect();
        let roots = next(l, folds, &vars, &mut Vec::new());
        let most = operations(&l.launch.g, &roots).map_or(1, |each| MAX_UNROLLED / each.max(1));
        let batch = most.min(MAX_REGISTERS / types.len().max(1)).clamp(1, MAX_BATCH);
        Some(Chunks { folds, index, elements, types, per_thread, batch: 1 << batch.ilog2() })
    }

    /// Returns the number of elements of a chunk.
    fn len(&self) -> i64 {
        i64::from(COMPUTING * self.per_thread)
    }

    /// Folds `n` elements.
    pub fn all(&self, l: &mut Lower, (n, leader): (&Expr, &Expr)) -> Result<Vec<Stmt>> {
        let (len, mut out) = (self.len(), Vec::new());
        let entries = CHUNKS * self.len() as u32;
        let shared: Vec<Mem> = self.types.iter().map(|ty| l.k.share("chunk", *ty, entries)).collect();
        // the first element of the chunk that is computed, and its place
        let (base, place) = (l.k.reg("base", Ty::I64), l.k.reg("place", Ty::I32));
        out.push(Stmt::Var(base, Expr::int(0)));
        out.push(Stmt::Var(place, int32(0)));
        let other = int32(len as i32).minus(Expr::Reg(place));
        let (mut compute, mut fold) = (Vec::new(), Vec::new());
        self.compute(l, &shared, (Expr::Reg(base), Expr::Reg(place)), n, &mut compute)?;
        let before = bind(l, "before", Expr::Reg(base).minus(Expr::int(len)), &mut fold);
        self.fold(l, &shared, (before, other.clone()), n, &mut fold)?;
        let is_left = Expr::binary(BinaryOp::Lt, Expr::Reg(base), n.clone());
        let is_behind = Expr::binary(BinaryOp::Ge, thread(), int32(WARP as i32));
        let is_computed = Expr::binary(BinaryOp::Gt, Expr::Reg(base), Expr::int(0));
        let is_folded = Expr::binary(BinaryOp::And, leader.clone(), is_computed);
        let body = vec![
            Stmt::If(
                is_behind,
                vec![Stmt::If(is_left, compute, vec![])],
                vec![Stmt::If(is_folded, fold, vec![])],
            ),
            Stmt::Barrier,
            Stmt::Assign(base, Expr::Reg(base).plus(Expr::int(len))),
            Stmt::Assign(place, other),
        ];
        // a sum with the number of elements may have no room in 32 bits
        let before = Expr::Reg(base).minus(Expr::int(len));
        out.push(Stmt::While(Expr::binary(BinaryOp::Lt, before, n.clone()), body));
        Ok(out)
    }

    /// Computes the chunk of elements from `base` on, of which there is at least one, into shared memory. The last
    /// element also stands in the places of those that the sequence does not have: no access has a branch, and all
    /// loads are in flight together.
    fn compute(
        &self,
        l: &mut Lower,
        shared: &[Mem],
        (base, place): (Expr, Expr),
        n: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let own = bind(l, "own", thread().minus(int32(WARP as i32)), out);
        let last = bind(l, "last", n.clone().minus(Expr::int(1)), out);
        let mut stores = Vec::new();
        for u in 0..i64::from(self.per_thread) {
            let at = offset(own.clone(), u * i64::from(COMPUTING));
            let i = bind(l, "i", base.clone().plus(to_i64(at.clone())).min(last.clone()), out);
            let values = l.region(&[(self.index, i.clone())], self.elements, &i, out)?;
            for (m, e) in shared.iter().zip(values) {
                let e = bind(l, "element", e, out);
                stores.push(Stmt::Store(*m, place.clone().plus(at.clone()), e));
            }
        }
        out.append(&mut stores);
        Ok(())
    }

    /// Folds the chunk of elements from `base` on, which is at a place of shared memory.
    fn fold(
        &self,
        l: &mut Lower,
        shared: &[Mem],
        (base, place): (Expr, Expr),
        n: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let count = Expr::Cast(Ty::I32, Box::new(n.clone().minus(base.clone()).min(Expr::int(self.len()))));
        let (count, mut from) = (bind(l, "count", count, out), int32(0));
        let place = bind(l, "from", place, out);
        if self.batch > 1 {
            let batches = bind(l, "batches", shifted(count.clone(), self.batch as i64), out);
            self.batches(l, shared, (&base, &place), &batches, out)?;
            from = batches.times(int32(self.batch as i32));
        }
        let (j, mut body) = (l.k.reg("j", Ty::I32), Vec::new());
        let loads = self.load(shared, &place.plus(Expr::Reg(j)), 0);
        let vars = loads.into_iter().map(|(_, e)| bind(l, "e", e, &mut body)).collect();
        self.step(l, vars, base.plus(to_i64(Expr::Reg(j))), &mut body)?;
        out.push(Stmt::Seq(j, from, count, body));
        Ok(())
    }

    /// Folds so many whole batches of a chunk.
    fn batches(
        &self,
        l: &mut Lower,
        shared: &[Mem],
        (base, place): (&Expr, &Expr),
        batches: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let size = self.batch as i64;
        let mut elements: Vec<Vec<Reg>> = Vec::new();
        for u in 0..size {
            let mut regs = Vec::new();
            for (ty, e) in self.load(shared, place, u) {
                let r = l.k.reg("e", ty);
                out.push(Stmt::Var(r, e));
                regs.push(r);
            }
            elements.push(regs);
        }
        let (batch, mut body) = (l.k.reg("batch", Ty::I32), Vec::new());
        let first = Expr::Reg(batch).times(int32(size as i32));
        // the last batch of a chunk has none behind it, and loads itself again
        let further = offset(first.clone(), size).min(int32((self.len() - size) as i32));
        let further = bind(l, "further", place.clone().plus(further), &mut body);
        let mut moves = Vec::new();
        for (u, regs) in (0..).zip(&elements) {
            for (r, (_, e)) in regs.iter().zip(self.load(shared, &further, u)) {
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
    fn load(&self, shared: &[Mem], place: &Expr, further: i64) -> Vec<(Ty, Expr)> {
        let at = offset(place.clone(), further);
        self.types.iter().zip(shared).map(|(ty, m)| (*ty, Expr::load(*m, at.clone()))).collect()
    }

    /// Writes the step of an element, whose components are known.
    fn step(&self, l: &mut Lower, element: Vec<Expr>, number: Expr, out: &mut Vec<Stmt>) -> Result<()> {
        let vars: Vec<NodeId> = self.types.iter().map(|ty| l.launch.g.fresh_var(*ty).1).collect();
        let known = vars.iter().copied().zip(element).collect();
        step(l, self.folds, &vars, known, &number, out)
    }
}
