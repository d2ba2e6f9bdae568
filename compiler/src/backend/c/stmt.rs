//! Prints statements and functions as C.

use super::expr::{self, ctype, memtype};
use crate::kernel::{Expr, Kernel, Reg, Stmt};
use crate::loc::Loc;
use rustc_hash::FxHashSet as HashSet;
use std::fmt::Write;

/// Returns one part of a kernel as the body of a C function, which declares only what it uses.
pub fn body(k: &Kernel, body: &[Stmt]) -> String {
    let mut text = String::new();
    let mut p = Printer { k, out: &mut text, line: None };
    p.block(body, 1);
    let (sites, words) = (sites(body), words(&text));
    let uses = |name: &str| words.contains(name);
    let mut out = String::from("{\n");
    for (i, a) in k.arrays.iter().enumerate().filter(|(_, a)| uses(&a.name)) {
        let constant = if a.write { "" } else { "const " };
        let restrict = if a.noalias { "restrict " } else { "" };
        let _ = writeln!(out, "\t{constant}{} *{restrict}{} = args->arrays[{i}];", memtype(a.ty), a.name);
        if a.strided {
            let _ = writeln!(out, "\tconst int64_t stride_of_{} = args->strides[{i}];", a.name);
        }
    }
    for (i, (name, ty)) in k.ins.iter().enumerate().filter(|(_, s)| uses(&s.0)) {
        let _ = writeln!(out, "\tconst {} {name} = agpu_scalar_{ty}(args, {i});", ctype(*ty));
    }
    for (i, s) in k.slots.iter().enumerate().filter(|(_, s)| uses(&s.name)) {
        let constant = if s.write { "" } else { "const " };
        let _ = writeln!(out, "\t{constant}{} *{} = args->slots[{i}];", memtype(s.ty), s.name);
    }
    for (i, (name, ty)) in k.scratch.iter().enumerate().filter(|(_, s)| uses(&s.0)) {
        let _ = writeln!(out, "\t{} *{name} = args->scratch[{i}];", memtype(*ty));
    }
    for i in &sites {
        let _ = writeln!(out, "\tint64_t record{i} = INT64_MAX; /* {} */", comment(&k.sites[*i as usize]));
    }
    for bound in ["tile_begin", "tile_end"] {
        if !uses(bound) {
            let _ = writeln!(out, "\t(void){bound};");
        }
    }
    if !out.contains("args->") && sites.is_empty() {
        out.push_str("\t(void)args;\n");
    }
    out.push_str(&text);
    for i in &sites {
        let _ = writeln!(out, "\tagpu_record(&args->records[{i}], record{i});");
    }
    out.push_str("}\n");
    out
}

/// Returns the identifiers and numbers of a text.
fn words(text: &str) -> HashSet<&str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').collect()
}

/// Returns the sites that a body may record, in ascending order.
fn sites(body: &[Stmt]) -> Vec<u32> {
    let mut out: Vec<u32> = Vec::new();
    for s in body {
        match s {
            Stmt::Record(i, ..) => out.push(*i),
            Stmt::For(.., b) | Stmt::Seq(.., b) | Stmt::While(_, b) => out.extend(sites(b)),
            Stmt::If(_, a, b) => out.extend(sites(a).into_iter().chain(sites(b))),
            _ => {}
        }
    }
    out.sort_unstable();
    out.dedup();
    out
}

fn comment(text: &str) -> String {
    text.replace("*/", "* /")
}

struct Printer<'a> {
    k: &'a Kernel,
    out: &'a mut String,
    /// The author's source line that the last comment named.
    line: Option<&'a Loc>,
}

impl<'a> Printer<'a> {
    fn block(&mut self, body: &'a [Stmt], depth: usize) {
        for s in body {
            self.stmt(s, depth);
        }
    }

    fn stmt(&mut self, s: &'a Stmt, depth: usize) {
        if let Stmt::For(.., body) = s
            && !body.iter().any(Stmt::has_loop)
        {
            // The IR promises that iterations are independent.
            self.out.push_str("#pragma GCC ivdep\n");
        }
        self.pad(depth);
        let k = self.k;
        match s {
            Stmt::Let(r, v, loc) => {
                self.out.push_str("const ");
                self.declared(*r, v);
                self.place(loc.first());
            }
            Stmt::Local(l) => {
                let (name, ty, len) = &k.locals[*l as usize];
                let _ = write!(self.out, "{} {name}[{len}];", memtype(*ty));
            }
            Stmt::Var(r, v) => self.declared(*r, v),
            Stmt::Assign(r, v) => {
                let _ = k.regs[r.0 as usize].0.write(self.out);
                self.out.push_str(" = ");
                self.expr(v, ";");
            }
            Stmt::Store(m, i, v) => {
                let _ = write!(self.out, "{}[", k.mem(*m).0);
                self.exprs().index(*m, i);
                self.out.push_str("] = ");
                self.expr(v, ";");
            }
            Stmt::Update(op, m, i, v) => {
                let _ = write!(self.out, "{}[", k.mem(*m).0);
                self.exprs().index(*m, i);
                self.out.push_str("] = ");
                let before = Expr::load(*m, i.clone());
                self.expr(&Expr::binary(*op, before, v.clone()), ";");
            }
            Stmt::StoreSlot(i, v) => {
                let _ = write!(self.out, "{}[0] = ", k.slots[*i as usize].name);
                self.expr(v, ";");
            }
            Stmt::Record(site, c, at) => {
                let mut text = String::new();
                expr::Printer { k, out: &mut text }.atom(at);
                let _ = write!(self.out, "record{site} = (");
                self.exprs().atom(c);
                let _ = write!(self.out, " && {text} < record{site}) ? {text} : record{site};");
            }
            Stmt::Prefetch { array, index, wide } => {
                let wide = if *wide { "_WIDE" } else { "" };
                let _ = write!(self.out, "AGPU_PREFETCH{wide}(&{}[", k.mem(*array).0);
                self.exprs().index(*array, index);
                self.out.push_str("]);");
            }
            Stmt::Note(text) => {
                let _ = write!(self.out, "/* {} */", comment(text));
            }
            Stmt::LoadVec(..)
            | Stmt::StoreVec(..)
            | Stmt::StoreTo(..)
            | Stmt::Barrier
            | Stmt::ClusterBarrier { .. }
            | Stmt::CopyAsync { .. }
            | Stmt::CopyGroup
            | Stmt::Pack(..)
            | Stmt::CopyWait(_)
            | Stmt::LoadMatrices { .. }
            | Stmt::MultiplyMatrices { .. }
            | Stmt::MultiplyStaged { .. }
            | Stmt::MultiplyWait(_)
            | Stmt::Count { .. }
            | Stmt::Ticket(..)
            | Stmt::Publish(..)
            | Stmt::Await(..)
            | Stmt::Clear(_)
            | Stmt::Arrive(..) => unreachable!("verified: a CPU kernel"),
            Stmt::For(r, lo, hi, body) | Stmt::Seq(r, lo, hi, body) => {
                let i = &k.regs[r.0 as usize].0;
                let _ = write!(self.out, "for (int64_t {i} = ");
                self.expr(lo, "; ");
                let _ = write!(self.out, "{i} < ");
                self.exprs().atom(hi);
                let _ = writeln!(self.out, "; {i}++) {{");
                self.end(body, depth);
            }
            Stmt::While(c, body) => {
                self.out.push_str("while (");
                self.expr(c, ") {\n");
                self.end(body, depth);
            }
            Stmt::If(c, a, b) => {
                self.out.push_str("if (");
                self.expr(c, ") {\n");
                if !b.is_empty() {
                    self.end(a, depth);
                    self.out.push_str(" else {\n");
                }
                self.end(if b.is_empty() { a } else { b }, depth);
            }
        }
        self.out.push('\n');
    }

    fn exprs(&mut self) -> expr::Printer<'_> {
        expr::Printer { k: self.k, out: self.out }
    }

    /// Prints an expression and what stands behind it.
    fn expr(&mut self, e: &Expr, behind: &str) {
        self.exprs().expr(e);
        self.out.push_str(behind);
    }

    /// Prints the declaration of a register.
    fn declared(&mut self, r: Reg, value: &Expr) {
        let (name, ty) = &self.k.regs[r.0 as usize];
        self.out.push_str(ctype(*ty));
        self.out.push(' ');
        let _ = name.write(self.out);
        self.out.push_str(" = ");
        self.expr(value, ";");
    }

    /// Prints a comment with the author's source line, if the last one named another line.
    fn place(&mut self, loc: Option<&'a Loc>) {
        let Some(loc) = loc.filter(|loc| !self.line.is_some_and(|line| line.is_short_as(loc))) else {
            return;
        };
        let _ = write!(self.out, " /* {} */", comment(&loc.short()));
        self.line = Some(loc);
    }

    /// Prints a block and the brace that ends it.
    fn end(&mut self, body: &'a [Stmt], depth: usize) {
        self.block(body, depth + 1);
        self.pad(depth);
        self.out.push('}');
    }

    fn pad(&mut self, depth: usize) {
        self.out.extend(std::iter::repeat_n('\t', depth));
    }
}
