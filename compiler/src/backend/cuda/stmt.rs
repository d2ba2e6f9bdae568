//! Prints statements as CUDA C++.

use super::expr;
use super::types::{ctype, memtype};
use crate::kernel::{Expr, Kernel, Reg, Stmt, parts};
use crate::loc::Loc;
use std::fmt::Write;

/// Prints statements at the end of a text.
pub struct Printer<'a> {
    k: &'a Kernel,
    out: &'a mut String,
    /// Whether the value of each register changes.
    vars: Vec<bool>,
    /// The author's source line that the last comment named.
    line: Option<&'a Loc>,
}

/// Text that cannot end a comment of one line or go on in the next one.
fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || c == '\\' { '?' } else { c }).collect()
}

impl<'a> Printer<'a> {
    pub fn new(k: &'a Kernel, out: &'a mut String) -> Printer<'a> {
        let mut vars = vec![false; k.regs.len()];
        parts::find_variables(k.main.as_deref().unwrap_or_default(), &mut vars);
        Printer { k, out, vars, line: None }
    }

    pub fn block(&mut self, body: &'a [Stmt], depth: usize) {
        for s in body {
            self.out.extend(std::iter::repeat_n('\t', depth));
            self.stmt(s, depth);
            self.out.push('\n');
        }
    }

    fn stmt(&mut self, s: &'a Stmt, depth: usize) {
        let (k, pad) = (self.k, "\t".repeat(depth));
        match s {
            Stmt::Let(r, v, loc) => {
                self.out.push_str("const ");
                self.declared(*r, v);
                self.place(loc.first());
            }
            Stmt::Var(r, v) => self.declared(*r, v),
            Stmt::Assign(r, v) => {
                let _ = write!(self.out, "{} = ", k.regs[r.0 as usize].0);
                self.expr(v, ";");
            }
            Stmt::Local(l) => {
                let (name, ty, len) = &k.locals[*l as usize];
                let _ = write!(self.out, "__align__(16) {} {name}[{len}];", memtype(*ty));
            }
            Stmt::Store(m, i, v) => self.exprs().store(*m, i, v),
            Stmt::Update(op, m, i, v) => self.exprs().update(*op, *m, i, v),
            Stmt::StoreSlot(i, v) => {
                let _ = write!(self.out, "*{} = ", k.slots[*i as usize].name);
                self.expr(v, ";");
            }
            Stmt::LoadVec(regs, m, i) => self.exprs().load_vec(regs, *m, i, &pad),
            Stmt::StoreVec(m, i, values) => self.exprs().store_vec(*m, i, values),
            Stmt::Note(text) => {
                let _ = write!(self.out, "// {}", comment(text));
            }
            Stmt::Seq(r, from, to, body) => self.seq(*r, from, to, body, depth),
            Stmt::While(c, body) => {
                self.out.push_str("while (");
                self.expr(c, ") {\n");
                self.end(body, depth);
            }
            Stmt::If(c, then, otherwise) => {
                self.out.push_str("if (");
                self.expr(c, ") {\n");
                self.end(then, depth);
                if !otherwise.is_empty() {
                    self.out.push_str(" else {\n");
                    self.end(otherwise, depth);
                }
            }
            Stmt::For(..) => unreachable!("verified: a GPU kernel"),
            s => self.of_device(s, &pad),
        }
    }

    /// Prints a statement that only GPUs have.
    fn of_device(&mut self, s: &'a Stmt, pad: &str) {
        let k = self.k;
        match s {
            Stmt::Record(site, c, at) => {
                self.out.push_str("if (");
                self.expr(c, ")");
                let _ = write!(
                    self.out,
                    " // {}\n{pad}\tagpu_record(&records[{site}], ",
                    comment(&k.sites[*site as usize])
                );
                self.expr(at, ");");
            }
            Stmt::Arrive(r, at, total) => {
                let _ = write!(self.out, "const bool {} = agpu_arrive(&counters[", k.regs[r.0 as usize].0);
                self.expr(at, "], (unsigned)");
                self.exprs().atom(total);
                self.out.push_str(");");
            }
            Stmt::Ticket(r, at) => {
                let _ = write!(self.out, "const int {} = agpu_ticket(&counters[", k.regs[r.0 as usize].0);
                self.expr(at, "]);");
            }
            Stmt::Publish(at, value) => {
                self.out.push_str("agpu_publish(&counters[");
                self.expr(at, "], ");
                self.expr(value, ");");
            }
            Stmt::Await(to, at, given) => {
                let (name, ty) = &k.regs[to.0 as usize];
                let ty = ctype(*ty);
                let _ = write!(self.out, "const {ty} {name} = agpu_await<{ty}>(&counters[");
                self.expr(at, "], ");
                self.expr(given, ");");
            }
            Stmt::Clear(at) => {
                self.out.push_str("*(uint4 *)&counters[");
                self.expr(at, "] = uint4{};");
            }
            Stmt::Count { old, at, index, bits } => {
                let name = &k.regs[old.0 as usize].0;
                let _ = write!(self.out, "const unsigned {name} = agpu_count<{bits}>(&");
                self.exprs().element(*at, index);
                self.out.push_str(", ");
                self.expr(index, ");");
            }
            Stmt::Barrier => self.out.push_str("__syncthreads();"),
            Stmt::ClusterBarrier { relaxed } => {
                let order = if *relaxed { "_relaxed" } else { "" };
                let _ =
                    write!(self.out, "__cluster_barrier_arrive{order}();\n{pad}__cluster_barrier_wait();");
            }
            Stmt::StoreTo(m, i, rank, e) => {
                let ty = memtype(k.mem(*m).1);
                let _ = write!(self.out, "*({ty} *)__cluster_map_shared_rank(&");
                self.exprs().element(*m, i);
                self.out.push_str(", ");
                self.expr(rank, ") = ");
                self.expr(e, ";");
            }
            Stmt::CopyAsync { bytes, to, at, from, index, given } => {
                self.out.push_str("__pipeline_memcpy_async(&");
                self.exprs().element(*to, at);
                self.out.push_str(", &");
                self.exprs().element(*from, index);
                let _ = write!(self.out, ", {bytes}");
                if let Some(given) = given {
                    self.out.push_str(", (");
                    self.expr(given, "");
                    let _ = write!(self.out, ") ? 0 : {bytes}");
                }
                self.out.push_str(");");
            }
            Stmt::CopyGroup => self.out.push_str("__pipeline_commit();"),
            Stmt::CopyWait(n) => {
                let _ = write!(self.out, "__pipeline_wait_prior({n});");
                if k.multiplies_staged() {
                    let _ = write!(
                        self.out,
                        "\n{pad}asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");"
                    );
                }
            }
            Stmt::Prefetch { array, index, .. } => {
                self.out.push_str("agpu_prefetch(&");
                self.exprs().element(*array, index);
                self.out.push_str(");");
            }
            Stmt::Pack(r, values) => self.exprs().pack(*r, values),
            Stmt::LoadMatrices { regs, from, index, transposed } => {
                self.exprs().load_matrices(regs, *from, index, *transposed, pad);
            }
            Stmt::MultiplyMatrices { ty, sums, rows, columns } => {
                self.exprs().multiply_matrices(*ty, sums, rows, columns);
            }
            Stmt::MultiplyStaged { ty, sums, from, rows, columns, across } => {
                self.exprs().multiply_staged(*ty, sums, (*from, rows, columns), *across, pad);
            }
            Stmt::MultiplyWait(n) => {
                let _ =
                    write!(self.out, "asm volatile(\"wgmma.wait_group.sync.aligned {n};\" ::: \"memory\");");
            }
            s => unreachable!("{s:?} is for all targets"),
        }
    }

    /// Prints a loop. A bound that may change keeps the value that it had before the loop.
    fn seq(&mut self, r: Reg, from: &Expr, to: &Expr, body: &'a [Stmt], depth: usize) {
        let (i, ty) = (&self.k.regs[r.0 as usize].0, ctype(self.k.regs[r.0 as usize].1));
        let is_fixed = match to {
            Expr::Reg(r) => !self.vars[r.0 as usize],
            Expr::Lit(_) | Expr::In(_) | Expr::Place(_) => true,
            _ => false,
        };
        let _ = write!(self.out, "for ({ty} {i} = ");
        if is_fixed {
            self.expr(from, "");
            let _ = write!(self.out, "; {i} < ");
            self.exprs().atom(to);
        } else {
            self.expr(from, "");
            let _ = write!(self.out, ", {i}_end = ");
            self.expr(to, "");
            let _ = write!(self.out, "; {i} < {i}_end");
        }
        let _ = writeln!(self.out, "; {i}++) {{");
        self.end(body, depth);
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
        let _ = write!(self.out, "{} {name} = ", ctype(*ty));
        self.expr(value, ";");
    }

    /// Prints a comment with the author's source line, if the last one named another line.
    fn place(&mut self, loc: Option<&'a Loc>) {
        let Some(loc) = loc.filter(|loc| !self.line.is_some_and(|line| line.is_short_as(loc))) else {
            return;
        };
        let _ = write!(self.out, " // {}", comment(&loc.short()));
        self.line = Some(loc);
    }

    /// Prints a block and the brace that ends it.
    fn end(&mut self, body: &'a [Stmt], depth: usize) {
        self.block(body, depth + 1);
        self.out.extend(std::iter::repeat_n('\t', depth));
        self.out.push('}');
    }
}
