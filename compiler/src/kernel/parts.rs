//! Access to the parts of a statement: its own expressions, the registers that it declares, and its
//! inner blocks.

use super::{Expr, Kernel, Reg, Stmt};
use crate::loc::Loc;
use rustc_hash::FxHashMap as HashMap;

/// Calls `$f` on the expressions of a statement, in order; for `&` and `&mut`.
macro_rules! expressions {
    ($stmt:expr, $f:expr) => {
        match $stmt {
            Stmt::Let(_, e, _) | Stmt::Var(_, e) | Stmt::Assign(_, e) | Stmt::StoreSlot(_, e) => $f(e),
            Stmt::While(e, _) | Stmt::If(e, ..) | Stmt::Prefetch { index: e, .. } => $f(e),
            Stmt::LoadVec(_, _, e) | Stmt::LoadMatrices { index: e, .. } | Stmt::Count { index: e, .. } => {
                $f(e)
            }
            Stmt::CopyAsync { at, index, given, .. } => {
                $f(at);
                $f(index);
                given.into_iter().for_each($f);
            }
            Stmt::Pack(_, values) => values.into_iter().for_each($f),
            Stmt::Ticket(_, e) | Stmt::Clear(e) => $f(e),
            Stmt::MultiplyMatrices { rows, columns, .. } => {
                rows.into_iter().chain(columns).for_each($f);
            }
            Stmt::MultiplyStaged { rows, columns, .. } => {
                $f(rows);
                $f(columns);
            }
            Stmt::Store(_, a, b)
            | Stmt::Update(_, _, a, b)
            | Stmt::Record(_, a, b)
            | Stmt::Arrive(_, a, b)
            | Stmt::Publish(a, b)
            | Stmt::Await(_, a, b) => {
                $f(a);
                $f(b);
            }
            Stmt::For(_, a, b, _) | Stmt::Seq(_, a, b, _) => {
                $f(a);
                $f(b);
            }
            Stmt::StoreTo(_, a, b, c) => {
                $f(a);
                $f(b);
                $f(c);
            }
            Stmt::StoreVec(_, e, values) => {
                $f(e);
                values.into_iter().for_each($f);
            }
            Stmt::Local(_)
            | Stmt::Note(_)
            | Stmt::Barrier
            | Stmt::ClusterBarrier { .. }
            | Stmt::CopyGroup
            | Stmt::CopyWait(_)
            | Stmt::MultiplyWait(_) => {}
        }
    };
}

impl Stmt {
    /// Calls `f` on the statement's expressions, without those of inner blocks.
    pub fn expressions(&self, f: &mut dyn FnMut(&Expr)) {
        expressions!(self, &mut *f);
    }

    /// Calls `f` on the statement's expressions for mutation, without those of inner blocks.
    pub fn expressions_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        expressions!(self, &mut *f);
    }

    /// Calls `f` on the registers that the statement declares or assigns, without those of inner
    /// blocks.
    pub fn registers_mut(&mut self, f: &mut dyn FnMut(&mut Reg)) {
        match self {
            Stmt::Let(r, ..) | Stmt::Var(r, _) | Stmt::Assign(r, _) => f(r),
            Stmt::Arrive(r, ..) | Stmt::Count { old: r, .. } | Stmt::Pack(r, _) => f(r),
            Stmt::Ticket(r, _) | Stmt::Await(r, ..) => f(r),
            Stmt::For(r, ..) | Stmt::Seq(r, ..) => f(r),
            Stmt::LoadVec(regs, ..) | Stmt::LoadMatrices { regs, .. } => regs.iter_mut().for_each(f),
            Stmt::MultiplyMatrices { sums, .. } | Stmt::MultiplyStaged { sums, .. } => {
                sums.iter_mut().for_each(f);
            }
            _ => {}
        }
    }

    /// Returns the inner blocks.
    pub fn blocks(&self) -> [&[Stmt]; 2] {
        match self {
            Stmt::For(.., b) | Stmt::Seq(.., b) | Stmt::While(_, b) => [b, &[]],
            Stmt::If(_, a, b) => [a, b],
            _ => [&[], &[]],
        }
    }

    /// Returns whether the statement is a loop.
    pub fn is_loop(&self) -> bool {
        matches!(self, Stmt::For(..) | Stmt::Seq(..) | Stmt::While(..))
    }

    /// Returns whether the statement is a loop or contains one.
    pub fn has_loop(&self) -> bool {
        self.is_loop() || self.blocks().into_iter().flatten().any(Stmt::has_loop)
    }

    /// Returns the inner blocks for mutation.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Vec<Stmt>> {
        let blocks = match self {
            Stmt::For(.., b) | Stmt::Seq(.., b) | Stmt::While(_, b) => [Some(b), None],
            Stmt::If(_, a, b) => [Some(a), Some(b)],
            _ => [None, None],
        };
        blocks.into_iter().flatten()
    }
}

/// Replaces the statements of a block and of its inner blocks, the innermost first, for which `by` gives others.
pub fn replace_statements(
    k: &mut Kernel,
    body: &mut Vec<Stmt>,
    by: &dyn Fn(&mut Kernel, &Stmt) -> Option<Vec<Stmt>>,
) {
    let mut out = Vec::with_capacity(body.len());
    for mut s in std::mem::take(body) {
        s.blocks_mut().for_each(|b| replace_statements(k, b, by));
        match by(k, &s) {
            Some(others) => out.extend(others),
            None => out.push(s),
        }
    }
    *body = out;
}

/// Calls `f` on the expressions of all statements of a block and of its inner blocks, for mutation.
pub fn change_expressions(body: &mut [Stmt], f: &mut dyn FnMut(&mut Expr)) {
    for s in body {
        s.expressions_mut(f);
        s.blocks_mut().for_each(|b| change_expressions(b, f));
    }
}

/// Marks the registers that are assigned more than once.
pub fn find_variables(body: &[Stmt], out: &mut [bool]) {
    for s in body {
        if let Stmt::Var(r, _) = s {
            out[r.0 as usize] = true;
        }
        s.blocks().into_iter().for_each(|b| find_variables(b, out));
    }
}

/// Marks the registers whose values are cast to floats.
pub fn find_cast_to_floats(body: &[Stmt], out: &mut [bool]) {
    fn of(e: &Expr, out: &mut [bool]) {
        if let Expr::Cast(ty, from) = e
            && ty.is_float()
            && let Expr::Reg(r) = **from
        {
            out[r.0 as usize] = true;
        }
        e.children(|child| of(child, out));
    }
    for s in body {
        s.expressions(&mut |e| of(e, out));
        s.blocks().into_iter().for_each(|b| find_cast_to_floats(b, out));
    }
}

/// Returns the author's line of the first statement that has one.
pub fn line(body: &[Stmt]) -> Option<&Loc> {
    body.iter().find_map(|s| match s {
        Stmt::Let(_, _, loc) => loc.first(),
        s => s.blocks().into_iter().find_map(line),
    })
}

/// Returns the number of operations, loads and stores in a block and its inner blocks.
pub fn operations(body: &[Stmt]) -> usize {
    fn of(e: &Expr) -> usize {
        let mut n = usize::from(!matches!(e, Expr::Lit(_) | Expr::Reg(_) | Expr::In(_) | Expr::Slot(_)));
        e.children(&mut |child| n += of(child));
        n
    }
    body.iter().fold(0, |all, s| {
        let mut n = 1;
        s.expressions(&mut |e| n += of(e));
        all + n + s.blocks().into_iter().map(operations).sum::<usize>()
    })
}

/// Whether an expression of a block or its inner blocks has a part with some property.
pub fn has(body: &[Stmt], property: &dyn Fn(&Expr) -> bool) -> bool {
    fn in_expression(e: &Expr, property: &dyn Fn(&Expr) -> bool) -> bool {
        let mut found = property(e);
        e.children(|child| found = found || in_expression(child, property));
        found
    }
    body.iter().any(|s| {
        let mut found = false;
        s.expressions(&mut |e| found = found || in_expression(e, property));
        found || s.blocks().into_iter().any(|b| has(b, property))
    })
}

/// Calls `f` on all expressions of a block and its inner blocks, and on all their parts.
pub fn each_expression(body: &[Stmt], f: &mut dyn FnMut(&Expr)) {
    fn each(e: &Expr, f: &mut dyn FnMut(&Expr)) {
        f(e);
        e.children(|child| each(child, f));
    }
    for s in body {
        s.expressions(&mut |e| each(e, f));
        s.blocks().into_iter().for_each(|b| each_expression(b, f));
    }
}

/// Returns the registers that a block and its inner blocks set: each `let` with its value, and `None` for those that
/// are assigned.
pub fn definitions(body: &[Stmt]) -> HashMap<Reg, Option<&Expr>> {
    fn add<'a>(body: &'a [Stmt], out: &mut HashMap<Reg, Option<&'a Expr>>) {
        for s in body {
            match s {
                Stmt::Let(r, e, _) => drop(out.insert(*r, Some(e))),
                Stmt::Var(r, _) | Stmt::Assign(r, _) => drop(out.insert(*r, None)),
                _ => {}
            }
            s.blocks().into_iter().for_each(|b| add(b, out));
        }
    }
    let mut out = HashMap::default();
    add(body, &mut out);
    out
}
