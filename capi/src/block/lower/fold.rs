//! Sequential loops that only carry reductions: blocks compute the values that are reduced, and
//! each reduction takes a block of them in order.
//!
//! ```text
//! seq i { acc = f(acc, x[i]) }
//!     ->
//! for blocks of i { x[..]   join acc with x[..] in order }
//!
//! seq r { row = r * 128   for c = 0 to 128 { columns[c] = f(columns[c], x[row + c]) } }
//!     ->
//! for blocks of i = row + c { x[..]   join the columns with x[..], row by row }
//!
//! for k { x1[k] = f(x0[2k], x0[2k + 1]) } for k { x2[k] = f(x1[2k], x1[2k + 1]) } ..
//!     ->
//! one operation
//! ```

use super::linear::{Linear, Num};
use super::rows::{self, Rows};
use super::{Bound, Lower, Value, analyse};
use crate::block::ops::{Fold, Kind, fold};
use crate::block::program::{NONE, Slot};
use arraygpu_compiler::core::COLUMNS;
use arraygpu_compiler::kernel::{Expr, Mem, Reg, Stmt};
use arraygpu_compiler::scalar::{BinaryOp, Ty};

/// How a reduction gets its next value: by an operation on the old value and one element, or the
/// product of two.
pub(super) struct Next<'e> {
    pub kind: Kind,
    pub with: Vec<&'e Expr>,
}

/// Returns the expression as the next value of `value`, which it mentions once. The caller checks
/// that `fold` has code for the operation.
pub(super) fn next<'e>(value: &Expr, e: &'e Expr, ty: Ty) -> Option<Next<'e>> {
    let is = |x: &Expr| x == value;
    match e {
        Expr::Binary(op, a, b) => {
            let op = op.precise().unwrap_or(*op);
            let other = if is(a) { b } else { a };
            if !(is(a) || is(b) && op.is_commutative()) {
                return None;
            }
            match &**other {
                Expr::Binary(times, x, y)
                    if op == BinaryOp::Add
                        && ty.is_float()
                        && times.precise().unwrap_or(*times) == BinaryOp::Mul =>
                {
                    Some(Next { kind: Kind::Added(ty), with: vec![x, y] })
                }
                x => Some(Next { kind: Kind::Binary(op, ty), with: vec![x] }),
            }
        }
        Expr::MulAdd(x, y, z) if is(z) => Some(Next { kind: Kind::MulAdd(ty), with: vec![x, y] }),
        _ => None,
    }
}

impl Lower<'_> {
    /// Joins a value with the elements of a block. The caller has checked that there is code for
    /// it.
    fn go_on(&mut self, how: Fold, d: Slot, next: &Next) {
        let mut slots = [NONE; 3];
        for (slot, e) in slots.iter_mut().zip(&next.with) {
            let v = self.value(e);
            *slot = self.splat(v).slot;
        }
        if let Some(op) = fold(how, next.kind, self.level) {
            self.push(op, d, slots);
        }
    }

    /// Lowers a sequential loop that only reduces to blocks. Returns false if the loop is of
    /// another form.
    pub(super) fn folds(&mut self, i: Reg, lo: &Expr, hi: &Expr, body: &[Stmt]) -> bool {
        if self.vector.is_some() {
            return false;
        }
        let mut found = Vec::new();
        let mut hidden = Vec::new();
        for s in body {
            match s {
                Stmt::Let(..) | Stmt::Record(..) | Stmt::Note(_) => {}
                Stmt::Assign(acc, e) => {
                    let Some((name, e)) = resolved(body, e) else { return false };
                    let ty = self.k.regs[acc.0 as usize].1;
                    let next = next(&Expr::Reg(*acc), e, ty)
                        .filter(|n| fold(Fold::InOrder, n.kind, self.level).is_some());
                    let Some(next) = next else { return false };
                    if analyse::mentions(body, *acc) != 1 || found.iter().any(|(r, _)| r == acc) {
                        return false;
                    }
                    hidden.extend(name);
                    found.push((*acc, next));
                }
                _ => return false,
            }
        }
        if found.is_empty() {
            return false;
        }
        let [lo, hi] = self.bounds(lo, hi);
        self.blocks_of(i, lo, hi, body, &mut |l| {
            for s in body {
                match s {
                    Stmt::Let(r, ..) if hidden.contains(r) => {}
                    Stmt::Assign(acc, _) => {
                        let Some(Bound::Value(var)) = l.bound.get(acc).cloned() else { continue };
                        found
                            .iter()
                            .filter(|f| f.0 == *acc)
                            .for_each(|f| l.go_on(Fold::InOrder, var.slot, &f.1));
                    }
                    s => l.stmt(s),
                }
            }
        });
        true
    }

    /// Lowers a loop over rows of 128 columns to blocks of many rows. Returns false if the loop is
    /// of another form.
    pub(super) fn rows(&mut self, r: Reg, lo: &Expr, hi: &Expr, body: &[Stmt]) -> bool {
        if self.vector.is_some() {
            return false;
        }
        let level = self.level;
        let Some(Rows { before, column, inner, folds, left }) =
            rows::find(self.k, r, body, &|n| fold(Fold::Rows, n.kind, level).is_some())
        else {
            return false;
        };
        let [lo, hi] = [lo, hi].map(|e| self.value(e));
        let zero = self.early(NONE, Ty::I64);
        self.bound.insert(r, Bound::Value(zero));
        before.iter().for_each(|s| self.stmt(s));
        let times =
            |l: &mut Self, v: Value| l.int(BinaryOp::Mul, Num::Slot(v.slot, v.early), Num::Const(COLUMNS));
        let (lo, mut hi) = (times(self, lo), times(self, hi));
        if let Some(left) = left {
            // in the first row, this is the number of all elements that are left
            let left = self.value(left);
            hi = self.int(BinaryOp::Min, hi, Num::Slot(left.slot, left.early));
        }
        let [lo, hi] = [lo, hi].map(|n| self.number(n).slot);
        self.blocks_of(column, lo, hi, inner, &mut |l| {
            for s in inner {
                match s {
                    Stmt::Let(r, ..) if folds.iter().any(|f| f.old == *r) => {}
                    Stmt::Store(m, ..) if folds.iter().any(|f| f.columns == *m) => {
                        let base = l.base(*m);
                        folds
                            .iter()
                            .filter(|f| f.columns == *m)
                            .for_each(|f| l.go_on(Fold::Rows, base, &f.next));
                    }
                    s => l.stmt(s),
                }
            }
        });
        true
    }

    /// Returns how many of the first statements are the tree that joins 128 columns, and emits its
    /// operation.
    pub(super) fn tree(&mut self, body: &[Stmt]) -> Option<usize> {
        if self.vector.is_some() {
            return None;
        }
        let (mut at, mut width, mut from, mut kind, mut between) = (0, COLUMNS / 2, None, None, Vec::new());
        let mut first = None;
        let mut last = None;
        while width > 0 {
            if matches!(body.get(at), Some(Stmt::Local(_))) {
                at += 1;
            }
            let level = level(body.get(at)?, width)?;
            let ty = self.k.mem(level.from).1;
            let next = next(&Expr::Reg(level.low), level.value, ty)?;
            let is_high = *next.with[0] == Expr::Reg(level.high) && next.with.len() == 1;
            // the lower element must come first, even where the order does not matter
            if !is_high || from.is_some_and(|m| m != level.from) || kind.is_some_and(|k| k != next.kind) {
                return None;
            }
            first.get_or_insert(level.from);
            between.extend(from.filter(|m| Some(*m) != first));
            (from, kind, last) = (Some(level.to), Some(next.kind), Some(level.to));
            at += 1;
            width /= 2;
        }
        let op = fold(Fold::Tree, kind?, self.level)?;
        // nothing else may read the levels in between
        if between.iter().any(|m| analyse::loads(&body[at..], *m) > 0) {
            return None;
        }
        let [a, d] = [first?, last?].map(|m| self.base(m));
        self.push(op, d, [a, NONE, NONE]);
        Some(at)
    }
}

/// Returns the value that is assigned. Where it is a register that is defined in the loop and used
/// nowhere else, returns that register and its value.
fn resolved<'s>(body: &'s [Stmt], e: &'s Expr) -> Option<(Option<Reg>, &'s Expr)> {
    let Expr::Reg(n) = e else { return Some((None, e)) };
    let made = body.iter().find_map(|s| match s {
        Stmt::Let(r, e, _) if r == n => Some(e),
        _ => None,
    });
    let made = made?;
    (analyse::mentions(body, *n) == 1).then_some((Some(*n), made))
}

/// A level of a tree.
struct Level<'s> {
    from: Mem,
    to: Mem,
    low: Reg,
    high: Reg,
    value: &'s Expr,
}

/// Matches `for k = 0 to width { low = from[2k]  high = from[2k + 1]  to[k] = value }`.
fn level(s: &Stmt, width: i64) -> Option<Level<'_>> {
    let Stmt::For(k, Expr::Lit(lo), Expr::Lit(hi), body) = s else { return None };
    let [
        Stmt::Let(low, Expr::Load(from, i), _),
        Stmt::Let(high, Expr::Load(same, j), _),
        Stmt::Store(to @ Mem::Local(_), at, value),
    ] = &body[..]
    else {
        return None;
    };
    let even = Expr::Reg(*k).times(Expr::int(2));
    let odd = even.clone().plus(Expr::int(1));
    let fits = lo.bits == 0
        && hi.as_i64() == width
        && **i == even
        && **j == odd
        && *at == Expr::Reg(*k)
        && from == same
        && from != to;
    (fits && matches!(from, Mem::Local(_))).then_some(Level {
        from: *from,
        to: *to,
        low: *low,
        high: *high,
        value,
    })
}

/// The index of a vector loop.
pub(super) const INDEX: Linear = Linear { start: Num::Const(0), step: Num::Const(1) };
