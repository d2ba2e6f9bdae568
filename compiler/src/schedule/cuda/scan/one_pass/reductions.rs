//! Reductions of the results of a scan in one pass, by the fixed tree of semantics 5.1, in the same launch. So the
//! scan's results are not read from memory again, however many reductions there are.
//!
//! ```text
//! a tile of the scan = four tiles of the tree, each 16 rows of 128 columns
//! each thread:             overwrites its elements in shared memory by their partial results;   barrier
//! a team of 128 threads:   has a tile of the tree; each thread folds a column, from 16 partial results
//! each warp:               joins its columns, and leaves the value in shared memory
//! in the next turn:        behind its barrier, a thread for each tile of the tree joins the four warps -> scratch
//! the last block:          joins the results of all tiles, level by level
//! ```

use super::memory::{TileMemory, row_of};
use crate::core::{COLUMNS, NodeId, SCAN_CHUNK, SCAN_TILE, TILE};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt, WARP};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::elements::Elements;
use crate::schedule::cuda::expressions::{int32, thread, to_i64};
use crate::schedule::cuda::levels::is_zero;
use crate::schedule::cuda::partial_tile::assigned;
use crate::schedule::cuda::scan::{Code, load_all};
use crate::schedule::cuda::tree::{
    Column, StoredValues, WARPS, join_warps, named_values, variables, width_of,
};
use crate::schedule::element::lower::{Lower, Surroundings, bind};
use crate::schedule::element::nested_loop::read;
use crate::schedule::element::reduction::{
    Reduction, by_reduction, each_accumulator, tiles as tiles_of, totals_of,
};
use crate::schedule::element::scalars;
use crate::schedule::facts::scan_reductions::ScanReductions;

/// The number of tiles of the tree in a tile of a scan.
const TILES: i32 = (SCAN_TILE / TILE) as i32;
const ROWS: i64 = TILE / COLUMNS;
/// The maximum number of operations of the rows that are unrolled.
const MAX_UNROLLED: i64 = 200;

/// What a block keeps for reductions.
pub(super) struct Reductions<'a> {
    code: &'a Code<'a>,
    facts: ScanReductions,
    list: Vec<Reduction>,
    /// The arrays that only the scan reads.
    others: Vec<NodeId>,
    column: Column,
    /// The thread's team in the block (i32).
    team: Expr,
    /// The number of elements, and of tiles of the tree (both i64).
    n: Expr,
    count: Expr,
    /// Shared memory for the values of the block's warps, for each accumulator.
    warps: Vec<Mem>,
    /// The tile of the scan whose warps' values are there and not yet joined, or -1.
    pub waiting: Reg,
}

/// A thread's column of a tile of the tree: the memory that holds the partial results, the index of the column's
/// first element (i64), and its place in the memory (i32).
#[derive(Clone, Copy)]
struct Place<'a> {
    tile: &'a [Mem],
    index: &'a Expr,
    at: &'a Expr,
}

impl<'a> Reductions<'a> {
    /// Returns the reductions of the launch, if there are any.
    pub fn new(l: &mut Lower, code: &'a Code<'a>, n: &Expr, out: &mut Vec<Stmt>) -> Option<Reductions<'a>> {
        let facts = l.launch.facts.scan_reductions.clone()?;
        let list = Reduction::with_scratch(l.launch, &facts.nodes);
        let is_other = |x: &&NodeId| !facts.arrays.contains(x);
        let others = l.launch.facts.accesses.pointwise().filter(is_other).copied().collect();
        let column = Column::new(l, out);
        let team = Expr::binary(BinaryOp::Shr, thread(), int32(COLUMNS.ilog2() as i32));
        let team = bind(l, "team", team, out);
        let count = bind(l, "count", tiles_of(n.clone()), out);
        let entries = code.warps() as u32;
        let warps = each_accumulator(&list).map(|r| l.k.share("warps", r.ty, entries)).collect();
        let waiting = l.k.reg("waiting", Ty::I32);
        out.push(Stmt::Var(waiting, int32(-1)));
        Some(Reductions { code, facts, list, others, column, team, n: n.clone(), count, warps, waiting })
    }

    /// Returns the code that reduces the present tile: it stores the partial results of the thread's elements in the
    /// tile's slot, and folds columns behind a barrier.
    pub fn reduce(
        &self,
        l: &mut Lower,
        memory: &TileMemory,
        (present, slot): (Reg, Reg),
        results: &[Vec<Expr>],
    ) -> Result<Vec<Stmt>> {
        let mut out = Vec::new();
        let own = bind(l, "own", memory.place.clone().plus(Expr::Reg(slot)), &mut out);
        for (values, row) in results.chunks(SCAN_CHUNK as usize).zip(0..) {
            memory.put(l, values, row_of(&own, row), &mut out);
        }
        out.push(Stmt::Barrier);
        out.append(&mut l.in_block(|l| self.columns(l, &memory.mems, (present, slot)))?);
        Ok(out)
    }

    /// Returns the code that folds the columns of a tile of the scan, whose partial results lie in `tile` from `slot`
    /// on, and leaves the values of warps in shared memory.
    fn columns(&self, l: &mut Lower, tile: &[Mem], (present, slot): (Reg, Reg)) -> Result<Vec<Stmt>> {
        let (mut out, mut body) = (Vec::new(), Vec::new());
        let t = Expr::Reg(present).times(int32(TILES)).plus(self.team.clone());
        let t = bind(l, "t", to_i64(t), &mut out);
        let base = bind(l, "base", t.clone().times(Expr::int(TILE)), &mut body);
        let index = base.clone().plus(to_i64(self.column.column.clone()));
        let index = bind(l, "first", index, &mut body);
        let at = self.team.clone().times(int32(TILE as i32)).plus(self.column.column.clone());
        let at = bind(l, "at", Expr::Reg(slot).plus(at), &mut body);
        let accs: Vec<Reg> = self.list.iter().flat_map(|r| variables(l, r, &mut body)).collect();
        let place = Place { tile, index: &index, at: &at };
        let full = l.in_block(|l| self.full(l, place, &accs))?;
        let partial = l.in_block(|l| self.partial(l, place, &base, &accs))?;
        let is_full = Expr::binary(BinaryOp::Le, base.clone().plus(Expr::int(TILE)), self.n.clone());
        body.push(Stmt::If(is_full, full, partial));
        let width = bind(l, "width", self.n.clone().minus(base), &mut body);
        let of_reductions = by_reduction(&self.list, &accs).zip(by_reduction(&self.list, &self.warps));
        for ((r, accs), (_, warps)) in of_reductions {
            let width = width_of(l, r, &width);
            let values = self.column.join_warp(l, r, read(accs), width.as_ref(), &mut body)?;
            let at = &self.code.warp;
            let store = warps.iter().zip(values).map(|(m, e)| Stmt::Store(*m, at.clone(), e)).collect();
            body.push(Stmt::If(is_zero(&self.column.lane), store, vec![]));
        }
        let has_tile = Expr::binary(BinaryOp::Lt, self.team.clone(), int32(TILES));
        let exists = Expr::binary(BinaryOp::Lt, t, self.count.clone());
        out.push(Stmt::If(Expr::binary(BinaryOp::And, has_tile, exists), body, vec![]));
        Ok(out)
    }

    /// Returns the code that folds a column of a full tile, in batches of rows.
    fn full(&self, l: &mut Lower, place: Place, accs: &[Reg]) -> Result<Vec<Stmt>> {
        let (mut out, mut acc) = (Vec::new(), None);
        let batch = (MAX_UNROLLED / i64::from(self.facts.cost.max(1))).clamp(1, ROWS);
        let batch = 1 << batch.ilog2();
        l.in_block(|l| self.rows(l, place, (0, batch), &mut acc, &mut out))?;
        out.extend(assigned(accs, &acc.unwrap_or_default()));
        if batch < ROWS {
            let (b, mut body) = (l.k.reg("b", Ty::I32), Vec::new());
            let distance = Expr::Reg(b).times(int32((batch * COLUMNS) as i32));
            let distance = bind(l, "distance", distance, &mut body);
            let index = place.index.clone().plus(to_i64(distance.clone()));
            let index = bind(l, "next", index, &mut body);
            let at = bind(l, "at", place.at.clone().plus(distance), &mut body);
            let mut acc = Some(accs.iter().map(|r| Expr::Reg(*r)).collect());
            let later = Place { index: &index, at: &at, ..place };
            // the number of rows before is unknown here (-1), but not 0: columns have elements
            l.in_block(|l| self.rows(l, later, (-1, batch), &mut acc, &mut body))?;
            body.extend(assigned(accs, &acc.unwrap_or_default()));
            out.push(Stmt::Seq(b, int32(1), int32((ROWS / batch) as i32), body));
        }
        Ok(out)
    }

    /// Folds `batch` rows of a column into `acc`, which is `None` before the first row. `so_far` is the number of
    /// rows before, or negative if it is unknown.
    fn rows(
        &self,
        l: &mut Lower,
        place: Place,
        (so_far, batch): (i64, i64),
        acc: &mut Option<Vec<Expr>>,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let each = |row: i64| (vec![row * COLUMNS], place.at.clone().plus(int32((row * COLUMNS) as i32)));
        let mut rows = Vec::new();
        for (offsets, at) in (0..batch).map(each) {
            let row = Elements::new(l, place.index.clone(), offsets, 1);
            rows.push((row, load_all(l, place.tile, &at, out)));
        }
        for (row, _) in &rows {
            row.load(l, &self.others, out);
        }
        for ((row, results), number) in rows.iter().zip(0..) {
            let nodes: Vec<NodeId> = self.code.types().map(|ty| l.launch.g.fresh_var(ty).1).collect();
            let mut known: Vec<(NodeId, Expr)> = nodes.iter().copied().zip(results.iter().cloned()).collect();
            let mut old: Vec<Vec<NodeId>> = Vec::new();
            for (r, own) in acc.iter().flat_map(|acc| by_reduction(&self.list, acc)) {
                let own = match so_far {
                    0.. => r.after_rows(own.to_vec(), Expr::int(so_far + number)),
                    _ => r.with_elements(own.to_vec()),
                };
                old.push(r.nodes(l.launch, &own, &mut known));
            }
            let make = |l: &mut Lower, _, i| self.values(l, (i, &nodes), &old);
            let values = row.values(l, &known, make, out)?.remove(0);
            let named = by_reduction(&self.list, &values)
                .flat_map(|(r, own)| named_values(l, r, "acc", own.to_vec(), out));
            *acc = Some(named.collect());
        }
        Ok(())
    }

    /// Returns the nodes of the accumulators after a step with the element at `index`, whose partial result has the
    /// nodes `results`. `old` are the accumulators before; if it is empty, the element is the column's first.
    fn values(
        &self,
        l: &mut Lower,
        (index, results): (NodeId, &[NodeId]),
        old: &[Vec<NodeId>],
    ) -> Vec<NodeId> {
        let mut roots = Vec::new();
        for (number, r) in self.list.iter().enumerate() {
            let own = r.elements(l.launch, index);
            let own = self.facts.of_results(&mut l.launch.g, self.code.scan, own, (index, results));
            roots.extend(match old.get(number) {
                Some(old) => r.step_of(l.launch, old, &own),
                None => r.first_of(l.launch, &own),
            });
        }
        roots
    }

    /// Returns the code that folds a column of the last, partial tile row by row.
    fn partial(&self, l: &mut Lower, place: Place, base: &Expr, accs: &[Reg]) -> Result<Vec<Stmt>> {
        let mut out = Vec::new();
        let known = self.list.iter().all(|r| r.has_identity(l.launch));
        if !known {
            self.single_element(l, place, accs, true, &mut out)?;
        }
        let (row, mut body) = (l.k.reg("row", Ty::I32), Vec::new());
        let distance = bind(l, "distance", Expr::Reg(row).times(int32(COLUMNS as i32)), &mut body);
        let index = bind(l, "i", place.index.clone().plus(to_i64(distance.clone())), &mut body);
        let at = bind(l, "at", place.at.clone().plus(distance), &mut body);
        self.single_element(l, Place { index: &index, at: &at, ..place }, accs, false, &mut body)?;
        let rounded_up = self.n.clone().minus(base.clone()).plus(Expr::int(COLUMNS - 1));
        let rows = Expr::binary(BinaryOp::Shr, rounded_up, Expr::int(COLUMNS.ilog2().into()));
        let rows = bind(l, "rows", Expr::Cast(Ty::I32, Box::new(rows)), &mut out);
        out.push(Stmt::Seq(row, int32(i32::from(!known)), rows, body));
        Ok(out)
    }

    /// Folds one element of the last tile, if it is in bounds. `first` says that it is the column's first.
    fn single_element(
        &self,
        l: &mut Lower,
        place: Place,
        accs: &[Reg],
        first: bool,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (_, index) = l.launch.g.fresh_var(Ty::I64);
        let (mut body, mut known) = (Vec::new(), vec![(index, place.index.clone())]);
        l.in_block(|l| {
            let results = load_all(l, place.tile, place.at, &mut body);
            let nodes: Vec<NodeId> = self.code.types().map(|ty| l.launch.g.fresh_var(ty).1).collect();
            known.extend(nodes.iter().copied().zip(results));
            let mut old = Vec::new();
            for (r, accs) in by_reduction(&self.list, accs).filter(|_| !first) {
                old.push(r.nodes(l.launch, &read(accs), &mut known));
            }
            let roots = self.values(l, (index, &nodes), &old);
            let values = l.region(&known, &roots, place.index, &mut body)?;
            // all new values are computed before any accumulator changes
            let values: Vec<Expr> = values.into_iter().map(|e| bind(l, "next", e, &mut body)).collect();
            body.extend(assigned(accs, &values));
            Ok::<_, crate::error::Error>(())
        })?;
        let is_inside = Expr::binary(BinaryOp::Lt, place.index.clone(), self.n.clone());
        out.push(Stmt::If(is_inside, body, vec![]));
        Ok(())
    }

    /// Returns the code that joins the warps' values of the waiting tile, by a thread for each tile of the tree, and
    /// stores the results of these tiles in scratch.
    pub fn join(&self, l: &mut Lower) -> Result<Stmt> {
        let mut out = Vec::new();
        let waiting = Expr::Reg(self.waiting);
        let t = bind(l, "t", to_i64(waiting.clone().times(int32(TILES)).plus(thread())), &mut out);
        let mut body = Vec::new();
        let width = self.n.clone().minus(t.clone().times(Expr::int(TILE)));
        let width = bind(l, "width", width, &mut body);
        self.store_joined(l, &t, &width, &mut body)?;
        out.push(Stmt::If(Expr::binary(BinaryOp::Lt, t, self.count.clone()), body, vec![]));
        let is_any = Expr::binary(BinaryOp::Ge, waiting, int32(0));
        let is_mine = Expr::binary(BinaryOp::Lt, thread(), int32(TILES));
        Ok(Stmt::If(Expr::binary(BinaryOp::And, is_any, is_mine), out, vec![]))
    }

    /// Lets thread `t` join the values of the four warps of team `t`, and store the result at index `to` of scratch.
    fn store_joined(&self, l: &mut Lower, to: &Expr, width: &Expr, out: &mut Vec<Stmt>) -> Result<()> {
        let first = bind(l, "warps", thread().times(int32(WARPS as i32)), out);
        let mut stores = Vec::new();
        for (r, warps) in by_reduction(&self.list, &self.warps) {
            let width = width_of(l, r, width);
            let values = join_warps(l, r, warps, &first, width.as_ref(), out)?;
            stores.extend(r.scratch.iter().zip(values).map(|(m, e)| Stmt::Store(*m, to.clone(), e)));
        }
        out.append(&mut stores);
        Ok(())
    }

    /// Writes the code of the last block: it joins the results of tiles level by level, in place, and computes the
    /// scalars that follow from them. The result of tile t of a level overwrites value t, which has been read by
    /// then.
    pub fn finish(&self, l: &mut Lower, results: &[u32], out: &mut Vec<Stmt>) -> Result<()> {
        let teams = (self.code.layout.threads / COLUMNS as u32) as i32;
        let (left, round) = (l.k.reg("left", Ty::I64), l.k.reg("round", Ty::I64));
        let (mut level, mut tile) = (Vec::new(), Vec::new());
        let next = bind(l, "up", tiles_of(Expr::Reg(left)), &mut level);
        let first = bind(l, "first", Expr::Reg(round).times(Expr::int(teams.into())), &mut tile);
        let t = bind(l, "t", first.clone().plus(to_i64(self.team.clone())), &mut tile);
        let exists = Expr::binary(BinaryOp::Lt, t.clone(), next.clone());
        tile.push(Stmt::If(exists, self.upper_columns(l, &t, left)?, vec![]));
        tile.push(Stmt::Barrier);
        let mine = bind(l, "mine", first.plus(to_i64(thread())), &mut tile);
        let mut joins = Vec::new();
        let width = Expr::Reg(left).minus(mine.clone().times(Expr::int(TILE)));
        let width = bind(l, "width", width, &mut joins);
        self.store_joined(l, &mine, &width, &mut joins)?;
        let is_mine = Expr::binary(BinaryOp::Lt, thread(), int32(teams));
        let exists = Expr::binary(BinaryOp::Lt, mine, next.clone());
        // after this barrier the memory for warps' values may be written again, and all threads see the results
        let joins = Stmt::If(Expr::binary(BinaryOp::And, is_mine, exists), joins, vec![]);
        tile.extend([joins, Stmt::Barrier]);
        let rounds = next.clone().plus(Expr::int(i64::from(teams) - 1));
        let rounds = Expr::binary(BinaryOp::Shr, rounds, Expr::int(teams.ilog2().into()));
        level.push(Stmt::Seq(round, Expr::int(0), rounds, tile));
        level.push(Stmt::Assign(left, next));
        let more = Expr::binary(BinaryOp::Gt, Expr::Reg(left), Expr::int(1));
        out.extend([Stmt::Var(left, self.count.clone()), Stmt::While(more, level)]);
        let end = self.scalars(l, results)?;
        out.push(Stmt::If(is_zero(&thread()), end, vec![]));
        Ok(())
    }

    /// Returns the code that folds the columns of tile `t` of a level with `left` values, and joins the columns of
    /// each warp.
    fn upper_columns(&self, l: &mut Lower, t: &Expr, left: Reg) -> Result<Vec<Stmt>> {
        let mut out = Vec::new();
        let base = bind(l, "base", t.clone().times(Expr::int(TILE)), &mut out);
        let end = bind(l, "end", base.clone().plus(Expr::int(TILE)).min(Expr::Reg(left)), &mut out);
        let width = bind(l, "width", end.clone().minus(base.clone()), &mut out);
        for (r, warps) in by_reduction(&self.list, &self.warps) {
            let width = width_of(l, r, &width);
            let acc = variables(l, r, &mut out);
            let values = StoredValues { memory: &r.scratch, base: &base, end: &end };
            values.column(l, r, &self.column, &acc, &mut out)?;
            let values = self.column.join_warp(l, r, read(&acc), width.as_ref(), &mut out)?;
            let at = &self.code.warp;
            let store = warps.iter().zip(values).map(|(m, e)| Stmt::Store(*m, at.clone(), e)).collect();
            out.push(Stmt::If(is_zero(&self.column.lane), store, vec![]));
        }
        Ok(out)
    }

    /// Returns the code by which one thread joins the reductions' initial values with the totals, and stores the
    /// scalars that follow.
    fn scalars(&self, l: &mut Lower, results: &[u32]) -> Result<Vec<Stmt>> {
        l.k.once = true;
        let (mut out, mut loads) = (Vec::new(), Vec::new());
        let some = bind(l, "some", Expr::binary(BinaryOp::Gt, self.count.clone(), Expr::int(0)), &mut out);
        let mut totals = Vec::new();
        for r in &self.list {
            for (ty, memory) in r.types.iter().zip(&r.scratch) {
                let total = l.k.reg("total", *ty);
                out.push(Stmt::Var(total, Expr::Lit(Lit::zero(*ty))));
                loads.push(Stmt::Assign(total, Expr::load(*memory, Expr::int(0))));
                totals.push(total);
            }
        }
        out.push(Stmt::If(some.clone(), loads, vec![]));
        let mut known: Vec<(NodeId, Expr)> = Vec::new();
        for (r, totals) in self.list.iter().zip(totals_of(&self.list, &read(&totals))) {
            let place = &Surroundings::NONE;
            known.append(&mut scalars::join_initial(l, r, place, some.clone(), totals, &mut out)?);
        }
        scalars::store(l, &known, results, &mut out)?;
        Ok(out)
    }
}

const _: () = assert!(TILES * COLUMNS as i32 <= 512 && WARPS * WARP == COLUMNS as u32);
