//! The fixed tree (semantics 5.1) as loops of one thread, for several reductions at once.

use super::batches;
use super::lanes::{Lanes, assign, read};
use crate::core::{COLUMNS, TILE};
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::counter::Counters;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::reduction::tiles;

/// Emits the lanes' values of a tile, given its first element and its number of elements, which is
/// at least one.
pub type Tile<'a> = dyn FnMut(&mut Lower, &mut Lanes, Expr, Expr, &mut Vec<Stmt>) -> Result<Vec<Expr>> + 'a;

/// Emits the whole tree over `count` elements, of which there is at least one, and returns the
/// lanes' values.
pub fn tree(
    l: &mut Lower,
    lanes: &mut Lanes,
    count: &Expr,
    out: &mut Vec<Stmt>,
    tile: &mut Tile,
) -> Result<Vec<Expr>> {
    let of_sequence = bind(l, "tiles", tiles(count.clone()), out);
    let groups = bind(l, "groups", tiles(of_sequence.clone()), out);
    level(l, lanes, groups, out, &mut |l, lanes, g, column, out| {
        let first = bind(l, "first", g.times(Expr::int(TILE)), out);
        let left = bind(l, "remaining", of_sequence.clone().minus(first.clone()).min(Expr::int(TILE)), out);
        let values = level(l, lanes, left, out, &mut |l, lanes, t, column, out| {
            let base = bind(l, "base", first.clone().plus(t).times(Expr::int(TILE)), out);
            if let Expr::Reg(r) = base {
                l.k.kernel.bounded.push((r, count.clone()));
            }
            let left = bind(l, "left", count.clone().minus(base.clone()).min(Expr::int(TILE)), out);
            let values = tile(l, lanes, base, left, out)?;
            column.go_on(l, lanes, values, out)
        })?;
        column.go_on(l, lanes, values, out)
    })
}

/// The column of a level that is being visited.
pub(super) struct Column {
    /// The lanes' values so far.
    pub(super) acc: Vec<Reg>,
    /// Whether the column has no values yet.
    pub(super) is_first: Expr,
}

impl Column {
    /// Emits the column's next step: the column begins with these values, or joins them.
    fn go_on(&self, l: &mut Lower, lanes: &mut Lanes, values: Vec<Expr>, out: &mut Vec<Stmt>) -> Result<()> {
        let values: Vec<Expr> = values.into_iter().map(|v| bind(l, "value", v, out)).collect();
        let (mut begins, mut joins) = (Vec::new(), Vec::new());
        let joined = lanes.join(l, &read(&self.acc), &values, &mut joins)?;
        assign(l, &self.acc, joined, &mut joins);
        assign(l, &self.acc, values, &mut begins);
        out.push(Stmt::If(self.is_first.clone(), begins, joins));
        Ok(())
    }
}

type Visit<'a> = dyn FnMut(&mut Lower, &mut Lanes, Expr, &Column, &mut Vec<Stmt>) -> Result<()> + 'a;

/// Emits one level of the tree over up to 2048 values (at least one), visited column by column, and
/// returns the lanes' values.
pub(super) fn level(
    l: &mut Lower,
    lanes: &mut Lanes,
    count: Expr,
    out: &mut Vec<Stmt>,
    visit: &mut Visit,
) -> Result<Vec<Expr>> {
    let mut counter = Counters::new(l, lanes, COLUMNS.trailing_zeros(), out);
    let (c, row) = (l.k.reg("c", Ty::I64), l.k.reg("row", Ty::I64));
    let width = bind(l, "width", count.clone().min(Expr::int(COLUMNS)), out);
    let mut body = Vec::new();
    let acc = lanes.variables(l, "acc", &mut body);
    let column = Column { acc, is_first: Expr::binary(BinaryOp::Eq, Expr::Reg(row), Expr::int(0)) };
    let mut inner = Vec::new();
    let i = Expr::Reg(c).plus(Expr::Reg(row).times(Expr::int(COLUMNS)));
    let i = bind(l, "at", i, &mut inner);
    visit(l, lanes, i, &column, &mut inner)?;
    let rows = bind(l, "rows", rows(&count, &Expr::Reg(c)), &mut body);
    body.push(Stmt::Seq(row, Expr::int(0), rows, inner));
    counter.push(l, lanes, 0, Expr::Reg(c), read(&column.acc), &mut body)?;
    out.push(Stmt::Seq(c, Expr::int(0), width.clone(), body));
    counter.total(l, lanes, width, out)
}

/// Emits the lanes' values at an index, which is a number and so many rows further: first values of a column, or,
/// given accumulators, the values after a further element.
pub type Step<'a> =
    dyn FnMut(&mut Lower, (Expr, i64), Option<&[Expr]>, &mut Vec<Stmt>) -> Result<Vec<Expr>> + 'a;

/// Emits [`level`] for the elements of a tile, whose columns may go on by a multiply-add. If `pays`, a column takes
/// several rows at once.
pub(super) fn columns(
    l: &mut Lower,
    lanes: &mut Lanes,
    count: Expr,
    (pays, out): (bool, &mut Vec<Stmt>),
    step: &mut Step,
) -> Result<Vec<Expr>> {
    let mut counter = Counters::new(l, lanes, COLUMNS.trailing_zeros(), out);
    let c = l.k.reg("c", Ty::I64);
    let width = bind(l, "width", count.clone().min(Expr::int(COLUMNS)), out);
    let mut body = Vec::new();
    column(l, lanes, (&count, Expr::Reg(c)), &mut counter, (pays, &mut body), step)?;
    out.push(Stmt::Seq(c, Expr::int(0), width.clone(), body));
    counter.total(l, lanes, width, out)
}

/// Emits column `c` of a tile of `count` elements, from its first row to its last, and adds it to the counter. If
/// `pays`, it takes several rows at once.
pub fn column(
    l: &mut Lower,
    lanes: &mut Lanes,
    (count, c): (&Expr, Expr),
    counter: &mut Counters,
    (pays, out): (bool, &mut Vec<Stmt>),
    step: &mut Step,
) -> Result<()> {
    let first = step(l, (c.clone(), 0), None, out)?;
    let acc: Vec<Reg> = lanes.types.iter().map(|ty| l.k.reg("acc", *ty)).collect();
    out.extend(acc.iter().zip(first).map(|(r, e)| Stmt::Var(*r, e)));
    let rows = bind(l, "rows", rows(count, &c), out);
    let nothing: &mut batches::Reads = &mut |_, _, _| Ok(Vec::new());
    let go_on: &mut batches::Numbered = &mut |l, (row, further), _, out| {
        let i = c.clone().plus(row.times(Expr::int(COLUMNS)));
        let next = step(l, (i, further), Some(&read(&acc)), out)?;
        assign(l, &acc, next, out);
        Ok(())
    };
    batches::steps(l, "row", (1, rows), pays, out, (nothing, go_on))?;
    counter.push(l, lanes, 0, c, read(&acc), out)
}

/// Returns the number of rows that a column has.
pub fn rows(count: &Expr, column: &Expr) -> Expr {
    rows_of(count.clone().minus(column.clone()))
}

/// Returns the number of rows of 128 columns that `count` elements take.
pub fn rows_of(count: Expr) -> Expr {
    let up = count.plus(Expr::int(COLUMNS - 1));
    Expr::binary(BinaryOp::Shr, up, Expr::int(COLUMNS.trailing_zeros().into()))
}
