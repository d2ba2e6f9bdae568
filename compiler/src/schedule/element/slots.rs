//! Nested reductions whose operator has loops of its own. The tree of semantics 5.1 joins values in many places. Here
//! one piece of code does all of these joins, so that operators nested in operators do not multiply the size of the
//! code.
//!
//! Partial results lie in slots, eight for each level of the tree: the column so far, then the
//! values of 1, 2, 4 .. 64 neighbouring columns, as in the [binary counter](super::counter) of
//! pairwise accumulation. The last slot holds the initial value. Each element goes through the
//! slots from the lowest one on, and joins some of them, until it stays in one:
//!
//! ```text
//! p = 0
//! loop
//!   if bit p of `joins`:          value = f(slot p, value)
//!   unless bit p of `passes`:     slot p = value, and the loop ends
//!   p = p + 1
//! ```
//!
//! At column c of a level, an element joins the column so far, unless it is in the first row, and
//! passes on to the counter's slots if it is in the last row. There it joins and passes the slots
//! for which c has a bit 1, from the lowest on; the first slot whose bit is 0 keeps it. After the
//! last column it passes all slots of the level, so that the value of the level goes on to the
//! level above.

use super::counter::is;
use super::lower::{Lower, Surroundings, bind};
use super::nested_loop::joining;
use super::nested_loop::rows;
use super::reduction::{Reduction, tiles};
use crate::core::{COLUMNS, TILE};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};

/// Number of levels of the tree: enough for 2^33 elements.
const LEVELS: u32 = 3;

/// Number of slots of a level: one for the column, and one for each bit of the counter.
const OF_LEVEL: u32 = 1 + COLUMNS.trailing_zeros();

/// Emits the computation of the element at an index.
pub type Element<'a> = dyn FnMut(&mut Lower, Expr, &mut Vec<Stmt>) -> Result<Expr> + 'a;

/// Emits the reduction `r` of `count` elements with the initial value `start`, and returns its
/// value.
pub fn reduce(
    l: &mut Lower,
    r: &Reduction,
    start: Expr,
    count: Expr,
    place: &Surroundings,
    element: &mut Element,
    out: &mut Vec<Stmt>,
) -> Result<Expr> {
    let slots = Slots::new(l, r.types[0], start, out);
    let count = bind(l, "count", count, out);
    let of_sequence = bind(l, "tiles", tiles(count.clone()), out);
    let groups = bind(l, "groups", tiles(of_sequence.clone()), out);
    let all = Path { joins: Expr::int(1 << (LEVELS * OF_LEVEL)), passes: Expr::int(0) };
    level(l, 2, &all, groups, out, &mut |l, group, path, out| {
        let first = bind(l, "first", group.times(Expr::int(TILE)), out);
        let left = left_of(l, &of_sequence, &first, out);
        level(l, 1, path, left, out, &mut |l, tile, path, out| {
            let first = bind(l, "first", first.clone().plus(tile).times(Expr::int(TILE)), out);
            let left = left_of(l, &count, &first, out);
            level(l, 0, path, left, out, &mut |l, at, path, out| {
                let at = bind(l, "i", first.clone().plus(at), out);
                let value = element(l, at, out)?;
                slots.pass_on(l, r, place, path, value, out)
            })
        })
    })?;
    Ok(slots.result())
}

fn left_of(l: &mut Lower, all: &Expr, first: &Expr, out: &mut Vec<Stmt>) -> Expr {
    bind(l, "left", all.clone().minus(first.clone()).min(Expr::int(TILE)), out)
}

/// Two masks (i64) with a bit for each slot: which slots an element joins, and which it passes on
/// its way to the next one.
struct Path {
    joins: Expr,
    passes: Expr,
}

type Leaf<'a> = dyn FnMut(&mut Lower, Expr, &Path, &mut Vec<Stmt>) -> Result<()> + 'a;

/// Emits loops that visit up to 2048 values of one level, column by column. `path` is the path of
/// the values through the levels above.
fn level(
    l: &mut Lower,
    number: u32,
    path: &Path,
    count: Expr,
    out: &mut Vec<Stmt>,
    leaf: &mut Leaf,
) -> Result<()> {
    let [c, row] = ["c", "row"].map(|name| l.k.reg(name, Ty::I64));
    let width = bind(l, "width", count.clone().min(Expr::int(COLUMNS)), out);
    let (mut column, mut body) = (Vec::new(), Vec::new());
    let rows = bind(l, "rows", rows(&count, &Expr::Reg(c)), &mut column);
    let equal = |a: Expr, b: Expr| Expr::binary(BinaryOp::Eq, a, b);
    let next = |of: Reg| Expr::Reg(of).plus(Expr::int(1));
    let (is_last_row, is_last) = (equal(next(row), rows.clone()), equal(next(c), width.clone()));

    let or = |a: Expr, b: Expr| Expr::binary(BinaryOp::Or, a, b);
    // bit 0 is the column's slot, the others are the counter's
    let mask = |column: Expr, counter: Expr| or(column, counter.clone().plus(counter));
    let here = |mask: Expr| Expr::binary(BinaryOp::Shl, mask, Expr::int((number * OF_LEVEL).into()));
    let has_column = equal(Expr::Reg(row), Expr::int(0)).select(Expr::int(0), Expr::int(1));
    let joins = mask(has_column, Expr::Reg(c));
    let passed = is_last.select(Expr::int(COLUMNS - 1), Expr::Reg(c));
    let passes = is_last_row.select(mask(Expr::int(1), passed), Expr::int(0));
    let path = Path {
        joins: bind(l, "joins", or(path.joins.clone(), here(joins)), &mut body),
        passes: bind(l, "passes", or(path.passes.clone(), here(passes)), &mut body),
    };
    let at = Expr::Reg(c).plus(Expr::Reg(row).times(Expr::int(COLUMNS)));
    let at = bind(l, "at", at, &mut body);
    leaf(l, at, &path, &mut body)?;
    column.push(Stmt::Seq(row, Expr::int(0), rows, body));
    out.push(Stmt::Seq(c, Expr::int(0), width, column));
    Ok(())
}

/// The slots. The last one holds the initial value, and finally the result.
enum Slots {
    /// One register per slot. Registers of a GPU cannot be indexed, so a chain of selects picks a
    /// slot by its number.
    Registers(Vec<Reg>),
    Array(Mem),
}

impl Slots {
    fn new(l: &mut Lower, ty: Ty, start: Expr, out: &mut Vec<Stmt>) -> Slots {
        let last = LEVELS * OF_LEVEL;
        if !l.k.is_gpu() {
            let array = l.k.local("slots", ty, last + 1, out);
            out.push(Stmt::Store(array, Expr::int(last.into()), start));
            return Slots::Array(array);
        }
        let regs: Vec<Reg> = (0..=last).map(|_| l.k.reg("slot", ty)).collect();
        let zeros = (0..last).map(|_| Expr::Lit(Lit::zero(ty)));
        out.extend(regs.iter().zip(zeros.chain([start])).map(|(reg, e)| Stmt::Var(*reg, e)));
        Slots::Registers(regs)
    }

    fn result(&self) -> Expr {
        match self {
            Slots::Registers(regs) => Expr::Reg(*regs.last().expect("the initial value's")),
            Slots::Array(array) => Expr::load(*array, Expr::int((LEVELS * OF_LEVEL).into())),
        }
    }

    fn get(&self, p: Reg) -> Expr {
        match self {
            Slots::Registers(regs) => {
                let (last, others) = regs.split_last().expect("the initial value's");
                let chosen = others.iter().enumerate();
                chosen.fold(Expr::Reg(*last), |rest, (k, reg)| is(p, k).select(Expr::Reg(*reg), rest))
            }
            Slots::Array(array) => Expr::load(*array, Expr::Reg(p)),
        }
    }

    fn set(&self, p: Reg, value: Reg, out: &mut Vec<Stmt>) {
        match self {
            Slots::Registers(regs) => {
                let keep = |reg: &Reg| vec![Stmt::Assign(*reg, Expr::Reg(value))];
                out.extend(regs.iter().enumerate().map(|(k, reg)| Stmt::If(is(p, k), keep(reg), vec![])));
            }
            Slots::Array(array) => out.push(Stmt::Store(*array, Expr::Reg(p), Expr::Reg(value))),
        }
    }

    /// Emits the loop that takes an element through the slots along its path.
    fn pass_on(
        &self,
        l: &mut Lower,
        r: &Reduction,
        place: &Surroundings,
        path: &Path,
        element: Expr,
        out: &mut Vec<Stmt>,
    ) -> Result<()> {
        let value = l.k.reg("value", r.types[0]);
        let (p, passing) = (l.k.reg("p", Ty::I64), l.k.reg("passing", Ty::Bool));
        let (mut body, mut joined, mut stays) = (Vec::new(), Vec::new(), Vec::new());
        let slot = bind(l, "slot", self.get(p), &mut joined);
        let e = joining(r, place)(l, 0, &[slot], &[Expr::Reg(value)], &mut joined)?.remove(0);
        joined.push(Stmt::Assign(value, e));
        body.push(Stmt::If(bit(&path.joins, p), joined, vec![]));
        body.push(Stmt::Assign(passing, bit(&path.passes, p)));
        self.set(p, value, &mut stays);
        body.push(Stmt::If(Expr::Reg(passing), vec![], stays));
        body.push(Stmt::Assign(p, Expr::Reg(p).plus(Expr::int(1))));
        out.push(Stmt::Var(value, element));
        out.push(Stmt::Var(p, Expr::int(0)));
        out.push(Stmt::Var(passing, Expr::Lit(Lit::bool(true))));
        out.push(Stmt::While(Expr::Reg(passing), body));
        Ok(())
    }
}

fn bit(mask: &Expr, p: Reg) -> Expr {
    let shifted = Expr::binary(BinaryOp::Shr, mask.clone(), Expr::Reg(p));
    let bit = Expr::binary(BinaryOp::And, shifted, Expr::int(1));
    Expr::binary(BinaryOp::Ne, bit, Expr::int(0))
}
