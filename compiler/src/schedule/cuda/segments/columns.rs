//! Segmented reduction of the columns of a matrix. A segment is a column: its elements are a row apart, and
//! neighbouring segments are neighbours in memory.
//!
//! Segments of up to 128 elements: a thread reduces `v` neighbouring segments by itself (`short.rs`).
//!
//! Longer segments: a block takes a strip of `32 v` segments, `v` for each lane. A tile of a segment is 2048
//! elements; tree column `c` of it is the 16 elements `c`, `c + 128`, ... (semantics 5.1).
//!
//! The segments of a thread are neighbours if vectors load them. Otherwise they are as far apart as the lanes of
//! a warp, or the threads of a block, take neighbours, so that single loads are coalesced; together they share what
//! does not depend on the segment, such as the indices of an element along several axes (thread coarsening).
//!
//! ```text
//! warp:   `span` neighbouring tree columns of one tile, one after another: folds each with 8 loads in flight;
//!         a pairwise accumulator joins them (`schedule/element/counter.rs`)
//! block:  joins its 8 warps through shared memory: 8 span tree columns; so 16 / span blocks share a tile
//! strip:  the last block to arrive joins the blocks' results, up to 2048 for each segment, by the same tree
//! ```
//!
//! A small span makes more blocks, for segments of few tiles. The cost is one pass over memory.

mod join;
mod short;
mod versions;

use super::job::{self, Job};
use super::lanes::lane;
use super::thread_columns::ThreadColumns;
use crate::core::{COLUMNS, NodeId, Op, TILE, linear};
use crate::error::{Error, Result};
use crate::kernel::{Expr, Gpu, Mem, Reg, Stmt, WARP};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::divided_number::Walk;
use crate::schedule::cuda::expressions::{int32, to_i64, warp_number};
use crate::schedule::cuda::levels::{arrive, is_zero};
use crate::schedule::cuda::tree::variables;
use crate::schedule::element::counter::Counter;
use crate::schedule::element::lower::{LaunchContext, Lower, Surroundings, bind};
use crate::schedule::element::nested_loop::read;
use crate::schedule::element::reduction::{Reduction, each_accumulator, tiles};
pub(super) use short::short_segments;

/// Threads of a block.
pub const THREADS: u32 = 256;
const WARPS: i64 = (THREADS / WARP) as i64;
/// The maximum number of tree columns of a tile that a warp takes.
pub const MAX_SPAN: u32 = (COLUMNS / WARPS) as u32;
/// The number of elements of each segment that a thread loads before the first use.
const BATCH: i64 = 8;
/// The same where elements are also stored: they and their operands take registers.
const STORED_BATCH: i64 = 4;
/// The maximum length of a segment: its tiles' results fit into one tile.
pub const MAX_SEGMENT_LENGTH: u32 = (TILE * TILE) as u32;

/// The registers of a thread if one block is resident on a multiprocessor, and the registers of a thread that hold
/// neither elements nor accumulators.
const REGISTERS: i64 = (1 << 16) / THREADS as i64;
const OTHER_REGISTERS: i64 = 24;

/// Returns, for launches that also store elements, the minimum number of resident blocks per multiprocessor, and the
/// number of elements of each segment that a thread loads before the first use (a batch). Three blocks with short
/// batches are the first choice, if the registers suffice for a batch, the accumulators, and the pairwise
/// accumulators.
pub(super) fn of_stored(l: &LaunchContext, job: &Job) -> (u32, i64) {
    let words = |ty: Ty| job.v * (ty.size() as i64).max(4) / 4;
    let of_accumulators: i64 = each_accumulator(&job.reductions).map(|r| words(r.ty)).sum();
    let matrices = l.facts.accesses.own.iter().filter(|x| l.g.ty(**x).rank > 1);
    let of_elements: i64 = matrices.map(|x| words(l.g.ty(*x).elem)).sum();
    let of_others: i64 = l.facts.accesses.elsewhere.iter().map(|x| words(l.g.ty(*x).elem)).sum();
    let bits = i64::from(MAX_SPAN.ilog2()) + 3;
    let all = |batch: i64| bits * of_accumulators + batch * of_elements + of_others + OTHER_REGISTERS;
    match STORED_BATCH {
        batch if 3 * all(batch) <= REGISTERS => (3, batch),
        _ if 2 * all(BATCH) <= REGISTERS => (2, BATCH),
        batch => ((REGISTERS / all(batch)).clamp(1, 2) as u32, batch),
    }
}

/// What the code that folds rows of a thread's segments needs.
struct Rows<'a> {
    segments: &'a ThreadColumns,
    /// The walk from row to row.
    walk: &'a Walk<'a>,
    /// The accumulators of each segment and reduction.
    accs: &'a [Vec<Vec<Reg>>],
}

/// A block's strip, and the position of a thread in it.
#[derive(Clone)]
struct Strip<'a> {
    job: &'a Job<'a>,
    n: Expr,
    length: Expr,
    lane: Expr,
    warp: Expr,
    /// The strip's first segment (i64).
    begin: Expr,
    /// Shared memory for the value of each warp and segment of the strip, for each accumulator.
    shared: Vec<Mem>,
}

pub(super) fn main(l: &mut Lower, job: &Job) -> Result<Vec<Stmt>> {
    let (n, length) = (l.launch.count(), l.launch.host(job.s.length));
    let mut out = Vec::new();
    let warp = bind(l, "warp", warp_number(), &mut out);
    let lane = lane(l, WARP, &mut out);
    let width = i64::from(WARP) * job.v;
    let strips = n.clone().plus(Expr::int(width - 1));
    let strips = Expr::binary(BinaryOp::Shr, strips, Expr::int(width.trailing_zeros().into()));
    let strips = bind(l, "strips", Expr::Cast(Ty::I32, Box::new(strips)), &mut out);
    let part = Expr::binary(BinaryOp::Div, Expr::Place(Gpu::Block), strips.clone());
    let part = bind(l, "part", part, &mut out);
    let strip = bind(l, "strip", Expr::Place(Gpu::Block).minus(part.clone().times(strips)), &mut out);
    let begin = bind(l, "begin", to_i64(strip.clone()).times(Expr::int(width)), &mut out);
    let words = THREADS * job.v as u32;
    let shared = each_accumulator(&job.reductions).map(|r| l.k.share("warps", r.ty, words)).collect();
    let s = Strip { job, n: n.clone(), length: length.clone(), lane, warp: warp.clone(), begin, shared };
    // `split` blocks share a tile: each has `WARPS * span` of its tree columns
    let split = Expr::binary(BinaryOp::Div, int32(MAX_SPAN as i32), Expr::Place(Gpu::Span));
    let split = bind(l, "split", split, &mut out);
    let tile = bind(l, "tile", Expr::binary(BinaryOp::Div, part.clone(), split.clone()), &mut out);
    let part_of_tile = part.clone().minus(tile.clone().times(split.clone()));
    let column = part_of_tile.times(int32(WARPS as i32)).plus(warp).times(Expr::Place(Gpu::Span));
    let column = bind(l, "column", to_i64(column), &mut out);
    let base = bind(l, "base", to_i64(tile).times(Expr::int(TILE)).plus(column), &mut out);
    let accs = s.columns(l, &base, &mut out)?;
    let totals = s.join(l, &accs, job.spacing, &mut out)?;

    let count = tiles(length).times(to_i64(split.clone()));
    let count = bind(l, "count", Expr::binary(BinaryOp::Max, count, Expr::int(1)), &mut out);
    let mut store = Vec::new();
    for (q, totals) in totals.iter().enumerate() {
        let j = s.segment(q as i64, &mut store, l);
        let at = to_i64(part.clone()).times(n.clone()).plus(j.clone());
        let scratch = job.reductions.iter().flat_map(|r| &r.scratch);
        let list = scratch.zip(totals.concat()).map(|(m, v)| Stmt::Store(*m, at.clone(), v)).collect();
        store.push(Stmt::If(Expr::binary(BinaryOp::Lt, j, n.clone()), list, vec![]));
    }
    let mut direct = Vec::new();
    s.store_results(l, &totals, &mut direct)?;
    let only = bind(l, "only", Expr::binary(BinaryOp::Eq, count.clone(), Expr::int(1)), &mut out);
    out.push(Stmt::If(is_zero(&s.warp), vec![Stmt::If(only.clone(), direct, store)], vec![]));
    let mut last_block = vec![Stmt::Barrier];
    let flag = l.k.share("last", Ty::Bool, 1);
    let last = arrive(l, (flag, 0), (to_i64(strip), count.clone()), None, &mut last_block);
    let mut epilogue = Vec::new();
    let accs = s.load_partials(l, &count, &mut epilogue)?;
    let totals = s.join(l, &accs, WARP.into(), &mut epilogue)?;
    let mut results = Vec::new();
    s.store_results(l, &totals, &mut results)?;
    epilogue.push(Stmt::If(is_zero(&s.warp), results, vec![]));
    last_block.push(Stmt::If(last, epilogue, vec![]));
    let several = Expr::Unary(crate::scalar::UnaryOp::Not, Box::new(only));
    out.push(Stmt::If(several, last_block, vec![]));
    Ok(out)
}

impl Strip<'_> {
    /// Returns the number of the segment of this lane's `q`-th totals after [`Strip::join`]: `begin + lane + 32 q`.
    fn segment(&self, q: i64, out: &mut Vec<Stmt>, l: &mut Lower) -> Expr {
        let j = self.begin.clone().plus(to_i64(self.lane.clone())).plus(Expr::int(q * i64::from(WARP)));
        let j = bind(l, "j", j, out);
        self.job.note_index(l, &j);
        j
    }

    /// Reduces this warp's tree columns, the first of which begins at element `base`. Returns the values for each of
    /// the lane's segments and each reduction.
    fn columns(&self, l: &mut Lower, base: &Expr, out: &mut Vec<Stmt>) -> Result<Vec<Vec<Vec<Expr>>>> {
        let (v, n) = (self.job.v, self.n.clone());
        let mine = to_i64(self.lane.clone()).times(Expr::int(self.job.lane_stride()));
        let j = bind(l, "j", self.begin.clone().plus(mine), out);
        self.job.note_index(l, &j);
        let mut values = Vec::new();
        for _ in 0..v {
            let mut per_reduction = Vec::new();
            for r in &self.job.reductions {
                let value = r.registers(l, "value");
                let absent = r.absent(l.launch);
                out.extend(value.iter().zip(absent).map(|(value, absent)| Stmt::Var(*value, absent)));
                per_reduction.push(value);
            }
            values.push(per_reduction);
        }
        let registers = |values: &[Vec<Vec<Reg>>]| {
            values.iter().map(|per_reduction| per_reduction.iter().map(|r| read(r)).collect()).collect()
        };
        if self.job.spacing > 1 {
            self.versions(l, (&j, base), &values, out)?;
            return Ok(registers(&values));
        }
        let mut all = Vec::new();
        self.versions(l, (&j, base), &values, &mut all)?;
        let mut some = Vec::new();
        for (q, value) in values.iter().enumerate().take(v as usize - 1) {
            let mut one = Vec::new();
            let j = bind(l, "j", j.clone().plus(Expr::int(q as i64)), &mut one);
            self.job.note_index(l, &j);
            self.versions(l, (&j, base), std::slice::from_ref(value), &mut one)?;
            let is_present = is_below(&segment_at(&self.begin, &self.lane, v, q as i64), &n);
            some.push(Stmt::If(is_present, one, vec![]));
        }
        let full = Expr::binary(BinaryOp::Le, j.plus(Expr::int(v)), n);
        out.push(Stmt::If(full, all, some));
        Ok(registers(&values))
    }

    /// Reduces this warp's tree columns of the segments of a thread, and assigns the results to `values`, which has
    /// the registers of each segment and reduction.
    fn thread_columns(
        &self,
        l: &mut Lower,
        segments: &ThreadColumns,
        base: &Expr,
        values: &[Vec<Vec<Reg>>],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let shape = (MAX_SPAN.ilog2(), values.len());
        let counters = self.job.reductions.iter().map(|r| Counter::new(l, r, shape, out));
        let mut counters: Vec<Counter> = counters.collect();
        let (to_column, to_row) = (self.job.walk(l, 1, out), self.job.walk(l, COLUMNS, out));
        let first = to_column.first(l, base, out);
        let of_column = to_column.variables(l, first, out);
        let g = l.k.reg("g", Ty::I32);
        let mut body = Vec::new();
        let start = bind(l, "start", base.clone().plus(to_i64(Expr::Reg(g))), &mut body);
        let accs: Vec<Vec<Vec<Reg>>> = values
            .iter()
            .map(|_| self.job.reductions.iter().map(|r| variables(l, r, &mut body)).collect())
            .collect();
        // the number of the tree column's elements that are in the tile and in bounds
        let rounded_up = self.length.clone().minus(start.clone()).plus(Expr::int(COLUMNS - 1));
        let rows = Expr::binary(BinaryOp::Shr, rounded_up, Expr::int(COLUMNS.trailing_zeros().into()));
        let rows = bind(l, "rows", rows.min(Expr::int(TILE / COLUMNS)), &mut body);
        let batch = match self.job.stored {
            Some(_) => of_stored(l.launch, self.job).1,
            None if self.job.spacing > 1 => BATCH / self.job.v,
            None => BATCH,
        };
        let rows_of = Rows { segments, walk: &to_row, accs: &accs };
        let (mut some, mut indices) = (Vec::new(), read(&of_column));
        self.some_rows(l, &rows_of, (&start, &rows), (batch, indices.clone()), &mut some)?;
        if self.job.reductions.iter().any(Reduction::is_counted) {
            // in a whole tree column the counts are constants, hence the weights of means, too
            let mut whole = Vec::new();
            for row in (0..TILE / COLUMNS).step_by(batch as usize) {
                let at = bind(l, "at", start.clone().plus(Expr::int(row * COLUMNS)), &mut whole);
                self.job.note_index(l, &at);
                self.rows(l, &rows_of, (&at, &Expr::int(row)), (batch, &mut indices), &mut whole)?;
            }
            let is_whole = Expr::binary(BinaryOp::Eq, rows, Expr::int(TILE / COLUMNS));
            body.push(Stmt::If(is_whole, whole, some));
        } else {
            body.append(&mut some);
        }
        let c = bind(l, "c", to_i64(Expr::Reg(g)), &mut body);
        for (at, (r, counter)) in self.job.reductions.iter().zip(&mut counters).enumerate() {
            let column = accs.iter().map(|accs| read(&accs[at])).collect();
            counter.push(l, r, &Surroundings::NONE, c.clone(), column, &mut body)?;
        }
        let mut next = read(&of_column);
        to_column.next(l, &mut next, None, &mut body);
        to_column.assign(&of_column, next, &mut body);
        out.push(Stmt::Seq(g, int32(0), Expr::Place(Gpu::Span), body));
        let span = bind(l, "span", to_i64(Expr::Place(Gpu::Span)), out);
        for (at, (r, counter)) in self.job.reductions.iter().zip(&counters).enumerate() {
            let totals = counter.total(l, r, &Surroundings::NONE, span.clone(), out)?;
            for (of_segment, total) in values.iter().zip(totals) {
                out.extend(of_segment[at].iter().zip(total).map(|(value, e)| Stmt::Assign(*value, e)));
            }
        }
        Ok(())
    }

    /// Folds the first `rows` elements of the tree column that begins at element `start`, whose divided number has
    /// the parts `indices`: batches of `batch` first, then single elements.
    fn some_rows(
        &self,
        l: &mut Lower,
        of: &Rows,
        (start, rows): (&Expr, &Expr),
        (batch, indices): (i64, Vec<Expr>),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let batches = Expr::binary(BinaryOp::Shr, rows.clone(), Expr::int(batch.trailing_zeros().into()));
        let batches = bind(l, "batches", Expr::binary(BinaryOp::Max, batches, Expr::int(0)), out);
        let variables = of.walk.variables(l, indices, out);
        let looped = |l: &mut Lower, (number, first, last): (i64, Expr, Expr), out: &mut Vec<Stmt>| {
            let name = if number == 1 { "row" } else { "b" };
            let (i, mut inner) = (l.k.reg(name, Ty::I64), Vec::new());
            let at = start.clone().plus(Expr::Reg(i).times(Expr::int(number * COLUMNS)));
            let at = bind(l, "at", at, &mut inner);
            self.job.note_index(l, &at);
            let so_far = Expr::Reg(i).times(Expr::int(number));
            let mut indices = read(&variables);
            self.rows(l, of, (&at, &so_far), (number, &mut indices), &mut inner)?;
            of.walk.assign(&variables, indices, &mut inner);
            out.push(Stmt::Seq(i, first, last, inner));
            Ok::<_, Error>(())
        };
        looped(l, (batch, Expr::int(0), batches.clone()), out)?;
        looped(l, (1, batches.times(Expr::int(batch)), rows.clone()), out)
    }

    /// Folds `rows` elements of a tree column, from element `at` on, which come after `so_far` of its elements. All
    /// loads come before the first use. `indices` are those of element `at`, and afterwards those of the next one.
    fn rows(
        &self,
        l: &mut Lower,
        of: &Rows,
        (at, so_far): (&Expr, &Expr),
        (rows, indices): (i64, &mut Vec<Expr>),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (_, k) = l.launch.g.fresh_var(Ty::I64);
        let (j, mut common) = (&of.segments.places[0], of.segments.known.clone());
        common.push((k, at.clone()));
        l.with_loaded(Default::default(), |l| {
            let mut work = Vec::new();
            for row in 0..rows {
                let offset = l.launch.g.lit(Lit::i64(row * COLUMNS));
                let element = linear::add(&mut l.launch.g, k, offset);
                let own = of.walk.known(l, element, indices);
                of.walk.next(l, indices, None, out);
                let vars = [&common[..], &own[..]].concat();
                self.load(l, &vars, element, of.segments, out)?;
                let (before, mut known) = (so_far.clone().plus(Expr::int(row)), Vec::new());
                let counts = self.job.reductions.iter();
                let counts = counts.map(|r| r.count_after(l, &before, &mut known, &mut work));
                let counts = counts.collect::<Result<Vec<_>>>()?;
                let (stored, mut stores) = (self.job.stored_at(l, element), Vec::new());
                let segments = of.segments.nodes.iter().zip(&of.segments.places);
                for ((segment, place), accs) in segments.zip(of.accs) {
                    let (mut vars, mut roots) = (vars.clone(), Vec::new());
                    vars.extend_from_slice(&known);
                    for ((r, acc), count) in self.job.reductions.iter().zip(accs).zip(&counts) {
                        let old = r.nodes(l.launch, &read(acc), &mut vars);
                        for step in r.step_to(l.launch, &old, *count, element) {
                            roots.push(l.launch.replace(step, self.job.s.index, *segment));
                        }
                    }
                    let steps = roots.len();
                    roots.extend(stored.iter().map(|n| l.launch.replace(*n, self.job.s.index, *segment)));
                    let mut values = l.region(&vars, &roots, place, &mut work)?;
                    let own = values.split_off(steps);
                    stores.push(own.into_iter().map(|e| bind(l, "value", e, &mut work)).collect());
                    let values: Vec<Expr> =
                        values.into_iter().map(|e| bind(l, "next", e, &mut work)).collect();
                    work.extend(accs.iter().flatten().zip(values).map(|(a, e)| Stmt::Assign(*a, e)));
                }
                let k = at.clone().plus(Expr::int(row * COLUMNS));
                self.job.store_elements(l, (&k, j), stores, &mut work);
            }
            out.append(&mut work);
            Ok(())
        })
    }

    /// Loads, by vector accesses, what the elements with index `element` of neighbouring segments read.
    fn load(
        &self,
        l: &mut Lower,
        vars: &[(NodeId, Expr)],
        element: NodeId,
        segments: &ThreadColumns,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let roots = self.job.elements(l, element);
        let j = &segments.places[0];
        if self.job.spacing == 1 {
            job::load(l, &roots, (self.job.s.index, &segments.nodes), j, vars, out)?;
        }
        if self.job.stored.is_some() {
            // these loads come before the stores, because a load that follows a store would wait for it
            let rows = self.of_row(l, &roots);
            l.region(vars, &rows, j, out)?;
        }
        Ok(())
    }

    /// Returns the reads that do not depend on the segment, such as those of a vector along the columns.
    fn of_row(&self, l: &Lower, roots: &[NodeId]) -> Vec<NodeId> {
        let Op::Var(index, _) = *l.launch.g.op(self.job.s.index) else { return Vec::new() };
        let g = &l.launch.g;
        let is_shared = |n: &NodeId| {
            matches!(g.op(*n), Op::Elem(..)) && !g.is_closed(*n) && !g.node(*n).free.contains(&index)
        };
        g.reachable(roots.iter().copied()).into_iter().filter(is_shared).collect()
    }
}

fn segment_at(begin: &Expr, lane: &Expr, v: i64, q: i64) -> Expr {
    begin.clone().plus(to_i64(lane.clone()).times(Expr::int(v))).plus(Expr::int(q))
}

fn is_below(j: &Expr, n: &Expr) -> Expr {
    Expr::binary(BinaryOp::Lt, j.clone(), n.clone())
}
