//! Finds the loops that can be vector loops, and the facts of a loop that its lowering needs.

use super::stmt::Regs;
use arraygpu_compiler::kernel::{Expr, Kernel, Mem, Reg, Stmt};
use arraygpu_compiler::scalar::{BinaryOp, Ty};

/// Whether statements do anything.
pub(super) fn has_effect(body: &[Stmt]) -> bool {
    body.iter().any(|s| match s {
        Stmt::Let(..) | Stmt::Var(..) | Stmt::Local(_) | Stmt::Note(_) | Stmt::Prefetch { .. } => false,
        Stmt::For(.., b) => has_effect(b),
        _ => true,
    })
}

/// Whether the iterations of a loop are independent: branches and inner loops are the same for all
/// of them, no two store to one place, and each assigns only its own registers. The one exception
/// is `x = or(x, ..)` of an outer word that is used for nothing else (`schedule/cpu/each.rs`
/// collects that way whether a rare case occurred).
pub(super) fn is_vector(k: &Kernel, counter: Reg, body: &[Stmt]) -> bool {
    let mut look = Look { k, varying: [counter].into(), own: Regs::new(), folded: Vec::new() };
    look.block(body)
        && look.folded.iter().all(|r| mentions(body, *r) == look.folded.iter().filter(|f| *f == r).count())
}

struct Look<'k> {
    k: &'k Kernel,
    /// Registers that differ between iterations.
    varying: Regs,
    /// Assignable registers that the loop defines.
    own: Regs,
    /// Assignable registers that are defined outside of the loop.
    folded: Vec<Reg>,
}

impl Look<'_> {
    fn block(&mut self, body: &[Stmt]) -> bool {
        body.iter().all(|s| self.stmt(s))
    }

    fn stmt(&mut self, s: &Stmt) -> bool {
        match s {
            Stmt::Let(r, e, _) => {
                if self.varies(e) {
                    self.varying.insert(*r);
                }
                true
            }
            Stmt::Var(r, _) => self.varying.insert(*r) | self.own.insert(*r),
            Stmt::Assign(r, _) if self.own.contains(r) => true,
            Stmt::Assign(r, Expr::Binary(BinaryOp::Or, a, _))
                if **a == Expr::Reg(*r) && self.k.ty(a) == Ty::U32 =>
            {
                self.folded.push(*r);
                true
            }
            Stmt::Assign(..) => false,
            Stmt::Store(_, i, _) => self.varies(i),
            Stmt::Seq(_, lo, hi, body) => !self.varies(lo) && !self.varies(hi) && self.block(body),
            Stmt::If(c, yes, no) => !self.varies(c) && self.block(yes) && self.block(no),
            Stmt::Record(..) | Stmt::Note(_) | Stmt::Prefetch { .. } => true,
            _ => false,
        }
    }

    fn varies(&self, e: &Expr) -> bool {
        let mut found = matches!(e, Expr::Reg(r) if self.varying.contains(r));
        e.children(&mut |c| found = found || self.varies(c));
        found
    }
}

/// Calls `f` with each expression of the statements.
fn expressions<'s>(body: &'s [Stmt], f: &mut dyn FnMut(&'s Expr)) {
    for s in body {
        match s {
            Stmt::Let(_, e, _) | Stmt::Var(_, e) | Stmt::Assign(_, e) | Stmt::StoreSlot(_, e) => f(e),
            Stmt::Store(_, a, b) | Stmt::Update(_, _, a, b) | Stmt::Record(_, a, b) => {
                [a, b].into_iter().for_each(&mut *f)
            }
            Stmt::For(_, a, b, body) | Stmt::Seq(_, a, b, body) => {
                [a, b].into_iter().for_each(&mut *f);
                expressions(body, f);
            }
            Stmt::While(c, body) => {
                f(c);
                expressions(body, f);
            }
            Stmt::If(c, yes, no) => {
                f(c);
                expressions(yes, f);
                expressions(no, f);
            }
            _ => {}
        }
    }
}

/// Returns how often statements use a register.
pub(super) fn mentions(body: &[Stmt], r: Reg) -> usize {
    let mut count = 0;
    expressions(body, &mut |e| count += in_expr(e, r));
    count
}

fn in_expr(e: &Expr, r: Reg) -> usize {
    let mut count = usize::from(*e == Expr::Reg(r));
    e.children(&mut |c| count += in_expr(c, r));
    count
}

/// Returns how often statements load elements of an array.
pub(super) fn loads(body: &[Stmt], m: Mem) -> usize {
    fn of(e: &Expr, m: Mem) -> usize {
        let mut count = usize::from(matches!(e, Expr::Load(n, _) | Expr::LoadIf(n, ..) if *n == m));
        e.children(&mut |c| count += of(c, m));
        count
    }
    let mut count = 0;
    expressions(body, &mut |e| count += of(e, m));
    count
}

/// The memory that a loop stores to.
pub(super) struct Stored(Vec<Mem>);

impl Stored {
    pub fn of(body: &[Stmt]) -> Stored {
        let mut list = Vec::new();
        collect(body, &mut list);
        Stored(list)
    }

    /// Whether stores may reach elements of an array. Two arrays of a call may overlap unless the
    /// kernel promises that they do not.
    pub fn may_be(&self, k: &Kernel, m: Mem) -> bool {
        self.0.iter().any(|s| alias(k, *s, m))
    }
}

/// Appends the memory of each store.
pub(super) fn collect(body: &[Stmt], out: &mut Vec<Mem>) {
    for s in body {
        match s {
            Stmt::Store(m, ..) | Stmt::Update(_, m, ..) => out.push(*m),
            Stmt::For(.., b) | Stmt::Seq(.., b) | Stmt::While(_, b) => collect(b, out),
            Stmt::If(_, a, b) => [a, b].iter().for_each(|b| collect(b, out)),
            _ => {}
        }
    }
}

fn alias(k: &Kernel, stored: Mem, loaded: Mem) -> bool {
    match (stored, loaded) {
        (Mem::Array(s), Mem::Array(l)) => s == l || !k.arrays[s as usize].noalias,
        (s, l) => s == l,
    }
}

/// Returns the registers that hold loaded elements and are used after a store that may have changed
/// those elements. Their elements are copied when they are loaded.
pub(super) fn copied(k: &Kernel, body: &[Stmt]) -> Regs {
    let mut out = Regs::new();
    pending(k, body, &mut Vec::new(), &mut out);
    out
}

/// `loaded` has the registers that hold elements, the memory of each, and whether a store may have
/// changed it since.
fn pending(k: &Kernel, body: &[Stmt], loaded: &mut Vec<(Reg, Mem, bool)>, out: &mut Regs) {
    for s in body {
        for (r, _, _) in loaded.iter().filter(|l| l.2) {
            if mentions(std::slice::from_ref(s), *r) > 0 {
                out.insert(*r);
            }
        }
        match s {
            Stmt::Let(r, e, _) => {
                if let Some(m) = element(e) {
                    loaded.push((*r, m, false));
                }
                // the register is another name of what was loaded
                let named = loaded.iter().find(|l| in_expr(e, l.0) > 0).copied();
                loaded.extend(named.filter(|_| element(e).is_none()).map(|l| (*r, l.1, l.2)));
            }
            Stmt::Store(m, ..) | Stmt::Update(_, m, ..) => store(k, *m, loaded),
            Stmt::If(_, yes, no) => [yes, no].iter().for_each(|b| pending(k, b, loaded, out)),
            Stmt::Seq(.., b) | Stmt::For(.., b) | Stmt::While(_, b) => {
                // what one iteration stores, the next one loads
                let mut list = Vec::new();
                collect(b, &mut list);
                list.iter().for_each(|m| store(k, *m, loaded));
                pending(k, b, loaded, out);
                for (r, _, _) in loaded.iter().filter(|l| l.2) {
                    if mentions(b, *r) > 0 {
                        out.insert(*r);
                    }
                }
            }
            _ => {}
        }
    }
}

fn store(k: &Kernel, m: Mem, loaded: &mut [(Reg, Mem, bool)]) {
    loaded.iter_mut().filter(|l| alias(k, m, l.1)).for_each(|l| l.2 = true);
}

/// Returns the memory of which an expression's value is an element, if it is one.
fn element(e: &Expr) -> Option<Mem> {
    match e {
        Expr::Load(m, _) => Some(*m),
        Expr::Unary(_, a) | Expr::Cast(_, a) => element(a),
        _ => None,
    }
}
