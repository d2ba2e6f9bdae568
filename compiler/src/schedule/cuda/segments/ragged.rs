//! Ragged segments: segments whose lengths are data on the device, such as the rows of a sparse matrix. There are two
//! mappings, which are the vector and the scalar kernel for CSR of W. Bell, M. Garland, "Implementing sparse
//! matrix-vector multiplication on throughput-oriented processors", 2009.
//!
//! **A segment for each warp.** The warp reduces the segment tile by tile ([`super::warp`]), and all its lanes join
//! the results of several tiles. This suits few segments of any lengths, because all of them are in progress at once.
//!
//! **32 segments for each warp**, if there are many segments. First each lane reduces its own segment if it is short,
//! that is, has up to [`SHORT`] elements: it loads four elements at a time, and a pairwise accumulator joins these
//! (`schedule/element/counter.rs`). Then the whole warp reduces the long segments, one after another. So a warp takes
//! the time of its longest short segment plus that of all its long segments. If possible, the elements of short
//! segments are staged in shared memory ([`staged`]), so that loads are coalesced.
//!
//! Segments that are known to have no elements are stored without a reduction ([`ended`]).

mod code;
mod ended;
mod staged;

use super::job::{Job, operations};
use super::lanes::{lane, pairs};
use super::rows::{THREADS, WARPS};
use super::warp::{COLUMNS_PER_LANE, Tile};
use crate::core::index_space::exists_inside_only;
use crate::core::{NodeId, linear};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Reg, Stmt, WARP};
use crate::plan::gpu::Grid;
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::expressions::{int32, to_i64, warp_number};
use crate::schedule::cuda::levels::is_zero;
use crate::schedule::element::counter::Counters;
use crate::schedule::element::lower::{LaunchContext, Lower, Surroundings, bind};
use crate::schedule::element::nested_loop::{self, Lanes, assign, invariant_nodes, joining, read};
use crate::schedule::element::reduction::{Reduction, bound, each_accumulator, totals_of};
use crate::schedule::facts::Segments;
use crate::schedule::facts::segments::{is_one_tile, scattered};
use crate::schedule::groups::FusedGroup;
use code::{Code, SHORT_STAGED};
use ended::Ended;
use staged::Places;
use std::ops::Range;

/// The maximum number of elements of a short segment, which a lane loads and reduces by itself. The loads of the 32
/// lanes are not coalesced, so the warp waits for the cache lines that all lanes touch.
const SHORT: i64 = 32;

/// The number of elements that a lane loads before it joins them, a power of two.
const AT_ONCE: i64 = 4;

/// The number of segments of a block if each lane has one.
const OF_LANES: u32 = THREADS;

/// The number of rounds in which each lane has one segment, where most segments may have no elements: these take so
/// little time that launching a block would cost almost as much.
const OF_ENDED: u32 = 8;

/// Returns the minimum number of resident blocks per multiprocessor. Four leave a thread 64 registers, as many as the
/// loads of a batch need. Two leave 128, for segments of several tiles, several accumulators, or gathers (reads whose
/// addresses are data).
fn min_resident_blocks(l: &mut LaunchContext, job: &Job) -> u32 {
    let (_, k) = l.g.fresh_var(Ty::I64);
    let first: Vec<NodeId> = job.reductions.iter().flat_map(|r| r.first(l, k)).collect();
    let is_plain = scattered(l, &first, k) <= 1 && each_accumulator(&job.reductions).count() == 1;
    if is_plain && is_one_tile(&l.g, job.s.length) { 4 } else { 2 }
}

/// Returns the number of segments of a block whose lanes have a segment each.
pub fn segments_of_block(l: &mut LaunchContext, s: &Segments) -> u32 {
    if Ended::of(l, s).is_some() { OF_LANES * OF_ENDED } else { OF_LANES }
}

/// Returns the kernel body and its grid. If `by_lanes`, each lane has a segment, else each warp.
pub fn main(l: &mut Lower, fused: &FusedGroup, by_lanes: bool) -> Result<(Vec<Stmt>, Grid)> {
    let s = l.launch.facts.ragged.clone().expect("segments of any lengths");
    l.k.kernel.threads = THREADS;
    let reductions = Reduction::all_nested(l.launch, &s.nested);
    let items = fused.items.iter().collect();
    let operations = operations(l.launch, &reductions);
    // segments may begin at any address, so there are no vector accesses, and neighbouring lanes have neighbours
    let job = Job {
        s: &s,
        items,
        reductions,
        v: 1,
        spacing: 1,
        operations,
        stored: None,
        in_order: None,
        divides: false,
        of_element: None,
        of_segment: None,
        in_bounds: None,
        interior: None,
    };
    l.k.kernel.min_resident_blocks = min_resident_blocks(l.launch, &job);
    let mut out = Vec::new();
    let lane = lane(l, WARP, &mut out);
    let ended = Ended::of(l.launch, &s);
    let code = Code { job: &job, lane, ended };
    if by_lanes && code.ended.is_some() {
        let (part, mut body) = (l.k.reg("part", Ty::I64), Vec::new());
        let parts = to_i64(Expr::Place(Gpu::Block)).times(Expr::int(OF_ENDED.into())).plus(Expr::Reg(part));
        let warp = parts.times(Expr::int(WARPS.into())).plus(to_i64(warp_number()));
        let warp = bind(l, "warp", warp, &mut body);
        code.segments_of_lanes(l, warp, &mut body)?;
        out.push(Stmt::Seq(part, Expr::int(0), Expr::int(OF_ENDED.into()), body));
        return Ok((out, Grid::Segments(OF_LANES * OF_ENDED)));
    }
    let warps = to_i64(Expr::Place(Gpu::Block)).times(Expr::int(WARPS.into()));
    let warp = bind(l, "warp", warps.plus(to_i64(warp_number())), &mut out);
    if by_lanes {
        code.segments_of_lanes(l, warp, &mut out)?;
        return Ok((out, Grid::Segments(OF_LANES)));
    }
    code.segment_of_warp(l, warp, &mut out)?;
    Ok((out, Grid::Segments(WARPS)))
}

/// A function that writes code for `count` neighbouring elements from the element `first` on, and returns, for each
/// element, the values with which it begins a tree column, for a range of accumulators.
type Neighbours<'a> =
    dyn FnMut(&mut Lower, Range<usize>, &Expr, i64, &mut Vec<Stmt>) -> Result<Vec<Vec<Expr>>> + 'a;

impl Code<'_> {
    fn segment_of_warp(&self, l: &mut Lower, segment: Expr, out: &mut Vec<Stmt>) -> Result<()> {
        let mut work = Vec::new();
        let some = self.may_have_some(l, &segment, &mut work)?;
        let length = self.length(l, (&segment, some.as_ref()), &mut work)?;
        let totals = self.accumulators(l, &mut work);
        self.reduce(l, (&segment, &length), &totals, &mut work)?;
        let (mut store, mut all) = (Vec::new(), Vec::new());
        let values = totals_of(&self.job.reductions, &read(&totals));
        self.job.store_of_length(l, (&segment, &length), &values, &mut store)?;
        self.store_ended(l, (&segment, some.as_ref()), store, &mut all)?;
        work.push(Stmt::If(is_zero(&self.lane), all, vec![]));
        out.push(Stmt::If(Expr::binary(BinaryOp::Lt, segment, l.launch.count()), work, vec![]));
        Ok(())
    }

    fn segments_of_lanes(&self, l: &mut Lower, warp: Expr, out: &mut Vec<Stmt>) -> Result<()> {
        let n = l.launch.count();
        let first = bind(l, "first", warp.times(Expr::int(WARP.into())), out);
        let own = bind(l, "own", first.clone().plus(to_i64(self.lane.clone())), out);
        // lanes out of bounds compute the last segment again, and store nothing
        let segment = bind(l, "segment", own.clone().min(n.clone().minus(Expr::int(1))), out);
        let some = self.may_have_some(l, &segment, out)?;
        let length = self.length(l, (&segment, some.as_ref()), out)?;
        let totals = self.accumulators(l, out);
        let places = Places::of(l.launch, self.job);
        match &places {
            Some(places) => self.short_staged(l, (&segment, &length), places, &totals, out)?,
            None => self.short(l, (&segment, &length), &totals, out)?,
        }
        let short = if places.is_some() { SHORT_STAGED } else { SHORT };
        let is_long = Expr::binary(BinaryOp::Gt, length.clone(), Expr::int(short));
        let is_inside = bind(l, "inside", Expr::binary(BinaryOp::Lt, own, n), out);
        let is_long = Expr::binary(BinaryOp::And, is_long, is_inside.clone());
        let bit = Expr::binary(BinaryOp::Shl, int32(1), self.lane.clone());
        let mut long = bind(l, "long", is_long.select(bit, int32(0)), out);
        for distance in [1, 2, 4, 8, 16] {
            let other = Expr::ShuffleXor(Box::new(long.clone()), distance);
            long = bind(l, "long", Expr::binary(BinaryOp::Or, long, other), out);
        }
        let (u, mut body) = (l.k.reg("u", Ty::I32), Vec::new());
        let mut work = Vec::new();
        let segment_of_warp = bind(l, "longer", first.plus(to_i64(Expr::Reg(u))), &mut work);
        let count = self.length(l, (&segment_of_warp, None), &mut work)?;
        let values = self.accumulators(l, &mut work);
        self.reduce(l, (&segment_of_warp, &count), &values, &mut work)?;
        let is_own = Expr::binary(BinaryOp::Eq, self.lane.clone(), Expr::Reg(u));
        let is_own = bind(l, "mine", is_own, &mut work);
        for (total, value) in totals.iter().zip(&values) {
            let value = bind(l, "value", Expr::Broadcast(Box::new(Expr::Reg(*value))), &mut work);
            work.push(Stmt::Assign(*total, is_own.clone().select(value, Expr::Reg(*total))));
        }
        let of_u = Expr::binary(BinaryOp::Shl, int32(1), Expr::Reg(u));
        let of_u = Expr::binary(BinaryOp::And, long.clone(), of_u);
        body.push(Stmt::If(Expr::binary(BinaryOp::Ne, of_u, int32(0)), work, vec![]));
        let all = Stmt::Seq(u, int32(0), int32(WARP as i32), body);
        out.push(Stmt::If(Expr::binary(BinaryOp::Ne, long, int32(0)), vec![all], vec![]));
        let (mut store, mut all) = (Vec::new(), Vec::new());
        let values = totals_of(&self.job.reductions, &read(&totals));
        self.job.store_of_length(l, (&segment, &length), &values, &mut store)?;
        self.store_ended(l, (&segment, some.as_ref()), store, &mut all)?;
        out.push(Stmt::If(is_inside, all, vec![]));
        Ok(())
    }

    /// Returns the length of a segment. If `some` says that it has no elements, that is 0, and nothing is loaded.
    fn length(
        &self,
        l: &mut Lower,
        (segment, some): (&Expr, Option<&Expr>),
        out: &mut Vec<Stmt>,
    ) -> Result<Expr> {
        let s = self.job.s;
        let (vars, mut own) = ([(s.index, segment.clone())], Vec::new());
        let value = l.in_block(|l| l.region(&vars, &[s.length], segment, &mut own))?.remove(0);
        let Some(some) = some else {
            out.append(&mut own);
            return Ok(bound(l, "length", value, out));
        };
        let length = l.k.reg("length", Ty::I64);
        out.push(Stmt::Var(length, Expr::int(0)));
        own.push(Stmt::Assign(length, value));
        out.push(Stmt::If(some.clone(), own, vec![]));
        Ok(Expr::Reg(length))
    }

    /// Declares the accumulators of all reductions, with the values that stand for no elements.
    fn accumulators(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Vec<Reg> {
        let mut all = Vec::new();
        for r in &self.job.reductions {
            let (regs, absent) = (r.registers(l, "total"), r.absent(l.launch));
            out.extend(regs.iter().zip(absent).map(|(reg, absent)| Stmt::Var(*reg, absent)));
            all.extend(regs);
        }
        all
    }

    /// Computes what does not depend on the element of a segment, and returns these nodes with their values; the
    /// first one is the segment's index. The code must run only if the segment has elements.
    fn known(&self, l: &mut Lower, segment: &Expr, out: &mut Vec<Stmt>) -> Result<Vec<(NodeId, Expr)>> {
        let s = self.job.s;
        let mut known = vec![(s.index, segment.clone())];
        let mut nodes = Vec::new();
        for n in &s.nested {
            let op = l.launch.g.op(*n).clone();
            nodes.extend(invariant_nodes(&mut l.launch.g, &op));
        }
        nodes.retain(|n| !exists_inside_only(&l.launch.g, *n));
        nodes.sort_unstable();
        nodes.dedup();
        let values = l.in_block(|l| l.region(&known, &nodes, segment, out))?;
        let values = values.into_iter().map(|e| bound(l, "fixed", e, out)).collect::<Vec<_>>();
        known.extend(nodes.into_iter().zip(values));
        Ok(known)
    }

    /// Reduces a short segment in this lane, with elements loaded from global memory, and assigns its accumulators.
    fn short(
        &self,
        l: &mut Lower,
        (segment, length): (&Expr, &Expr),
        totals: &[Reg],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let mut body = Vec::new();
        let known = self.known(l, segment, &mut body)?;
        let place = Surroundings { vars: &known, at: segment };
        let of = (segment, length, SHORT);
        self.in_counter(l, of, totals, &mut body, &mut |l, own, at, count, out| {
            let mut begin = 0;
            let r = self.job.reductions.iter().find(|r| {
                begin += r.accumulators();
                begin > own.start
            });
            match r {
                Some(r) => self.neighbours(l, r, (&place, at), count, out),
                None => Ok(Vec::new()),
            }
        })?;
        let is_short = Expr::binary(BinaryOp::Le, length.clone(), Expr::int(SHORT));
        let is_any = Expr::binary(BinaryOp::Gt, length.clone(), Expr::int(0));
        out.push(Stmt::If(Expr::binary(BinaryOp::And, is_any, is_short), body, vec![]));
        Ok(())
    }

    /// Reduces a segment of up to `most` elements with a pairwise accumulator, and assigns its accumulators. Each
    /// element is a tree column of its own, whose value `neighbours` returns.
    fn in_counter(
        &self,
        l: &mut Lower,
        (segment, length, most): (&Expr, &Expr, i64),
        totals: &[Reg],
        out: &mut Vec<Stmt>,
        neighbours: &mut Neighbours,
    ) -> Result<()> {
        let vars = [(self.job.s.index, segment.clone())];
        let place = Surroundings { vars: &vars, at: segment };
        let mut begin = 0;
        for r in &self.job.reductions {
            let own = begin..begin + r.accumulators();
            begin = own.end;
            let join = &mut joining(r, &place);
            let mut lanes = Lanes::of(r, join, r.is_general(l.launch));
            let mut counter = Counters::new(l, &lanes, most.trailing_zeros(), out);
            let levels = AT_ONCE.trailing_zeros();
            let chunks = Expr::binary(BinaryOp::Shr, length.clone(), Expr::int(levels.into()));
            let chunks = bind(l, "chunks", chunks, out);
            let (c, mut step) = (l.k.reg("c", Ty::I64), Vec::new());
            let at = bind(l, "at", Expr::Reg(c).times(Expr::int(AT_ONCE)), &mut step);
            let elements = neighbours(l, own.clone(), &at, AT_ONCE, &mut step)?;
            let values = pairs(l, r, elements, &mut step)?;
            let values = values.into_iter().map(|e| bound(l, "value", e, &mut step)).collect();
            counter.push(l, &mut lanes, levels as usize, Expr::Reg(c), values, &mut step)?;
            out.push(Stmt::Seq(c, Expr::int(0), chunks.clone(), step));
            let (c, mut step) = (l.k.reg("c", Ty::I64), Vec::new());
            let values = neighbours(l, own.clone(), &Expr::Reg(c), 1, &mut step)?.remove(0);
            counter.push(l, &mut lanes, 0, Expr::Reg(c), values, &mut step)?;
            out.push(Stmt::Seq(c, chunks.times(Expr::int(AT_ONCE)), length.clone(), step));
            let total = counter.total(l, &mut lanes, length.clone(), out)?;
            assign(l, &totals[own], total, out);
        }
        Ok(())
    }

    /// Returns, for each of `count` neighbouring elements from `first` on, the values with which it begins a tree
    /// column. All loads come before the first use.
    fn neighbours(
        &self,
        l: &mut Lower,
        r: &Reduction,
        (place, first): (&Surroundings, &Expr),
        count: i64,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Vec<Expr>>> {
        let (_, base) = l.launch.g.fresh_var(Ty::I64);
        let mut roots = Vec::new();
        for offset in 0..count {
            let offset = l.launch.g.lit(Lit::i64(offset));
            let index = linear::add(&mut l.launch.g, base, offset);
            roots.extend(r.first(l.launch, index));
        }
        let vars = [place.vars, &[(base, first.clone())]].concat();
        let values = place.values(l, &vars, &roots, out)?;
        let values: Vec<Expr> = values.into_iter().map(|e| bound(l, "element", e, out)).collect();
        Ok(values.chunks(r.accumulators()).map(<[Expr]>::to_vec).collect())
    }

    /// Reduces a segment by the whole warp, and assigns its accumulators; they are right in the first lane.
    fn reduce(
        &self,
        l: &mut Lower,
        (segment, length): (&Expr, &Expr),
        totals: &[Reg],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let mut body = Vec::new();
        let known = self.known(l, segment, &mut body)?;
        let tile = |l: &mut Lower, base: Expr, count: Expr, out: &mut Vec<Stmt>| -> Result<Vec<Expr>> {
            let segments = [segment.clone()];
            let tile = Tile {
                job: self.job,
                segments: &segments,
                known: &known[1..],
                parts: &[],
                base,
                count,
                lanes: WARP,
                columns: COLUMNS_PER_LANE,
                lane: self.lane.clone(),
                is_of_long_segment: false,
            };
            Ok(tile.reduce(l, out)?.remove(0).concat())
        };
        let values = match &self.job.reductions[..] {
            [r] if !is_one_tile(&l.launch.g, self.job.s.length) => {
                let join = &mut joining(r, &Surroundings::NONE);
                let mut lanes = Lanes::of(r, join, true);
                nested_loop::tree(l, &mut lanes, length, &mut body, &mut |l, _, base, left, out| {
                    let values = tile(l, base, left, out)?.into_iter();
                    Ok(values.map(|e| bind(l, "tile", Expr::Broadcast(Box::new(e)), out)).collect())
                })?
            }
            _ => tile(l, Expr::int(0), length.clone(), &mut body)?,
        };
        assign(l, totals, values, &mut body);
        out.push(Stmt::If(Expr::binary(BinaryOp::Gt, length.clone(), Expr::int(0)), body, vec![]));
        Ok(())
    }
}
