//! Folds of rows: each element of a map folds a row of its own. If each thread read its row, a warp's load would take
//! 32 lines of the first-level cache, and a thread would have a sector or two in flight. So a block takes 32 rows:
//! four warps compute the elements of a chunk of neighbouring columns along the rows into shared memory, while each
//! lane of the first warp folds the chunk before of its own row (`fold/staged.rs`). The lanes also compute what
//! follows from the folds, and store it.
//!
//! ```text
//! first warp    |         fold chunk 0   fold chunk 1   fold chunk 2
//! others        | chunk 0      chunk 1        chunk 2
//! barriers              |              |              |
//! ```
//!
//! Chosen for long rows of memory whose elements are short (`facts/row_folds.rs`).

use super::elements::{store_single, stored};
use super::expressions::{int32, masked, offset, thread, to_i64, warp_number};
use super::fold::staged::{StagedChunk, types_of};
use super::fold::steps::{COMPUTING, start};
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Gpu, STATIC_SHARED, Stmt, WARP};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::folds::Fold;
use crate::schedule::element::lower::{LaunchContext, Lower, bind};
use crate::schedule::element::nested_loop::{batches, read};
use crate::schedule::element::opened;
use crate::schedule::groups::FusedGroup;

/// The rows of a block.
pub const ROWS: u32 = WARP;
/// The minimum number of elements of a row. The lanes of the first warp wait for the first chunk.
pub const SHORTEST: u32 = 64;
/// The chunks in shared memory.
const CHUNKS: i64 = 2;
/// The warps that compute elements.
const WARPS: i64 = (COMPUTING / WARP) as i64;
/// The columns of a chunk, as many as there is room for.
const COLUMNS: [i64; 2] = [64, 32];
/// The maximum number of operations of the elements that each thread computes.
const MAX_COMPUTED: usize = 400;

/// The parameters of the strategy.
#[derive(Clone, Copy)]
pub struct RowFoldsParams {
    /// The columns of a chunk.
    columns: i64,
}

/// Returns the number of places of a chunk in shared memory. A row has one more than columns, so that the lanes of
/// the first warp read different banks.
fn places(columns: i64) -> i64 {
    i64::from(ROWS) * (columns + 1)
}

/// Returns the parameters if the strategy serves a group.
pub fn params(l: &mut LaunchContext) -> Option<RowFoldsParams> {
    let facts = l.facts.row_fold.clone()?;
    let fold = Fold::of(&l.g, facts.nodes[0])?;
    let (_, k) = l.g.fresh_var(Ty::I64);
    let elements = fold.elements(&mut l.g, k);
    let operations = batches::operations(&l.g, &elements)?.max(1);
    let bytes: i64 = fold.types_of_elements(&l.g).iter().map(|ty| ty.size() as i64).sum();
    let fits = |columns: &i64| {
        let each = columns * i64::from(ROWS) / i64::from(COMPUTING);
        CHUNKS * places(*columns) * bytes <= STATIC_SHARED.into()
            && each as usize * operations <= MAX_COMPUTED
    };
    COLUMNS.into_iter().find(fits).map(|columns| RowFoldsParams { columns })
}

pub fn main(l: &mut Lower, fused: &FusedGroup, params: RowFoldsParams) -> Result<Vec<Stmt>> {
    let facts = l.launch.facts.row_fold.clone().expect("a launch with folds of rows");
    let (n, length) = (l.launch.count(), l.launch.host(facts.length));
    let mut out = Vec::new();
    let first = to_i64(Expr::Place(Gpu::Block).times(int32(ROWS as i32)));
    let first = bind(l, "first", first, &mut out);
    let lane = bind(l, "lane", masked(thread(), WARP.into()), &mut out);
    let last = bind(l, "last", n.clone().minus(Expr::int(1)), &mut out);
    let own = bind(l, "own", first.clone().plus(to_i64(lane.clone())), &mut out);
    // lanes beyond the last row fold it as well
    let row = bind(l, "row", own.clone().min(last.clone()), &mut out);
    let is_folding = bind(l, "folds", Expr::binary(BinaryOp::Lt, thread(), int32(WARP as i32)), &mut out);
    let known = vec![(facts.index, row)];
    let fold = Fold::all(&l.launch.g, facts.nodes.iter().copied());
    let folds = start(l, fold, (&known, &is_folding), &mut out)?;
    let entries = (CHUNKS * places(params.columns)) as u32;
    let types = types_of(l, &folds);
    let shared = types.iter().map(|ty| l.k.share("chunk", *ty, entries)).collect();
    let chunk = StagedChunk::new(l, &folds, known, shared, params.columns);
    let rows = Rows { chunk: &chunk, index: facts.index, first, last, lane, length };
    rows.all(l, &is_folding, &mut out)?;
    let items = stored(l.launch, fused);
    let roots: Vec<NodeId> =
        items.iter().map(|it| opened(&mut l.launch.g, it.node, &[facts.index])).collect();
    let mut known = vec![(facts.index, own.clone())];
    known.extend(folds.iter().flat_map(|f| f.fold.values(&l.launch.g, &read(&f.accs))));
    let mut end = Vec::new();
    let values = l.region(&known, &roots, &own, &mut end)?;
    store_single(l, &items, values, &own, &mut end);
    let is_own = Expr::binary(BinaryOp::And, is_folding, Expr::binary(BinaryOp::Lt, own, n));
    out.push(Stmt::If(is_own, end, vec![]));
    Ok(out)
}

/// The rows of a block.
struct Rows<'a> {
    chunk: &'a StagedChunk<'a>,
    /// The index of a row.
    index: NodeId,
    /// The block's first row, and the last row of all.
    first: Expr,
    last: Expr,
    lane: Expr,
    /// The number of elements of a row.
    length: Expr,
}

impl Rows<'_> {
    /// Folds whole rows, chunk by chunk.
    fn all(&self, l: &mut Lower, is_folding: &Expr, out: &mut Vec<Stmt>) -> Result<()> {
        let (columns, size) = (self.chunk.len, places(self.chunk.len) as i32);
        let apart = |[(is_left, compute), (is_computed, fold)]: [(Expr, Vec<Stmt>); 2]| {
            let [compute, fold] =
                [(is_left, compute), (is_computed, fold)].map(|(c, code)| vec![Stmt::If(c, code, vec![])]);
            Stmt::If(is_folding.clone(), fold, compute)
        };
        let fold = |l: &mut Lower, (before, place): (Expr, Expr), out: &mut Vec<Stmt>| {
            let of_lane = place.plus(self.lane.clone().times(int32(columns as i32 + 1)));
            self.chunk.fold(l, (before, of_lane), &self.length, out)
        };
        let compute = |l: &mut Lower, at, out: &mut Vec<Stmt>| self.compute(l, at, out);
        self.chunk.each_chunk(l, (&self.length, size), compute, fold, apart, out)
    }

    /// Computes a chunk from column `base` on, which has at least one, into shared memory. What lies beyond the last
    /// row or column are copies of what lies there: no access has a branch, and all loads are in flight together.
    fn compute(&self, l: &mut Lower, (base, place): (Expr, Expr), out: &mut Vec<Stmt>) -> Result<()> {
        let columns = self.chunk.len;
        let last = bind(l, "end", self.length.clone().minus(Expr::int(1)), out);
        let warp = bind(l, "warp", warp_number().minus(int32(1)), out);
        let mut of_lane = Vec::new();
        for part in (0..columns).step_by(WARP as usize) {
            let column = base.clone().plus(to_i64(offset(self.lane.clone(), part)));
            of_lane.push((part, bind(l, "k", column.min(last.clone()), out)));
        }
        let (_, k) = l.launch.g.fresh_var(Ty::I64);
        let elements: Vec<NodeId> =
            self.chunk.folds.iter().flat_map(|f| f.fold.elements(&mut l.launch.g, k)).collect();
        let start = place.plus(warp.clone().times(int32(columns as i32 + 1))).plus(self.lane.clone());
        let start = bind(l, "start", start, out);
        let mut stores = Vec::new();
        for turn in 0..i64::from(ROWS) / WARPS {
            let row = self.first.clone().plus(to_i64(offset(warp.clone(), turn * WARPS)));
            let row = bind(l, "i", row.min(self.last.clone()), out);
            for (part, column) in &of_lane {
                let known = [(self.index, row.clone()), (k, column.clone())];
                let values = l.region(&known, &elements, &row, out)?;
                let at = offset(start.clone(), turn * WARPS * (columns + 1) + part);
                for (m, e) in self.chunk.shared.iter().zip(values) {
                    stores.push(Stmt::Store(*m, at.clone(), bind(l, "element", e, out)));
                }
            }
        }
        out.append(&mut stores);
        Ok(())
    }
}
