//! Reduce: the fixed tree of semantics 5.1, for any number of reductions and stored arrays over one
//! index space.
//!
//! A tile is 16 rows of 128 columns. Each reduction has a local array of 128 accumulators, one per
//! column. The loop over the columns of a row is independent and vectorises; the rows follow in
//! order. Then the 128 columns join as a tree of neighbours: 64 + 32 + .. + 1 joins. Full tiles
//! have constant bounds; the last, partial tile takes a general path with the same order. The
//! tiles' results go to a scratch array, which `finish` reduces by the same tree.

use super::column_tree::{load, number_of, short_tree_of, store, tree_of};
use super::element_loop::each;
use super::nested::rows_by_loops;
use super::stores::Stores;
use super::whole_rows;
use crate::core::{COLUMNS, NodeId, TILE, Var};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::element;
use crate::schedule::element::in_bounds::{self, Range};
use crate::schedule::element::lower::{Lower, Surroundings, bind};
use crate::schedule::element::nested_loop::rows_of;
use crate::schedule::element::reduction::{
    Accumulator, Reduction, by_reduction, each_accumulator, have_loops,
};
use crate::schedule::facts::InBounds;
use crate::schedule::groups::{FusedGroup, Item, is_store};

pub(super) fn main(l: &mut Lower, fused: &FusedGroup, staged: bool) -> Result<Vec<Stmt>> {
    let items: Vec<&Item> = fused.items.iter().filter(|it| is_store(&l.launch.g, it)).collect();
    let n = l.launch.count();
    let reductions = Reduction::all(l.launch, fused);
    let stores = Stores::new(l, &items);
    let t = l.k.reg("t", Ty::I64);
    let base = l.k.reg("base", Ty::I64);
    let rest = l.k.reg("rest", Ty::I64);
    let mut tile = vec![
        Stmt::Let(base, Expr::Reg(t).times(Expr::int(TILE)), Default::default()),
        Stmt::Let(rest, n.minus(Expr::Reg(base)), Default::default()),
    ];
    let stores = if staged { stores.begin(l, &mut tile) } else { stores };
    let shape = Tile {
        items: &items,
        reductions: &reductions,
        stores: &stores,
        base: Expr::Reg(base),
        rest: Expr::Reg(rest),
        t: Expr::Reg(t),
    };
    if shape.has_loops(l) {
        shape.by_loops(l, &mut tile)?;
    } else {
        let full = shape.body(l, true)?;
        let partial = shape.body(l, false)?;
        let is_full = Expr::binary(BinaryOp::Ge, Expr::Reg(rest), Expr::int(TILE));
        tile.push(Stmt::If(is_full, full, partial));
    }
    Ok(vec![Stmt::For(t, Expr::TileBegin, Expr::TileEnd, tile)])
}

/// A row of a tile: the columns' arrays, the accumulators before the row, the number of its first element in the
/// tile, and the number of its columns. Counts of elements follow from the row's number, so they are not loaded.
type Row<'a> = (&'a [Mem], Vec<BeforeRow>, Expr, Expr);

/// An accumulator before a row: its variable, and its value if that is known and the same for all columns.
type BeforeRow = (NodeId, Option<Expr>);

/// The parts of the code of one tile.
struct Tile<'a> {
    items: &'a [&'a Item],
    reductions: &'a [Reduction],
    stores: &'a Stores,
    base: Expr,
    rest: Expr,
    t: Expr,
}

impl Tile<'_> {
    fn body(&self, l: &mut Lower, full: bool) -> Result<Vec<Stmt>> {
        let mut out = vec![Stmt::Note(
            if full { "a full tile: 16 rows of 128 columns" } else { "the last tile" }.into(),
        )];
        let columns = self.columns_of(l, &mut out);
        let identities: Vec<Option<Lit>> =
            each_accumulator(self.reductions).map(|r| r.identity(l.launch)).collect();
        let mut width = Expr::int(COLUMNS);
        if !full {
            let w = l.k.reg("width", Ty::I64);
            out.push(Stmt::Let(w, self.rest.clone().min(Expr::int(COLUMNS)), Default::default()));
            width = Expr::Reg(w);
        }
        // columns begin with the identity if every reduction has one, else with the first row
        let mut first_row = 0;
        if identities.iter().all(Option::is_some) {
            let c = l.k.reg("c", Ty::I64);
            let fill = columns.iter().zip(&identities);
            let fill = fill
                .filter_map(|(m, id)| id.map(|id| Stmt::Store(*m, Expr::Reg(c), Expr::Lit(id))))
                .collect();
            out.push(Stmt::For(c, Expr::int(0), Expr::int(COLUMNS), fill));
        } else {
            if !full {
                // C compilers cannot see that absent columns are never read
                let c = l.k.reg("c", Ty::I64);
                let zero =
                    |(m, r): (&Mem, Accumulator)| Stmt::Store(*m, Expr::Reg(c), Expr::Lit(Lit::zero(r.ty)));
                let fill = columns.iter().zip(each_accumulator(self.reductions)).map(zero).collect();
                out.push(Stmt::For(c, Expr::int(0), Expr::int(COLUMNS), fill));
            }
            out.extend(self.row(l, &columns, Expr::int(0), width.clone(), true)?);
            first_row = 1;
        }
        let r = l.k.reg("r", Ty::I64);
        let (rows, mut inner, mut count) = (Expr::int(TILE / COLUMNS), Vec::new(), Expr::int(COLUMNS));
        let row = l.k.reg("row", Ty::I64);
        inner.push(Stmt::Let(row, Expr::Reg(r).times(Expr::int(COLUMNS)), Default::default()));
        let mut rows_expr = rows;
        if !full {
            let rows = l.k.reg("rows", Ty::I64);
            out.push(Stmt::Let(rows, rows_of(self.rest.clone()), Default::default()));
            rows_expr = Expr::Reg(rows);
            let m = l.k.reg("m", Ty::I64);
            inner.push(Stmt::Let(
                m,
                self.rest.clone().minus(Expr::Reg(row)).min(Expr::int(COLUMNS)),
                Default::default(),
            ));
            count = Expr::Reg(m);
        }
        let mut work = self.row(l, &columns, Expr::Reg(row), count, false)?;
        if full {
            self.prefetch(l, &Expr::Reg(row), &mut inner);
        }
        inner.append(&mut work);
        out.push(Stmt::Seq(r, Expr::int(first_row), rows_expr, inner));
        for (reduction, own) in by_reduction(self.reductions, &columns) {
            let values = if full && whole_rows::serves(reduction) {
                let rows = Expr::int(TILE / COLUMNS);
                whole_rows::tree(l, reduction, own[1..].to_vec(), &rows, &mut out)?
            } else if full {
                tree_of(l, reduction, &Surroundings::NONE, own, &mut out)?
            } else {
                short_tree_of(l, reduction, &Surroundings::NONE, own, width.clone(), &mut out)?
            };
            store(&reduction.scratch, &self.t, values, &mut out);
        }
        let count = self.rest.clone().min(Expr::int(TILE));
        self.stores.flush(l, &self.base, &count, &mut out);
        Ok(out)
    }

    /// Declares the columns of each accumulator.
    fn columns_of(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Vec<Mem> {
        each_accumulator(self.reductions).map(|r| l.k.local("columns", r.ty, COLUMNS as u32, out)).collect()
    }

    /// Whether an element or an operator has loops of its own, so that the loop over a row's
    /// columns does not vectorise.
    fn has_loops(&self, l: &mut Lower) -> bool {
        let (var, index) = l.launch.g.fresh_var(Ty::I64);
        let elements = self.elements(l, index).concat();
        self.reductions.iter().any(|r| r.joins_by_loops(l.launch)) || have_loops(l.launch, &elements, var)
    }

    /// Returns the values that are computed for an index: first the elements to store, then the
    /// operands of each reduction.
    fn elements(&self, l: &mut Lower, index: NodeId) -> Vec<Vec<NodeId>> {
        let mut all = vec![self.items.iter().map(|it| element(&mut l.launch.g, it.node, index)).collect()];
        all.extend(self.reductions.iter().map(|r| r.elements(l.launch, index)));
        all
    }

    /// Emits the code of any tile, full or partial, in which the code of an element appears only once, because it has
    /// loops.
    fn by_loops(&self, l: &mut Lower, out: &mut Vec<Stmt>) -> Result<()> {
        out.push(Stmt::Note("a tile: 16 rows of 128 columns".into()));
        let columns = self.columns_of(l, out);
        // C compilers cannot see that absent columns are never read
        let c = l.k.reg("c", Ty::I64);
        let zero = |(m, r): (&Mem, Accumulator)| Stmt::Store(*m, Expr::Reg(c), Expr::Lit(Lit::zero(r.ty)));
        let fill = columns.iter().zip(each_accumulator(self.reductions)).map(zero).collect();
        out.push(Stmt::For(c, Expr::int(0), Expr::int(COLUMNS), fill));
        let count = bind(l, "count", self.rest.clone().min(Expr::int(TILE)), out);
        let (_, index) = l.launch.g.fresh_var(Ty::I64);
        let elements = self.elements(l, index);
        let roots = elements.concat();
        rows_by_loops(l, &count, out, &mut |l, in_tile, column, is_first, out| {
            let i = bind(l, "i", self.base.clone().plus(in_tile.clone()), out);
            let mut values = l.region(&[(index, i.clone())], &roots, &i, out)?;
            let mut rest = values.split_off(self.items.len()).into_iter();
            self.stores.store(l, values, &i, &in_tile, out);
            let place = Surroundings { vars: &[], at: &i };
            for ((r, columns), own) in by_reduction(self.reductions, &columns).zip(&elements[1..]) {
                let own = rest.by_ref().take(own.len()).collect();
                let set = |at: usize, e| Stmt::Store(columns[at], column.clone(), e);
                r.go_on(l, &place, own, is_first, load(columns, &column), &set, out)?;
            }
            Ok(())
        })?;
        let width = bind(l, "width", count.clone().min(Expr::int(COLUMNS)), out);
        for (r, own) in by_reduction(self.reductions, &columns) {
            let values = short_tree_of(l, r, &Surroundings::NONE, own, width.clone(), out)?;
            store(&r.scratch, &self.t, values, out);
        }
        self.stores.flush(l, &self.base, &count, out);
        Ok(())
    }

    /// Emits prefetches of a later row of every array that is read element by element: with so many loads in flight
    /// the hardware's own prefetching falls behind. Measured (bench/NOTES.md): several streams gain from a prefetch 2
    /// KiB ahead with vectors of any width; a single stream gains from one 4 KiB ahead, with 64-byte vectors only.
    fn prefetch(&self, l: &mut Lower, row: &Expr, out: &mut Vec<Stmt>) {
        let inputs = l.launch.pointwise_inputs();
        let (rows, wide) = if inputs.len() > 1 { (4, false) } else { (8, true) };
        for (array, ty) in inputs {
            let per_line = 64 / ty.size() as i64;
            let q = l.k.reg("q", Ty::I64);
            let ahead = self.base.clone().plus(row.clone()).plus(Expr::int(rows * COLUMNS));
            let index = ahead.plus(Expr::Reg(q).times(Expr::int(per_line)));
            let hint = vec![Stmt::Prefetch { array, index, wide }];
            out.push(Stmt::For(q, Expr::int(0), Expr::int(COLUMNS / per_line), hint));
        }
    }

    /// Emits one row: `count` columns, from element `row` of the tile on. If `first`, the row
    /// begins the columns.
    fn row(&self, l: &mut Lower, columns: &[Mem], row: Expr, count: Expr, first: bool) -> Result<Vec<Stmt>> {
        let (var, index) = l.launch.g.fresh_var(Ty::I64);
        let mut roots: Vec<NodeId> =
            self.items.iter().map(|it| element(&mut l.launch.g, it.node, index)).collect();
        let (mut accumulators, mut out) = (Vec::new(), Vec::new());
        for reduction in self.reductions {
            if first {
                roots.extend(reduction.first(l.launch, index));
                continue;
            }
            let old = reduction.variables(l.launch);
            roots.extend(reduction.step(l.launch, &old, index));
            let mut known = vec![None; old.len()];
            if reduction.is_counted() {
                known[0] = Some(bind(l, "number", number_of(&row, reduction.types[0]), &mut out));
            }
            accumulators.extend(old.into_iter().zip(known));
        }
        let columns = (columns, accumulators, row, count);
        let Some(plain) = self.in_bounds(l, &roots, var) else {
            out.append(&mut self.columns(l, &columns, index, &roots)?);
            return Ok(out);
        };
        let in_bounds = l.conditions(&[], &[plain.condition], &mut out)?.remove(0);
        let fast = self.columns(l, &columns, index, &plain.roots)?;
        out.push(Stmt::If(in_bounds, fast, self.columns(l, &columns, index, &roots)?));
        Ok(out)
    }

    /// Returns the elements with plain reads in place of total reads, and the condition that all of them are in
    /// bounds. Returns `None` if some read's index has no known bounds.
    fn in_bounds(&self, l: &mut Lower, roots: &[NodeId], var: Var) -> Option<InBounds> {
        let count = l.launch.count_node();
        let all = Range::below(l.launch, var, count);
        let plain = in_bounds::of(l.launch, roots, &[all])?;
        // an operator may read at an index that is one of its operands; the condition would then depend on an element
        l.launch.g.is_closed(plain.condition).then_some(plain)
    }

    /// Emits the loop over the columns of a row, whose elements at `index` are `roots`.
    fn columns(
        &self,
        l: &mut Lower,
        (columns, accumulators, row, count): &Row,
        index: NodeId,
        roots: &[NodeId],
    ) -> Result<Vec<Stmt>> {
        each(l, "c", &Expr::int(0), count, &mut |l, c, conditions, out| {
            let i = l.k.reg("i", Ty::I64);
            let in_tile = row.clone().plus(c.clone());
            out.push(Stmt::Let(i, self.base.clone().plus(in_tile.clone()), Default::default()));
            let (i, mut vars) = (Expr::Reg(i), vec![(index, Expr::Reg(i))]);
            for ((acc, known), m) in accumulators.iter().zip(*columns) {
                let old = match known {
                    Some(known) => known.clone(),
                    None => bind(l, "acc", Expr::load(*m, c.clone()), out),
                };
                vars.push((*acc, old));
            }
            if let Some(conditions) = conditions {
                return l.conditions(&vars, conditions, out);
            }
            let mut values = l.region(&vars, roots, &i, out)?;
            let sums = values.split_off(self.items.len());
            self.stores.store(l, values, &i, &in_tile, out);
            for (m, e) in columns.iter().zip(sums) {
                out.push(Stmt::Store(*m, c.clone(), e));
            }
            Ok(vec![])
        })
    }
}
