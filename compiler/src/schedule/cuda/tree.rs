//! The fixed tree over the 128 columns of a tile (semantics 5.1, step 3), with one column in each thread. Shuffles
//! join the lanes of a warp at the distances 1, 2, 4, 8, 16; then shared memory joins the four warps.
//!
//! ```text
//! lane        0   1   2   3   4 ..
//! distance 1  01      23      45       the values of other lanes are computed, too, but not used
//! distance 2  0123            4567
//! ```
//!
//! The result is in the first lane of a warp, and in the first thread of a tile. In a partial tile the columns from
//! `width` on are absent. If the operator has no identity to stand for them, two columns are joined only if the
//! higher one is present. The code of a long operator, such as one with loops of its own, is written once, in a loop
//! over the joins.

use super::expressions::{int32, to_i64};
use crate::core::{COLUMNS, TILE};
use crate::error::Result;
use crate::kernel::{Expr, Gpu, Mem, Reg, Stmt, WARP};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::error_records;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::nested_loop::{assign, read};
use crate::schedule::element::reduction::{Reduction, bound};
use std::ops::Range;

/// The number of warps that hold a tile's columns.
pub const WARPS: u32 = COLUMNS as u32 / WARP;

/// For reductions with several accumulators, the number of rows of stored values that are loaded together: with more,
/// this part of the kernel would need more registers than the rest.
const COUNTED_ROWS: i64 = 8;

/// The distances of the lanes that are joined, in order.
const DISTANCES: [u32; 5] = [1, 2, 4, 8, 16];

/// The column of a thread.
#[derive(Clone)]
pub struct Column {
    /// The lane in the warp, 0..32 (i32).
    pub lane: Expr,
    /// The column of the tile, 0..128 (i32).
    pub column: Expr,
}

impl Column {
    /// Computes the column of this thread.
    pub fn new(l: &mut Lower, out: &mut Vec<Stmt>) -> Column {
        let part = |of: i64| Expr::binary(BinaryOp::And, Expr::Place(Gpu::Thread), int32(of as i32 - 1));
        let lane = bind(l, "lane", part(WARP.into()), out);
        Column { lane, column: bind(l, "column", part(COLUMNS), out) }
    }

    /// Joins the values of a warp's lanes. The result is in lane 0. `width` is the number of columns, if absent ones
    /// must be skipped.
    pub fn join_warp(
        &self,
        l: &mut Lower,
        r: &Reduction,
        mut value: Vec<Expr>,
        width: Option<&Expr>,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        if r.is_long(l.launch) {
            return self.join_warp_by_loop(l, r, value, width, out);
        }
        for distance in DISTANCES {
            let other = shuffled(l, &value, |e| Expr::ShuffleDown(e, distance), out);
            value = self.join_lanes(
                l,
                r,
                (&value, &other),
                Expr::int(distance.into()),
                int32(2 * distance as i32 - 1),
                width,
                out,
            )?;
        }
        Ok(value)
    }

    /// Does what [`Self::join_warp`] does, in a loop over the distances, so that the operator's code is written once.
    fn join_warp_by_loop(
        &self,
        l: &mut Lower,
        r: &Reduction,
        values: Vec<Expr>,
        width: Option<&Expr>,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let (now, step) = (joined_values(l, r, values, out), l.k.reg("step", Ty::I32));
        let (mut other, mut body) = (now.clone(), Vec::new());
        // a shuffle needs a constant distance, so each step does all five and selects one
        for (k, distance) in DISTANCES.into_iter().enumerate() {
            for (other, now) in other.iter_mut().zip(&now).filter(|of| matches!(of.1, Expr::Reg(_))) {
                let shuffled = Expr::ShuffleDown(Box::new(now.clone()), distance);
                let shuffled = bind(l, "shuffled", shuffled, &mut body);
                *other = equals(step, k as i32).select(shuffled, other.clone());
            }
        }
        let other: Vec<Expr> = other.into_iter().map(|e| bound(l, "other", e, &mut body)).collect();
        let distance = Expr::binary(BinaryOp::Shl, int32(1), Expr::Reg(step));
        let distance = bind(l, "apart", distance, &mut body);
        let mask = distance.clone().plus(distance.clone()).minus(int32(1));
        let next = self.join_lanes(l, r, (&now, &other), to_i64(distance), mask, width, &mut body)?;
        keep_joined(&now, next, &mut body);
        out.push(Stmt::Seq(step, int32(0), int32(DISTANCES.len() as i32), body));
        Ok(now)
    }

    /// Joins the values of lanes at a `distance` (i64). The lanes with `lane & mask == 0` have the lower value of a
    /// pair that the tree joins.
    fn join_lanes(
        &self,
        l: &mut Lower,
        r: &Reduction,
        values: (&[Expr], &[Expr]),
        distance: Expr,
        mask: Expr,
        width: Option<&Expr>,
        out: &mut Vec<Stmt>,
    ) -> Result<Vec<Expr>> {
        let higher = to_i64(self.column.clone()).plus(distance);
        let is_present = width.map(|w| Expr::binary(BinaryOp::Lt, higher, w.clone()));
        // the results of other lanes are not used, so their joins must leave no error records
        let part = Expr::binary(BinaryOp::And, self.lane.clone(), mask);
        let mine = Expr::binary(BinaryOp::Eq, part, int32(0));
        join_present(l, r, values.0, values.1, is_present, Some(mine), out)
    }
}

/// Returns the values of another lane. Constants, which are the same in all lanes, are not exchanged.
pub fn shuffled(
    l: &mut Lower,
    values: &[Expr],
    shuffle: impl Fn(Box<Expr>) -> Expr,
    out: &mut Vec<Stmt>,
) -> Vec<Expr> {
    let other = |e: &Expr| match e {
        Expr::Lit(_) if values.len() > 1 => e.clone(),
        e => bind(l, "other", shuffle(Box::new(e.clone())), out),
    };
    values.iter().map(other).collect()
}

/// Joins the results of a tile's four warps, which are in shared memory from index `first` (i32) on.
pub fn join_warps(
    l: &mut Lower,
    r: &Reduction,
    shared: &[Mem],
    first: &Expr,
    width: Option<&Expr>,
    out: &mut Vec<Stmt>,
) -> Result<Vec<Expr>> {
    if r.is_long(l.launch) {
        return join_warps_by_loop(l, r, shared, first, width, out);
    }
    let mut values = Vec::new();
    for i in 0..WARPS as i32 {
        let at = first.clone().plus(int32(i));
        let load = |m: &Mem| bind(l, "w", Expr::load(*m, at.clone()), out);
        values.push(shared.iter().map(load).collect::<Vec<Expr>>());
    }
    let is_present =
        |warp: i64| width.map(|w| Expr::binary(BinaryOp::Gt, w.clone(), Expr::int(warp * i64::from(WARP))));
    let low = join_present(l, r, &values[0], &values[1], is_present(1), None, out)?;
    let high = join_present(l, r, &values[2], &values[3], is_present(3), None, out)?;
    join_present(l, r, &low, &high, is_present(2), None, out)
}

/// Does what [`join_warps`] does, in a loop of three steps, so that the operator's code is written once: step 0 joins
/// the warps 0 and 1, step 1 the warps 2 and 3, step 2 the two results.
fn join_warps_by_loop(
    l: &mut Lower,
    r: &Reduction,
    shared: &[Mem],
    first: &Expr,
    width: Option<&Expr>,
    out: &mut Vec<Stmt>,
) -> Result<Vec<Expr>> {
    let [low, joined] = ["low", "joined"].map(|name| r.registers(l, name));
    let (step, mut body) = (l.k.reg("step", Ty::I32), Vec::new());
    let at = Expr::Reg(step).plus(Expr::Reg(step)).min(int32(WARPS as i32 - 2));
    let at = bind(l, "at", first.clone().plus(at), &mut body);
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for ((m, low), joined) in shared.iter().zip(&low).zip(&joined) {
        let (of_low, of_high) = (Expr::load(*m, at.clone()), Expr::load(*m, at.clone().plus(int32(1))));
        a.push(bind(l, "a", equals(step, 2).select(Expr::Reg(*low), of_low), &mut body));
        b.push(bind(l, "b", equals(step, 2).select(Expr::Reg(*joined), of_high), &mut body));
    }
    let is_present = width.map(|w| {
        // the first warp of the higher operand; it is present if `width` is beyond that warp's first column
        let warp = equals(step, 0).select(Expr::int(1), equals(step, 1).select(Expr::int(3), Expr::int(2)));
        Expr::binary(BinaryOp::Gt, w.clone(), warp.times(Expr::int(WARP.into())))
    });
    let values = join_present(l, r, &a, &b, is_present, None, &mut body)?;
    body.extend(joined.iter().zip(values).map(|(joined, e)| Stmt::Assign(*joined, e)));
    let kept = low
        .iter()
        .zip(&joined)
        .map(|(low, joined)| Stmt::Assign(*low, equals(step, 0).select(Expr::Reg(*joined), Expr::Reg(*low))));
    body.extend(kept);
    let types = r.types.iter().cycle();
    out.extend(
        low.iter().chain(&joined).zip(types).map(|(reg, ty)| Stmt::Var(*reg, Expr::Lit(Lit::zero(*ty)))),
    );
    out.push(Stmt::Seq(step, int32(0), int32(3), body));
    Ok(read(&joined))
}

/// Declares variables for the values that a loop joins, except for counts that are constants.
fn joined_values(l: &mut Lower, r: &Reduction, values: Vec<Expr>, out: &mut Vec<Stmt>) -> Vec<Expr> {
    let of = |(e, ty): (Expr, &Ty)| match e {
        Expr::Lit(_) if r.is_counted() => e,
        e => {
            let joined = l.k.reg("joined", *ty);
            out.push(Stmt::Var(joined, e));
            Expr::Reg(joined)
        }
    };
    values.into_iter().zip(&r.types).map(of).collect()
}

/// Assigns joined values to the variables among `now`.
fn keep_joined(now: &[Expr], next: Vec<Expr>, out: &mut Vec<Stmt>) {
    for (now, next) in now.iter().zip(next) {
        if let Expr::Reg(joined) = now {
            out.push(Stmt::Assign(*joined, next));
        }
    }
}

fn equals(number: Reg, k: i32) -> Expr {
    Expr::binary(BinaryOp::Eq, Expr::Reg(number), int32(k))
}

/// Returns `join(a, b)` if `b` is present, else `a`. A join that may leave an error record runs only where `mine`
/// holds.
fn join_present(
    l: &mut Lower,
    r: &Reduction,
    a: &[Expr],
    b: &[Expr],
    is_present: Option<Expr>,
    mine: Option<Expr>,
    out: &mut Vec<Stmt>,
) -> Result<Vec<Expr>> {
    let mut body = Vec::new();
    let values = join(l, r, a, b, &mut body)?;
    let mine = mine.filter(|_| error_records::any(&body));
    let Some(condition) = is_present.into_iter().chain(mine).reduce(|a, b| Expr::binary(BinaryOp::And, a, b))
    else {
        out.append(&mut body);
        return Ok(named_values(l, r, "joined", values, out));
    };
    let joined = r.registers(l, "joined");
    out.extend(joined.iter().zip(a).map(|(joined, a)| Stmt::Var(*joined, a.clone())));
    body.extend(joined.iter().zip(values).map(|(joined, e)| Stmt::Assign(*joined, e)));
    out.push(Stmt::If(condition, body, vec![]));
    Ok(joined.into_iter().map(Expr::Reg).collect())
}

/// Binds the values of accumulators to registers, except for counts that are constants.
pub fn named_values(
    l: &mut Lower,
    r: &Reduction,
    name: &'static str,
    values: Vec<Expr>,
    out: &mut Vec<Stmt>,
) -> Vec<Expr> {
    let bind = match r.is_counted() {
        true => bound,
        false => bind,
    };
    values.into_iter().map(|e| bind(l, name, e, out)).collect()
}

/// Returns the join of two columns' accumulators. An error record that it leaves names element 0.
pub fn join(l: &mut Lower, r: &Reduction, a: &[Expr], b: &[Expr], out: &mut Vec<Stmt>) -> Result<Vec<Expr>> {
    let mut known = Vec::new();
    let [x, y] = [a, b].map(|values| r.nodes(l.launch, values, &mut known));
    let joined = r.join(l.launch, &x, &y);
    l.region(&known, &joined, &Expr::int(0), out)
}

/// A sequence of values in memory: the indices `base .. end` (both i64).
pub struct StoredValues<'a> {
    /// The memory of each accumulator.
    pub memory: &'a [Mem],
    pub base: &'a Expr,
    pub end: &'a Expr,
}

impl StoredValues<'_> {
    /// Folds this thread's column of up to 2048 values into `acc`, which holds the value of an absent column before.
    /// Rows are loaded before the first join, unless the operator is long.
    pub fn column(
        &self,
        l: &mut Lower,
        r: &Reduction,
        c: &Column,
        acc: &[Reg],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let first = bind(l, "first", self.base.clone().plus(to_i64(c.column.clone())), out);
        if r.is_long(l.launch) {
            self.batch(l, r, &first, 0..1, acc, out)?;
            return self.rows(l, r, &first, acc, out);
        }
        let all = TILE / COLUMNS;
        let batch = if r.is_counted() { COUNTED_ROWS } else { all };
        for row in (0..all).step_by(batch as usize) {
            self.batch(l, r, &first, row..row + batch, acc, out)?;
        }
        Ok(())
    }

    /// Folds some rows, all of which are loaded before the first join.
    fn batch(
        &self,
        l: &mut Lower,
        r: &Reduction,
        first: &Expr,
        rows: Range<i64>,
        acc: &[Reg],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (start, mut loaded) = (r.absent(l.launch), Vec::new());
        for row in rows.clone() {
            let at = first.clone().plus(Expr::int(row * COLUMNS));
            let is_present = Expr::binary(BinaryOp::Lt, at.clone(), self.end.clone());
            let x = r.registers(l, "x");
            out.extend(x.iter().zip(&start).map(|(x, start)| Stmt::Var(*x, start.clone())));
            let loads = x.iter().zip(self.memory).map(|(x, m)| Stmt::Assign(*x, Expr::load(*m, at.clone())));
            out.push(Stmt::If(is_present.clone(), loads.collect(), vec![]));
            loaded.push((is_present, x));
        }
        let known = r.has_identity(l.launch);
        for (row, (is_present, x)) in rows.zip(loaded) {
            if row == 0 {
                out.extend(acc.iter().zip(&x).map(|(acc, x)| Stmt::Assign(*acc, Expr::Reg(*x))));
                continue;
            }
            let mut body = Vec::new();
            let joined = join(l, r, &read(acc), &read(&x), &mut body)?;
            assign(l, acc, joined, &mut body);
            if known {
                out.append(&mut body);
            } else {
                out.push(Stmt::If(is_present, body, vec![]));
            }
        }
        Ok(())
    }

    /// Folds all rows but the first in a loop, so that the operator's code is written once.
    fn rows(
        &self,
        l: &mut Lower,
        r: &Reduction,
        first: &Expr,
        acc: &[Reg],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let (row, mut body, mut joining) = (l.k.reg("row", Ty::I64), Vec::new(), Vec::new());
        let at = first.clone().plus(Expr::Reg(row).times(Expr::int(COLUMNS)));
        let at = bind(l, "at", at, &mut body);
        let load = |m: &Mem| bind(l, "x", Expr::load(*m, at.clone()), &mut joining);
        let x: Vec<Expr> = self.memory.iter().map(load).collect();
        let joined = join(l, r, &read(acc), &x, &mut joining)?;
        assign(l, acc, joined, &mut joining);
        let is_present = Expr::binary(BinaryOp::Lt, at, self.end.clone());
        body.push(Stmt::If(is_present, joining, vec![]));
        out.push(Stmt::Seq(row, Expr::int(1), Expr::int(TILE / COLUMNS), body));
        Ok(())
    }
}

/// Declares accumulators with the value of an absent column.
pub fn variables(l: &mut Lower, r: &Reduction, out: &mut Vec<Stmt>) -> Vec<Reg> {
    let start = r.absent(l.launch);
    let acc = r.registers(l, "acc");
    out.extend(acc.iter().zip(start).map(|(acc, start)| Stmt::Var(*acc, start)));
    acc
}

/// Returns `width` if absent columns must be skipped because the operator has no identity.
pub fn width_of(l: &Lower, r: &Reduction, width: &Expr) -> Option<Expr> {
    (!r.has_identity(l.launch)).then(|| width.clone())
}
