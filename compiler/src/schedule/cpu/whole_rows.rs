//! A tile of whole rows of 128 columns, for a reduction that counts its elements: the count is the same for all
//! columns, and so are the weights of the means. So each row, and each level of the tree, has one division; a row
//! with absent columns needs one for each column ([`super::nested`]).

use super::column_tree::{Column, Tile, fill, load, store};
use super::element_loop::each;
use super::strip::region;
use crate::core::COLUMNS;
use crate::core::deviations::{self, MOMENTS};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::reduction::Reduction;

/// Whether a reduction counts its elements, and its counts are numbers.
pub(super) fn serves(r: &Reduction) -> bool {
    r.is_counted() && !r.is_of_tuple()
}

/// Emits the reduction of a tile of whole rows. Returns the accumulators.
pub(super) fn tile(l: &mut Lower, tile: &Tile, out: &mut Vec<Stmt>) -> Result<Vec<Expr>> {
    let Tile { r, place, base, count } = tile;
    let columns = columns_of(l, r, COLUMNS, out);
    let absent = r.absent(l.launch).split_off(1);
    fill(l, &columns, absent, out);
    let rows = Expr::binary(BinaryOp::Shr, count.clone(), Expr::int(COLUMNS.trailing_zeros().into()));
    let rows = bind(l, "rows", rows, out);
    let row = l.k.reg("row", Ty::I64);
    let (mut body, mut known) = (Vec::new(), place.vars.to_vec());
    let start = base.clone().plus(Expr::Reg(row).times(Expr::int(COLUMNS)));
    let start = bind(l, "start", start, &mut body);
    let after = r.count_after(l, &Expr::Reg(row), &mut known, &mut body)?;
    let (_, index) = l.launch.g.fresh_var(Ty::I64);
    let acc = r.variables(l.launch);
    let roots = r.step_to(l.launch, &acc, after, index).split_off(1);
    let mut elements = each(l, "c", &Expr::int(0), &Expr::int(COLUMNS), &mut |l, c, conditions, out| {
        let mut vars = known.clone();
        vars.push((index, bind(l, "i", start.clone().plus(c.clone()), out)));
        let column = Column { all: &columns, at: c, before: &acc[1..] };
        column.step(l, vars, (&roots, conditions), place.at, out)
    })?;
    body.append(&mut elements);
    out.push(Stmt::Seq(row, Expr::int(0), rows.clone(), body));
    tree(l, r, columns, &rows, out)
}

/// Emits the join of 128 columns that have had `rows` rows each (i64, at least 1). `columns` has an array for each
/// accumulator except the count.
pub(super) fn tree(
    l: &mut Lower,
    r: &Reduction,
    columns: Vec<Mem>,
    rows: &Expr,
    out: &mut Vec<Stmt>,
) -> Result<Vec<Expr>> {
    let count = r.after_rows(vec![rows.clone()], rows.clone()).remove(0);
    let mut count = bind(l, "count", count, out);
    let (mut from, mut width) = (columns, COLUMNS / 2);
    while width > 0 {
        let to = columns_of(l, r, width, out);
        let (_, of_column) = l.launch.g.fresh_var(r.types[0]);
        let (k, mut body) = (l.k.reg("k", Ty::I64), Vec::new());
        let low = Expr::Reg(k).times(Expr::int(2));
        let mut own = Vec::new();
        let [a, b] = [low.clone(), low.plus(Expr::int(1))].map(|at| {
            let mut side = [of_column; MOMENTS];
            for ((to, ty), e) in side.iter_mut().zip(&r.types).skip(1).zip(load(&from, &at)) {
                *to = l.launch.g.fresh_var(*ty).1;
                own.push((*to, bind(l, "joined", e, &mut body)));
            }
            side
        });
        let joined = deviations::join_present(&mut l.launch.g, a, b);
        let fixed = vec![(of_column, count)];
        let mut values = region(l, (fixed, own), &joined, &Expr::int(0), (out, &mut body))?;
        count = values.remove(0);
        store(&to, &Expr::Reg(k), values, &mut body);
        out.push(Stmt::For(k, Expr::int(0), Expr::int(width), body));
        (from, width) = (to, width / 2);
    }
    Ok(std::iter::once(count).chain(load(&from, &Expr::int(0))).collect())
}

/// Declares `width` columns for each accumulator except the count.
fn columns_of(l: &mut Lower, r: &Reduction, width: i64, out: &mut Vec<Stmt>) -> Vec<Mem> {
    r.each().skip(1).map(|acc| l.k.local("columns", acc.ty, width as u32, out)).collect()
}
