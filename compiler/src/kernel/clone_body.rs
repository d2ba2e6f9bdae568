//! Copies of statements, for example for another element, in which every register and local array that they define is
//! a new one; and copies of a kernel without its statements.
//!
//! ```text
//! let %a0: f32 = x[%i]                      let %a2: f32 = x[%j]
//! out[%i] = mul(%a0, %k)       ->           out[%j] = mul(%a2, %k)
//! ```

use super::{Expr, Kernel, Mem, Reg, Stmt};

impl Kernel {
    /// Copies everything but the statements.
    pub fn clone_head(&self) -> Kernel {
        Kernel {
            name: self.name.clone(),
            arrays: self.arrays.clone(),
            ins: self.ins.clone(),
            slots: self.slots.clone(),
            scratch: self.scratch.clone(),
            locals: self.locals.clone(),
            sites: self.sites.clone(),
            regs: self.regs.clone(),
            shared: self.shared.clone(),
            in_space: self.in_space.clone(),
            bounded: self.bounded.clone(),
            last_indices: self.last_indices.clone(),
            main: None,
            finish: None,
            ..*self
        }
    }
}

/// Maps registers and local arrays to those that replace them.
#[derive(Default)]
pub struct Renaming {
    to: Vec<Option<Reg>>,
    /// Pairs of a local array and the one that replaces it.
    locals: Vec<(u32, u32)>,
}

impl Renaming {
    /// Gives every register and local array that `body` defines a new one.
    pub fn set(&mut self, k: &mut Kernel, body: &[Stmt]) {
        for r in declared(body) {
            self.replace(r, k.like(r));
        }
        self.set_locals(k, body);
    }

    fn set_locals(&mut self, k: &mut Kernel, body: &[Stmt]) {
        for s in body {
            if let Stmt::Local(l) = s {
                let (name, ty, len) = k.locals[*l as usize].clone();
                let name = name.rsplit_once('_').map_or(&*name, |(name, _)| name);
                self.locals.push((*l, k.add_local(name, ty, len)));
            }
            s.blocks().into_iter().for_each(|b| self.set_locals(k, b));
        }
    }

    /// Replaces a register that is only read.
    pub fn replace(&mut self, from: Reg, to: Reg) {
        let from = from.0 as usize;
        if self.to.len() <= from {
            self.to.resize(from + 1, None);
        }
        self.to[from] = Some(to);
    }

    /// Returns the statements with the new registers.
    pub fn block(&self, body: &[Stmt]) -> Vec<Stmt> {
        let mut out = body.to_vec();
        self.stmts(&mut out);
        out
    }

    /// Returns the expression with the new registers.
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

    fn local(&self, l: &mut u32) {
        if let Some((_, to)) = self.locals.iter().find(|(from, _)| from == l) {
            *l = *to;
        }
    }

    fn rename(&self, e: &mut Expr) {
        match e {
            Expr::Reg(r) => return self.reg(r),
            Expr::Load(Mem::Local(l), _) | Expr::LoadIf(Mem::Local(l), ..) => self.local(l),
            _ => {}
        }
        e.children_mut(&mut |child: &mut Expr| self.rename(child));
    }

    fn stmts(&self, body: &mut [Stmt]) {
        for s in body {
            if let Stmt::Local(l) | Stmt::Store(Mem::Local(l), ..) = s {
                self.local(l);
            }
            s.registers_mut(&mut |r| self.reg(r));
            s.expressions_mut(&mut |e| self.rename(e));
            s.blocks_mut().for_each(|b| self.stmts(b));
        }
    }
}

/// Returns a copy of statements that has registers and local arrays of its own.
pub fn copied(k: &mut Kernel, body: &[Stmt]) -> Vec<Stmt> {
    let mut renaming = Renaming::default();
    renaming.set(k, body);
    renaming.block(body)
}

/// Returns the registers that statements declare, in their order.
pub fn declared(body: &[Stmt]) -> Vec<Reg> {
    let mut out = Vec::new();
    sets(body, &mut out);
    out
}

/// Collects the registers that statements declare.
fn sets(body: &[Stmt], out: &mut Vec<Reg>) {
    for s in body {
        match s {
            Stmt::Let(r, ..) | Stmt::Var(r, _) | Stmt::Arrive(r, ..) | Stmt::Pack(r, _) => out.push(*r),
            Stmt::Count { old: r, .. } | Stmt::For(r, ..) | Stmt::Seq(r, ..) => out.push(*r),
            Stmt::Ticket(r, _) | Stmt::Await(r, ..) => out.push(*r),
            Stmt::LoadVec(regs, ..) | Stmt::LoadMatrices { regs, .. } => out.extend(regs),
            _ => {}
        }
        s.blocks().into_iter().for_each(|b| sets(b, out));
    }
}

#[cfg(test)]
mod tests {
    use super::Renaming;
    use crate::kernel::{Kernel, Reg, Stmt, parse, verify};

    /// Makes a kernel whose `main` is `before`, `body`, and `body` again with `%i` replaced by
    /// `%j`. Returns the lines of the second copy.
    fn second(before: &str, body: &str) -> Vec<String> {
        let before = format!("let %i: i64 = cast i64(thread) let %j: i64 = add(%i, 128i64) {before}");
        let text = format!(
            "kernel @k {{ threads 128 read x_a: f32 aligned write r_a: f32 main {{ {before} {body} }} }}"
        );
        let mut k = parse::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}")).remove(0);
        let count =
            parse::parse(&text.replace(body, "")).expect("a kernel").remove(0).main.map_or(0, |m| m.len());
        let mut main = k.main.take().unwrap_or_default();
        let first: Vec<Stmt> = main[count..].to_vec();
        let mut renaming = Renaming::default();
        renaming.set(&mut k, &first);
        renaming.replace(named(&k, "i"), named(&k, "j"));
        main.extend(renaming.block(&first));
        k.main = Some(main);
        verify::verify(&k).expect("registers are defined once");
        let both = k.to_string();
        let lines = both.split("add(%i, 128i64)").nth(1).unwrap_or_default().lines();
        let lines: Vec<&str> = lines.map(str::trim).filter(|l| !l.is_empty() && *l != "}").collect();
        let own = before.matches("var ").count();
        lines[own + (lines.len() - own) / 2..].iter().map(|l| l.to_string()).collect()
    }

    fn named(k: &Kernel, name: &str) -> Reg {
        Reg(k.regs.iter().position(|r| r.0 == *name).expect("the register") as u32)
    }

    #[test]
    fn what_a_body_declares_is_its_own() {
        let found = second(
            "",
            "load %a0: f32, %b1: f32 = x_a[mul(%i, 2i64)] let %c2: f32 = add(%a0, %b1) r_a[%i] = %c2",
        );
        let expected =
            ["load %a5: f32, %b6: f32 = x_a[mul(%j, 2i64)]", "let %c7: f32 = add(%a5, %b6)", "r_a[%j] = %c7"];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_it_reads_or_assigns_only_stays() {
        let found = second("var %sum0: f32 = 0f32", "%sum0 = add(%sum0, x_a[%i])");
        assert_eq!(found, ["%sum0 = add(%sum0, x_a[%j])"]);
    }

    /// Registers that inner blocks declare are renamed, too: here a loop's index, and a variable that is assigned in
    /// a loop further inside.
    #[test]
    fn blocks_inside() {
        let body = "seq %k0 = 0i64 to 4i64 { var %v1: f32 = 0f32 while lt(%v1, 3f32) { %v1 = add(%v1, x_a[add(%i, %k0)]) } }";
        let expected = [
            "seq %k4 = 0i64 to 4i64 {",
            "var %v5: f32 = 0f32",
            "while lt(%v5, 3f32) {",
            "%v5 = add(%v5, x_a[add(%j, %k4)])",
        ];
        assert_eq!(second("", body), expected);
    }
}
