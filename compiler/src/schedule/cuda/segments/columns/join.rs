//! The joins of a strip's partial results: shared memory joins the values of a block's warps; the last block of the
//! strip to arrive joins the values of all its blocks, which lie in scratch.

use super::{MAX_SPAN, Strip, WARPS, is_below};
use crate::core::COLUMNS;
use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt, WARP};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::expressions::{int32, to_i64};
use crate::schedule::cuda::levels::is_zero;
use crate::schedule::cuda::segments::pairs;
use crate::schedule::cuda::tree::join;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::nested_loop::{assign, read};
use crate::schedule::element::reduction::{Reduction, by_reduction};
use std::ops::Range;

/// The number of tree columns that a lane has in registers at once in reductions with several accumulators.
const COUNTED_COLUMNS: i64 = 4;

/// Some tree columns of the sequence of the blocks' results, which is reduced like a segment of its own.
struct Columns<'a> {
    /// The warp's first tree column.
    first: &'a Expr,
    /// The numbers of these tree columns, counted from the warp's first one.
    numbers: Range<i64>,
    /// The number of results for each segment.
    count: &'a Expr,
}

impl Strip<'_> {
    /// Joins the warps' values of each segment through shared memory. Lane l of warp 0 then has the totals of the
    /// strip's segments l, 32 + l, and so on. `value_stride` is the distance between a lane's segments in the strip:
    /// 1 if they are neighbours, 32 if they are those of [`Strip::segment`].
    pub(super) fn join(
        &self,
        l: &mut Lower,
        values: &[Vec<Vec<Expr>>],
        value_stride: i64,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Vec<Vec<Expr>>>> {
        let v = self.job.v;
        // one row per warp, with the strip's segments side by side
        let row = self.warp.clone().times(int32((i64::from(WARP) * v) as i32));
        let lane_stride = if value_stride == 1 { v } else { 1 };
        let at = bind(l, "at", row.plus(self.lane.clone().times(int32(lane_stride as i32))), out);
        for (q, per_reduction) in (0..).zip(values) {
            for (m, e) in self.shared.iter().zip(per_reduction.iter().flatten()) {
                out.push(Stmt::Store(*m, at.clone().plus(int32((q * value_stride) as i32)), e.clone()));
            }
        }
        out.push(Stmt::Barrier);
        let mut totals = Vec::new();
        let mut body = Vec::new();
        for q in 0..v {
            let mut per_reduction = Vec::new();
            for (r, shared) in by_reduction(&self.job.reductions, &self.shared) {
                let total = r.registers(l, "total");
                let zeros = total.iter().zip(&r.types);
                out.extend(zeros.map(|(total, ty)| Stmt::Var(*total, Expr::Lit(Lit::zero(*ty)))));
                let at = |w: i64| {
                    self.lane.clone().plus(int32((w * i64::from(WARP) * v + q * i64::from(WARP)) as i32))
                };
                let mut of_warp = |w: i64| {
                    let load = |m: &Mem| bind(l, "w", Expr::load(*m, at(w)), &mut body);
                    shared.iter().map(load).collect()
                };
                let list = (0..WARPS).map(&mut of_warp).collect();
                let joined = pairs(l, r, list, &mut body)?;
                body.extend(total.iter().zip(joined).map(|(total, e)| Stmt::Assign(*total, e)));
                per_reduction.push(read(&total));
            }
            totals.push(per_reduction);
        }
        out.push(Stmt::If(is_zero(&self.warp), body, vec![]));
        Ok(totals)
    }

    /// Joins the results of the strip's blocks, `count` for each segment, as far as they belong to this warp's 16
    /// tree columns. A lane has the segments of [`Strip::segment`], so its loads and those of its neighbours are
    /// coalesced.
    pub(super) fn load_partials(
        &self,
        l: &mut Lower,
        count: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Vec<Vec<Expr>>>> {
        let v = self.job.v;
        let columns_per_warp = i64::from(MAX_SPAN);
        let c = bind(l, "c", to_i64(self.warp.clone()).times(Expr::int(columns_per_warp)), out);
        let mut values = Vec::new();
        for q in 0..v {
            let j = self.segment(q, out, l);
            let inside = bind(l, "inside", is_below(&j, &self.n), out);
            let mut per_reduction = Vec::new();
            for r in &self.job.reductions {
                let together = if r.is_counted() { COUNTED_COLUMNS } else { columns_per_warp };
                let mut joined = Vec::new();
                for first in (0..columns_per_warp).step_by(together as usize) {
                    let columns = Columns { first: &c, numbers: first..first + together, count };
                    joined.push(self.partials(l, r, &columns, (&j, &inside, q), out)?);
                }
                per_reduction.push(pairs(l, r, joined, out)?);
            }
            values.push(per_reduction);
        }
        // after this barrier the shared memory for the warps' values may be written again
        out.push(Stmt::Barrier);
        Ok(values)
    }

    /// Joins some tree columns of the blocks' results, for one reduction of segment `j`: the lane's `q`-th segment,
    /// which exists only if `inside`.
    fn partials(
        &self,
        l: &mut Lower,
        r: &Reduction,
        columns: &Columns,
        (j, inside, q): (&Expr, &Expr, i64),
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let absent = r.absent(l.launch);
        let accs: Vec<Vec<Reg>> = columns.numbers.clone().map(|_| r.registers(l, "acc")).collect();
        for accs in &accs {
            out.extend(accs.iter().zip(&absent).map(|(a, absent)| Stmt::Var(*a, absent.clone())));
        }
        let row = l.k.reg("row", Ty::I64);
        let (mut loads, mut steps) = (Vec::new(), Vec::new());
        let first = columns.first.clone().plus(Expr::Reg(row).times(Expr::int(COLUMNS)));
        let first = bind(l, "first", first, &mut loads);
        for (g, acc) in columns.numbers.clone().zip(&accs) {
            let p = bind(l, "p", first.clone().plus(Expr::int(g)), &mut loads);
            let is_present = Expr::binary(BinaryOp::Lt, p.clone(), columns.count.clone());
            let is_present = Expr::binary(BinaryOp::And, inside.clone(), is_present);
            let is_present = bind(l, "there", is_present, &mut loads);
            let at = p.times(self.n.clone()).plus(j.clone());
            let load = |(m, absent): (&Mem, &Expr)| {
                let e = Expr::LoadIf(*m, Box::new(at.clone()), Box::new(is_present.clone()));
                let e = bind(l, "x", e, &mut loads);
                bind(l, "x", is_present.clone().select(e, absent.clone()), &mut steps)
            };
            let next: Vec<Expr> = r.scratch.iter().zip(&absent).map(load).collect();
            let mut joined = join(l, r, &read(acc), &next, &mut steps)?;
            if r.is_counted() {
                // in joins with counts only the second operand may be absent, so the first row is taken as it is
                let is_first = Expr::binary(BinaryOp::Eq, Expr::Reg(row), Expr::int(0));
                let begins = |(next, joined): (Expr, Expr)| is_first.clone().select(next, joined);
                joined = next.into_iter().zip(joined).map(begins).collect();
            }
            assign(l, acc, joined, &mut steps);
        }
        loads.append(&mut steps);
        let rounded_up = columns.count.clone().plus(Expr::int(COLUMNS - 1));
        let rows = Expr::binary(BinaryOp::Shr, rounded_up, Expr::int(COLUMNS.trailing_zeros().into()));
        let all = vec![Stmt::Seq(row, Expr::int(0), rows, loads)];
        // skip the loads if no lane of the warp has a segment
        let some = is_below(&self.begin.clone().plus(Expr::int(q * i64::from(WARP))), &self.n);
        out.push(Stmt::If(some, all, vec![]));
        pairs(l, r, accs.iter().map(|acc| read(acc)).collect(), out)
    }

    /// Computes the strip's results from the totals, and stores them. Only warp 0 runs this code.
    pub(super) fn store_results(
        &self,
        l: &mut Lower,
        totals: &[Vec<Vec<Expr>>],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        for (q, totals) in totals.iter().enumerate() {
            let j = self.segment(q as i64, out, l);
            let mut body = Vec::new();
            let totals = self.job.reductions.iter().zip(totals).map(|(r, of)| r.totals(of));
            let totals: Vec<Vec<Expr>> = totals.collect();
            self.job.store(l, &j, &totals, &mut body)?;
            out.push(Stmt::If(is_below(&j, &self.n), body, vec![]));
        }
        Ok(())
    }
}
