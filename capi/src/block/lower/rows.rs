//! A loop in order over rows of 128 columns, each a loop over its columns, seen as one loop over elements `i = 128 r + c`.
//!
//! It is one where r and c are used only as `128 r + c` (a multiple of it, plus what does not change), but for the columns that go on from row to row, at c.

use super::analyse;
use super::fold::{Next, next};
use arraygpu_compiler::core::COLUMNS;
use arraygpu_compiler::kernel::{Expr, Kernel, Mem, Reg, Stmt};
use arraygpu_compiler::scalar::{BinaryOp, Ty};
use std::collections::HashMap;

/// The parts of such a loop.
pub(super) struct Rows<'s> {
    /// What is known of a row.
    pub before: Vec<&'s Stmt>,
    pub column: Reg,
    pub inner: &'s [Stmt],
    pub folds: Vec<Columns<'s>>,
    /// How many elements are left from the row on; None: its 128.
    pub left: Option<&'s Expr>,
}

/// Columns that go on.
pub(super) struct Columns<'s> {
    pub columns: Mem,
    /// The register of the column's value before.
    pub old: Reg,
    pub next: Next<'s>,
}

/// What a value is in terms of r and c.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// So many r and c, plus what is the same for all.
    Linear(i64, i64),
    /// Anything else of element i.
    Element,
}

impl Form {
    /// It is of the element: r and c are together what i is.
    fn is_whole(self) -> bool {
        match self {
            Form::Linear(r, c) => Some(r) == c.checked_mul(COLUMNS),
            Form::Element => true,
        }
    }
}

/// The loop over `r` with this body, if it is one. `known`: whether there is code for the columns' operation.
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
                // it is computed even if there are no rows: nothing may be read
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

/// `min(left, 128)` columns, where `left` lessens by 128 a row. None: another count.
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
    /// Registers not among them are the same for all elements.
    forms: HashMap<Reg, Form>,
    /// Values of columns before: they may be used for the next ones only.
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
        // the columns are seen by nothing else
        let mut stored = Vec::new();
        analyse::collect(body, &mut stored);
        let once = |f: &Columns| {
            analyse::mentions(body, f.old) == 1 && stored.iter().filter(|m| **m == f.columns).count() == 1
        };
        let read = |f: &Columns| analyse::loads(body, f.columns) == 1;
        (folds.len() == self.old.len() && folds.iter().all(|f| once(f) && read(f))).then_some(folds)
    }

    /// None: r and c otherwise.
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
