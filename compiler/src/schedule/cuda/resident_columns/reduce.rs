//! The reductions of a strip's columns, by the fixed tree of semantics 5.1, and the values that the program computes
//! from them:
//!
//! ```text
//! elements of a thread -> its tree columns (registers) -> lanes of a warp (shuffles) -> warps of a block (shared
//! memory) -> blocks of a cluster (each other's shared memory)
//! ```

use super::strip::{Strip, ThreadRow};
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt, WARP};
use crate::scalar::BinaryOp;
use crate::schedule::cuda::expressions::{int32, masked, offset, shifted, thread, to_i64};
use crate::schedule::cuda::levels::is_zero;
use crate::schedule::cuda::segments::{Exchange, Side, join_lanes, join_neighbours, pairs, share_count};
use crate::schedule::cuda::tree::named_values;
use crate::schedule::element::canonical;
use crate::schedule::element::lower::{Lower, Surroundings, bind};
use crate::schedule::element::reduction::Reduction;
use crate::schedule::element::scalars::join_initial;
use crate::schedule::facts::RowValue;

/// The operands of one element, with their values.
type Operands<'a> = &'a [(NodeId, Expr)];

/// A reduction of the strip's columns while its partial results are in shared memory.
struct Joined {
    reduction: Reduction,
    /// For each accumulator: the values of each column's warps, and the totals of the columns; in a cluster, every
    /// block's totals.
    warps: Vec<Mem>,
    totals: Vec<Mem>,
}

impl Strip<'_> {
    /// Computes the reductions of a stage, and the values that follow from them.
    pub fn reduce(
        &mut self,
        l: &mut Lower,
        stage: usize,
        (reductions, values): (&[NodeId], &[RowValue]),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        if reductions.is_empty() {
            return self.values(l, values, out);
        }
        let (nodes, kept) = self.nodes(l, stage);
        let computed = self.compute(l, &nodes, out)?;
        let (mut all, mut first) = (Vec::new(), 0);
        for r in Reduction::all_nested(l.launch, reductions) {
            let count = r.elements(l.launch, self.kept.element).len();
            let operands: Vec<Operands> =
                computed.iter().map(|of_element| &of_element[first..first + count]).collect();
            first += count;
            let of_thread = self.fold_and_join(l, &r, (&self.places, &operands), out)?;
            let lanes = (self.p.lanes, WARP);
            let of_warp = join_lanes(l, &r, of_thread, lanes, &Exchange::Down, out)?;
            all.push(self.leave(l, r, of_warp, out));
        }
        out.push(Stmt::Barrier);
        for joined in &all {
            self.join_warps(l, joined, out)?;
        }
        out.push(match self.p.blocks {
            1 => Stmt::Barrier,
            _ => Stmt::ClusterBarrier { relaxed: false },
        });
        for joined in &all {
            self.total(l, joined, out)?;
        }
        self.keep(computed, &kept);
        self.values(l, values, out)
    }

    /// Folds some neighbouring tree columns of this thread and joins them by the tree, depth first, so that few
    /// accumulators are in registers at once. `places` has their elements' rows, one tree column after the other.
    fn fold_and_join(
        &self,
        l: &mut Lower,
        r: &Reduction,
        (places, operands): (&[ThreadRow], &[Operands]),
        out: &mut Vec<Stmt>,
    ) -> Result<Side> {
        if places.len() as i64 == self.p.tile_rows {
            return self.fold(l, r, (places, operands), out);
        }
        let (low, high) = places.split_at(places.len() / 2);
        let (of_low, of_high) = operands.split_at(operands.len() / 2);
        let low = self.fold_and_join(l, r, (low, of_low), out)?;
        let high = self.fold_and_join(l, r, (high, of_high), out)?;
        join_neighbours(l, r, vec![low, high], out)
    }

    /// Folds the elements of one tree column, for each of the thread's matrix columns. Returns the accumulators of
    /// each matrix column.
    fn fold(
        &self,
        l: &mut Lower,
        r: &Reduction,
        (places, operands): (&[ThreadRow], &[Operands]),
        out: &mut Vec<Stmt>,
    ) -> Result<Side> {
        let absent = r.absent(l.launch);
        let mut accs: Vec<Vec<Reg>> = Vec::new();
        for _ in &self.columns {
            let of_column = r.registers(l, "acc");
            accs.push(of_column);
            if r.is_counted() {
                let count = accs[0][0];
                accs.iter_mut().for_each(|of_column| of_column[0] = count);
            }
        }
        let own = |q: usize| if q > 0 && r.is_counted() { 1.. } else { 0.. };
        for (q, of_column) in accs.iter().enumerate() {
            let new = of_column.iter().zip(&absent).skip(own(q).start);
            out.extend(new.map(|(a, absent)| Stmt::Var(*a, absent.clone())));
        }
        for ((place, of_row), row) in places.iter().zip(operands.chunks(self.columns.len())).zip(0..) {
            let (mut vars, mut roots) = (Vec::new(), Vec::new());
            let old: Vec<Vec<Expr>> =
                accs.iter().map(|regs| regs.iter().map(|a| Expr::Reg(*a)).collect()).collect();
            for (old, operands) in old.iter().zip(of_row) {
                vars.extend_from_slice(operands);
                // if this element exists, so do all earlier elements of its tree column
                let known = r.after_rows(old.clone(), Expr::int(row));
                let known = r.nodes(l.launch, &known, &mut vars);
                let operands: Vec<NodeId> = operands.iter().map(|v| v.0).collect();
                roots.extend(r.step_of(l.launch, &known, &operands));
            }
            let next = l.region(&vars, &roots, &Expr::int(0), out)?;
            let next = named_values(l, r, "next", next, out);
            for (q, (of_column, next)) in accs.iter().zip(next.chunks(r.accumulators())).enumerate() {
                for (at, acc) in of_column.iter().enumerate().skip(own(q).start) {
                    let chosen = place.is_present.clone().select(next[at].clone(), Expr::Reg(*acc));
                    out.push(Stmt::Assign(*acc, chosen));
                }
            }
        }
        let mut side = accs.iter().map(|regs| regs.iter().map(|a| Expr::Reg(*a)).collect()).collect();
        share_count(r, &mut side);
        Ok(side)
    }

    /// Stores the values of this warp in shared memory. The warp's first `lanes` lanes have them.
    fn leave(&self, l: &mut Lower, reduction: Reduction, of_warp: Side, out: &mut Vec<Stmt>) -> Joined {
        let (warps, width) = (self.p.warps(), self.p.width());
        let mut share = |name, words| -> Vec<Mem> {
            reduction.types.iter().map(|ty| l.k.share(name, *ty, words)).collect()
        };
        let (of_warps, totals) = (share("warps", warps * width), share("totals", self.p.blocks * width));
        let warp = shifted(thread(), WARP.into());
        let first = self.x.clone().times(int32(self.p.v as i32 * warps as i32)).plus(warp);
        let mut body = Vec::new();
        let first = bind(l, "at", first, &mut body);
        for (values, q) in of_warp.into_iter().zip(0..) {
            let at = offset(first.clone(), q * i64::from(warps));
            body.extend(of_warps.iter().zip(values).map(|(m, e)| Stmt::Store(*m, at.clone(), e)));
        }
        let lane = masked(thread(), WARP.into());
        let is_first = Expr::binary(BinaryOp::Lt, lane, int32(self.p.lanes as i32));
        out.push(Stmt::If(is_first, body, vec![]));
        Joined { reduction, warps: of_warps, totals }
    }

    /// Joins the values of all warps: for each column, as many neighbouring threads as there are warps take one value
    /// each and exchange them by shuffles. In a cluster, thread `b` of these sends the total to block `b`.
    fn join_warps(&self, l: &mut Lower, joined: &Joined, out: &mut Vec<Stmt>) -> Result<()> {
        let (warps, width) = (self.p.warps(), self.p.width());
        let all = i64::from(warps * width);
        let at = bind(l, "at", masked(thread(), all), out);
        let load = |m: &Mem| bind(l, "warp", Expr::load(*m, at.clone()), out);
        let values = joined.warps.iter().map(load).collect();
        let part = bind(l, "part", masked(thread(), warps.into()), out);
        let exchange = if self.p.blocks == 1 { Exchange::Down } else { Exchange::Pairs(&part) };
        let total = join_lanes(l, &joined.reduction, vec![values], (1, warps), &exchange, out)?;
        let column = shifted(at, warps.into());
        let totals = joined.totals.iter().zip(&total[0]);
        let (stores, mut leads) = match self.p.blocks {
            1 => {
                let stores = totals.map(|(m, e)| Stmt::Store(*m, column.clone(), e.clone()));
                (stores.collect(), is_zero(&part))
            }
            blocks => {
                let at = self.p.rank().times(int32(self.p.width() as i32)).plus(column);
                let store =
                    |(m, e): (&Mem, &Expr)| Stmt::StoreTo(*m, to_i64(at.clone()), part.clone(), e.clone());
                let receives = Expr::binary(BinaryOp::Lt, part.clone(), int32(blocks as i32));
                (totals.map(store).collect(), receives)
            }
        };
        if all < i64::from(self.p.threads()) {
            let is_own = Expr::binary(BinaryOp::Lt, thread(), int32(all as i32));
            leads = Expr::binary(BinaryOp::And, leads, is_own);
        }
        out.push(Stmt::If(leads, stores, vec![]));
        Ok(())
    }

    /// Loads the totals of this thread's columns, and joins them with the reduction's initial values.
    fn total(&mut self, l: &mut Lower, joined: &Joined, out: &mut Vec<Stmt>) -> Result<()> {
        let r = &joined.reduction;
        let length = l.launch.host(self.kept.length);
        let some = Expr::binary(BinaryOp::Gt, length, Expr::int(0));
        let first = bind(l, "at", self.x.clone().times(int32(self.p.v as i32)), out);
        for (q, vars) in self.of_column.iter_mut().enumerate() {
            let at = offset(first.clone(), q as i64);
            let blocks = (0, self.p.blocks);
            let total = r.totals(&total_of(l, joined, (&at, self.p.width()), blocks, out)?);
            let place = Surroundings { vars, at: &Expr::int(0) };
            let mut values = join_initial(l, r, &place, some.clone(), total, out)?;
            vars.append(&mut values);
        }
        Ok(())
    }

    /// Computes the values that follow from the columns' reductions, and stores those that are results.
    fn values(&mut self, l: &mut Lower, values: &[RowValue], out: &mut Vec<Stmt>) -> Result<()> {
        let roots: Vec<NodeId> = values.iter().map(|v| v.value).collect();
        let mut stores = Vec::new();
        for q in 0..self.columns.len() {
            let computed = l.region(&self.of_column[q], &roots, &Expr::int(0), out)?;
            let column = self.index(self.first.clone().plus(Expr::int(q as i64)));
            for (v, e) in values.iter().zip(computed) {
                let ty = l.launch.g.ty(v.read).elem;
                let e = canonical(e, ty, &mut l.k.kernel, out);
                let e = bind(l, "result", e, out);
                self.of_column[q].push((v.read, e.clone()));
                let read = l.launch.replace(v.read, self.kept.segment, self.columns[q]);
                self.vars.push((read, e.clone()));
                if let Some(it) = &v.stored {
                    let mem = l.launch.output(it);
                    stores.push(Stmt::Store(mem, l.place_at(mem, &column), e));
                }
            }
        }
        if !stores.is_empty() {
            out.push(Stmt::If(self.leads(), stores, vec![]));
        }
        Ok(())
    }
}

/// Joins a column's totals from the blocks `first .. first + blocks` of a cluster, depth first, so that few values
/// are in registers at the same time. The total of block 0 is at index `at`, those of the others are `width` apart.
fn total_of(
    l: &mut Lower,
    joined: &Joined,
    (at, width): (&Expr, u32),
    (first, blocks): (u32, u32),
    out: &mut Vec<Stmt>,
) -> Result<Vec<Expr>> {
    if blocks > 1 {
        let half = blocks / 2;
        let low = total_of(l, joined, (at, width), (first, half), out)?;
        let high = total_of(l, joined, (at, width), (first + half, half), out)?;
        return pairs(l, &joined.reduction, vec![low, high], out);
    }
    let at = offset(at.clone(), (first * width).into());
    Ok(joined.totals.iter().map(|m| bind(l, "total", Expr::load(*m, at.clone()), out)).collect())
}
