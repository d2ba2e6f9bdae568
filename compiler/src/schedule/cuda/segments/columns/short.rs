//! Columns of up to 128 elements, which are one row of a tile: a thread reduces `v` segments. It loads a batch of
//! elements of each, joins them, and a pairwise accumulator joins these batches.

use super::{BATCH, Strip, THREADS, is_below};
use crate::core::{COLUMNS, NodeId};
use crate::error::{Error, Result};
use crate::kernel::{Expr, Gpu, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::divided_number::Walk;
use crate::schedule::cuda::expressions::{int32, thread, to_i64};
use crate::schedule::cuda::segments::job::Job;
use crate::schedule::cuda::segments::lanes::{Side, join_neighbours, pairs, share_count};
use crate::schedule::cuda::segments::thread_columns::ThreadColumns;
use crate::schedule::element::counter::Counter;
use crate::schedule::element::lower::{Lower, Surroundings, bind};
use crate::schedule::element::nested_loop::read;
use crate::schedule::element::reduction::Reduction;

/// The number of elements of a batch of segments that are no neighbours.
const SPACED_BATCH: i64 = 4;

/// Writes the kernel body.
pub(in super::super) fn short_segments(l: &mut Lower, job: &Job) -> Result<Vec<Stmt>> {
    let (n, length) = (l.launch.count(), l.launch.host(job.s.length));
    let mut out = Vec::new();
    let (lane, warp) = (thread(), int32(0));
    let begin = to_i64(Expr::Place(Gpu::Block)).times(Expr::int(i64::from(THREADS) * job.v));
    let begin = bind(l, "begin", begin, &mut out);
    let s = Strip { job, n: n.clone(), length: length.clone(), lane, warp, begin, shared: vec![] };
    let mine = to_i64(thread()).times(Expr::int(job.lane_stride()));
    let j = bind(l, "j", s.begin.clone().plus(mine), &mut out);
    job.note_index(l, &j);
    let work = |l: &mut Lower, j: &Expr, v: i64, out: &mut Vec<Stmt>| -> Result<()> {
        let types: Vec<Ty> = job.reductions.iter().flat_map(|r| r.totals(&r.types)).collect();
        let columns = job.columns(l, j, v as usize, out);
        let mut code =
            |l: &mut Lower, job: &Job, out: &mut Vec<Stmt>| s.of(job).short_totals(l, &columns, out);
        let totals = job.versions(l, Some(&columns), &types.repeat(v as usize), &mut code, out)?;
        let mut totals = totals.into_iter();
        for q in 0..v {
            let of_reduction = |r: &Reduction| totals.by_ref().take(r.totals(&r.types).len()).collect();
            let of_segment: Vec<Vec<Expr>> = job.reductions.iter().map(of_reduction).collect();
            let j = bind(l, "j", j.clone().plus(Expr::int(q * job.spacing)), out);
            job.note_index(l, &j);
            let mut stores = Vec::new();
            job.store(l, &j, &of_segment, &mut stores)?;
            match job.spacing {
                1 => out.append(&mut stores),
                _ => out.push(Stmt::If(is_below(&j, &n), stores, vec![])),
            }
        }
        Ok(())
    };
    if job.spacing > 1 {
        work(l, &j, job.v, &mut out)?;
        return Ok(out);
    }
    let mut all = Vec::new();
    work(l, &j, job.v, &mut all)?;
    let mut some = Vec::new();
    for q in 0..job.v - 1 {
        let mut one = Vec::new();
        let at = bind(l, "j", j.clone().plus(Expr::int(q)), &mut one);
        job.note_index(l, &at);
        work(l, &at, 1, &mut one)?;
        some.push(Stmt::If(is_below(&j.clone().plus(Expr::int(q)), &n), one, vec![]));
    }
    out.push(Stmt::If(Expr::binary(BinaryOp::Le, j.plus(Expr::int(job.v)), n), all, some));
    Ok(out)
}

impl Strip<'_> {
    /// Reduces the segments of a thread. Returns the totals of each segment's reductions, one after another.
    fn short_totals(
        &self,
        l: &mut Lower,
        segments: &ThreadColumns,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let (job, v) = (self.job, segments.nodes.len());
        let walk = job.walk(l, 1, out);
        let indices = walk.first(l, &Expr::int(0), out);
        let variables = walk.variables(l, indices, out);
        let batch = self.batch_len();
        let levels = COLUMNS.trailing_zeros() - batch.trailing_zeros();
        let counters = job.reductions.iter().map(|r| Counter::new(l, r, (levels, v), out));
        let mut counters: Vec<Counter> = counters.collect();
        let g = l.k.reg("g", Ty::I64);
        let rounded_up = self.length.clone().plus(Expr::int(batch - 1));
        let batches = Expr::binary(BinaryOp::Shr, rounded_up, Expr::int(batch.trailing_zeros().into()));
        let batches = bind(l, "batches", batches, out);
        let mut body = Vec::new();
        let at = bind(l, "at", Expr::Reg(g).times(Expr::int(batch)), &mut body);
        job.note_index(l, &at);
        let mut indices = read(&variables);
        let values = self.batch(l, segments, &at, (&walk, &mut indices), &mut body)?;
        walk.assign(&variables, indices, &mut body);
        for (at, (r, counter)) in job.reductions.iter().zip(&mut counters).enumerate() {
            let of_batch = values.iter().map(|of_segment| of_segment[at].clone()).collect();
            counter.push(l, r, &Surroundings::NONE, Expr::Reg(g), of_batch, &mut body)?;
        }
        out.push(Stmt::Seq(g, Expr::int(0), batches.clone(), body));
        let mut totals = vec![Vec::new(); v];
        for (r, counter) in job.reductions.iter().zip(&counters) {
            let of_segments = counter.total(l, r, &Surroundings::NONE, batches.clone(), out)?;
            totals.iter_mut().zip(of_segments).for_each(|(all, total)| all.extend(r.totals(&total)));
        }
        Ok(totals.concat())
    }

    /// Stores the values of a batch's elements that exist, in launches that store elements. `at` is the first
    /// element.
    fn store_batch(
        &self,
        l: &mut Lower,
        at: &Expr,
        (elements, segments): (&[NodeId], &ThreadColumns),
        vars: &[(NodeId, Expr)],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        if self.job.stored.is_none() {
            return Ok(());
        }
        let j = &segments.places[0];
        for (i, element) in (0..).zip(elements) {
            let (stored, mut stores) = (self.job.stored_at(l, *element), Vec::new());
            let mut roots = Vec::new();
            for segment in &segments.nodes {
                roots.extend(stored.iter().map(|n| l.launch.replace(*n, self.job.s.index, *segment)));
            }
            let values = l.region(vars, &roots, j, out)?;
            let of_segments = values.chunks(stored.len()).map(<[Expr]>::to_vec).collect();
            let k = bind(l, "k", at.clone().plus(Expr::int(i)), out);
            self.job.store_elements(l, (&k, j), of_segments, &mut stores);
            out.push(Stmt::If(Expr::binary(BinaryOp::Lt, k, self.length.clone()), stores, vec![]));
        }
        Ok(())
    }

    /// Returns the number of neighbouring elements of a segment that a thread loads before it joins them.
    fn batch_len(&self) -> i64 {
        if self.job.spacing > 1 { SPACED_BATCH } else { BATCH }
    }

    /// Loads a batch of neighbouring elements, from `at` on, of each of some segments, and joins them. In place of
    /// elements out of bounds the last one is loaded, and its value is replaced by the reduction's identity.
    /// `indices` are those of element `at`, and afterwards those of the next batch's first element, if that exists.
    fn batch(
        &self,
        l: &mut Lower,
        segments: &ThreadColumns,
        at: &Expr,
        (walk, indices): (&Walk, &mut Vec<Expr>),
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Vec<Vec<Expr>>>> {
        let (batch, v, mut vars) = (self.batch_len(), segments.nodes.len(), segments.known.clone());
        let last = bind(l, "last", self.length.clone().minus(Expr::int(1)), out);
        self.job.note_index(l, &last);
        let mut elements = Vec::new();
        for i in 0..batch {
            let k = bind(l, "k", at.clone().plus(Expr::int(i)).min(last.clone()), out);
            self.job.note_index(l, &k);
            let (_, node) = l.launch.g.fresh_var(Ty::I64);
            vars.push((node, k));
            vars.extend(walk.known(l, node, indices));
            let next = at.clone().plus(Expr::int(i + 1));
            let exists = Expr::binary(BinaryOp::Lt, next, self.length.clone());
            // if the batch is not the last one, its own elements exist, and so does the next one's first
            walk.next(l, indices, Some(&exists).filter(|_| i + 1 < batch), out);
            elements.push(node);
        }
        l.with_loaded(Default::default(), |l| {
            for element in &elements {
                self.load(l, &vars, *element, segments, out)?;
            }
            let values = |l: &mut Lower, r: &Reduction, (i, q): (usize, usize), out: &mut Vec<Stmt>| {
                let value = r.first(l.launch, elements[i]);
                let value: Vec<NodeId> = value
                    .into_iter()
                    .map(|value| l.launch.replace(value, self.job.s.index, segments.nodes[q]))
                    .collect();
                let values = l.region(&vars, &value, &segments.places[q], out)?;
                let is_present =
                    Expr::binary(BinaryOp::Lt, at.clone().plus(Expr::int(i as i64)), self.length.clone());
                let choose = |(e, absent)| is_present.clone().select(e, absent);
                let values = values.into_iter().zip(r.absent(l.launch));
                Ok::<_, Error>(values.map(|e| bind(l, "x", choose(e), out)).collect())
            };
            self.store_batch(l, at, (&elements, segments), &vars, out)?;
            let mut all = vec![Vec::new(); v];
            if self.job.reductions.iter().any(Reduction::is_counted) {
                for r in &self.job.reductions {
                    let mut list = Vec::new();
                    for i in 0..elements.len() {
                        let mut side: Side =
                            (0..v).map(|q| values(l, r, (i, q), out)).collect::<Result<_>>()?;
                        share_count(r, &mut side);
                        list.push(side);
                    }
                    let joined = join_neighbours(l, r, list, out)?;
                    all.iter_mut().zip(joined).for_each(|(all, value)| all.push(value));
                }
                return Ok(all);
            }
            for (q, all) in all.iter_mut().enumerate() {
                for r in &self.job.reductions {
                    let mut list = Vec::new();
                    for i in 0..elements.len() {
                        list.push(values(l, r, (i, q), out)?);
                    }
                    all.push(pairs(l, r, list, out)?);
                }
            }
            Ok(all)
        })
    }
}
