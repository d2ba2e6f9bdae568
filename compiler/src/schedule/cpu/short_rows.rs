//! Segmented reductions of short rows: the trees of many rows are computed together (a batch), so
//! that their loops are long and vectorise.
//!
//! ```text
//! up to 128 elements:  neighbours join where they are read -> pairs
//! a whole tile:        rows of 128 columns -> columns -> pairs
//! pairs: row 0, 0 .. 32 | row 1, 0 .. 32 | ..     neighbours join, wherever they are, until each row has one value
//! ```
//!
//! Each row has a power of two of columns, from 2 to 128. Absent pairs are filled with the identity, once for all
//! batches. If all columns of a row have the same number of elements, squared deviations are joined without a count
//! for each column, so that the loops have no divisions. Rows of several tiles are reduced one at a time (`nested`).

use super::column_tree::{load, number_of, pair, store};
use super::element_loop::each;
use super::segmented_columns::have_room;
use super::stores::Stores;
use crate::core::{COLUMNS, NodeId, TILE};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::lower::{LaunchContext, Lower, Surroundings, bind};
use crate::schedule::element::reduction::{
    Accumulator, Reduction, by_reduction, counts, each_accumulator, totals_of,
};
use crate::schedule::facts::Segments;
use crate::schedule::facts::along::Along;
use crate::schedule::groups::{FusedGroup, Item};

/// Whether this strategy serves the contiguous variant of a fused group. The group must leave no records, because
/// loops over several segments at once cannot.
pub fn fits(l: &LaunchContext, fused: &FusedGroup, s: &Segments) -> bool {
    s.along == Along::Rows && fused.domain.len() == 1 && !s.may_record && have_room(l, &s.nested)
}

/// Returns the condition that segments have more elements than a tile.
pub(super) fn too_long(l: &mut Lower, s: &Segments) -> Expr {
    let length = l.launch.host(s.length);
    Expr::binary(BinaryOp::Gt, length, Expr::int(TILE))
}

pub(super) fn main(l: &mut Lower, fused: &FusedGroup, s: &Segments) -> Result<Vec<Stmt>> {
    let items: Vec<&Item> = fused.items.iter().collect();
    let (n, length) = (l.launch.count(), l.launch.host(s.length));
    let stores = Stores::new(l, &items);
    let reductions: Vec<Reduction> = Reduction::all_nested(l.launch, &s.nested);
    let [base, row, line, q, log] = ["base", "row", "line", "q", "log"].map(|name| l.k.reg(name, Ty::I64));
    let mut out = Vec::new();
    let sizes = [("columns", TILE), ("pairs", TILE / 2), ("joined", TILE / 2), ("again", TILE / 8)];
    let [columns, pairs, joined, again] = sizes.map(|(name, size)| {
        each_accumulator(&reductions)
            .map(|r| l.k.local(name, r.ty, size as u32, &mut out))
            .collect::<Vec<Mem>>()
    });
    let hi = bind(l, "hi", Expr::TileEnd.min(n), &mut out);
    let present = bind(l, "present", length.clone().min(Expr::int(COLUMNS)), &mut out);
    let power = |log: Expr| Expr::binary(BinaryOp::Shl, Expr::int(1), log);
    let less = |a: Expr, b: Expr| Expr::binary(BinaryOp::Lt, a, b);
    let more = Stmt::Assign(log, Expr::Reg(log).plus(Expr::int(1)));
    let short = less(power(Expr::Reg(log)), present.clone());
    out.extend([Stmt::Var(log, Expr::int(1)), Stmt::While(short, vec![more])]);
    let width = bind(l, "width", power(Expr::Reg(log).minus(Expr::int(1))), &mut out);
    let most = Expr::binary(BinaryOp::Shr, Expr::int(TILE), Expr::Reg(log));
    let most = bind(l, "most", most, &mut out);
    let mut body = Vec::new();
    let rows = bind(l, "rows", hi.clone().minus(Expr::Reg(base)).min(most), &mut body);
    let batch = Batch { s, reductions: &reductions, length, present, width, columns, pairs, joined, again };
    batch.fill(l, &mut out);
    let number = |r: Reg| Expr::Reg(base).plus(Expr::Reg(r));
    let (mut short, mut long) = (Vec::new(), Vec::new());
    batch.short_row(l, number(row), Expr::Reg(row), &mut short)?;
    let short = vec![Stmt::Seq(row, Expr::int(0), rows.clone(), short)];
    batch.row(l, number(line), Expr::Reg(line), &mut long)?;
    let mut long = vec![Stmt::Seq(line, Expr::int(0), rows.clone(), long)];
    let all = rows.clone().times(batch.width.clone());
    batch.join(l, [&batch.columns, &batch.pairs], (all, None), &mut long)?;
    let is_short = Expr::binary(BinaryOp::Le, batch.length.clone(), Expr::int(COLUMNS));
    body.push(Stmt::If(is_short, short, long));
    batch.trees(l, &rows, Expr::Reg(log), &mut body)?;
    let mut last = Vec::new();
    let i = bind(l, "i", Expr::Reg(base).plus(Expr::Reg(q)), &mut last);
    let at = Expr::Reg(q);
    let totals: Vec<Vec<Expr>> =
        totals_of(&reductions, &batch.joined).iter().map(|of| load(of, &at)).collect();
    let place = Surroundings { vars: &[(s.index, i.clone())], at: &i };
    let values = s.values(l, &reductions, &place, &totals, &batch.length, &mut last)?;
    stores.store(l, values, &i, &i, &mut last);
    body.push(Stmt::For(q, Expr::int(0), rows.clone(), last));
    body.push(Stmt::Assign(base, Expr::Reg(base).plus(rows)));
    out.push(Stmt::Var(base, Expr::TileBegin));
    out.push(Stmt::While(less(Expr::Reg(base), hi), body));
    Ok(out)
}

/// A batch of neighbouring segments.
struct Batch<'a> {
    s: &'a Segments,
    reductions: &'a [Reduction],
    /// The length of each segment.
    length: Expr,
    /// Number of columns that have elements.
    present: Expr,
    /// Number of pairs of columns of a segment, a power of two.
    width: Expr,
    /// For all segments: their columns, their pairs, and two buffers for the joined pairs.
    columns: Vec<Mem>,
    pairs: Vec<Mem>,
    joined: Vec<Mem>,
    again: Vec<Mem>,
}

impl Batch<'_> {
    /// Emits code that fills all pairs with the identity, if some pairs have no elements.
    fn fill(&self, l: &mut Lower, out: &mut Vec<Stmt>) {
        let q = l.k.reg("q", Ty::I64);
        let values: Vec<Expr> = each_accumulator(self.reductions).map(|r| r.absent(l.launch)).collect();
        let mut fill = Vec::new();
        store(&self.pairs, &Expr::Reg(q), values, &mut fill);
        let columns = self.width.clone().times(Expr::int(2));
        let some = Expr::binary(BinaryOp::Lt, self.present.clone(), columns);
        let fill = vec![Stmt::For(q, Expr::int(0), Expr::int(TILE / 2), fill)];
        out.push(Stmt::If(some, fill, vec![]));
    }

    /// Emits the pairs of segment `i`, the batch's `number`-th, if each of its columns has one element.
    fn short_row(&self, l: &mut Lower, i: Expr, number: Expr, out: &mut Vec<Stmt>) -> Result<()> {
        let i = bind(l, "i", i, out);
        let at = bind(l, "at", number.times(self.width.clone()), out);
        let index: [NodeId; 2] = std::array::from_fn(|_| l.launch.g.fresh_var(Ty::I64).1);
        let (mut both, mut one) = (Vec::new(), Vec::new());
        for r in self.reductions {
            let [a, b] = index.map(|k| r.first(l.launch, k));
            both.extend(r.join(l.launch, &a, &b));
            one.extend(a);
        }
        let pairs = Expr::binary(BinaryOp::Shr, self.present.clone(), Expr::int(1));
        let pairs = bind(l, "pairs", pairs, out);
        let values = |l: &mut Lower, roots: &[NodeId], lo: &Expr, hi: &Expr| {
            each(l, "p", lo, hi, &mut |l, p, conditions, out| {
                let even = bind(l, "k", p.clone().times(Expr::int(2)), out);
                let odd = even.clone().plus(Expr::int(1));
                let vars = [(self.s.index, i.clone()), (index[0], even), (index[1], odd)];
                if let Some(conditions) = conditions {
                    return l.conditions(&vars, conditions, out);
                }
                let to = at.clone().plus(p.clone());
                let values = l.region(&vars, roots, &i, out)?;
                store(&self.pairs, &to, values, out);
                Ok(vec![])
            })
        };
        out.extend(values(l, &both, &Expr::int(0), &pairs)?);
        // a last element without a neighbour is a pair by itself
        let odd = Expr::binary(BinaryOp::And, self.present.clone(), Expr::int(1));
        out.extend(values(l, &one, &pairs, &pairs.clone().plus(odd))?);
        Ok(())
    }

    /// Emits the columns of segment `i`, the batch's `number`-th.
    fn row(&self, l: &mut Lower, i: Expr, number: Expr, out: &mut Vec<Stmt>) -> Result<()> {
        let i = bind(l, "i", i, out);
        let at = bind(l, "at", number.times(Expr::int(COLUMNS)), out);
        let e = l.k.reg("e", Ty::I64);
        let next = Expr::Reg(e).plus(Expr::int(COLUMNS));
        let mut full = self.elements(l, &i, &at, Some(Expr::Reg(e)), &Expr::int(COLUMNS))?;
        full.push(Stmt::Assign(e, next.clone()));
        let left = self.length.clone().minus(Expr::Reg(e));
        let rest = self.elements(l, &i, &at, Some(Expr::Reg(e)), &left)?;
        let length = || self.length.clone();
        out.extend(self.elements(l, &i, &at, None, &Expr::int(COLUMNS))?);
        out.push(Stmt::Var(e, Expr::int(COLUMNS)));
        out.push(Stmt::While(Expr::binary(BinaryOp::Le, next, length()), full));
        out.push(Stmt::If(Expr::binary(BinaryOp::Lt, Expr::Reg(e), length()), rest, vec![]));
        Ok(())
    }

    /// Emits a loop over `count` neighbouring elements, which begin their columns, or, from element `first` on,
    /// continue them. Two rows at a time would be faster only for data in the caches: from memory, the processor's
    /// prefetching loses the stream (bench/NOTES.md).
    fn elements(
        &self,
        l: &mut Lower,
        i: &Expr,
        at: &Expr,
        first: Option<Expr>,
        count: &Expr,
    ) -> Result<Vec<Stmt>> {
        let (_, index) = l.launch.g.fresh_var(Ty::I64);
        let old: Vec<Vec<NodeId>> = self.reductions.iter().map(|r| r.variables(l.launch)).collect();
        let pairs = self.reductions.iter().zip(&old);
        let roots: Vec<NodeId> = match first {
            None => self.reductions.iter().flat_map(|r| r.first(l.launch, index)).collect(),
            Some(_) => pairs.flat_map(|(r, acc)| r.step(l.launch, acc, index)).collect(),
        };
        // the count is the same for all columns
        let mut all = Vec::new();
        let mut number = |(r, is_count): (Accumulator, bool)| {
            let e = first.as_ref().filter(|_| is_count)?;
            Some(bind(l, "number", number_of(e, r.ty), &mut all))
        };
        let numbers = each_accumulator(self.reductions).zip(counts(self.reductions));
        let numbers: Vec<Option<Expr>> = numbers.map(&mut number).collect();
        let old = old.concat();
        let mut elements = each(l, "c", &Expr::int(0), count, &mut |l, c, conditions, out| {
            let k = first.clone().map_or(c.clone(), |e| e.plus(c.clone()));
            let k = bind(l, "k", k, out);
            let to = bind(l, "to", at.clone().plus(c.clone()), out);
            let mut vars = vec![(self.s.index, i.clone()), (index, k)];
            if first.is_some() {
                for ((acc, m), number) in old.iter().zip(&self.columns).zip(&numbers) {
                    let before = match number {
                        Some(number) => number.clone(),
                        None => bind(l, "acc", Expr::load(*m, to.clone()), out),
                    };
                    vars.push((*acc, before));
                }
            }
            if let Some(conditions) = conditions {
                return l.conditions(&vars, conditions, out);
            }
            let values = l.region(&vars, &roots, i, out)?;
            store(&self.columns, &to, values, out);
            Ok(vec![])
        })?;
        all.append(&mut elements);
        Ok(all)
    }

    /// Emits the join of the pairs of the first `rows` segments, of 2^`log` columns each, until `joined` holds one
    /// value for each segment.
    fn trees(&self, l: &mut Lower, rows: &Expr, log: Expr, out: &mut Vec<Stmt>) -> Result<()> {
        let divides = |r: &Reduction| r.is_counted() && !r.is_of_tuple();
        if !self.reductions.iter().any(divides) {
            return self.tree(l, rows, None, out);
        }
        let each = Expr::binary(BinaryOp::Shr, self.length.clone(), log.clone());
        let each = bind(l, "each", Expr::binary(BinaryOp::Max, each, Expr::int(1)), out);
        let all = Expr::binary(BinaryOp::Shl, each.clone(), log);
        let (mut even, mut others) = (Vec::new(), Vec::new());
        self.tree(l, rows, Some(each), &mut even)?;
        self.tree(l, rows, None, &mut others)?;
        out.push(Stmt::If(Expr::binary(BinaryOp::Eq, all, self.length.clone()), even, others));
        Ok(())
    }

    /// Emits the same as [`Batch::trees`] for columns that all have `each` elements, if that is given.
    fn tree(&self, l: &mut Lower, rows: &Expr, each: Option<Expr>, out: &mut Vec<Stmt>) -> Result<()> {
        let left = l.k.reg("left", Ty::I64);
        // the number of elements that each joined value has
        let count = each.map(|each| (l.k.reg("count", Ty::I64), each));
        let twice = |e: Expr| e.times(Expr::int(2));
        let some = Expr::binary(BinaryOp::Gt, Expr::Reg(left), Expr::int(1));
        let all = rows.clone().times(Expr::Reg(left));
        let level = |l: &mut Lower, from: &[Mem], to: &[Mem]| -> Result<Vec<Stmt>> {
            let half = Expr::binary(BinaryOp::Shr, Expr::Reg(left), Expr::int(1));
            let mut body = vec![Stmt::Assign(left, half)];
            let number = count.as_ref().map(|(count, _)| Expr::Reg(*count));
            self.join(l, [from, to], (all.clone(), number.clone()), &mut body)?;
            body.extend(count.as_ref().zip(number).map(|((count, _), n)| Stmt::Assign(*count, twice(n))));
            Ok(body)
        };
        let copy = |l: &mut Lower, from: &[Mem]| {
            let q = l.k.reg("q", Ty::I64);
            let known = counts(self.reductions).map(|is_count| is_count && count.is_some());
            let both = from.iter().zip(&self.joined).zip(known).filter(|(_, known)| !known);
            let copy = both.map(|((x, y), _)| Stmt::Store(*y, Expr::Reg(q), Expr::load(*x, Expr::Reg(q))));
            vec![Stmt::For(q, Expr::int(0), rows.clone(), copy.collect())]
        };
        let begin = level(l, &self.pairs, &self.joined)?;
        let mut body = level(l, &self.joined, &self.again)?;
        let back = level(l, &self.again, &self.joined)?;
        body.push(Stmt::If(some.clone(), back, copy(l, &self.again)));
        out.push(Stmt::Var(left, self.width.clone()));
        out.extend(count.as_ref().map(|(count, each)| Stmt::Var(*count, twice(each.clone()))));
        out.push(Stmt::If(some.clone(), begin, copy(l, &self.pairs)));
        out.push(Stmt::While(some, body));
        Ok(())
    }

    /// Emits the join of `pairs` pairs of neighbouring values, which have `rows` elements each, if all have the same
    /// number.
    fn join(
        &self,
        l: &mut Lower,
        [from, to]: [&[Mem]; 2],
        (pairs, rows): (Expr, Option<Expr>),
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let of = |arrays| by_reduction(self.reductions, arrays);
        for ((r, from), (_, to)) in of(from).zip(of(to)) {
            let (mut body, k) = (Vec::new(), l.k.reg("k", Ty::I64));
            let mut values =
                pair(l, r, &Surroundings::NONE, (from, rows.as_ref()), &Expr::Reg(k), &mut body)?;
            let known = usize::from(rows.is_some() && r.is_counted());
            store(&to[known..], &Expr::Reg(k), values.split_off(known), &mut body);
            out.push(Stmt::For(k, Expr::int(0), pairs.clone(), body));
        }
        Ok(())
    }
}
