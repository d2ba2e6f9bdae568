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
            s.registers_mut(&mut |r| self.reg(r));
            s.expressions_mut(&mut |e| self.rename(e));
            s.blocks_mut().for_each(|b| self.stmts(b));
        }
    }
}

/// The registers that statements declare.
fn sets(body: &[Stmt], out: &mut Vec<Reg>) {
    for s in body {
        match s {
            Stmt::Let(r, ..) | Stmt::Var(r, _) | Stmt::Arrive(r, ..) => out.push(*r),
            Stmt::For(r, ..) | Stmt::Seq(r, ..) => out.push(*r),
            Stmt::LoadVec(regs, ..) => out.extend(regs),
            _ => {}
        }
        s.blocks().into_iter().for_each(|b| sets(b, out));
    }
}
