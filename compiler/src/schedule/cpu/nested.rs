//! Nested reductions on a CPU, one tile at a time: the loops over the 128 columns of a row are
//! independent and vectorise, like those of `reduce.rs`.

pub use super::column_tree::Tile;
use super::column_tree::{Column, fill, load, number_of, short_tree_of, tree_of};
use super::element_loop::each;
use super::few_elements;
use super::whole_rows;
use crate::core::COLUMNS;
use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::nested_loop::rows_of;
use crate::schedule::element::reduction::Reduction;

/// Emits the reduction of a tile, and returns its value.
pub fn tile(l: &mut Lower, tile: &Tile, out: &mut Vec<Stmt>) -> Result<Vec<Expr>> {
    let r = tile.r;
    if few_elements::serves(l, tile) {
        return few_or_many(l, tile, out);
    }
    if !keeps_rows(l) || !whole_rows::serves(r) {
        return some_rows(l, tile, out);
    }
    let value = variables(l, r, out);
    let (mut whole, mut some) = (Vec::new(), Vec::new());
    let values = whole_rows::tile(l, tile, &mut whole)?;
    assign(&value, values, &mut whole);
    let is_whole = Expr::binary(BinaryOp::And, tile.count.clone(), Expr::int(COLUMNS - 1));
    let is_whole = Expr::binary(BinaryOp::Eq, is_whole, Expr::int(0));
    let values = some_rows(l, tile, &mut some)?;
    assign(&value, values, &mut some);
    out.push(Stmt::If(is_whole, whole, some));
    Ok(value.into_iter().map(Expr::Reg).collect())
}

/// Emits the reduction of a sequence whose length is data.
fn few_or_many(l: &mut Lower, tile: &Tile, out: &mut Vec<Stmt>) -> Result<Vec<Expr>> {
    let value = variables(l, tile.r, out);
    let (mut few, mut many) = (Vec::new(), Vec::new());
    let values = few_elements::tree(l, tile, &mut few)?;
    assign(&value, values, &mut few);
    let columns = columns_of(l, tile.r, &mut many);
    let values = filled_rows(l, tile, &columns, &mut many)?;
    assign(&value, values, &mut many);
    let are_few = Expr::binary(BinaryOp::Le, tile.count.clone(), Expr::int(few_elements::MOST));
    out.push(Stmt::If(are_few, few, many));
    Ok(value.into_iter().map(Expr::Reg).collect())
}

/// The maximum length of a sequence of which no more columns are joined than it has elements, though absent ones have
/// a value: loops of constant bounds over all 128 columns are vectors, but take longer.
const SHORT: i64 = 16;

/// Emits the reduction of a tile whose last row may have fewer than 128 columns.
fn some_rows(l: &mut Lower, tile: &Tile, out: &mut Vec<Stmt>) -> Result<Vec<Expr>> {
    let Tile { r, place, count, .. } = tile;
    let columns = columns_of(l, r, out);
    if !r.has_identity(l.launch) {
        return filled_rows(l, tile, &columns, out);
    }
    let total = variables(l, r, out);
    let (mut few, mut many) = (row_of(l, tile, &columns, None, count)?, Vec::new());
    let values = short_tree_of(l, r, place, &columns, count.clone(), &mut few)?;
    assign(&total, values, &mut few);
    let values = filled_rows(l, tile, &columns, &mut many)?;
    assign(&total, values, &mut many);
    let is = |op, n| Expr::binary(op, count.clone(), Expr::int(n));
    let is_short = Expr::binary(BinaryOp::And, is(BinaryOp::Gt, 0), is(BinaryOp::Le, SHORT));
    out.push(Stmt::If(is_short, few, many));
    Ok(total.into_iter().map(Expr::Reg).collect())
}

/// Emits the loop over the elements of a row: the first `count` ones from element `first` of the tile on. If that is
/// `None`, the elements begin the columns, else they join them.
fn row_of(
    l: &mut Lower,
    tile: &Tile,
    columns: &[Mem],
    first: Option<&Expr>,
    count: &Expr,
) -> Result<Vec<Stmt>> {
    let Tile { r, place, base, .. } = tile;
    let (_, index) = l.launch.g.fresh_var(Ty::I64);
    let acc = r.variables(l.launch);
    let roots = match first {
        None => r.first(l.launch, index),
        Some(_) => r.step(l.launch, &acc, index),
    };
    let mut all = Vec::new();
    let number = first.filter(|_| r.is_counted()).map(|row| number_of(row, r.types[0]));
    let number = number.map(|e| bind(l, "number", e, &mut all));
    let base = first.map_or(base.clone(), |row| base.clone().plus(row.clone()));
    let mut elements = each(l, "c", &Expr::int(0), count, &mut |l, c, conditions, out| {
        let mut vars = place.vars.to_vec();
        let i = bind(l, "i", base.clone().plus(c.clone()), out);
        vars.push((index, i));
        let known = number.iter().cloned();
        vars.extend(acc.iter().copied().zip(known.clone()));
        let before = if first.is_some() { &acc[known.count()..] } else { &[] };
        let column = Column { all: columns, at: c, before };
        column.step(l, vars, (&roots, conditions), place.at, out)
    })?;
    all.append(&mut elements);
    Ok(all)
}

/// Emits the reduction of a tile. Absent columns are filled with the identity, if there is one.
fn filled_rows(l: &mut Lower, tile: &Tile, columns: &[Mem], out: &mut Vec<Stmt>) -> Result<Vec<Expr>> {
    let Tile { r, place, count, .. } = tile;
    let width = bind(l, "width", count.clone().min(Expr::int(COLUMNS)), out);
    let of_row = |l: &mut Lower, first: Option<&Expr>, count: &Expr| row_of(l, tile, columns, first, count);
    let has_identity = r.has_identity(l.launch);
    if has_identity {
        // absent columns are filled with the identity, so that all loops of the tree have constant bounds even if the
        // sequence is short
        fill(l, columns, r.absent(l.launch), out);
    } else {
        out.extend(of_row(l, None, &width)?);
    }
    let first = Expr::int(i64::from(!has_identity));
    let (row, mut body) = (l.k.reg("row", Ty::I64), Vec::new());
    let start = bind(l, "start", Expr::Reg(row).times(Expr::int(COLUMNS)), &mut body);
    if keeps_rows(l) {
        let whole = Expr::binary(BinaryOp::Shr, count.clone(), Expr::int(COLUMNS.trailing_zeros().into()));
        let whole = bind(l, "whole", whole, out);
        body.extend(of_row(l, Some(&start), &Expr::int(COLUMNS))?);
        out.push(Stmt::Seq(row, first.clone(), whole.clone(), body));
        let start = Expr::binary(BinaryOp::Max, whole, first).times(Expr::int(COLUMNS));
        let start = bind(l, "start", start, out);
        let left = bind(l, "left", count.clone().minus(start.clone()), out);
        let last = of_row(l, Some(&start), &left)?;
        out.push(Stmt::If(Expr::binary(BinaryOp::Lt, start, count.clone()), last, vec![]));
    } else {
        let rows = bind(l, "rows", rows_of(count.clone()), out);
        let left = bind(l, "left", count.clone().minus(start.clone()).min(Expr::int(COLUMNS)), &mut body);
        body.extend(of_row(l, Some(&start), &left)?);
        out.push(Stmt::Seq(row, first, rows, body));
    }
    if has_identity {
        let values = tree_of(l, r, place, columns, out)?;
        return Ok(values.into_iter().map(|e| bind(l, "total", e, out)).collect());
    }
    // loops that vectorise join 128 columns; a general loop joins fewer
    let total = variables(l, r, out);
    let (mut full, mut short) = (Vec::new(), Vec::new());
    let values = tree_of(l, r, place, columns, &mut full)?;
    assign(&total, values, &mut full);
    let values = short_tree_of(l, r, place, columns, width.clone(), &mut short)?;
    assign(&total, values, &mut short);
    out.push(Stmt::If(Expr::binary(BinaryOp::Eq, width, Expr::int(COLUMNS)), full, short));
    Ok(total.into_iter().map(Expr::Reg).collect())
}

/// Whether the loops over whole rows have constant bounds, so that C compilers keep the columns in registers. That is
/// faster for resident rows, which are in a cache for most of the loops. It is slower for rows that come from memory,
/// because the hardware's prefetching falls behind (`bench/NOTES.md`, "Windows and whole rows on CPUs").
fn keeps_rows(l: &Lower) -> bool {
    l.launch.facts.resident.is_some()
}

/// Declares a variable for the total of each accumulator.
fn variables(l: &mut Lower, r: &Reduction, out: &mut Vec<Stmt>) -> Vec<Reg> {
    let total = r.registers(l, "total");
    out.extend(total.iter().zip(&r.types).map(|(value, ty)| Stmt::Var(*value, Expr::Lit(Lit::zero(*ty)))));
    total
}

fn assign(to: &[Reg], values: Vec<Expr>, out: &mut Vec<Stmt>) {
    out.extend(to.iter().zip(values).map(|(value, e)| Stmt::Assign(*value, e)));
}

/// Declares the columns of each accumulator.
fn columns_of(l: &mut Lower, r: &Reduction, out: &mut Vec<Stmt>) -> Vec<Mem> {
    r.each().map(|r| l.k.local("columns", r.ty, COLUMNS as u32, out)).collect()
}

/// Emits the same as [`tile`] for elements that have loops of their own. Their code is emitted once, because they
/// vectorise only if they go through their loops in lockstep (`kernel/lockstep`).
pub fn tile_by_loops(l: &mut Lower, tile: &Tile, out: &mut Vec<Stmt>) -> Result<Vec<Expr>> {
    let Tile { r, place, base, count } = tile;
    let columns = columns_of(l, r, out);
    rows_by_loops(l, count, out, &mut |l, in_tile, column, is_first, out| {
        let i = bind(l, "i", base.clone().plus(in_tile), out);
        let elements = r.values_at(l, place, i, out)?;
        let set = |at: usize, e| Stmt::Store(columns[at], column.clone(), e);
        r.go_on(l, place, elements, is_first, load(&columns, &column), &set, out)
    })?;
    let width = bind(l, "width", count.clone().min(Expr::int(COLUMNS)), out);
    let values = short_tree_of(l, r, place, &columns, width, out)?;
    Ok(values.into_iter().map(|e| bind(l, "whole", e, out)).collect())
}

/// Emits the code of an element of a tile, given its number in the tile, its column, and the condition that it is the
/// column's first element.
type Visit<'a> = dyn FnMut(&mut Lower, Expr, Expr, &Expr, &mut Vec<Stmt>) -> Result<()> + 'a;

/// Emits loops that visit `count` elements (1 to 2048) of a tile, row by row.
pub fn rows_by_loops(l: &mut Lower, count: &Expr, out: &mut Vec<Stmt>, visit: &mut Visit) -> Result<()> {
    let [row, c] = ["row", "c"].map(|name| l.k.reg(name, Ty::I64));
    let rows = bind(l, "rows", rows_of(count.clone()), out);
    let (mut of_row, mut of_column) = (Vec::new(), Vec::new());
    let start = bind(l, "start", Expr::Reg(row).times(Expr::int(COLUMNS)), &mut of_row);
    let left = count.clone().minus(start.clone()).min(Expr::int(COLUMNS));
    let left = bind(l, "left", left, &mut of_row);
    let in_tile = bind(l, "at", start.plus(Expr::Reg(c)), &mut of_column);
    let is_first = Expr::binary(BinaryOp::Eq, Expr::Reg(row), Expr::int(0));
    visit(l, in_tile, Expr::Reg(c), &is_first, &mut of_column)?;
    of_row.push(Stmt::For(c, Expr::int(0), left, of_column));
    out.push(Stmt::Seq(row, Expr::int(0), rows, of_row));
    Ok(())
}
