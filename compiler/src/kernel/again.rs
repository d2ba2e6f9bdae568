//! The same statements once more, for another element: with registers of their own.

use super::{Expr, Kernel, Reg, Stmt};

/// Which register stands for which.
#[derive(Default)]
pub struct Renaming {
    to: Vec<Option<Reg>>,
}

impl Renaming {
    /// Every register that `body` sets gets a new one.
    pub fn set(&mut self, k: &mut Kernel, body: &[Stmt]) {
        let mut set = Vec::new();
        sets(body, &mut set);
        for r in set {
            self.replace(r, k.like(r));
        }
    }

    /// Another register that is only read.
    pub fn replace(&mut self, from: Reg, to: Reg) {
        let from = from.0 as usize;
        if self.to.len() <= from {
            self.to.resize(from + 1, None);
        }
        self.to[from] = Some(to);
    }

    /// The statements with these registers.
    pub fn block(&self, body: &[Stmt]) -> Vec<Stmt> {
        let mut out = body.to_vec();
        self.stmts(&mut out);
        out
    }

    /// The expression with these registers.
    pub fn expr(&self, e: &Expr) -> Expr {
        let mut e = e.clone();
        self.rename(&mut e);
        e
    }

    fn reg(&self, r: &mut Reg) {
        if let Some(Some(to)) = self.to.get(r.0 as usize) {
            *r = *to;
        }
    }

    fn rename(&self, e: &mut Expr) {
        if let Expr::Reg(r) = e {
            return self.reg(r);
        }
        e.children_mut(&mut |child: &mut Expr| self.rename(child));
    }

    fn stmts(&self, body: &mut [Stmt]) {
        for s in body {
            match s {
                Stmt::Let(r, e, _) | Stmt::Var(r, e) | Stmt::Assign(r, e) => {
                    self.reg(r);
                    self.rename(e);
                }
                Stmt::Store(_, a, b) | Stmt::Record(_, a, b) => {
                    self.rename(a);
                    self.rename(b);
                }
                Stmt::StoreSlot(_, e) | Stmt::Prefetch { index: e, .. } => self.rename(e),
                Stmt::For(r, a, b, body) | Stmt::Seq(r, a, b, body) => {
                    self.reg(r);
                    self.rename(a);
                    self.rename(b);
                    self.stmts(body);
                }
                Stmt::While(c, body) => {
                    self.rename(c);
                    self.stmts(body);
                }
                Stmt::If(c, then, otherwise) => {
                    self.rename(c);
                    self.stmts(then);
                    self.stmts(otherwise);
                }
                Stmt::LoadVec(regs, _, i) => {
                    regs.iter_mut().for_each(|r| self.reg(r));
                    self.rename(i);
                }
                Stmt::StoreVec(_, i, values) => {
                    self.rename(i);
                    values.iter_mut().for_each(|e| self.rename(e));
                }
                Stmt::Arrive(r, a, b) => {
                    self.reg(r);
                    self.rename(a);
                    self.rename(b);
                }
                Stmt::Local(_) | Stmt::Note(_) | Stmt::Barrier => {}
            }
        }
    }
}

/// The registers that statements declare.
fn sets(body: &[Stmt], out: &mut Vec<Reg>) {
    for s in body {
        match s {
            Stmt::Let(r, ..) | Stmt::Var(r, _) | Stmt::Arrive(r, ..) => out.push(*r),
            Stmt::LoadVec(regs, ..) => out.extend(regs),
            Stmt::For(r, _, _, body) | Stmt::Seq(r, _, _, body) => {
                out.push(*r);
                sets(body, out);
            }
            Stmt::While(_, body) => sets(body, out),
            Stmt::If(_, then, otherwise) => {
                sets(then, out);
                sets(otherwise, out);
            }
            _ => {}
        }
    }
}
