//! A loop over the elements of a matrix, numbered in row-major order, is cut into pieces where rows end. Within a
//! row, the quotient of the number by the row's length is constant, and the remainder counts up, so elements need no
//! divisions. CPUs have no vector instructions for 64-bit divisions, so only loops without them are vectorised.
//!
//! ```text
//! for %c = lo to hi { x[div(add(%base, %c), %n)][rem(add(%base, %c), %n)] }
//! ->
//! var %at = lo    var %row = div(add(%base, lo), %n)    var %column = rem(add(%base, lo), %n)
//! while lt(%at, hi) {
//!     let %end = add(%at, min(sub(hi, %at), sub(%n, %column)))
//!     for %c = %at to %end { x[%row][add(%column, sub(%c, %at))] }
//!     %at = %end    %row = add(%row, 1)    %column = 0
//! }
//! ```
//!
//! The original loop stays as the other branch, for rows with fewer than [`SHORTEST`] elements. Divisions by a
//! constant stay, because C compilers turn them into multiplications.

use super::clone_body::Renaming;
use super::parts::{change_expressions, definitions, each_expression};
use super::{Expr, Kernel, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

/// The minimum length of a row for which pieces are faster than divisions.
const SHORTEST: i64 = 16;
/// The maximum number of divisors that cut a loop, one after the other.
const MOST_DIVISORS: usize = 2;

/// Runs the pass on `main`.
pub fn run(k: &mut Kernel) {
    k.rewrite_main(block);
}

fn block(k: &mut Kernel, body: &mut Vec<Stmt>) {
    let mut out = Vec::with_capacity(body.len());
    for mut s in std::mem::take(body) {
        s.blocks_mut().for_each(|b| block(k, b));
        let is_loop = |s: &Stmt| s.has_loop() || matches!(s, Stmt::Local(_));
        match s {
            Stmt::For(c, lo, hi, inner) if !inner.iter().any(is_loop) => {
                loop_of(k, (c, lo, hi, inner), 0, &mut out)
            }
            s => out.push(s),
        }
    }
    *body = out;
}

/// Emits a loop that has no loops inside, in pieces if its counter is divided. The loop may be a piece itself, of
/// loops that were cut by `depth` divisors.
fn loop_of(
    k: &mut Kernel,
    (c, lo, hi, mut inner): (Reg, Expr, Expr, Vec<Stmt>),
    depth: usize,
    out: &mut Vec<Stmt>,
) {
    let split = if depth < MOST_DIVISORS { Own::of(c, &inner).split(&inner) } else { None };
    let Some(split) = split else {
        out.append(&mut divisions_ahead(k, c, &mut inner));
        out.push(Stmt::For(c, lo, hi, inner));
        return;
    };
    let first = split.offset.clone().plus(lo.clone());
    let not_short = Expr::binary(BinaryOp::Ge, split.divisor.clone(), Expr::int(SHORTEST));
    // if neither the first nor the last number is negative, the numbers between them do not wrap around
    let last = split.offset.clone().plus(hi.clone()).minus(Expr::int(1));
    let is = |e: Expr| Expr::binary(BinaryOp::Ge, e, Expr::int(0));
    let not_negative = Expr::binary(BinaryOp::And, is(first.clone()), is(last));
    let pieces = split.pieces(k, (c, &lo, &hi, &inner), first, depth);
    let condition = Expr::binary(BinaryOp::And, not_short, not_negative);
    out.push(Stmt::If(condition, pieces, vec![Stmt::For(c, lo, hi, inner)]));
}

/// Takes the divisions out of a loop's body that are the same in all iterations, such as those of a row's number in a
/// loop over its elements: a C compiler leaves them there, because they are computed for some divisors only.
fn divisions_ahead(k: &mut Kernel, c: Reg, body: &mut [Stmt]) -> Vec<Stmt> {
    fn expression(k: &Kernel, own: &Own, e: &Expr, found: &mut Vec<(Expr, Expr)>) {
        if let Expr::Binary(BinaryOp::Div | BinaryOp::Rem, _, by) = e
            && !matches!(**by, Expr::Lit(_))
            && k.ty(e) == Ty::I64
            && let Some(value) = own.outside(e, None)
        {
            if found.iter().all(|(old, _)| old != e) {
                found.push((e.clone(), value));
            }
            return;
        }
        e.children(|child| expression(k, own, child, found));
    }
    fn replace(e: &mut Expr, all: &[(Expr, Reg)]) {
        match all.iter().find(|(old, _)| old == e) {
            Some((_, r)) => *e = Expr::Reg(*r),
            None => e.children_mut(|child| replace(child, all)),
        }
    }
    fn collect(k: &Kernel, own: &Own, body: &[Stmt], found: &mut Vec<(Expr, Expr)>) {
        for s in body {
            s.expressions(&mut |e| expression(k, own, e, found));
            s.blocks().into_iter().for_each(|b| collect(k, own, b, found));
        }
    }
    let mut found = Vec::new();
    collect(k, &Own::of(c, body), body, &mut found);
    let (mut out, mut all) = (Vec::new(), Vec::new());
    for (old, value) in found {
        let r = k.reg("same", Ty::I64);
        out.push(Stmt::Let(r, value, Default::default()));
        all.push((old, r));
    }
    change_expressions(body, &mut |e| replace(e, &all));
    out
}

/// The registers that a loop's body sets.
struct Own<'a> {
    counter: Reg,
    /// The value of each `let`; `None` for registers that are assigned, and for the counter.
    set: HashMap<Reg, Option<&'a Expr>>,
    /// The registers of `let`s whose values depend on the iteration.
    varying: HashSet<Reg>,
}

/// A row of a split in which divisions are looked for.
struct Row<'a> {
    split: &'a Split,
    piece: Piece,
    /// The registers of `let`s whose values are not the same in the whole row.
    varying: HashSet<Reg>,
}

impl<'a> Own<'a> {
    fn of(counter: Reg, body: &'a [Stmt]) -> Own<'a> {
        let mut set = definitions(body);
        set.insert(counter, None);
        let mut own = Own { counter, set, varying: HashSet::default() };
        own.varying = own.varying_of(body, None);
        own
    }

    /// Returns the registers of `let`s whose values depend on the iteration, or on the iteration within a row. A
    /// value stands before its uses, so each is looked at once.
    fn varying_of(&self, body: &[Stmt], split: Option<&Split>) -> HashSet<Reg> {
        fn add(own: &Own, body: &[Stmt], split: Option<&Split>, out: &mut HashSet<Reg>) {
            for s in body {
                match s {
                    Stmt::Let(r, e, _) if own.varies(e, split, out) => drop(out.insert(*r)),
                    _ => s.blocks().into_iter().for_each(|b| add(own, b, split, out)),
                }
            }
        }
        let mut out = HashSet::default();
        add(self, body, split, &mut out);
        out
    }

    /// Whether an expression depends on the iteration, or on the iteration within a row.
    fn varies(&self, e: &Expr, split: Option<&Split>, varying: &HashSet<Reg>) -> bool {
        if split.is_some_and(|split| split.is(self, BinaryOp::Div, e)) {
            return false;
        }
        match e {
            Expr::Reg(r) => self.set.get(r).is_some_and(|value| value.is_none() || varying.contains(r)),
            Expr::Lit(_) | Expr::In(_) => false,
            Expr::Binary(_, a, b) => self.varies(a, split, varying) || self.varies(b, split, varying),
            _ => true,
        }
    }

    /// Rewrites an i64 expression in terms of registers from outside the loop; `None` if it depends on the iteration.
    /// In a row, the quotient of the split is constant, and the register of the row's number replaces it.
    fn outside(&self, e: &Expr, row: Option<&Row>) -> Option<Expr> {
        let varying = row.map_or(&self.varying, |row| &row.varying);
        let varies = self.varies(e, row.map(|row| row.split), varying);
        (!varies).then(|| self.rewritten(e, row))
    }

    /// Rewrites an expression that is the same in all iterations, or in a row.
    fn rewritten(&self, e: &Expr, row: Option<&Row>) -> Expr {
        if let Some(row) = row
            && row.split.is(self, BinaryOp::Div, e)
        {
            return Expr::Reg(row.piece.row);
        }
        match e {
            Expr::Reg(r) => match self.set.get(r) {
                Some(Some(value)) => self.rewritten(value, row),
                _ => e.clone(),
            },
            Expr::Binary(op, a, b) => Expr::binary(*op, self.rewritten(a, row), self.rewritten(b, row)),
            e => e.clone(),
        }
    }

    /// Returns `e - counter`, if that is the same in all iterations.
    fn offset(&self, e: &Expr) -> Option<Expr> {
        match e {
            Expr::Reg(r) if *r == self.counter => Some(Expr::int(0)),
            Expr::Reg(r) => self.offset((*self.set.get(r)?)?),
            Expr::Binary(BinaryOp::Add, a, b) => match (self.outside(a, None), self.outside(b, None)) {
                (Some(a), None) => Some(a.plus(self.offset(b)?)),
                (None, Some(b)) => Some(self.offset(a)?.plus(b)),
                _ => None,
            },
            Expr::Binary(BinaryOp::Sub, a, b) => Some(self.offset(a)?.minus(self.outside(b, None)?)),
            _ => None,
        }
    }

    /// Returns the split of the first division `(counter + offset) / divisor` or remainder, where offset and divisor
    /// are the same in all iterations.
    fn split(&self, body: &[Stmt]) -> Option<Split> {
        let mut found = None;
        each_expression(body, &mut |e| {
            let Expr::Binary(BinaryOp::Div | BinaryOp::Rem, a, b) = e else { return };
            if found.is_some() || matches!(**b, Expr::Lit(_)) {
                return;
            }
            if let (Some(offset), Some(divisor)) = (self.offset(a), self.outside(b, None)) {
                found = Some(Split { offset, divisor });
            }
        });
        found
    }
}

/// A division of `counter + offset` by `divisor` in every iteration.
struct Split {
    offset: Expr,
    divisor: Expr,
}

/// The registers of a piece: its row, its first column, and its first value of the loop's counter.
#[derive(Clone, Copy)]
struct Piece {
    row: Reg,
    column: Reg,
    at: Reg,
}

impl Split {
    /// Whether an expression is the quotient (or remainder, by `op`) of this split.
    fn is(&self, own: &Own, op: BinaryOp, e: &Expr) -> bool {
        let Expr::Binary(found, a, b) = e else { return false };
        *found == op
            && own.outside(b, None).is_some_and(|b| b == self.divisor)
            && own.offset(a).is_some_and(|a| a == self.offset)
    }

    /// Returns the loop over the pieces. `first` is the first number that is divided.
    fn pieces(
        &self,
        k: &mut Kernel,
        (c, lo, hi, body): (Reg, &Expr, &Expr, &[Stmt]),
        first: Expr,
        depth: usize,
    ) -> Vec<Stmt> {
        let [at, row, column, end] = ["at", "row", "column", "end"].map(|name| k.reg(name, Ty::I64));
        let piece = Piece { row, column, at };
        let quotient = |op| Expr::binary(op, first.clone(), self.divisor.clone());
        let own = Own::of(c, body);
        let in_row = Row { split: self, piece, varying: own.varying_of(body, Some(self)) };
        let (mut inner, mut before) = (body.to_vec(), Vec::new());
        for s in &mut inner {
            in_row.replace(k, &own, s, &mut before);
        }
        let mut renaming = Renaming::default();
        let whole = vec![Stmt::For(c, Expr::Reg(at), Expr::Reg(end), inner)];
        renaming.set(k, &whole);
        let left = self.divisor.clone().minus(Expr::Reg(column));
        let length = hi.clone().minus(Expr::Reg(at)).min(left);
        let mut of_piece = vec![Stmt::Let(end, Expr::Reg(at).plus(length), Default::default())];
        of_piece.append(&mut before);
        for s in renaming.block(&whole) {
            match s {
                Stmt::For(c, lo, hi, inner) => loop_of(k, (c, lo, hi, inner), depth + 1, &mut of_piece),
                s => of_piece.push(s),
            }
        }
        of_piece.extend([
            Stmt::Assign(at, Expr::Reg(end)),
            Stmt::Assign(row, Expr::Reg(row).plus(Expr::int(1))),
            Stmt::Assign(column, Expr::Lit(Lit::i64(0))),
        ]);
        vec![
            Stmt::Var(at, lo.clone()),
            Stmt::Var(row, quotient(BinaryOp::Div)),
            Stmt::Var(column, quotient(BinaryOp::Rem)),
            Stmt::While(Expr::binary(BinaryOp::Lt, Expr::Reg(at), hi.clone()), of_piece),
        ]
    }
}

impl Row<'_> {
    /// Replaces the quotients and remainders of a statement. Other divisions that are the same in the whole row are
    /// computed in `before`, ahead of the loop over columns.
    fn replace(&self, k: &mut Kernel, own: &Own, s: &mut Stmt, before: &mut Vec<Stmt>) {
        s.expressions_mut(&mut |e| self.expr(k, own, e, before));
        for s in s.blocks_mut().flatten() {
            self.replace(k, own, s, before);
        }
    }

    fn expr(&self, k: &mut Kernel, own: &Own, e: &mut Expr, before: &mut Vec<Stmt>) {
        if let Expr::Binary(op @ (BinaryOp::Div | BinaryOp::Rem), ..) = *e {
            let Piece { row, column, at } = self.piece;
            if self.split.is(own, op, e) {
                let column = Expr::Reg(column).plus(Expr::Reg(own.counter).minus(Expr::Reg(at)));
                *e = if op == BinaryOp::Div { Expr::Reg(row) } else { column };
                return;
            }
            let value = if k.ty(e) == Ty::I64 { own.outside(e, Some(self)) } else { None };
            if let Some(value) = value {
                let r = k.reg("same", Ty::I64);
                before.push(Stmt::Let(r, value, Default::default()));
                *e = Expr::Reg(r);
                return;
            }
        }
        e.children_mut(|child| self.expr(k, own, child, before));
    }
}
