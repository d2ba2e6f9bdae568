//! Folds of vectors through shared memory. There are two chunks: while thread 0 folds one, the threads behind its
//! warp compute the elements of the next one, so that it never waits for memory.
//!
//! ```text
//! thread 0      |         fold chunk 0   fold chunk 1   fold chunk 2
//! others        | chunk 0      chunk 1        chunk 2
//! barriers              |              |              |
//! ```

use super::staged::{StagedChunk, types_of};
use super::steps::{COMPUTING, Folded};
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, STATIC_SHARED, Stmt, WARP};
use crate::scalar::BinaryOp;
use crate::schedule::cuda::expressions::{int32, offset, thread, to_i64};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::nested_loop::batches;

/// The maximum number of elements of a chunk that each thread computes.
const MAX_PER_THREAD: u32 = 4;
/// The maximum number of operations of the elements that each thread computes.
const MAX_COMPUTED: usize = 200;
/// The number of chunks.
const CHUNKS: u32 = 2;

/// How chunks are computed and folded.
pub struct Chunks<'a> {
    chunk: StagedChunk<'a>,
    /// The index, and the elements at that index.
    index: NodeId,
    elements: &'a [NodeId],
    /// The number of elements of a chunk that each thread computes.
    per_thread: u32,
}

impl<'a> Chunks<'a> {
    /// Returns `None` if chunks have no room in shared memory.
    pub fn of(l: &mut Lower, folds: &'a [Folded], (index, elements): (NodeId, &'a [NodeId])) -> Option<Self> {
        let types = types_of(l, folds);
        let bytes = CHUNKS * COMPUTING * types.iter().map(|ty| ty.size() as u32).sum::<u32>();
        let counts = std::iter::successors(Some(MAX_PER_THREAD), |n| (*n > 1).then_some(n / 2));
        let each = batches::operations(&l.launch.g, elements);
        let computed = each.map_or(1, |each| MAX_COMPUTED / each.max(1)).max(1);
        let per_thread = counts.filter(|n| *n as usize <= computed).find(|n| n * bytes <= STATIC_SHARED)?;
        let len = COMPUTING * per_thread;
        let shared = types.iter().map(|ty| l.k.share("chunk", *ty, CHUNKS * len)).collect();
        let chunk = StagedChunk::new(l, folds, Vec::new(), shared, len.into());
        Some(Chunks { chunk, index, elements, per_thread })
    }

    /// Folds `n` elements.
    pub fn all(&self, l: &mut Lower, (n, leader): (&Expr, &Expr)) -> Result<Vec<Stmt>> {
        let (chunk, mut out) = (&self.chunk, Vec::new());
        let is_behind = Expr::binary(BinaryOp::Ge, thread(), int32(WARP as i32));
        let apart = |[(is_left, compute), (is_computed, fold)]: [(Expr, Vec<Stmt>); 2]| {
            let is_folded = Expr::binary(BinaryOp::And, leader.clone(), is_computed);
            let [compute, fold] =
                [(is_left, compute), (is_folded, fold)].map(|(c, code)| vec![Stmt::If(c, code, vec![])]);
            Stmt::If(is_behind, compute, fold)
        };
        let compute = |l: &mut Lower, at, out: &mut Vec<Stmt>| self.compute(l, at, n, out);
        let fold = |l: &mut Lower, at, out: &mut Vec<Stmt>| chunk.fold(l, at, n, out);
        chunk.each_chunk(l, (n, chunk.len as i32), compute, fold, apart, &mut out)?;
        Ok(out)
    }

    /// Computes the chunk of elements from `base` on, of which there is at least one, into shared memory. The last
    /// element also stands in the places of those that the sequence does not have: no access has a branch, and all
    /// loads are in flight together.
    fn compute(
        &self,
        l: &mut Lower,
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
            for (m, e) in self.chunk.shared.iter().zip(values) {
                let e = bind(l, "element", e, out);
                stores.push(Stmt::Store(*m, place.clone().plus(at.clone()), e));
            }
        }
        out.append(&mut stores);
        Ok(())
    }
}
