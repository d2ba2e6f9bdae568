//! Segmented reductions whose neighbouring segments are contiguous in memory (sums of columns): a strip of
//! neighbouring segments is computed together, so that all loops over segments vectorise.
//!
//! A strip is as wide as the call's units of work allow. The 128 columns of a tile's tree are computed in blocks of
//! 2^log columns, whose accumulators stay in the first-level cache, and which read memory in long runs:
//!
//! ```text
//! for each tile:
//!     for each block of columns c .. c + 4:
//!         fold rows c .. c + 4 of elements, then those 128 rows on, ..; join these columns; push that to a pile
//!     push the total of the pile to the pile of tiles
//! ```
//!
//! A pile joins values pairwise (`pairwise.rs`). The results of 2048 tiles are a tile of the next level of the tree,
//! so tiles are visited in the order in which that level's columns take them. Two levels serve segments of up to 2^22
//! elements; longer segments are reduced one at a time (`nested`).

use super::column_tree::{load, number_of, store};
use super::pairwise::Pile;
use super::stores::Stores;
use super::strip::{Order, Strip, region};
use super::strip_fold::{after, is_order_free};
use crate::core::{COLUMNS, NodeId, Op, TILE};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Ty, UnaryOp};
use crate::schedule::element::in_bounds::{self, Range};
use crate::schedule::element::lower::{LaunchContext, Lower, Surroundings, bind};
use crate::schedule::element::reduction::{Reduction, by_reduction, each_accumulator, tiles, totals_of};
use crate::schedule::facts::InBounds;
use crate::schedule::facts::along::Along;
use crate::schedule::facts::segments::nested;
use crate::schedule::facts::{Segments, StoredColumns, Strips};
use crate::schedule::groups::{FusedGroup, Item};
use std::rc::Rc;

/// The number of segments of a unit of work.
pub const STRIP: u32 = 128;
/// The maximum size of a strip's accumulators, of all reductions together, in bytes. A block has four times as many.
/// Longer runs of memory gain nothing (bench/NOTES.md).
const BYTES: u32 = 4096;

/// The maximum number of nodes of the elements of a pass over a strip.
const MOST_NODES: usize = 64;

/// Maximum size of the accumulators of an element's reductions whose strategies have them for many segments at once:
/// batches of short rows have 4352 of each, which is then half of the stack of a thread.
const MAX_ACCUMULATOR_BYTES: usize = 240;

/// Whether a thread's stack has room for accumulators of these nested reductions for many segments at once.
pub(super) fn have_room(l: &LaunchContext, nested: &[NodeId]) -> bool {
    let bytes: usize = each_accumulator(&Reduction::all_nested(l, nested)).map(|r| r.ty.size()).sum();
    bytes <= MAX_ACCUMULATOR_BYTES
}

/// Returns the segmented reduction as one that this strategy serves. It must leave no records, because loops over
/// several segments at once cannot.
pub fn of(l: &mut LaunchContext, s: Rc<Segments>) -> Option<Strips> {
    if s.along != Along::Columns || !have_room(l, &s.nested) {
        return None;
    }
    if !s.may_record {
        return Some(Strips { segments: s, condition: None });
    }
    let Op::Var(var, _) = *l.g.op(s.index) else { return None };
    let count = l.count_node();
    let all = Range::below(l, var, count);
    let InBounds { roots: bodies, condition } = in_bounds::without_records(l, &s.bodies, &[all])?;
    let nested = nested(l, &bodies)?;
    let (index, along, length) = (s.index, s.along, s.length);
    let segments =
        Rc::new(Segments { index, bodies, nested, length, along, are_parts: false, may_record: false });
    Some(Strips { segments, condition: Some(condition) })
}

/// Emits the condition that strips do not serve the call: segments are too long, or reads may be out of bounds.
pub(super) fn unserved(l: &mut Lower, s: &Strips, out: &mut Vec<Stmt>) -> Result<Expr> {
    let long = too_long(l, &s.segments);
    let Some(condition) = s.condition else { return Ok(long) };
    let in_bounds = l.conditions(&[], &[condition], out)?.remove(0);
    Ok(Expr::binary(BinaryOp::Or, long, Expr::Unary(UnaryOp::Not, Box::new(in_bounds))))
}

/// Returns the condition that segments have more elements than two levels of the tree can reduce.
pub(super) fn too_long(l: &mut Lower, s: &Segments) -> Expr {
    let length = l.launch.host(s.length);
    Expr::binary(BinaryOp::Gt, length, Expr::int(TILE * TILE))
}

/// Returns the maximum number of segments of a strip whose block has several columns.
pub(super) fn most_segments(reductions: &[Reduction]) -> u32 {
    let bytes: u32 = each_accumulator(reductions).map(|r| r.ty.size() as u32).sum();
    (1 << (BYTES / bytes).max(64).ilog2()).min(1024)
}

/// Returns the maximum number of segments of a strip, and of the values of an accumulator in its block. Without a
/// tree a block has one column, so that a strip is as wide.
pub(super) fn most_and_block(l: &mut LaunchContext, reductions: &[Reduction]) -> [u32; 2] {
    let most = most_segments(reductions);
    [if is_order_free(l, reductions) { 4 * most } else { most }, 4 * most]
}

/// Emits the segments of a unit of work. Elements that are `stored` are stored where they are reduced, so that each
/// of them is computed once.
pub(super) fn main(
    l: &mut Lower,
    fused: &FusedGroup,
    (s, stored): (&Segments, Option<&StoredColumns>),
    staged: bool,
) -> Result<Vec<Stmt>> {
    let items: Vec<&Item> = fused.items.iter().collect();
    let (n, length) = (l.launch.count(), l.launch.host(s.length));
    let stores = Stores::new(l, &items);
    let reductions: Vec<Reduction> = Reduction::all_nested(l.launch, &s.nested);
    let [t, base, q] = ["t", "base", "q"].map(|name| l.k.reg(name, Ty::I64));
    let (begin, end) = match staged {
        true => (Expr::Reg(t), Expr::Reg(t).plus(Expr::int(1))),
        false => (Expr::TileBegin, Expr::TileEnd),
    };
    let (mut out, grain) = (Vec::new(), Expr::int(STRIP.into()));
    let lo = bind(l, "lo", begin.times(grain.clone()), &mut out);
    let hi = bind(l, "hi", end.times(grain).min(n), &mut out);
    let stores = if staged { stores.begin(l, &mut out) } else { stores };
    let [most, in_block] = most_and_block(l.launch, &reductions);
    let block = each_accumulator(&reductions).map(|r| l.k.local("block", r.ty, in_block, &mut out)).collect();
    let mut body = Vec::new();
    let width = hi.clone().minus(Expr::Reg(base)).min(Expr::int(most.into()));
    let width = bind(l, "width", width, &mut body);
    let reductions = &reductions[..];
    let strip = Strip {
        s,
        outer: &[],
        reductions,
        base: Expr::Reg(base),
        width,
        length,
        block,
        most,
        stored,
        known: &[],
    };
    strip.totals(l, &mut out, &mut body)?;
    let mut last = Vec::new();
    let i = bind(l, "i", strip.base.clone().plus(Expr::Reg(q)), &mut last);
    let at = Expr::Reg(q);
    let totals: Vec<Vec<Expr>> = totals_of(reductions, &strip.block).iter().map(|of| load(of, &at)).collect();
    let place = Surroundings { vars: &[(s.index, i.clone())], at: &i };
    let values = s.values(l, reductions, &place, &totals, &strip.length, &mut last)?;
    stores.store(l, values, &i, &i.clone().minus(lo.clone()), &mut last);
    body.push(Stmt::For(q, Expr::int(0), strip.width.clone(), last));
    body.push(Stmt::Assign(base, strip.base.clone().plus(strip.width.clone())));
    out.push(Stmt::Var(base, lo.clone()));
    out.push(Stmt::While(Expr::binary(BinaryOp::Lt, Expr::Reg(base), hi.clone()), body));
    stores.flush(l, &lo, &hi.minus(lo.clone()), &mut out);
    Ok(if staged { vec![Stmt::For(t, Expr::TileBegin, Expr::TileEnd, out)] } else { out })
}

impl Strip<'_> {
    /// Emits the totals of the strip's segments, if these have elements. They are stored in the block.
    pub(super) fn totals(&self, l: &mut Lower, locals: &mut Vec<Stmt>, out: &mut Vec<Stmt>) -> Result<()> {
        if is_order_free(l.launch, self.reductions) {
            return self.fold(l, out);
        }
        let of_tile = Pile::new(l, self, locals);
        let of_tiles = Pile::new(l, self, locals);
        let column = each_accumulator(self.reductions).map(|r| l.k.local("column", r.ty, self.most, locals));
        let column: Vec<Mem> = column.collect();
        // a block has as many columns as fit
        let log = l.k.reg("log", Ty::I64);
        let next = Expr::binary(BinaryOp::Shl, self.width.clone(), Expr::Reg(log).plus(Expr::int(1)));
        let fits = Expr::binary(BinaryOp::Le, next, Expr::int(i64::from(4 * self.most)));
        let some = Expr::binary(BinaryOp::Lt, Expr::Reg(log), Expr::int(COLUMNS.trailing_zeros().into()));
        let more = Stmt::Assign(log, Expr::Reg(log).plus(Expr::int(1)));
        out.extend([Stmt::Var(log, Expr::int(0)), Stmt::While(both(fits, some), vec![more])]);
        self.fill(l, self.width.clone(), out);
        let tiles = bind(l, "tiles", tiles(self.length.clone()), out);
        let several = Expr::binary(BinaryOp::Gt, tiles.clone(), Expr::int(1));
        let [c, t] = ["c", "t"].map(|name| l.k.reg(name, Ty::I64));
        let mut of_row = Vec::new();
        self.tile(l, &of_tile, &Expr::Reg(t), &Expr::Reg(log), &mut of_row)?;
        let (mut first, mut later, mut full) = (Vec::new(), Vec::new(), Vec::new());
        let zero = || Expr::int(0);
        self.copy(l, (&self.block, zero()), (&column, zero()), &mut first);
        self.join(l, (&column, zero()), (&self.block, zero()), (&column, zero()), &mut later)?;
        let at_first = Expr::binary(BinaryOp::Eq, Expr::Reg(t), Expr::Reg(c));
        of_row.push(Stmt::If(several.clone(), vec![Stmt::If(at_first, first, later)], vec![]));
        of_row.push(Stmt::Assign(t, Expr::Reg(t).plus(Expr::int(COLUMNS))));
        of_tiles.push(l, self, &column, &Expr::Reg(c), &mut full)?;
        let of_column = vec![
            Stmt::Var(t, Expr::Reg(c)),
            Stmt::While(Expr::binary(BinaryOp::Lt, Expr::Reg(t), tiles.clone()), of_row),
            Stmt::If(several.clone(), full, vec![]),
        ];
        let present = bind(l, "present", tiles.min(Expr::int(COLUMNS)), out);
        out.push(Stmt::Seq(c, Expr::int(0), present.clone(), of_column));
        let mut joined = Vec::new();
        of_tiles.total(l, self, &present, &mut joined)?;
        out.push(Stmt::If(several, joined, vec![]));
        Ok(())
    }

    /// Emits the results of tile `t`, with 2^log columns at a time. They are stored in the block.
    fn tile(&self, l: &mut Lower, pile: &Pile, t: &Expr, log: &Expr, out: &mut Vec<Stmt>) -> Result<()> {
        let first = bind(l, "first", t.clone().times(Expr::int(TILE)), out);
        let count = self.length.clone().minus(first.clone()).min(Expr::int(TILE));
        let count = bind(l, "count", count, out);
        let columns = bind(l, "columns", Expr::binary(BinaryOp::Shl, Expr::int(1), log.clone()), out);
        let present = count.clone().min(Expr::int(COLUMNS));
        let up = present.clone().plus(columns.clone()).minus(Expr::int(1));
        let blocks = bind(l, "blocks", Expr::binary(BinaryOp::Shr, up, log.clone()), out);
        let [b, pairs] = ["b", "pairs"].map(|name| l.k.reg(name, Ty::I64));
        let mut body = Vec::new();
        let begin = bind(l, "begin", Expr::binary(BinaryOp::Shl, Expr::Reg(b), log.clone()), &mut body);
        body.push(Stmt::Var(pairs, half(columns.clone())));
        let end = begin.clone().plus(columns.clone());
        let le = |a: Expr, b: Expr| Expr::binary(BinaryOp::Le, a, b);
        let short = le(count.clone(), Expr::int(COLUMNS));
        let short = both(short, both(le(end, count.clone()), le(Expr::int(4), columns.clone())));
        let (mut by_four, mut by_one) = (Vec::new(), Vec::new());
        let k = l.k.reg("k", Ty::I64);
        let mut four = Vec::new();
        self.four(l, &first.clone().plus(begin.clone()), &Expr::Reg(k), &mut four)?;
        let quarter = half(half(columns.clone()));
        by_four.push(Stmt::Seq(k, Expr::int(0), quarter.clone(), four));
        by_four.push(Stmt::Assign(pairs, half(quarter)));
        self.rows(l, [&first, &begin, &count, &columns], &mut by_one)?;
        body.push(Stmt::If(short, by_four, by_one));
        self.tree(l, pairs, &mut body)?;
        pile.push(l, self, &self.block, &Expr::Reg(b), &mut body)?;
        out.push(Stmt::Seq(b, Expr::int(0), blocks.clone(), body));
        pile.total(l, self, &blocks, out)
    }

    /// Emits the columns of a tile from `begin` on, several rows in a pass, so that the block is loaded and stored
    /// less often.
    fn rows(
        &self,
        l: &mut Lower,
        [first, begin_at, count, columns]: [&Expr; 4],
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let e = l.k.reg("e", Ty::I64);
        let part = |l: &mut Lower, rows: i64, begin: bool, end: &Expr| -> Result<Vec<Stmt>> {
            let k = l.k.reg("k", Ty::I64);
            let at = Expr::Reg(k).times(self.width.clone());
            let row = first.clone().plus(Expr::Reg(e)).plus(Expr::Reg(k));
            let of_pass: Vec<Expr> = (0..rows).map(|n| row.clone().plus(Expr::int(n * COLUMNS))).collect();
            let mut body = Vec::new();
            let order = if begin { Order::First } else { Order::After(Expr::Reg(e).minus(begin_at.clone())) };
            self.elements(l, &of_pass, &at, order, &mut body)?;
            let go_on = Stmt::Assign(e, Expr::Reg(e).plus(Expr::int(rows * COLUMNS)));
            Ok(vec![Stmt::Seq(k, Expr::int(0), end.clone(), body), go_on])
        };
        let are_full = |rows: i64| {
            let end = Expr::Reg(e).plus(Expr::int((rows - 1) * COLUMNS)).plus(columns.clone());
            Expr::binary(BinaryOp::Le, end, count.clone())
        };
        let most = self.rows_of_pass(l, MOST_NODES) as i64;
        let start = part(l, most, true, columns)?;
        let mut absent = Vec::new();
        self.fill(l, columns.clone().times(self.width.clone()), &mut absent);
        out.push(Stmt::Var(e, begin_at.clone()));
        out.push(Stmt::If(are_full(most), start, absent));
        for rows in std::iter::once(most).chain((most > 2).then_some(2)) {
            out.push(Stmt::While(are_full(rows), part(l, rows, false, columns)?));
        }
        let left = count.clone().minus(Expr::Reg(e)).min(columns.clone());
        let one = part(l, 1, false, &left)?;
        out.push(Stmt::While(Expr::binary(BinaryOp::Lt, Expr::Reg(e), count.clone()), one));
        Ok(())
    }

    /// Emits a loop over all segments, in which their elements `rows` are joined to the column at `at` of the block.
    pub(super) fn elements(
        &self,
        l: &mut Lower,
        rows: &[Expr],
        at: &Expr,
        order: Order,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let at = bind(l, "at", at.clone(), out);
        let index: Vec<NodeId> = rows.iter().map(|_| l.launch.g.fresh_var(Ty::I64).1).collect();
        let rows: Vec<Expr> = rows.iter().map(|e| bind(l, "row", e.clone(), out)).collect();
        if rows.len() <= 2 && !matches!(order, Order::Free) {
            self.prefetch(l, &rows, out)?;
        }
        let (mut body, q) = (Vec::new(), l.k.reg("q", Ty::I64));
        let i = bind(l, "i", self.base.clone().plus(Expr::Reg(q)), &mut body);
        let to = bind(l, "to", at.plus(Expr::Reg(q)), &mut body);
        let mut fixed: Vec<(NodeId, Expr)> = index.iter().copied().zip(rows.iter().cloned()).collect();
        fixed.extend_from_slice(self.outer);
        let (mut own, mut roots) = (self.own(l, &Expr::Reg(q), &i, &mut body), Vec::new());
        for (r, arrays) in by_reduction(self.reductions, &self.block) {
            let steps = |l: &mut LaunchContext, acc: Vec<NodeId>, rest: &[NodeId]| {
                rest.iter().fold(acc, |acc, k| r.step(l, &acc, *k))
            };
            if let Order::First = order {
                let acc = r.first(l.launch, index[0]);
                roots.extend(steps(l.launch, acc, &index[1..]));
                continue;
            }
            let old = r.variables(l.launch);
            let mut loaded = old.iter().zip(arrays);
            if let (Order::After(so_far), true) = (&order, r.is_counted()) {
                // the count is the same for all segments
                fixed.push((old[0], bind(l, "number", number_of(so_far, r.types[0]), out)));
                loaded.next();
            }
            for (old, m) in loaded {
                own.push((*old, bind(l, "acc", Expr::load(*m, to.clone()), &mut body)));
            }
            roots.extend(match order {
                Order::Free => after(l.launch, r, &old, &index),
                _ => steps(l.launch, old, &index),
            });
        }
        let steps = roots.len();
        for k in &index {
            roots.extend(self.stored_at(l, *k));
        }
        let mut values = region(l, (fixed, own), &roots, &i, (out, &mut body))?;
        let elements = values.split_off(steps);
        self.store_elements(l, &rows, &i, elements, &mut body);
        store(&self.block, &to, values, &mut body);
        out.push(Stmt::For(q, Expr::int(0), self.width.clone(), body));
        Ok(())
    }

    /// Emits the join of four columns that have one element each, from element `first` + 4 `k` on.
    fn four(&self, l: &mut Lower, first: &Expr, k: &Expr, out: &mut Vec<Stmt>) -> Result<()> {
        let row = bind(l, "row", first.clone().plus(k.clone().times(Expr::int(4))), out);
        let at = bind(l, "at", k.clone().times(self.width.clone()), out);
        let (mut body, q) = (Vec::new(), l.k.reg("q", Ty::I64));
        let i = bind(l, "i", self.base.clone().plus(Expr::Reg(q)), &mut body);
        let index: [NodeId; 4] = std::array::from_fn(|_| l.launch.g.fresh_var(Ty::I64).1);
        let mut fixed: Vec<(NodeId, Expr)> =
            index.iter().zip(0..).map(|(n, e)| (*n, row.clone().plus(Expr::int(e)))).collect();
        fixed.extend_from_slice(self.outer);
        let mut roots = Vec::new();
        for r in self.reductions {
            let [a, b, c, d] = index.map(|k| r.first(l.launch, k));
            let (low, high) = (r.join(l.launch, &a, &b), r.join(l.launch, &c, &d));
            roots.extend(r.join(l.launch, &low, &high));
        }
        let own = self.own(l, &Expr::Reg(q), &i, &mut body);
        let steps = roots.len();
        for k in &index {
            roots.extend(self.stored_at(l, *k));
        }
        let mut values = region(l, (fixed, own), &roots, &i, (out, &mut body))?;
        let elements = values.split_off(steps);
        let rows: Vec<Expr> = (0..4).map(|e| row.clone().plus(Expr::int(e))).collect();
        self.store_elements(l, &rows, &i, elements, &mut body);
        let to = at.plus(Expr::Reg(q));
        store(&self.block, &to, values, &mut body);
        out.push(Stmt::For(q, Expr::int(0), self.width.clone(), body));
        Ok(())
    }

    /// Emits the join of the block's columns as a tree of neighbours, beginning with `pairs` pairs.
    fn tree(&self, l: &mut Lower, pairs: Reg, out: &mut Vec<Stmt>) -> Result<()> {
        let pair = l.k.reg("pair", Ty::I64);
        let mut body = Vec::new();
        let at = |e: Expr| e.times(self.width.clone());
        let low = Expr::Reg(pair).times(Expr::int(2));
        let (a, b) = (at(low.clone()), at(low.plus(Expr::int(1))));
        let block = &self.block;
        self.join(l, (block, a), (block, b), (block, at(Expr::Reg(pair))), &mut body)?;
        let level = vec![
            Stmt::Seq(pair, Expr::int(0), Expr::Reg(pairs), body),
            Stmt::Assign(pairs, half(Expr::Reg(pairs))),
        ];
        out.push(Stmt::While(Expr::binary(BinaryOp::Gt, Expr::Reg(pairs), Expr::int(0)), level));
        Ok(())
    }
}

fn both(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinaryOp::And, a, b)
}

fn half(e: Expr) -> Expr {
    Expr::binary(BinaryOp::Shr, e, Expr::int(1))
}
