//! The second kernel of rows and columns: for each matrix column it joins the parts, which are the partial results
//! that the blocks of the first kernel (`columns.rs`) have stored to scratch, and computes what the program makes of
//! the result. A block has 32 columns, one for each lane; its 32 warps share the parts of these columns.
//!
//! The parts of up to 128 tiles are the leaves of one binary tree, of which each warp computes a subtree. If there
//! are more tiles, the tiles' results are reduced as a sequence of their own (semantics 5.1), and each warp computes
//! 4 of the 128 tree columns of that sequence.

use super::columns::ColumnsParams;
use crate::core::COLUMNS;
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Mem, Reg, Stmt, WARP};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::elements;
use crate::schedule::cuda::expressions::{int32, to_i64, warp_number};
use crate::schedule::cuda::levels::is_zero;
use crate::schedule::cuda::segments::{lane, pairs};
use crate::schedule::element::counter::Counter;
use crate::schedule::element::lower::{Lower, Surroundings, bind};
use crate::schedule::element::nested_loop::assign;
use crate::schedule::element::reduction::{Reduction, each_accumulator, tiles};
use crate::schedule::facts::RowsAndColumns;

/// The columns of a block. Below, its threads: a matrix with few columns has few blocks, so blocks have many warps,
/// each of which then waits for few parts (65536 x 1024 elements take 10 us with 256 threads).
pub const COLUMNS_OF_BLOCK: u32 = WARP;
pub(super) const THREADS: u32 = 1024;
const WARPS: i64 = (THREADS / WARP) as i64;
/// The number of parts that a lane loads before it joins them.
const BATCH: i64 = 8;
/// The maximum number of batches of a warp: 128 tiles of up to 64 parts, shared by 32 warps, are 256 parts a warp.
const MAX_BATCHES: u32 = 32;

/// The parts of a lane's column.
struct Parts<'a> {
    reductions: &'a [Reduction],
    /// The number of parts of a column, the number of columns, and the number of this lane's column.
    count: Expr,
    length: Expr,
    j: Expr,
    /// Whether the column exists.
    inside: Expr,
}

/// Writes the kernel body.
pub fn join(l: &mut Lower, facts: &RowsAndColumns, p: &ColumnsParams) -> Result<Vec<Stmt>> {
    // without this bound the assembler limits itself to 32 registers and spills
    l.k.kernel.min_resident_blocks = 1;
    let mut out = Vec::new();
    let (n, length) = (l.launch.count(), l.launch.host(facts.rows.length));
    let lane = lane(l, WARP, &mut out);
    let warp = bind(l, "warp", warp_number(), &mut out);
    let begin = to_i64(Expr::Place(Gpu::Block)).times(Expr::int(COLUMNS_OF_BLOCK.into()));
    let j = bind(l, "j", begin.plus(to_i64(lane.clone())), &mut out);
    let inside = bind(l, "inside", Expr::binary(BinaryOp::Lt, j.clone(), length.clone()), &mut out);
    let reductions = Reduction::with_scratch(l.launch, &facts.columns.nested);
    let tiles = bind(l, "tiles", tiles(n.clone()), &mut out);
    let count = bind(l, "count", tiles.clone().times(Expr::int(p.parts())), &mut out);
    let parts = Parts { reductions: &reductions, count, length, j: j.clone(), inside: inside.clone() };
    let values: Vec<Reg> = each_accumulator(&reductions).map(|r| l.k.reg("value", r.ty)).collect();
    for (value, r) in values.iter().zip(each_accumulator(&reductions)) {
        out.push(Stmt::Var(*value, r.absent(l.launch)));
    }
    let mut few = Vec::new();
    // a warp takes the smallest power of two of batches with which all warps together cover all parts
    let batches = l.k.reg("batches", Ty::I64);
    few.push(Stmt::Var(batches, Expr::int(1)));
    let all = Expr::Reg(batches).times(Expr::int(WARPS * BATCH));
    let doubled = Stmt::Assign(batches, Expr::Reg(batches).times(Expr::int(2)));
    few.push(Stmt::While(Expr::binary(BinaryOp::Lt, all, parts.count.clone()), vec![doubled]));
    let first = to_i64(warp.clone()).times(Expr::Reg(batches)).times(Expr::int(BATCH));
    let first = bind(l, "first", first, &mut few);
    let of_warp = parts.join(l, &first, Expr::Reg(batches), MAX_BATCHES, &mut few)?;
    assign(l, &values, of_warp, &mut few);
    let mut many = Vec::new();
    let of_warp = parts.by_tiles(l, (&warp, &tiles), p.parts(), &mut many)?;
    assign(l, &values, of_warp, &mut many);
    let is_one_tree = Expr::binary(BinaryOp::Le, tiles, Expr::int(COLUMNS));
    out.push(Stmt::If(is_one_tree, few, many));

    let at = bind(l, "at", warp.clone().times(int32(WARP as i32)).plus(lane.clone()), &mut out);
    let shared: Vec<Mem> = each_accumulator(&reductions).map(|r| l.k.share("warps", r.ty, THREADS)).collect();
    out.extend(shared.iter().zip(&values).map(|(m, e)| Stmt::Store(*m, at.clone(), Expr::Reg(*e))));
    out.push(Stmt::Barrier);
    let (mut body, mut totals) = (Vec::new(), Vec::new());
    for (r, m) in reductions.iter().zip(&shared) {
        let mut of_warp = |w: i64| {
            let at = lane.clone().plus(int32((w * i64::from(WARP)) as i32));
            vec![bind(l, "w", Expr::load(*m, at), &mut body)]
        };
        let list = (0..WARPS).map(&mut of_warp).collect();
        totals.push(r.totals(&pairs(l, r, list, &mut body)?));
    }
    let s = &facts.columns;
    let place = Surroundings { vars: &[(s.index, j.clone())], at: &j };
    let results = s.values(l, &reductions, &place, &totals, &n, &mut body)?;
    let items: Vec<_> = facts.items.iter().collect();
    elements::store_single(l, &items, results, &j, &mut body);
    let leads = Expr::binary(BinaryOp::And, is_zero(&warp), inside);
    out.push(Stmt::If(leads, body, vec![]));
    Ok(out)
}

impl Parts<'_> {
    /// Joins `batches` batches of parts, from part `first` on. `batches` is a power of two of at most `most`; parts
    /// beyond the last one count as absent. Returns the value of each reduction.
    fn join(
        &self,
        l: &mut Lower,
        first: &Expr,
        batches: Expr,
        most: u32,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let mut counters: Vec<Counter> = Vec::new();
        for r in self.reductions {
            counters.push(Counter::new(l, r, (most.ilog2(), 1), out));
        }
        let g = l.k.reg("g", Ty::I64);
        let mut body = Vec::new();
        let at = bind(l, "at", first.clone().plus(Expr::Reg(g).times(Expr::int(BATCH))), &mut body);
        let mut loaded = Vec::new();
        for r in self.reductions {
            let absent = r.absent(l.launch).remove(0);
            let mut of_batch = Vec::new();
            for q in 0..BATCH {
                let p = bind(l, "p", at.clone().plus(Expr::int(q)), &mut body);
                let there = Expr::binary(BinaryOp::Lt, p.clone(), self.count.clone());
                let there = Expr::binary(BinaryOp::And, self.inside.clone(), there);
                let there = bind(l, "there", there, &mut body);
                let place = p.times(self.length.clone()).plus(self.j.clone());
                let load = Expr::LoadIf(r.scratch[0], Box::new(place), Box::new(there.clone()));
                of_batch.push((there, bind(l, "x", load, &mut body), absent.clone()));
            }
            loaded.push(of_batch);
        }
        for ((r, of_batch), counter) in self.reductions.iter().zip(loaded).zip(&mut counters) {
            let mut choose = |(there, x, absent): (Expr, Expr, Expr)| {
                vec![bind(l, "x", there.select(x, absent), &mut body)]
            };
            let list = of_batch.into_iter().map(&mut choose).collect();
            let joined = pairs(l, r, list, &mut body)?;
            counter.push(l, r, &Surroundings::NONE, Expr::Reg(g), vec![joined], &mut body)?;
        }
        out.push(Stmt::Seq(g, Expr::int(0), batches.clone(), body));
        let mut totals = Vec::new();
        for (r, counter) in self.reductions.iter().zip(&counters) {
            totals.extend(counter.total(l, r, &Surroundings::NONE, batches.clone(), out)?.concat());
        }
        Ok(totals)
    }

    /// Computes this warp's tree columns of the sequence of tiles. The value of a tile is the join of its `parts`
    /// parts. Returns the value of each reduction.
    fn by_tiles(
        &self,
        l: &mut Lower,
        (warp, tiles): (&Expr, &Expr),
        parts: i64,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let columns = COLUMNS / WARPS;
        let mut counters: Vec<Counter> = Vec::new();
        for r in self.reductions {
            counters.push(Counter::new(l, r, (columns.ilog2(), 1), out));
        }
        let [c, t] = ["c", "t"].map(|name| l.k.reg(name, Ty::I64));
        let (mut of_column, mut of_tile) = (Vec::new(), Vec::new());
        let accs: Vec<Reg> = each_accumulator(self.reductions).map(|r| l.k.reg("acc", r.ty)).collect();
        for (acc, r) in accs.iter().zip(each_accumulator(self.reductions)) {
            of_column.push(Stmt::Var(*acc, r.absent(l.launch)));
        }
        let first = to_i64(warp.clone()).times(Expr::int(columns)).plus(Expr::Reg(c));
        of_column.push(Stmt::Var(t, first));
        let begin = bind(l, "begin", Expr::Reg(t).times(Expr::int(parts)), &mut of_tile);
        let batches = parts / BATCH;
        let values = self.join(l, &begin, Expr::int(batches), batches as u32, &mut of_tile)?;
        for ((acc, r), value) in accs.iter().zip(self.reductions).zip(values) {
            let joined = pairs(l, r, vec![vec![Expr::Reg(*acc)], vec![value]], &mut of_tile)?;
            assign(l, &[*acc], joined, &mut of_tile);
        }
        of_tile.push(Stmt::Assign(t, Expr::Reg(t).plus(Expr::int(COLUMNS))));
        of_column.push(Stmt::While(Expr::binary(BinaryOp::Lt, Expr::Reg(t), tiles.clone()), of_tile));
        for ((r, acc), counter) in self.reductions.iter().zip(&accs).zip(&mut counters) {
            let value = vec![Expr::Reg(*acc)];
            counter.push(l, r, &Surroundings::NONE, Expr::Reg(c), vec![value], &mut of_column)?;
        }
        out.push(Stmt::Seq(c, Expr::int(0), Expr::int(columns), of_column));
        let mut totals = Vec::new();
        for (r, counter) in self.reductions.iter().zip(&counters) {
            totals.extend(counter.total(l, r, &Surroundings::NONE, Expr::int(columns), out)?.concat());
        }
        Ok(totals)
    }
}
