//! Matches a sequential loop over rows, each with an inner loop over 128 columns, which can be
//! lowered as one loop over elements `i = 128 r + c`.
//!
//! That holds if r and c are used only as `128 r + c` (or a multiple of it, plus what does not
//! change), except for the array of columns that each row updates at index c.

use super::analyse;
use super::fold::{Next, next};
use arraygpu_compiler::core::COLUMNS;
use arraygpu_compiler::kernel::{Expr, Kernel, Mem, Reg, Stmt};
use arraygpu_compiler::scalar::{BinaryOp, Ty};
use std::collections::HashMap;

/// The parts of such a loop.
pub(super) struct Rows<'s> {
    /// The statements before the inner loop, which compute values of a row.
    pub before: Vec<&'s Stmt>,
    pub column: Reg,
    pub inner: &'s [Stmt],
    pub folds: Vec<Columns<'s>>,
    /// The number of elements from this row on, or `None` if every row has 128.
    pub left: Option<&'s Expr>,
}

/// An array of columns that each row updates.
pub(super) struct Columns<'s> {
    pub columns: Mem,
    /// The register that holds the column's old value.
    pub old: Reg,
    pub next: Next<'s>,
}

/// How a value depends on r and c.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// The factors of r and c; the rest is the same for all elements.
    Linear(i64, i64),
    /// Any other function of element i.
    Element,
}

impl Form {
    /// Whether the value depends on r and c only through i.
    fn is_whole(self) -> bool {
        match self {
            Form::Linear(r, c) => Some(r) == c.checked_mul(COLUMNS),
            Form::Element => true,
        }
    }
}

/// Matches the loop over `r` with this body. `known` says whether there is code for the columns'
/// operation.
pub(super) fn find<'s>(
    k: &Kernel,
    r: Reg,
    body: &'s [Stmt],
    known: &dyn Fn(&Next) -> bool,
) -> Option<Rows<'s>> {
    let mut forms = Forms { forms: [(r, Form::Linear(1, 0))].into(), old: HashMap::new() };
    let (mut before, mut columns) = (Vec::new(), None);
    for s in body {
        match s {
            Stmt::Let(x, e, _) if columns.is_none() => {
                // it is computed even if there are no rows, so it must not read memory
                let form = forms.of(e).filter(|f| matches!(f, Form::Linear(..)) && !reads(e))?;
                forms.forms.insert(*x, form);
                before.push(s);
            }
            Stmt::For(c, Expr::Lit(zero), count, inner) if zero.bits == 0 && analyse::has_effect(inner) => {
                if columns.replace((*c, count, &inner[..])).is_some() {
                    return None;
                }
            }
            Stmt::For(.., inner) if !analyse::has_effect(inner) => {}
            Stmt::Note(_) => {}
            _ => return None,
        }
    }
    let (column, count, inner) = columns?;
    let left = left(&before, count, &forms)?;
    forms.forms.insert(column, Form::Linear(0, 1));
    let folds = forms.inner(k, column, inner, known)?;
    (!folds.is_empty()).then_some(Rows { before, column, inner, folds, left })
}

/// Matches the number of columns of a row: 128, which gives `Some(None)`, or `min(left, 128)`,
/// where `left` decreases by 128 with each row, which gives `left`.
fn left<'s>(before: &[&'s Stmt], count: &'s Expr, forms: &Forms) -> Option<Option<&'s Expr>> {
    let count = match count {
        Expr::Reg(m) => before.iter().find_map(|s| match s {
            Stmt::Let(x, e, _) if x == m => Some(e),
            _ => None,
        })?,
        e => e,
    };
    match count {
        Expr::Lit(l) if l.as_i64() == COLUMNS => Some(None),
        Expr::Binary(BinaryOp::Min, left, most) if **most == Expr::int(COLUMNS) => {
            (forms.of(left) == Some(Form::Linear(-COLUMNS, 0))).then_some(Some(left))
        }
        _ => None,
    }
}

struct Forms {
    /// The forms of registers; those not in the map are the same for all elements.
    forms: HashMap<Reg, Form>,
    /// The registers that hold old values of columns, which only the columns' next values may use.
    old: HashMap<Reg, Mem>,
}

impl Forms {
    fn inner<'s>(
        &mut self,
        k: &Kernel,
        column: Reg,
        body: &'s [Stmt],
        known: &dyn Fn(&Next) -> bool,
    ) -> Option<Vec<Columns<'s>>> {
        let mut folds: Vec<Columns<'s>> = Vec::new();
        for s in body {
            match s {
                Stmt::Let(r, Expr::Load(m @ Mem::Local(_), i), _) if **i == Expr::Reg(column) => {
                    if self.old.values().any(|o| o == m) {
                        return None;
                    }
                    self.old.insert(*r, *m);
                }
                Stmt::Let(r, e, _) => {
                    let form = self.of(e)?;
                    self.forms.insert(*r, form);
                }
                Stmt::Store(m, i, e) if *i == Expr::Reg(column) => {
                    let (old, _) = self.old.iter().find(|(_, o)| *o == m)?;
                    let next = next(&Expr::Reg(*old), e, k.mem(*m).1).filter(known)?;
                    let fine = next.with.iter().all(|e| self.of(e).is_some_and(Form::is_whole));
                    if !fine || folds.iter().any(|f| f.columns == *m) {
                        return None;
                    }
                    folds.push(Columns { columns: *m, old: *old, next });
                }
                Stmt::Store(_, i, e) => {
                    let fine = self.of(i)?.is_whole()
                        && self.of(i) != Some(Form::Linear(0, 0))
                        && self.of(e)?.is_whole();
                    if !fine {
                        return None;
                    }
                }
                Stmt::Record(_, c, at) => {
                    if !self.of(c)?.is_whole() || !self.of(at)?.is_whole() {
                        return None;
                    }
                }
                Stmt::Note(_) => {}
                _ => return None,
            }
        }
        // nothing else may access the columns
        let mut stored = Vec::new();
        analyse::collect(body, &mut stored);
        let once = |f: &Columns| {
            analyse::mentions(body, f.old) == 1 && stored.iter().filter(|m| **m == f.columns).count() == 1
        };
        let read = |f: &Columns| analyse::loads(body, f.columns) == 1;
        (folds.len() == self.old.len() && folds.iter().all(|f| once(f) && read(f))).then_some(folds)
    }

    /// Returns the form of an expression, or `None` if it uses r and c in another way.
    fn of(&self, e: &Expr) -> Option<Form> {
        match e {
            Expr::Reg(r) if self.old.contains_key(r) => return None,
            Expr::Reg(r) => return Some(self.forms.get(r).copied().unwrap_or(Form::Linear(0, 0))),
            Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
                if let (Form::Linear(r, c), Form::Linear(s, d)) = (self.of(a)?, self.of(b)?) {
                    let sign = if *op == BinaryOp::Sub { -1 } else { 1 };
                    return Some(Form::Linear(r.checked_add(sign * s)?, c.checked_add(sign * d)?));
                }
            }
            Expr::Binary(BinaryOp::Mul, a, b) => {
                if let (Form::Linear(r, c), Expr::Lit(l), Ty::I64) = (self.of(a)?, &**b, lit_type(b)) {
                    let by = l.as_i64();
                    return Some(Form::Linear(r.checked_mul(by)?, c.checked_mul(by)?));
                }
            }
            _ => {}
        }
        let (mut same, mut whole) = (true, true);
        e.children(&mut |x| match self.of(x) {
            Some(form) => {
                same &= form == Form::Linear(0, 0);
                whole &= form.is_whole();
            }
            None => whole = false,
        });
        match (same, whole) {
            (_, false) => None,
            (true, true) => Some(Form::Linear(0, 0)),
            _ => Some(Form::Element),
        }
    }
}

/// Whether an expression reads memory.
fn reads(e: &Expr) -> bool {
    let mut found = matches!(e, Expr::Load(..) | Expr::LoadIf(..) | Expr::Slot(_));
    e.children(&mut |c| found = found || reads(c));
    found
}

fn lit_type(e: &Expr) -> Ty {
    if let Expr::Lit(l) = e { l.ty } else { Ty::Bool }
}
