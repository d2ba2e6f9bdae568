//! Short segments by way of shared memory, where an element depends only on its place in a vector (and not on its
//! segment). The lanes of a warp compute the elements of a *stretch* of that vector side by side, whatever segments
//! these belong to, and store them in shared memory; then each lane reduces its own segment from there.
//!
//! ```text
//! vector     |seg 0|seg 1  |2|  seg 3   |seg 4 |      lane i has segment i
//! stretch    ^begins at the first segment not reduced yet, and has room for `most` elements
//!            lanes whose segments lie inside it reduce them; the others wait for a later stretch
//! ```
//!
//! A stretch also covers the elements of long segments in between, which nothing uses. Neighbouring short segments
//! take one stretch, or a few.

use super::code::{Code, SHORT_STAGED};
use crate::core::linear::{self, Linear};
use crate::core::{NodeId, Op};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt, WARP};
use crate::scalar::{BinaryOp, Lit, Ty, UnaryOp};
use crate::schedule::cuda::expressions::{int32, shifted, to_i64, warp_number};
use crate::schedule::cuda::segments::job::Job;
use crate::schedule::cuda::segments::rows::WARPS;
use crate::schedule::element::lower::{LaunchContext, Lower, bind};
use crate::schedule::element::reduction::{bound, each_accumulator};
use rustc_hash::FxHashMap as HashMap;
use std::collections::BTreeMap;

/// The bytes of shared memory for the elements of all warps of a block.
const BYTES: i64 = 36 << 10;

/// The minimum number of elements of a stretch for which staging pays, and the maximum.
const STRETCH: [i64; 2] = [2 * SHORT_STAGED, 16 * SHORT_STAGED];

/// The number of elements that a lane loads before it stores the first to shared memory.
const BATCH: i64 = 8;

/// The begin of a segment for lanes that have no segment left to reduce.
const NONE: i32 = i32::MAX;

/// The elements of all segments as functions of their place in a vector.
pub struct Places {
    /// The place of a segment's first element, as a function of the segment's index.
    begin: NodeId,
    /// The variable of a place.
    place: NodeId,
    /// The values with which the element at that place begins a tree column, for all accumulators.
    firsts: Vec<NodeId>,
    /// The maximum number of elements of a stretch.
    most: i64,
}

impl Places {
    /// Rewrites elements as functions of their place: all indices of reads must be `begin + k + constant`, with the
    /// same `begin` of the segment. Returns `None` if an element depends on anything else.
    pub fn of(l: &mut LaunchContext, job: &Job) -> Option<Places> {
        let ((k, index), (_, place)) = (l.g.fresh_var(Ty::I64), l.g.fresh_var(Ty::I64));
        let mut firsts: Vec<NodeId> = job.reductions.iter().flat_map(|r| r.first(l, index)).collect();
        let mut begin = None;
        let mut places = BTreeMap::new();
        for n in l.g.reachable(firsts.iter().copied()) {
            let (Op::Elem(_, at) | Op::At(_, at)) = l.g.op(n) else { continue };
            for at in at {
                let form = Linear::of(&l.g, *at);
                if form.terms.get(&index) != Some(&1) {
                    continue;
                }
                let own = Linear { constant: 0, terms: [(index, 1)].into() };
                let mut rest = form.minus(&own);
                let offset = std::mem::take(&mut rest.constant);
                if *begin.get_or_insert_with(|| rest.clone()) != rest {
                    return None;
                }
                places.insert(*at, offset);
            }
        }
        let begin = begin?.node(&mut l.g);
        for (at, offset) in places {
            let offset = l.g.lit(Lit::i64(offset));
            let by = linear::add(&mut l.g, place, offset);
            let mut memo = HashMap::default();
            for n in &mut firsts {
                *n = crate::core::graph::replace::replaced(&mut l.g, *n, at, by, &mut memo);
            }
        }
        let Op::Var(segment, _) = *l.g.op(job.s.index) else { return None };
        let needs_more = |n: &NodeId| [k, segment].iter().any(|v| l.g.node(*n).free.contains(v));
        let types: Vec<Ty> = each_accumulator(&job.reductions).map(|r| r.ty).collect();
        let staged = firsts.iter().zip(&types).filter(|(n, _)| !l.g.is_closed(**n));
        let bytes: i64 = staged.map(|(_, ty)| ty.size() as i64).sum();
        if firsts.iter().any(needs_more) || bytes == 0 {
            return None;
        }
        let fits = BYTES / (bytes * i64::from(WARPS) * (1 + i64::from(WARP)) / i64::from(WARP)).max(1);
        let [fewest, most] = STRETCH;
        (fits >= fewest).then(|| Places { begin, place, firsts, most: 1 << fits.min(most).ilog2() })
    }
}

/// The warp's current stretch.
struct Stretch<'a> {
    places: &'a Places,
    /// Shared memory for each of [`Places::firsts`]; `None` for those that are constants.
    memory: &'a [Option<Mem>],
    /// The index in shared memory of the warp's first element.
    base: &'a Expr,
    lane: &'a Expr,
    /// The first place of the stretch, and the number of its elements (i32).
    low: Expr,
    count: Expr,
}

impl Code<'_> {
    /// Reduces short segments, one in each lane, stretch by stretch, and assigns their accumulators.
    pub(super) fn short_staged(
        &self,
        l: &mut Lower,
        (segment, length): (&Expr, &Expr),
        places: &Places,
        totals: &[Reg],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let stride = places.most + places.most / i64::from(WARP);
        let types: Vec<Ty> = each_accumulator(&self.job.reductions).map(|r| r.ty).collect();
        let mut share = |(n, ty): (&NodeId, Ty)| {
            let is_constant = l.launch.g.is_closed(*n);
            (!is_constant).then(|| l.k.share("staged", ty, WARPS * stride as u32))
        };
        let memory: Vec<Option<Mem>> = places.firsts.iter().zip(types).map(&mut share).collect();
        let base = bind(l, "base", warp_number().times(int32(stride as i32)), out);
        let [left, begin] = [("left", Ty::Bool), ("begin", Ty::I32)].map(|(name, ty)| l.k.reg(name, ty));
        let is_short = Expr::binary(BinaryOp::Le, length.clone(), Expr::int(SHORT_STAGED));
        let is_any = Expr::binary(BinaryOp::Gt, length.clone(), Expr::int(0));
        out.push(Stmt::Var(left, Expr::binary(BinaryOp::And, is_any, is_short)));
        out.push(Stmt::Var(begin, int32(NONE)));
        let mut own = Vec::new();
        let vars = [(self.job.s.index, segment.clone())];
        let value = l.in_block(|l| l.region(&vars, &[places.begin], segment, &mut own))?.remove(0);
        own.push(Stmt::Assign(begin, Expr::Cast(Ty::I32, Box::new(value))));
        out.push(Stmt::If(Expr::Reg(left), own, vec![]));
        let count = bind(l, "own", Expr::Cast(Ty::I32, Box::new(length.clone())), out);
        let first = self.of_all_lanes(l, BinaryOp::Min, Expr::Reg(begin), out);
        let low = l.k.reg("low", Ty::I32);
        out.push(Stmt::Var(low, first));
        let mut body = Vec::new();
        let from = bind(l, "from", Expr::Reg(begin).minus(Expr::Reg(low)), &mut body);
        let to = bind(l, "to", from.clone().plus(count), &mut body);
        let fits = Expr::binary(BinaryOp::Le, to.clone(), int32(places.most as i32));
        let fits = bind(l, "fits", Expr::binary(BinaryOp::And, Expr::Reg(left), fits), &mut body);
        let to = bind(l, "to", fits.clone().select(to, int32(0)), &mut body);
        let count = self.of_all_lanes(l, BinaryOp::Max, to, &mut body);
        let (base, lane) = (&base, &self.lane);
        let stretch = Stretch { places, memory: &memory, base, lane, low: Expr::Reg(low), count };
        stretch.load(l, segment, &mut body)?;
        self.in_order(l, &mut body);
        let mut reduce = Vec::new();
        let of = (segment, length, SHORT_STAGED);
        self.in_counter(l, of, totals, &mut reduce, &mut |l, own, at, number, out| {
            let at = bind(l, "at", from.clone().plus(Expr::Cast(Ty::I32, Box::new(at.clone()))), out);
            stretch.read(l, (own, segment), &at, number, out)
        })?;
        body.push(Stmt::If(fits.clone(), reduce, vec![]));
        self.in_order(l, &mut body);
        body.push(Stmt::Assign(begin, fits.clone().select(int32(NONE), Expr::Reg(begin))));
        let not = Expr::Unary(UnaryOp::Not, Box::new(fits));
        body.push(Stmt::Assign(left, Expr::binary(BinaryOp::And, Expr::Reg(left), not)));
        let next = self.of_all_lanes(l, BinaryOp::Min, Expr::Reg(begin), &mut body);
        body.push(Stmt::Assign(low, next));
        out.push(Stmt::While(Expr::binary(BinaryOp::Lt, Expr::Reg(low), int32(NONE)), body));
        Ok(())
    }

    /// Orders the shared-memory accesses of the warp's lanes: a broadcast synchronises them.
    fn in_order(&self, l: &mut Lower, out: &mut Vec<Stmt>) {
        bind(l, "order", Expr::Broadcast(Box::new(self.lane.clone())), out);
    }

    /// Returns the minimum or the maximum of the values of all lanes.
    fn of_all_lanes(&self, l: &mut Lower, op: BinaryOp, own: Expr, out: &mut Vec<Stmt>) -> Expr {
        let own = bind(l, "all", own, out);
        [1, 2, 4, 8, 16].into_iter().fold(own, |all, distance| {
            let other = Expr::ShuffleXor(Box::new(all.clone()), distance);
            bind(l, "all", Expr::binary(op, all, other), out)
        })
    }
}

impl Stretch<'_> {
    /// Computes the elements of the stretch, and stores them in shared memory.
    fn load(&self, l: &mut Lower, segment: &Expr, out: &mut Vec<Stmt>) -> Result<()> {
        let whole = i64::from(WARP) * BATCH;
        let batches = bind(l, "batches", shifted(self.count.clone(), whole), out);
        let (b, mut body) = (l.k.reg("b", Ty::I32), Vec::new());
        let at = bind(l, "at", Expr::Reg(b).times(int32(whole as i32)), &mut body);
        self.batch(l, (&at, BATCH, None), segment, &mut body)?;
        out.push(Stmt::Seq(b, int32(0), batches.clone(), body));
        let at = bind(l, "at", batches.times(int32(whole as i32)), out);
        let rest = bind(l, "rest", self.count.clone().minus(at.clone()), out);
        let last = bind(l, "last", self.low.clone().plus(self.count.clone()).minus(int32(1)), out);
        let (mut many, mut few) = (Vec::new(), Vec::new());
        self.batch(l, (&at, BATCH, Some(&last)), segment, &mut many)?;
        self.batch(l, (&at, BATCH / 2, Some(&last)), segment, &mut few)?;
        let more_than = |n: i64| Expr::binary(BinaryOp::Gt, rest.clone(), int32(n as i32));
        let few = vec![Stmt::If(more_than(0), few, vec![])];
        out.push(Stmt::If(more_than(whole / 2), many, few));
        Ok(())
    }

    /// Computes `rows` rows of 32 elements, from element `at` of the stretch on, and stores them in shared memory.
    /// Elements after the place `last` are computed as that one, and nothing reads them.
    fn batch(
        &self,
        l: &mut Lower,
        (at, rows, last): (&Expr, i64, Option<&Expr>),
        segment: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let places = self.places;
        let first = self.low.clone().plus(at.clone()).plus(self.lane.clone());
        let first = bind(l, "place", first, out);
        let (_, base) = l.launch.g.fresh_var(Ty::I64);
        let (mut vars, mut roots) = (vec![(base, to_i64(first.clone()))], Vec::new());
        for row in 0..rows {
            let offset = row * i64::from(WARP);
            let place = match last {
                None => {
                    let offset = l.launch.g.lit(Lit::i64(offset));
                    linear::add(&mut l.launch.g, base, offset)
                }
                Some(last) => {
                    let (_, own) = l.launch.g.fresh_var(Ty::I64);
                    let at = first.clone().plus(int32(offset as i32)).min(last.clone());
                    let at = bind(l, "place", at, out);
                    vars.push((own, to_i64(at)));
                    own
                }
            };
            for (n, memory) in places.firsts.iter().zip(self.memory) {
                if memory.is_some() {
                    roots.push(l.launch.replace(*n, places.place, place));
                }
            }
        }
        let values = l.in_block(|l| l.region(&vars, &roots, segment, out))?;
        let values: Vec<Expr> = values.into_iter().map(|e| bind(l, "element", e, out)).collect();
        // a row of 32 elements takes 33 places: padding against bank conflicts of lanes a power of two elements apart
        let to = at.clone().plus(shifted(at.clone(), i64::from(WARP)));
        let to = bind(l, "to", self.base.clone().plus(to).plus(self.lane.clone()), out);
        let mut values = values.into_iter();
        for row in 0..rows {
            let to = to.clone().plus(int32((row * (i64::from(WARP) + 1)) as i32));
            for (memory, value) in self.memory.iter().flatten().zip(values.by_ref()) {
                out.push(Stmt::Store(*memory, to.clone(), value));
            }
        }
        Ok(())
    }

    /// Loads from shared memory, for the accumulators `own`, the values with which `number` neighbours from element
    /// `at` of the stretch on begin tree columns.
    fn read(
        &self,
        l: &mut Lower,
        (own, segment): (std::ops::Range<usize>, &Expr),
        at: &Expr,
        number: i64,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Vec<Expr>>> {
        let mut all = Vec::new();
        for q in 0..number {
            let at = if q == 0 { at.clone() } else { bind(l, "at", at.clone().plus(int32(q as i32)), out) };
            let padded = at.clone().plus(shifted(at, i64::from(WARP)));
            let padded = bind(l, "from", self.base.clone().plus(padded), out);
            let mut values = Vec::new();
            for i in own.clone() {
                values.push(match self.memory[i] {
                    Some(memory) => bind(l, "element", Expr::load(memory, padded.clone()), out),
                    None => {
                        let root = [self.places.firsts[i]];
                        let value = l.in_block(|l| l.region(&[], &root, segment, out))?.remove(0);
                        bound(l, "element", value, out)
                    }
                });
            }
            all.push(values);
        }
        Ok(all)
    }
}
