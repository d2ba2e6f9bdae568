//! The loops over a tile of inner indices: the block stages the values of the tile in shared memory, and each thread
//! folds them into its element's accumulators.

use super::{ROWS, THREADS, TiledLoop, UNROLLED_ROWS, only_if};
use crate::core::{COLUMNS, NodeId, Op};
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::cuda::access;
use crate::schedule::cuda::expressions::{int32, thread, to_i64};
use crate::schedule::element::counter::Counters;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::nested_loop::{self, Lanes, assign, read};
use crate::schedule::facts::loop_nests::Env;

impl TiledLoop<'_> {
    /// Reduces a full tile by the fixed tree, `v` neighbouring tree columns at a time, if the element needs it.
    pub(super) fn tile(
        &self,
        l: &mut Lower,
        lanes: &mut Lanes,
        base: &Expr,
        is_needed: Option<Expr>,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let (v, columns) = (self.staged.v, self.columns());
        let mut counter = Counters::new(l, lanes, COLUMNS.trailing_zeros(), out);
        let (group, c) = (l.k.reg("group", Ty::I32), l.k.reg("c", Ty::I32));
        let mut body = Vec::new();
        self.fill(l, base, None, &|s| self.tile_element(&Expr::Reg(group), s), &mut body)?;
        let mut inner = Vec::new();
        let first = bind(l, "first", Expr::Reg(c).times(int32(v as i32)), &mut inner);
        let index = |row: Expr, u: i64| {
            let s = row.times(int32(columns as i32)).plus(first.clone()).plus(int32(u as i32));
            base.clone().plus(to_i64(self.tile_element(&Expr::Reg(group), s)))
        };
        let mut accs: Vec<Vec<Reg>> = Vec::new();
        for (parts, u) in self.load(l, first.clone(), &mut inner).into_iter().zip(0..) {
            let values = self.step(l, parts, index(int32(0), u), None, &mut inner)?;
            let acc: Vec<Reg> = lanes.types.iter().map(|ty| l.k.reg("acc", *ty)).collect();
            inner.extend(acc.iter().zip(values).map(|(r, e)| Stmt::Var(*r, e)));
            accs.push(acc);
        }
        let (batch, mut rows) = (l.k.reg("turn", Ty::I32), Vec::new());
        let row = Expr::Reg(batch).times(int32(UNROLLED_ROWS as i32)).plus(int32(1));
        let row = bind(l, "row", row, &mut rows);
        let start = bind(l, "start", row.clone().times(int32(columns as i32)).plus(first.clone()), &mut rows);
        let mut values: Vec<Vec<Expr>> = accs.iter().map(|a| read(a)).collect();
        for r in 0..UNROLLED_ROWS {
            let loaded = self.load(l, start.clone().plus(int32((r * columns) as i32)), &mut rows);
            for ((parts, u), values) in loaded.into_iter().zip(0..).zip(&mut values) {
                let k = index(row.clone().plus(int32(r as i32)), u);
                *values = self.step(l, parts, k, Some(values), &mut rows)?;
            }
        }
        for (acc, values) in accs.iter().zip(values) {
            assign(l, acc, values, &mut rows);
        }
        inner.push(Stmt::Seq(batch, int32(0), int32(((ROWS - 1) / UNROLLED_ROWS) as i32), rows));
        // the `v` neighbouring tree columns are joined in registers
        let mut values: Vec<Vec<Expr>> = accs.iter().map(|a| read(a)).collect();
        while values.len() > 1 {
            let mut joined = Vec::new();
            for pair in values.chunks(2) {
                let list = lanes.join(l, &pair[0], &pair[1], &mut inner)?;
                joined.push(list.into_iter().map(|e| bind(l, "pair", e, &mut inner)).collect());
            }
            values = joined;
        }
        let before = Expr::Reg(group).times(int32((columns / v) as i32)).plus(Expr::Reg(c));
        let before = bind(l, "before", to_i64(before), &mut inner);
        counter.push(l, lanes, v.ilog2() as usize, before, values.remove(0), &mut inner)?;
        body.push(only_if(is_needed, Stmt::Seq(c, int32(0), int32((columns / v) as i32), inner)));
        out.push(Stmt::Seq(group, int32(0), int32((COLUMNS / columns) as i32), body));
        Ok(counter.full())
    }

    /// Reduces a partial tile of `left` elements, one tree column at a time.
    pub(super) fn short_tile(
        &self,
        l: &mut Lower,
        lanes: &mut Lanes,
        base: &Expr,
        left: &Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let columns = self.columns();
        let mut counter = Counters::new(l, lanes, COLUMNS.trailing_zeros(), out);
        let width = bind(l, "width", left.clone().min(Expr::int(COLUMNS)), out);
        let end = bind(l, "end", base.clone().plus(left.clone()), out);
        let (group, c) = (l.k.reg("group", Ty::I32), l.k.reg("c", Ty::I64));
        let mut body = Vec::new();
        self.fill(l, base, Some(&end), &|s| self.tile_element(&Expr::Reg(group), s), &mut body)?;
        let first = bind(l, "first", to_i64(Expr::Reg(group)).times(Expr::int(columns)), &mut body);
        let last = bind(l, "last", first.clone().plus(Expr::int(columns)).min(width.clone()), &mut body);
        let mut inner = Vec::new();
        nested_loop::column(
            l,
            lanes,
            (left, Expr::Reg(c)),
            &mut counter,
            (false, &mut inner),
            &mut |l, (i, _), acc, out| {
                let i = bind(l, "i", i, out);
                let row = Expr::binary(BinaryOp::Shr, i.clone(), Expr::int(COLUMNS.ilog2().into()));
                let column = Expr::binary(BinaryOp::And, i.clone(), Expr::int(COLUMNS - 1));
                let s = row.times(Expr::int(columns)).plus(column).minus(first.clone());
                let s = bind(l, "s", s, out);
                let parts = self.shared.iter().map(|m| Expr::load(*m, s.clone())).collect();
                self.step(l, parts, base.clone().plus(i), acc, out)
            },
        )?;
        body.push(Stmt::Seq(c, first, last, inner));
        out.push(Stmt::Seq(group, int32(0), int32((COLUMNS / columns) as i32), body));
        counter.total(l, lanes, width, out)
    }

    /// Loads the staged values of `v` neighbouring inner indices from shared memory.
    pub(super) fn load(&self, l: &mut Lower, at: Expr, out: &mut Vec<Stmt>) -> Vec<Vec<Expr>> {
        let mut loaded = vec![Vec::new(); self.staged.v as usize];
        for (m, n) in self.shared.iter().zip(&self.staged.parts) {
            let ty = l.launch.g.ty(*n).elem;
            let regs: Vec<Reg> = loaded.iter().map(|_| l.k.reg("s", ty)).collect();
            loaded.iter_mut().zip(&regs).for_each(|(list, r)| list.push(Expr::Reg(*r)));
            access::load(l, *m, regs, at.clone(), out);
        }
        loaded
    }

    /// Returns the accumulators of all reductions and folds after inner index `k`, whose staged values are `parts`.
    /// `acc` are the accumulators before; without them, `k` is the first row of a tree column.
    pub(super) fn step(
        &self,
        l: &mut Lower,
        parts: Vec<Expr>,
        k: Expr,
        acc: Option<&[Expr]>,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let (_, index) = l.launch.g.fresh_var(Ty::I64);
        let env = self.element.env.with(&l.launch.g, self.k, index);
        let mut vars = self.element.known.clone();
        vars.push((index, k));
        for (n, e) in self.staged.parts.iter().zip(parts) {
            let e = bind(l, "s", e, out);
            vars.push((env.of(&mut l.launch.g, *n), e));
        }
        let mut roots = Vec::new();
        for (lane, i) in self.of.inner.iter().enumerate() {
            roots.push(match (acc, &i.tree) {
                (Some(acc), _) => {
                    let (_, before) = l.launch.g.fresh_var(i.ty);
                    vars.push((before, acc[lane].clone()));
                    let env = env.with(&l.launch.g, i.acc, before);
                    env.of(&mut l.launch.g, i.next)
                }
                (None, Some(tree)) => env.of(&mut l.launch.g, tree.0),
                (None, None) => unreachable!("only a column begins without a value"),
            });
        }
        let values = l.region(&vars, &roots, &Expr::int(0), out)?;
        Ok(values.into_iter().map(|e| bind(l, "after", e, out)).collect())
    }

    /// Stages a tile, between two barriers: index s of shared memory gets the values of inner index `base + of(s)`,
    /// if that is before `end`.
    pub(super) fn fill(
        &self,
        l: &mut Lower,
        base: &Expr,
        end: Option<&Expr>,
        of: &dyn Fn(Expr) -> Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let v = if end.is_some() { 1 } else { self.staged.v };
        let (len, per_round) = (self.staged.len, i64::from(THREADS) * v);
        out.push(Stmt::Barrier);
        for q in 0..(len + per_round - 1) / per_round {
            let s = thread().times(int32(v as i32)).plus(int32((q * per_round) as i32));
            let s = bind(l, "s", s, out);
            let k = bind(l, "k", base.clone().plus(to_i64(of(s.clone()))), out);
            let mut body = Vec::new();
            let values = self.read(l, &k, v, &mut body)?;
            for (m, values) in self.shared.iter().zip(values) {
                body.push(match <[Expr; 1]>::try_from(values) {
                    Ok([value]) => Stmt::Store(*m, s.clone(), value),
                    Err(values) => Stmt::StoreVec(*m, s.clone(), values),
                });
            }
            let inside = (len < per_round).then(|| Expr::binary(BinaryOp::Lt, s, int32(len as i32)));
            let before = end.map(|end| Expr::binary(BinaryOp::Lt, k, end.clone()));
            match inside.into_iter().chain(before).reduce(|a, b| Expr::binary(BinaryOp::And, a, b)) {
                Some(condition) => out.push(Stmt::If(condition, body, vec![])),
                None => out.append(&mut body),
            }
        }
        out.push(Stmt::Barrier);
        Ok(())
    }

    /// Computes the values to stage for `v` neighbouring inner indices from `k` on, by value and inner index.
    fn read(&self, l: &mut Lower, k: &Expr, v: i64, out: &mut Vec<Stmt>) -> Result<Vec<Vec<Expr>>> {
        let (_, base) = l.launch.g.fresh_var(Ty::I64);
        let mut vars = vec![(base, k.clone())];
        let envs: Vec<Env> = (0..v)
            .map(|u| {
                let offset = l.launch.g.lit(Lit::i64(u));
                let index = crate::core::linear::add(&mut l.launch.g, base, offset);
                Env::default().with(&l.launch.g, self.k, index)
            })
            .collect();
        if v > 1 && !self.strided {
            // arrays that are read at the inner index itself are loaded by vector accesses
            for n in l.launch.g.reachable(self.staged.parts.iter().copied()) {
                let Op::Elem(x, index) = l.launch.g.op(n).clone() else { continue };
                if index != [self.k] {
                    continue;
                }
                let (mem, ty) = (l.launch.input(x), l.launch.g.ty(x).elem);
                let regs: Vec<Reg> = envs.iter().map(|_| l.k.reg("x", ty)).collect();
                vars.extend(
                    envs.iter().zip(&regs).map(|(env, r)| (env.of(&mut l.launch.g, n), Expr::Reg(*r))),
                );
                access::load(l, mem, regs, k.clone(), out);
            }
        }
        let mut all = vec![Vec::new(); self.staged.parts.len()];
        for env in &envs {
            let roots: Vec<NodeId> = self.staged.parts.iter().map(|n| env.of(&mut l.launch.g, *n)).collect();
            let values = l.region(&vars, &roots, &Expr::int(0), out)?;
            all.iter_mut().zip(values).for_each(|(list, e)| list.push(e));
        }
        Ok(all)
    }
}
