//! Segmented reductions along short rows (sums of rows): many rows at a time, so that the loops of their trees are long and vectorise.
//!
//! ```text
//! a: row 0, columns 0 .. 64 | row 1, columns 0 .. 64 | ..     joins of neighbours, wherever they are:  a -> b -> c -> b ..  until a value a row is left
//! ```
//!
//! A row has a power of two of columns, 128 at most; what may stand for an absent column fills it up, once for all batches. Rows of several tiles go by themselves (`nested`).

use super::Stores;
use super::each::each;
use crate::core::{COLUMNS, NodeId, TILE};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::named;
use crate::schedule::items::{Item, Pass};
use crate::schedule::lower::Lower;
use crate::schedule::reduction::Reduction;
use crate::schedule::segments::{Along, Segments};

/// Whether a pass goes so.
pub fn fits(l: &Lower, pass: &Pass, s: &Segments) -> bool {
    s.along == Along::Rows && pass.domain.len() == 1 && !l.strided
}

/// Segments of more elements than a tile has.
pub(super) fn too_long(l: &mut Lower, s: &Segments) -> Expr {
    let length = l.host(s.length);
    Expr::binary(BinaryOp::Gt, length, Expr::int(TILE))
}

pub(super) fn main(l: &mut Lower, pass: &Pass, s: &Segments) -> Result<Vec<Stmt>> {
    let items: Vec<&Item> = pass.items.iter().collect();
    let (n, length) = (l.count(), l.host(s.length));
    let stores = Stores::new(l, &items);
    let reductions: Vec<Reduction> = s.nested.iter().map(|n| Reduction::nested(l, *n)).collect();
    let [base, row, q, log] = ["base", "row", "q", "log"].map(|name| l.k.reg(name, Ty::I64));
    let mut out = Vec::new();
    let [a, b, c] = [("values", TILE), ("joined", TILE), ("again", TILE / 4)].map(|(name, size)| {
        reductions.iter().map(|r| l.k.local(name, r.ty, size as u32, &mut out)).collect::<Vec<Mem>>()
    });
    let hi = named(l, "hi", Expr::TileEnd.min(n), &mut out);
    let present = named(l, "present", length.clone().min(Expr::int(COLUMNS)), &mut out);
    let columns = |log: Expr| Expr::binary(BinaryOp::Shl, Expr::int(1), log);
    let less = |a: Expr, b: Expr| Expr::binary(BinaryOp::Lt, a, b);
    let more = Stmt::Assign(log, Expr::Reg(log).plus(Expr::int(1)));
    let short = less(columns(Expr::Reg(log)), present.clone());
    out.extend([Stmt::Var(log, Expr::int(0)), Stmt::While(short, vec![more])]);
    let columns = named(l, "columns", columns(Expr::Reg(log)), &mut out);
    let most = Expr::binary(BinaryOp::Shr, Expr::int(TILE), Expr::Reg(log));
    let most = named(l, "most", most, &mut out);
    let mut body = Vec::new();
    let rows = named(l, "rows", hi.clone().minus(Expr::Reg(base)).min(most), &mut body);
    let batch = Batch { s, reductions: &reductions, length, present, columns, a, b, c };
    batch.fill(l, &mut out);
    let mut of_row = Vec::new();
    batch.row(l, Expr::Reg(base).plus(Expr::Reg(row)), Expr::Reg(row), &mut of_row)?;
    body.push(Stmt::Seq(row, Expr::int(0), rows.clone(), of_row));
    batch.tree(l, &rows, &mut body)?;
    let mut last = Vec::new();
    let i = named(l, "i", Expr::Reg(base).plus(Expr::Reg(q)), &mut last);
    let totals: Vec<Expr> = batch.b.iter().map(|m| Expr::load(*m, Expr::Reg(q))).collect();
    let values = s.values(l, &reductions, &i, &totals, &batch.length, &mut last)?;
    stores.store(l, values, &i, &i, &mut last);
    body.push(Stmt::For(q, Expr::int(0), rows.clone(), last));
    body.push(Stmt::Assign(base, Expr::Reg(base).plus(rows)));
    out.push(Stmt::Var(base, Expr::TileBegin));
    out.push(Stmt::While(less(Expr::Reg(base), hi), body));
    Ok(out)
}

/// Neighbouring segments.
struct Batch<'a> {
    s: &'a Segments,
    reductions: &'a [Reduction],
    /// Of each segment.
    length: Expr,
    /// Columns that have elements, and those with what fills them up.
    present: Expr,
    columns: Expr,
    /// Each segment's columns; what has been joined, in turn.
    a: Vec<Mem>,
    b: Vec<Mem>,
    c: Vec<Mem>,
}

impl Batch<'_> {
    /// Columns without elements.
    fn fill(&self, l: &mut Lower, out: &mut Vec<Stmt>) {
        let q = l.k.reg("q", Ty::I64);
        let values: Vec<Expr> = self.reductions.iter().map(|r| r.absent(l)).collect();
        let fill = self.a.iter().zip(values).map(|(m, v)| Stmt::Store(*m, Expr::Reg(q), v)).collect();
        let some = Expr::binary(BinaryOp::Lt, self.present.clone(), self.columns.clone());
        let fill = vec![Stmt::For(q, Expr::int(0), Expr::int(TILE), fill)];
        out.push(Stmt::If(some, fill, vec![]));
    }

    /// The columns of segment `i`, which is the batch's `number`-th.
    fn row(&self, l: &mut Lower, i: Expr, number: Expr, out: &mut Vec<Stmt>) -> Result<()> {
        let i = named(l, "i", i, out);
        let at = named(l, "at", number.times(self.columns.clone()), out);
        let e = l.k.reg("e", Ty::I64);
        let next = Expr::Reg(e).plus(Expr::int(COLUMNS));
        let mut full = self.elements(l, &i, &at, Some(Expr::Reg(e)), &Expr::int(COLUMNS))?;
        full.push(Stmt::Assign(e, next.clone()));
        let left = self.length.clone().minus(Expr::Reg(e));
        let rest = self.elements(l, &i, &at, Some(Expr::Reg(e)), &left)?;
        let length = || self.length.clone();
        out.extend(self.elements(l, &i, &at, None, &self.present)?);
        out.push(Stmt::Var(e, Expr::int(COLUMNS)));
        out.push(Stmt::While(Expr::binary(BinaryOp::Le, next, length()), full));
        out.push(Stmt::If(Expr::binary(BinaryOp::Lt, Expr::Reg(e), length()), rest, vec![]));
        Ok(())
    }

    /// `count` neighbours begin their columns, or from element `first` on go on in them. Two rows at a time would be faster in the caches only: the processor's prefetching
    /// loses the stream.
    fn elements(
        &self,
        l: &mut Lower,
        i: &Expr,
        at: &Expr,
        first: Option<Expr>,
        count: &Expr,
    ) -> Result<Vec<Stmt>> {
        let (_, index) = l.g.fresh_var(Ty::I64);
        let old: Vec<NodeId> = self.reductions.iter().map(|r| l.g.fresh_var(r.ty).1).collect();
        let pairs = self.reductions.iter().zip(&old);
        let roots: Vec<NodeId> = match first {
            None => self.reductions.iter().map(|r| r.first(l, index)).collect(),
            Some(_) => pairs.map(|(r, acc)| r.step(l, *acc, index)).collect(),
        };
        each(l, "c", &Expr::int(0), count, &mut |l, c, conditions, out| {
            let k = first.clone().map_or(c.clone(), |e| e.plus(c.clone()));
            let k = named(l, "k", k, out);
            let to = named(l, "to", at.clone().plus(c.clone()), out);
            let mut vars = vec![(self.s.index, i.clone()), (index, k)];
            if first.is_some() {
                for (acc, m) in old.iter().zip(&self.a) {
                    vars.push((*acc, named(l, "acc", Expr::load(*m, to.clone()), out)));
                }
            }
            if let Some(conditions) = conditions {
                return l.conditions(&vars, conditions, None, out);
            }
            let values = l.region(&vars, &roots, None, i, out)?;
            out.extend(self.a.iter().zip(values).map(|(m, e)| Stmt::Store(*m, to.clone(), e)));
            Ok(vec![])
        })
    }

    /// Leaves a value for each of so many segments.
    fn tree(&self, l: &mut Lower, rows: &Expr, out: &mut Vec<Stmt>) -> Result<()> {
        let [pairs, left, q] = ["pairs", "left", "q"].map(|name| l.k.reg(name, Ty::I64));
        let half = |e: Expr| Expr::binary(BinaryOp::Shr, e, Expr::int(1));
        let some = |r: Reg| Expr::binary(BinaryOp::Gt, Expr::Reg(r), Expr::int(1));
        let next = [Stmt::Assign(pairs, half(Expr::Reg(pairs))), Stmt::Assign(left, half(Expr::Reg(left)))];
        let copy = |from: &[Mem], count: Expr| {
            let both = from.iter().zip(&self.b);
            let copy = both.map(|(x, b)| Stmt::Store(*b, Expr::Reg(q), Expr::load(*x, Expr::Reg(q))));
            vec![Stmt::For(q, Expr::int(0), count, copy.collect())]
        };
        let (mut begin, mut body, mut back) = (next.to_vec(), next.to_vec(), next.to_vec());
        self.join(l, [&self.a, &self.b], Expr::Reg(pairs), &mut begin)?;
        self.join(l, [&self.b, &self.c], Expr::Reg(pairs), &mut body)?;
        self.join(l, [&self.c, &self.b], Expr::Reg(pairs), &mut back)?;
        body.push(Stmt::If(some(left), back, copy(&self.c, rows.clone())));
        out.push(Stmt::Var(pairs, rows.clone().times(self.columns.clone())));
        out.push(Stmt::Var(left, self.columns.clone()));
        out.push(Stmt::If(some(left), begin, copy(&self.a, rows.clone())));
        out.push(Stmt::While(some(left), body));
        Ok(())
    }

    /// So many pairs of neighbours.
    fn join(&self, l: &mut Lower, [from, to]: [&[Mem]; 2], pairs: Expr, out: &mut Vec<Stmt>) -> Result<()> {
        for ((r, from), to) in self.reductions.iter().zip(from).zip(to) {
            let (mut body, k) = (Vec::new(), l.k.reg("k", Ty::I64));
            let even = Expr::Reg(k).times(Expr::int(2));
            let low = named(l, "low", Expr::load(*from, even.clone()), &mut body);
            let high = named(l, "high", Expr::load(*from, even.plus(Expr::int(1))), &mut body);
            let (x, y) = (l.g.fresh_var(r.ty).1, l.g.fresh_var(r.ty).1);
            let root = r.join(l, x, y);
            let value = l.region(&[(x, low), (y, high)], &[root], None, &Expr::int(0), &mut body)?.remove(0);
            body.push(Stmt::Store(*to, Expr::Reg(k), value));
            out.push(Stmt::For(k, Expr::int(0), pairs.clone(), body));
        }
        Ok(())
    }
}
