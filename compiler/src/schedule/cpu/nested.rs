//! Nested reductions on a CPU, one tile at a time: the loops over the 128 columns of a row are
//! independent and vectorise, like those of `reduce.rs`.

use super::column_tree::{short_tree_of, tree_of};
use super::element_loop::each;
use crate::core::{COLUMNS, NodeId};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::lower::{Lower, Surroundings, named};
use crate::schedule::nested_loop::rows_of;
use crate::schedule::reduction::Reduction;

/// Emits the reduction of `count` elements (1 to 2048) from element `base` on, and returns its
/// value.
pub fn tile(
    l: &mut Lower,
    r: &Reduction,
    place: &Surroundings,
    base: Expr,
    count: Expr,
    out: &mut Vec<Stmt>,
) -> Result<Expr> {
    let columns = l.k.local("columns", r.ty, COLUMNS as u32, out);
    let [width, rows, row, start, left] =
        ["width", "rows", "row", "start", "left"].map(|name| l.k.reg(name, Ty::I64));
    out.push(Stmt::Let(width, count.clone().min(Expr::int(COLUMNS)), Default::default()));
    out.push(Stmt::Let(rows, rows_of(count.clone()), Default::default()));
    let of_row = |l: &mut Lower, first: bool, base: Expr, count: Expr| -> Result<Vec<Stmt>> {
        let (_, index) = l.launch.g.fresh_var(Ty::I64);
        let (_, acc) = l.launch.g.fresh_var(r.ty);
        let root: NodeId = if first { r.first(l.launch, index) } else { r.step(l.launch, acc, index) };
        each(l, "c", &Expr::int(0), &count, &mut |l, c, conditions, out| {
            let mut vars = place.vars.to_vec();
            let i = l.k.reg("i", Ty::I64);
            out.push(Stmt::Let(i, base.clone().plus(c.clone()), Default::default()));
            vars.push((index, Expr::Reg(i)));
            if !first {
                let old = l.k.reg("acc", r.ty);
                out.push(Stmt::Let(old, Expr::load(columns, c.clone()), Default::default()));
                vars.push((acc, Expr::Reg(old)));
            }
            if let Some(conditions) = conditions {
                return l.conditions(&vars, conditions, out);
            }
            let value = l.region(&vars, &[root], place.at, out)?.remove(0);
            out.push(Stmt::Store(columns, c.clone(), value));
            Ok(vec![])
        })
    };
    let identity = r.identity(l.launch);
    if let Some(identity) = identity {
        // with an identity in absent columns all loops of the tree have constant bounds, for short
        // sequences as well
        let c = l.k.reg("c", Ty::I64);
        let fill = vec![Stmt::Store(columns, Expr::Reg(c), Expr::Lit(identity))];
        out.push(Stmt::For(c, Expr::int(0), Expr::int(COLUMNS), fill));
    } else {
        out.extend(of_row(l, true, base.clone(), Expr::Reg(width))?);
    }
    let mut body = vec![
        Stmt::Let(start, Expr::Reg(row).times(Expr::int(COLUMNS)), Default::default()),
        Stmt::Let(left, count.minus(Expr::Reg(start)).min(Expr::int(COLUMNS)), Default::default()),
    ];
    body.extend(of_row(l, false, base.plus(Expr::Reg(start)), Expr::Reg(left))?);
    out.push(Stmt::Seq(row, Expr::int(i64::from(identity.is_none())), Expr::Reg(rows), body));
    if identity.is_some() {
        let e = tree_of(l, r, place, columns, out)?;
        let value = l.k.reg("whole", r.ty);
        out.push(Stmt::Let(value, e, Default::default()));
        return Ok(Expr::Reg(value));
    }
    // 128 columns join by loops that vectorise, fewer by a general loop
    let value = l.k.reg("whole", r.ty);
    out.push(Stmt::Var(value, Expr::Lit(Lit::zero(r.ty))));
    let (mut full, mut short) = (Vec::new(), Vec::new());
    let e = tree_of(l, r, place, columns, &mut full)?;
    full.push(Stmt::Assign(value, e));
    let e = short_tree_of(l, r, place, columns, Expr::Reg(width), &mut short)?;
    short.push(Stmt::Assign(value, e));
    out.push(Stmt::If(Expr::binary(BinaryOp::Eq, Expr::Reg(width), Expr::int(COLUMNS)), full, short));
    Ok(Expr::Reg(value))
}

/// Emits the same as [`tile`] for elements that have loops of their own. Loops over such elements
/// do not vectorise, so the code of an element is emitted once.
pub fn tile_by_loops(
    l: &mut Lower,
    r: &Reduction,
    place: &Surroundings,
    base: Expr,
    count: Expr,
    out: &mut Vec<Stmt>,
) -> Result<Expr> {
    let columns = l.k.local("columns", r.ty, COLUMNS as u32, out);
    rows_by_loops(l, &count, out, &mut |l, in_tile, column, is_first, out| {
        let i = named(l, "i", base.clone().plus(in_tile), out);
        let elements = r.values_at(l, place, i, out)?;
        let old = Expr::load(columns, column.clone());
        r.go_on(l, place, elements, is_first, old, &|e| Stmt::Store(columns, column.clone(), e), out)
    })?;
    let width = named(l, "width", count.min(Expr::int(COLUMNS)), out);
    let value = short_tree_of(l, r, place, columns, width, out)?;
    Ok(named(l, "whole", value, out))
}

/// Emits the code of an element of a tile, given its number in the tile, its column, and whether it
/// is the column's first element.
type Visit<'a> = dyn FnMut(&mut Lower, Expr, Expr, &Expr, &mut Vec<Stmt>) -> Result<()> + 'a;

/// Emits loops that visit `count` elements (1 to 2048) of a tile, row by row.
pub fn rows_by_loops(l: &mut Lower, count: &Expr, out: &mut Vec<Stmt>, visit: &mut Visit) -> Result<()> {
    let [row, c] = ["row", "c"].map(|name| l.k.reg(name, Ty::I64));
    let rows = named(l, "rows", rows_of(count.clone()), out);
    let (mut of_row, mut of_column) = (Vec::new(), Vec::new());
    let start = named(l, "start", Expr::Reg(row).times(Expr::int(COLUMNS)), &mut of_row);
    let left = count.clone().minus(start.clone()).min(Expr::int(COLUMNS));
    let left = named(l, "left", left, &mut of_row);
    let in_tile = named(l, "at", start.plus(Expr::Reg(c)), &mut of_column);
    let is_first = Expr::binary(BinaryOp::Eq, Expr::Reg(row), Expr::int(0));
    visit(l, in_tile, Expr::Reg(c), &is_first, &mut of_column)?;
    of_row.push(Stmt::Seq(c, Expr::int(0), left, of_column));
    out.push(Stmt::Seq(row, Expr::int(0), rows, of_row));
    Ok(())
}
