//! The reductions of a row, by the fixed tree of semantics 5.1, and the values that the program computes from them:
//!
//! ```text
//! elements of a lane -> its columns (registers) -> lanes (shuffles) -> tiles (shared memory) -> blocks of a cluster
//! ```

use super::Row;
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::expressions::to_i64;
use crate::schedule::cuda::levels::is_zero;
use crate::schedule::cuda::resident_rows::cluster;
use crate::schedule::cuda::resident_rows::mapping::Group;
use crate::schedule::cuda::segments::{Exchange, join_columns, pairs};
use crate::schedule::cuda::tree::named_values;
use crate::schedule::element::canonical;
use crate::schedule::element::lower::{Lower, Surroundings, bind};
use crate::schedule::element::reduction::Reduction;
use crate::schedule::element::scalars::join_initial;
use crate::schedule::facts::RowValue;

impl Row<'_> {
    /// Computes the reductions of a stage, and the values that follow from them.
    pub fn reduce(
        &mut self,
        l: &mut Lower,
        stage: usize,
        (reductions, values): (&[NodeId], &[RowValue]),
        groups: &[Group],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let reductions = Reduction::all_nested(l.launch, reductions);
        let columns = self.columns_of(l, stage, &reductions, groups, out)?;
        for (r, columns) in reductions.iter().zip(&columns) {
            let exchange = Exchange::Pairs(&self.lane);
            let total =
                join_columns(l, r, (&[columns], None), (self.p.v, self.p.lanes), exchange, out)?.remove(0);
            let total = self.of_row(l, r, total, out)?;
            self.join_initial(l, r, total, out)?;
        }
        self.values(l, values, out)
    }

    /// Folds this lane's elements into its columns for the reductions of a stage, and returns the accumulators:
    /// `[reduction][accumulator][column]`. Values of elements that later stages need are kept.
    pub fn columns_of(
        &mut self,
        l: &mut Lower,
        stage: usize,
        reductions: &[Reduction],
        groups: &[Group],
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Vec<Vec<Reg>>>> {
        let (nodes, kept) = self.nodes(l, stage);
        let (each, computed) = self.compute(l, stage, &nodes, groups, out)?;
        let known: Vec<(NodeId, Expr)> = each.concat().into_iter().zip(computed).collect();
        let present: Vec<(&Expr, usize)> =
            groups.iter().flat_map(|g| (0..g.indices.len()).map(|q| (&g.is_present, g.column + q))).collect();
        let (mut all, mut first) = (Vec::new(), 0);
        for r in reductions {
            let of = (known.as_slice(), nodes.len(), first);
            let (columns, count) = self.columns(l, r, of, &present, out)?;
            first += count;
            all.push(columns);
        }
        self.keep(known, &kept);
        Ok(all)
    }

    /// Folds this lane's elements into its columns for one reduction. `known` has the computed values of all
    /// elements, `nodes` of them for each element; the reduction's operands begin at the number `first` of these.
    /// `present` says for each element whether it exists, and its column. Returns the accumulators, and the number of
    /// operands.
    fn columns(
        &self,
        l: &mut Lower,
        r: &Reduction,
        (known, nodes, first): (&[(NodeId, Expr)], usize, usize),
        present: &[(&Expr, usize)],
        out: &mut Vec<Stmt>,
    ) -> Result<(Vec<Vec<Reg>>, usize)> {
        let new = |ty: &Ty| (0..self.p.columns).map(|_| l.k.reg("acc", *ty)).collect();
        let columns: Vec<Vec<Reg>> = r.types.iter().map(new).collect();
        for (regs, start) in columns.iter().zip(r.absent(l.launch)) {
            out.extend(regs.iter().map(|c| Stmt::Var(*c, start.clone())));
        }
        let mut rows = vec![0; self.p.columns as usize];
        let count = r.elements(l.launch, self.rows.element).len();
        for (at, (is_present, column)) in present.iter().enumerate() {
            let operands = &known[at * nodes + first..][..count];
            let old: Vec<Expr> = columns.iter().map(|regs| Expr::Reg(regs[*column])).collect();
            let mut vars = operands.to_vec();
            let operands: Vec<NodeId> = operands.iter().map(|v| v.0).collect();
            let step = if rows[*column] == 0 && !r.is_counted() {
                // a step from the identity value has the same bits, but assemblers do not simplify it for maxima
                r.first_of(l.launch, &operands)
            } else {
                // if this element exists, so do all earlier elements of its column
                let known = r.after_rows(old.clone(), Expr::int(rows[*column]));
                let known = r.nodes(l.launch, &known, &mut vars);
                r.step_of(l.launch, &known, &operands)
            };
            let mut next = l.region(&vars, &step, &Expr::int(0), out)?;
            if r.is_counted() {
                next = named_values(l, r, "next", next, out);
            }
            for ((regs, next), old) in columns.iter().zip(next).zip(old) {
                out.push(Stmt::Assign(regs[*column], (*is_present).clone().select(next, old)));
            }
            rows[*column] += 1;
        }
        Ok((columns, count))
    }

    /// Joins the reduction's initial values with the totals of the row's elements. From then on the values of the
    /// reduction's nodes are known.
    pub fn join_initial(
        &mut self,
        l: &mut Lower,
        r: &Reduction,
        totals: Vec<Expr>,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let length = l.launch.host(self.rows.length);
        let some = Expr::binary(BinaryOp::Gt, length, Expr::int(0));
        let place = Surroundings { vars: &self.vars, at: &Expr::int(0) };
        let mut values = join_initial(l, r, &place, some, totals, out)?;
        self.vars.append(&mut values);
        Ok(())
    }

    /// Joins the tiles of a row, and in a cluster its blocks. `total` are the accumulators of the lane's own tile.
    /// Returns the row's totals, without the initial values.
    fn of_row(
        &self,
        l: &mut Lower,
        r: &Reduction,
        mut total: Vec<Expr>,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        if self.p.warps > 1 {
            let warps = self.repeated.as_ref().map_or(self.p.warps, |of| of.warps);
            let tiles: Vec<Mem> = r.each().map(|r| l.k.share("tiles", r.ty, warps)).collect();
            let first = self.repeated.as_ref().map_or(Expr::int(0), |of| to_i64(of.first_warp.clone()));
            let at = first.clone().plus(to_i64(self.warp.clone()));
            let store = tiles.iter().zip(total).map(|(m, e)| Stmt::Store(*m, at.clone(), e)).collect();
            out.push(Stmt::If(is_zero(&self.lane), store, vec![]));
            out.push(Stmt::Barrier);
            let mut load = |w: u32| -> Vec<Expr> {
                let load =
                    |m: &Mem| bind(l, "tile", Expr::load(*m, first.clone().plus(Expr::int(w.into()))), out);
                tiles.iter().map(load).collect()
            };
            let totals = (0..self.p.warps).map(&mut load).collect();
            if self.repeated.is_some() {
                // the warps write the next row's tiles to the same places
                out.push(Stmt::Barrier);
            }
            total = pairs(l, r, totals, out)?;
        }
        if self.p.blocks > 1 {
            total = cluster::join(l, r, self.p, total, out)?;
        }
        Ok(r.totals(&total))
    }

    /// Computes the values that follow from the row's reductions. One lane stores those that are results.
    pub fn values(&mut self, l: &mut Lower, values: &[RowValue], out: &mut Vec<Stmt>) -> Result<()> {
        let roots: Vec<NodeId> = values.iter().map(|v| v.value).collect();
        let row = self.vars[0].1.clone();
        let computed = l.region(&self.vars, &roots, &row, out)?;
        let mut stores = Vec::new();
        for (v, e) in values.iter().zip(computed) {
            let ty = l.launch.g.ty(v.read).elem;
            let e = canonical(e, ty, &mut l.k.kernel, out);
            let e = bind(l, "result", e, out);
            self.vars.push((v.read, e.clone()));
            if let Some(it) = &v.stored {
                let mem = l.launch.output(it);
                stores.push(Stmt::Store(mem, l.place_at(mem, &self.outer), e));
            }
        }
        if !stores.is_empty() {
            let mut leads = Expr::binary(BinaryOp::And, is_zero(&self.lane), self.exists.clone());
            if self.p.warps > 1 {
                leads = Expr::binary(BinaryOp::And, leads, is_zero(&self.warp));
            }
            if self.p.blocks > 1 {
                leads = Expr::binary(BinaryOp::And, leads, is_zero(&cluster::rank(self.p)));
            }
            out.push(Stmt::If(leads, stores, vec![]));
        }
        Ok(())
    }
}
