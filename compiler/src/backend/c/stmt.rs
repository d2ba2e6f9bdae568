//! Prints statements and functions as C.

use super::expr::{atom, ctype, expr, index, memtype};
use crate::kernel::{Expr, Kernel, Stmt};
use std::fmt::Write;

/// Returns one part of a kernel as the body of a C function, which declares only what it uses.
pub fn body(k: &Kernel, body: &[Stmt]) -> String {
    let mut text = String::new();
    let mut p = Printer { k, out: &mut text, line: String::new() };
    p.block(body, 1);
    let sites = sites(body);
    let mut out = String::from("{\n");
    for (i, a) in k.arrays.iter().enumerate().filter(|(_, a)| uses(&text, &a.name)) {
        let constant = if a.write { "" } else { "const " };
        let restrict = if a.noalias { "restrict " } else { "" };
        let _ = writeln!(out, "\t{constant}{} *{restrict}{} = args->arrays[{i}];", memtype(a.ty), a.name);
        if a.strided {
            let _ = writeln!(out, "\tconst int64_t stride_of_{} = args->strides[{i}];", a.name);
        }
    }
    for (i, (name, ty)) in k.ins.iter().enumerate().filter(|(_, s)| uses(&text, &s.0)) {
        let _ = writeln!(out, "\tconst {} {name} = agpu_scalar_{ty}(args, {i});", ctype(*ty));
    }
    for (i, s) in k.slots.iter().enumerate().filter(|(_, s)| uses(&text, &s.name)) {
        let constant = if s.write { "" } else { "const " };
        let _ = writeln!(out, "\t{constant}{} *{} = args->slots[{i}];", memtype(s.ty), s.name);
    }
    for (i, (name, ty)) in k.scratch.iter().enumerate().filter(|(_, s)| uses(&text, &s.0)) {
        let _ = writeln!(out, "\t{} *{name} = args->scratch[{i}];", memtype(*ty));
    }
    for i in &sites {
        let _ = writeln!(out, "\tint64_t record{i} = INT64_MAX; /* {} */", comment(&k.sites[*i as usize]));
    }
    for bound in ["tile_begin", "tile_end"] {
        if !uses(&text, bound) {
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

/// Whether an identifier occurs in a text as a whole word.
fn uses(text: &str, name: &str) -> bool {
    let boundary = |c: Option<char>| !c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(name).any(|(i, _)| {
        boundary(text[..i].chars().next_back()) && boundary(text[i + name.len()..].chars().next())
    })
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
    line: String,
}

impl Printer<'_> {
    fn block(&mut self, body: &[Stmt], depth: usize) {
        for s in body {
            self.stmt(s, depth);
        }
    }

    fn stmt(&mut self, s: &Stmt, depth: usize) {
        let pad = "\t".repeat(depth);
        let k = self.k;
        let e = |e: &Expr| expr(k, e);
        let reg = |r: &crate::kernel::Reg| (&k.regs[r.0 as usize].0, ctype(k.regs[r.0 as usize].1));
        let line = match s {
            Stmt::Let(r, v, loc) => {
                let place = loc.first().map(|l| l.short()).unwrap_or_default();
                let note = if place.is_empty() || place == self.line {
                    String::new()
                } else {
                    format!(" /* {} */", comment(&place))
                };
                if !place.is_empty() {
                    self.line = place;
                }
                format!("const {} {} = {};{note}", reg(r).1, reg(r).0, e(v))
            }
            Stmt::Local(l) => {
                let (name, ty, len) = &k.locals[*l as usize];
                format!("{} {name}[{len}];", memtype(*ty))
            }
            Stmt::Var(r, v) => format!("{} {} = {};", reg(r).1, reg(r).0, e(v)),
            Stmt::Assign(r, v) => format!("{} = {};", reg(r).0, e(v)),
            Stmt::Store(m, i, v) => format!("{}[{}] = {};", k.mem(*m).0, index(k, *m, i), e(v)),
            Stmt::StoreSlot(i, v) => format!("{}[0] = {};", k.slots[*i as usize].name, e(v)),
            Stmt::Record(site, c, at) => {
                let at = atom(k, at);
                format!("record{site} = ({} && {at} < record{site}) ? {at} : record{site};", atom(k, c))
            }
            Stmt::Prefetch { array, index: i, wide } => {
                let wide = if *wide { "_WIDE" } else { "" };
                format!("AGPU_PREFETCH{wide}(&{}[{}]);", k.mem(*array).0, index(k, *array, i))
            }
            Stmt::Note(text) => format!("/* {} */", comment(text)),
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
            | Stmt::Arrive(..) => unreachable!("verified: a CPU kernel"),
            Stmt::For(r, lo, hi, body) | Stmt::Seq(r, lo, hi, body) => {
                if matches!(s, Stmt::For(..)) && !body.iter().any(Stmt::has_loop) {
                    // The IR promises that iterations are independent.
                    let _ = writeln!(self.out, "#pragma GCC ivdep");
                }
                let i = reg(r).0;
                let _ =
                    writeln!(self.out, "{pad}for (int64_t {i} = {}; {i} < {}; {i}++) {{", e(lo), atom(k, hi));
                self.block(body, depth + 1);
                "}".into()
            }
            Stmt::While(c, body) => {
                let _ = writeln!(self.out, "{pad}while ({}) {{", e(c));
                self.block(body, depth + 1);
                "}".into()
            }
            Stmt::If(c, a, b) => {
                let _ = writeln!(self.out, "{pad}if ({}) {{", e(c));
                self.block(a, depth + 1);
                if !b.is_empty() {
                    let _ = writeln!(self.out, "{pad}}} else {{");
                    self.block(b, depth + 1);
                }
                "}".into()
            }
        };
        let _ = writeln!(self.out, "{pad}{line}");
    }
}
