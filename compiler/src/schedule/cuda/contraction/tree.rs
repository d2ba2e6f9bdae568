//! The fixed tree of semantics 5.1 for the register tile of a thread: loops over tiles, over groups of staged tree
//! columns, and over these. All conditions are uniform in a block, because all elements have the same inner indices,
//! so barriers inside of branches are allowed. A *counter* is a pairwise accumulator (`schedule/element/counter.rs`).

use super::block::Block;
use super::register_tile::StagedColumn;
use super::staging::Staged;
use crate::core::{COLUMNS, TILE};
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::cuda::expressions::{int32, shifted, to_i64};
use crate::schedule::element::counter::Counters;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::nested_loop::{Lanes, assign, rows};
use crate::schedule::element::reduction::tiles;

impl Block<'_> {
    /// Reduces all inner indices. Returns the registers of the totals for each element and reduction, which are zero
    /// if there are no inner indices.
    pub fn reduce(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<Vec<Reg>> {
        let inner = &self.params.of.inner;
        let types: Vec<Ty> = inner.iter().map(|i| i.ty).collect();
        let types = types.repeat(self.params.elements() as usize);
        let join = &mut |l: &mut Lower, lane: usize, a: &[Expr], b: &[Expr], out: &mut Vec<Stmt>| {
            Ok(vec![self.join(l, lane % inner.len(), a[0].clone(), b[0].clone(), out)?])
        };
        let mut lanes = Lanes { types, accumulators: 1, join, general: false };
        let totals = lanes.variables(l, "total", out);
        let (t, mut body) = (l.k.reg("t", Ty::I64), Vec::new());
        let count = bind(l, "tiles", tiles(self.count.clone()), &mut body);
        // the second level of the tree has a tree column for each tile, because there are at most 128 tiles
        let mut upper = Counters::in_memory(l, &lanes, COLUMNS.trailing_zeros(), &mut body);
        let mut tile = Vec::new();
        let value = self.tile(l, &mut lanes, Expr::Reg(t), &mut tile)?;
        upper.push(l, &mut lanes, 0, Expr::Reg(t), value, &mut tile)?;
        body.push(Stmt::Seq(t, Expr::int(0), count.clone(), tile));
        let values = upper.total(l, &mut lanes, count, &mut body)?;
        assign(l, &totals, values, &mut body);
        let some = Expr::binary(BinaryOp::Gt, self.count.clone(), Expr::int(0));
        out.push(Stmt::If(some, body, vec![]));
        Ok(totals)
    }

    /// Reduces tile number `t`.
    fn tile(&self, l: &mut Lower, lanes: &mut Lanes, t: Expr, out: &mut Vec<Stmt>) -> Result<Vec<Expr>> {
        let base = bind(l, "base", t.times(Expr::int(TILE)), out);
        let left = self.count.clone().minus(base.clone()).min(Expr::int(TILE));
        let left = bind(l, "left", left, out);
        let mut counter = Counters::in_memory(l, lanes, COLUMNS.trailing_zeros(), out);
        let value = lanes.variables(l, "whole", out);
        let (mut full, mut partial) = (Vec::new(), Vec::new());
        self.full_tile(l, lanes, &base, &mut counter, &mut full)?;
        let values = counter.full();
        assign(l, &value, values, &mut full);
        self.partial_tile(l, lanes, (&base, &left), &mut counter, &mut partial)?;
        let width = left.clone().min(Expr::int(COLUMNS));
        let values = counter.total(l, lanes, width, &mut partial)?;
        assign(l, &value, values, &mut partial);
        out.push(Stmt::If(Expr::binary(BinaryOp::Eq, left, Expr::int(TILE)), full, partial));
        Ok(value.into_iter().map(Expr::Reg).collect())
    }

    /// Adds all tree columns of a full tile to the counter.
    fn full_tile(
        &self,
        l: &mut Lower,
        lanes: &mut Lanes,
        base: &Expr,
        counter: &mut Counters,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let columns = self.params.staged;
        let (group, mut body) = (l.k.reg("group", Ty::I32), Vec::new());
        let first = bind(l, "first", Expr::Reg(group).times(int32(columns as i32)), &mut body);
        let staged = Staged { base: base.clone(), first, partial: None };
        self.stage(l, &staged, &mut body)?;
        self.add_columns(l, lanes, &staged, &int32(0), counter, &mut body)?;
        out.push(Stmt::Seq(group, int32(0), int32((COLUMNS / columns) as i32), body));
        Ok(())
    }

    /// Adds the tree columns of a tile of `left` inner indices to the counter: as many at a time as are joined in
    /// registers, and the rest one by one.
    fn partial_tile(
        &self,
        l: &mut Lower,
        lanes: &mut Lanes,
        (base, left): (&Expr, &Expr),
        counter: &mut Counters,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let joined = self.params.staged;
        let p = self.partial(l, left, out);
        let (group, mut body) = (l.k.reg("group", Ty::I32), Vec::new());
        let first = bind(l, "first", Expr::Reg(group).times(p.columns.clone()), &mut body);
        let staged = Staged { base: base.clone(), first: first.clone(), partial: Some(p.clone()) };
        self.stage(l, &staged, &mut body)?;
        let present = p.width.clone().minus(first.clone()).min(p.columns.clone());
        let present = bind(l, "present", present, &mut body);
        let (part, mut part_body) = (l.k.reg("part", Ty::I32), Vec::new());
        let begin = bind(l, "begin", Expr::Reg(part).times(int32(joined as i32)), &mut part_body);
        let end = begin.clone().plus(int32(joined as i32));
        let (mut all, mut some) = (Vec::new(), Vec::new());
        self.add_columns(l, lanes, &staged, &begin, counter, &mut all)?;
        let (number, mut one) = (l.k.reg("c", Ty::I32), Vec::new());
        let c = bind(l, "column", to_i64(first.plus(Expr::Reg(number))), &mut one);
        let rows = bind(l, "rows", rows(left, &c), &mut one);
        let column = StagedColumn { staged: &staged, number: Expr::Reg(number), rows: Some(rows) };
        let values = self.column(l, lanes, &column, &mut one)?;
        counter.push(l, lanes, 0, c, values, &mut one)?;
        some.push(Stmt::Seq(number, begin, present.clone(), one));
        part_body.push(Stmt::If(Expr::binary(BinaryOp::Le, end, present.clone()), all, some));
        let parts = shifted(present.plus(int32(joined as i32 - 1)), joined);
        body.push(Stmt::Seq(part, int32(0), parts, part_body));
        let rounded_up = p.width.plus(p.columns).minus(int32(1));
        let groups = Expr::binary(BinaryOp::Shr, rounded_up, p.shift);
        out.push(Stmt::Seq(group, int32(0), groups, body));
        Ok(())
    }

    /// Folds `params.staged` tree columns, from the number `begin` in the group on (i32), joins them pairwise in
    /// registers, and adds the result to the counter.
    fn add_columns(
        &self,
        l: &mut Lower,
        lanes: &mut Lanes,
        staged: &Staged,
        begin: &Expr,
        counter: &mut Counters,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let mut waiting: Vec<Vec<Expr>> = Vec::new();
        for number in 0..self.params.staged {
            let at = begin.clone().plus(int32(number as i32));
            let at = bind(l, "number", at, out);
            let rows = staged.partial.as_ref().map(|p| {
                let c = to_i64(staged.first.clone().plus(at.clone()));
                bind(l, "rows", rows(&p.left, &c), out)
            });
            let mut values = self.column(l, lanes, &StagedColumn { staged, number: at, rows }, out)?;
            let mut done = number;
            while done & 1 == 1 {
                let before = waiting.pop().unwrap_or_default();
                let joined = lanes.join(l, &before, &values, out)?;
                values = joined.into_iter().map(|e| bind(l, "pair", e, out)).collect();
                done >>= 1;
            }
            waiting.push(values);
        }
        let before = shifted(staged.first.clone().plus(begin.clone()), self.params.staged);
        let before = bind(l, "before", to_i64(before), out);
        let levels = self.params.staged.ilog2() as usize;
        counter.push(l, lanes, levels, before, waiting.pop().unwrap_or_default(), out)
    }
}
