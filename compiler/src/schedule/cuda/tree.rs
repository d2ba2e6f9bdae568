//! The tree of neighbours over a warp's 128 columns (semantics 5.1, step 3), for all reductions of a pass at once.
//!
//! Column c = 32 v g + v l + k is value g v + k of lane l. First the neighbours of a lane join, then lanes 1, 2, 4, 8, 16 apart by
//! shuffles, then the groups. The result is lane 0's; what other lanes hold after a join that is not theirs is never used. Where columns may be
//! absent and no value can stand for them, a join happens only if its higher column is there: columns are absent from some `width` on.

use super::{bind, int32, wide};
use crate::core::COLUMNS;
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt, WARP};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::lower::Lower;
use crate::schedule::reduction::Reduction;

/// Values of a lane: 128 columns over 32 lanes.
pub const PER_LANE: usize = COLUMNS as usize / WARP as usize;

/// The offset of a lane's value `j` from `lane * v`, in columns.
pub fn offset(j: usize, v: i64) -> i64 {
    (j as i64 / v) * i64::from(WARP) * v + j as i64 % v
}

/// The columns of one reduction.
pub struct Columns<'a> {
    pub reduction: &'a Reduction,
    /// Neighbours of a lane.
    pub v: i64,
    /// The lane (i32).
    pub lane: Expr,
    /// Columns from this one (i64) on are absent; None: all are there, or hold a value that stands for absence.
    pub width: Option<Expr>,
}

impl Columns<'_> {
    /// Joins the lane's four values, and all lanes'. The result is lane 0's.
    pub fn join(&self, l: &mut Lower, values: Vec<Expr>, out: &mut Vec<Stmt>) -> Result<Expr> {
        let v = self.v as usize;
        let mut groups: Vec<Vec<Expr>> = values.chunks(v).map(<[Expr]>::to_vec).collect();
        let mut step = 1;
        while step < v {
            for (g, values) in groups.iter_mut().enumerate() {
                let mut k = 0;
                while k + step < v {
                    let higher = offset(g * v + k + step, self.v);
                    let value = self.pair(l, &values[k], &values[k + step].clone(), higher, 1, out)?;
                    values[k] = value;
                    k += 2 * step;
                }
            }
            step *= 2;
        }
        let mut values: Vec<Expr> = groups.into_iter().map(|mut g| g.swap_remove(0)).collect();
        for apart in [1, 2, 4, 8, 16] {
            for (g, value) in values.iter_mut().enumerate() {
                let other = Expr::ShuffleDown(Box::new(value.clone()), apart);
                let other = bind(l, "other", other, out);
                let higher = offset(g * v, self.v) + i64::from(apart) * self.v;
                *value = self.pair(l, value, &other, higher, 2 * apart, out)?;
            }
        }
        while values.len() > 1 {
            let mut joined = Vec::new();
            let width = PER_LANE / v / values.len();
            for (i, pair) in values.chunks(2).enumerate() {
                let higher = offset((2 * i + 1) * width * v, self.v);
                joined.push(self.pair(l, &pair[0], &pair[1], higher, WARP, out)?);
            }
            values = joined;
        }
        Ok(values.swap_remove(0))
    }

    /// f(a, b), where b's first column is `higher` past `lane * v`; a is used by lanes that are multiples of `every`.
    fn pair(
        &self,
        l: &mut Lower,
        a: &Expr,
        b: &Expr,
        higher: i64,
        every: u32,
        out: &mut Vec<Stmt>,
    ) -> Result<Expr> {
        let ty = self.reduction.ty;
        let mut body = Vec::new();
        let value = join(l, self.reduction, a, b, &mut body)?;
        let records = body.iter().any(|s| matches!(s, Stmt::Record(..)));
        if self.width.is_none() && !records {
            out.append(&mut body);
            return Ok(bind(l, "joined", value, out));
        }
        let mut condition = Vec::new();
        if let Some(width) = &self.width {
            let lane = wide(self.lane.clone()).times(Expr::int(self.v));
            condition.push(Expr::binary(BinaryOp::Lt, lane.plus(Expr::int(higher)), width.clone()));
        }
        if records {
            let part = Expr::binary(BinaryOp::And, self.lane.clone(), int32(every as i32 - 1));
            condition.push(Expr::binary(BinaryOp::Eq, part, int32(0)));
        }
        let joined = l.k.reg("joined", ty);
        out.push(Stmt::Var(joined, a.clone()));
        body.push(Stmt::Assign(joined, value));
        let all = condition.into_iter().reduce(|a, b| Expr::binary(BinaryOp::And, a, b));
        out.push(Stmt::If(all.unwrap_or(Expr::Lit(Lit::bool(true))), body, vec![]));
        Ok(Expr::Reg(joined))
    }
}

/// f(a, b), joining accumulators. A record in it counts as element 0.
pub fn join(l: &mut Lower, r: &Reduction, a: &Expr, b: &Expr, out: &mut Vec<Stmt>) -> Result<Expr> {
    let (_, x) = l.g.fresh_var(r.ty);
    let (_, y) = l.g.fresh_var(r.ty);
    let joined = r.join(l, x, y);
    Ok(l.region(&[(x, a.clone()), (y, b.clone())], &[joined], None, &Expr::int(0), out)?.remove(0))
}

/// Values that lie one after another: from `base` on, below `end` (both i64).
pub struct Values<'a> {
    pub memory: Mem,
    pub base: &'a Expr,
    pub end: &'a Expr,
    /// Rows that are read together. More hide the latency, and make more code.
    pub batch: i64,
}

/// Up to 2048 values reduced to lane 0 by the warp: a tile of the level above.
pub fn tile_of(
    l: &mut Lower,
    r: &Reduction,
    lane: &Expr,
    values: &Values,
    out: &mut Vec<Stmt>,
) -> Result<Expr> {
    let first = bind(l, "first", values.base.clone().plus(wide(lane.clone())), out);
    let count = bind(l, "count", values.end.clone().minus(values.base.clone()), out);
    let up = count.clone().plus(Expr::int(values.batch * COLUMNS - 1));
    let batches =
        Expr::binary(BinaryOp::Shr, up, Expr::int((values.batch * COLUMNS).trailing_zeros().into()));
    let identity = r.identity(l);
    let vars: Vec<_> = (0..PER_LANE).map(|_| l.k.reg("acc", r.ty)).collect();
    let start = Expr::Lit(identity.unwrap_or(Lit::zero(r.ty)));
    out.extend(vars.iter().map(|v| Stmt::Var(*v, start.clone())));
    let b = l.k.reg("b", Ty::I64);
    let mut body = Vec::new();
    let row = first.plus(Expr::Reg(b).times(Expr::int(values.batch * COLUMNS)));
    let row = bind(l, "row", row, &mut body);
    // all loads of a batch first; what is absent stays as it is
    let mut loaded = Vec::new();
    for i in 0..values.batch * PER_LANE as i64 {
        let (k, j) = (i / PER_LANE as i64, i as usize % PER_LANE);
        let at = row.clone().plus(Expr::int(k * COLUMNS + offset(j, 1)));
        let there = Expr::binary(BinaryOp::Lt, at.clone(), values.end.clone());
        let x = l.k.reg("x", r.ty);
        body.push(Stmt::Var(x, start.clone()));
        body.push(Stmt::If(there.clone(), vec![Stmt::Assign(x, Expr::load(values.memory, at))], vec![]));
        loaded.push((j, k, there, x));
    }
    for (j, k, there, x) in loaded {
        let acc = vars[j];
        let mut inner = Vec::new();
        let joined = join(l, r, &Expr::Reg(acc), &Expr::Reg(x), &mut inner)?;
        inner.push(Stmt::Assign(acc, joined));
        if identity.is_some() {
            body.append(&mut inner);
            continue;
        }
        // the first value of a column is not joined with anything
        let is_first = Expr::binary(BinaryOp::Eq, Expr::Reg(b).plus(Expr::int(k)), Expr::int(0));
        let fresh = Stmt::Assign(acc, Expr::Reg(x));
        let inner = if k == 0 { vec![Stmt::If(is_first, vec![fresh], inner)] } else { inner };
        body.push(Stmt::If(there, inner, vec![]));
    }
    out.push(Stmt::Seq(b, Expr::int(0), batches, body));
    let width = identity.is_none().then_some(count);
    let values = vars.iter().map(|v| Expr::Reg(*v)).collect();
    Columns { reduction: r, v: 1, lane: lane.clone(), width }.join(l, values, out)
}
