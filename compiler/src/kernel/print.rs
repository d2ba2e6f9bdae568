//! The text form of kernels (`docs/ir.md`).

use super::{COPY_BYTES, Expr, Kernel, Mem, Stmt};
use crate::text::quote;
use std::fmt::{self, Display, Formatter};

impl Display for Kernel {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "kernel @{} {{", self.name)?;
        if self.threads > 0 {
            let narrow = if self.narrow { " narrow" } else { "" };
            let blocks = if self.min_resident_blocks > 0 {
                format!(" blocks {}", self.min_resident_blocks)
            } else {
                String::new()
            };
            let cluster = if self.cluster > 0 { format!(" cluster {}", self.cluster) } else { String::new() };
            let steps = if self.is_multi_step { " steps" } else { "" };
            let guarded = if self.is_guarded { " guarded" } else { "" };
            let fetch = if self.fetch > 0 { format!(" fetch {}", self.fetch) } else { String::new() };
            writeln!(f, "  threads {}{blocks}{cluster}{narrow}{steps}{guarded}{fetch}", self.threads)?;
        }
        for a in &self.arrays {
            let strided = if a.strided { " strided" } else { "" };
            let noalias = if a.noalias { " noalias" } else { "" };
            let aligned = if a.aligned { " aligned" } else { "" };
            writeln!(
                f,
                "  {} {}: {}{strided}{noalias}{aligned}",
                if a.write { "write" } else { "read" },
                a.name,
                a.ty
            )?;
        }
        for (name, ty) in &self.ins {
            writeln!(f, "  in {name}: {ty}")?;
        }
        for s in &self.slots {
            writeln!(f, "  slot {} {}: {}", if s.write { "write" } else { "read" }, s.name, s.ty)?;
        }
        for (name, ty) in &self.scratch {
            writeln!(f, "  scratch {name}: {ty}")?;
        }
        for (name, ty, len) in &self.shared {
            writeln!(f, "  shared {name}: {ty}[{len}]")?;
        }
        for (i, s) in self.sites.iter().enumerate() {
            writeln!(f, "  site {i} {}", quote(s))?;
        }
        for (name, part) in [("main", &self.main), ("finish", &self.finish)] {
            if let Some(body) = part {
                writeln!(f, "  {name} {{")?;
                block(f, self, body, 2)?;
                writeln!(f, "  }}")?;
            }
        }
        writeln!(f, "}}")
    }
}

/// Returns the first line of a statement, for reports.
pub fn head(k: &Kernel, s: &Stmt) -> String {
    struct Text<'a>(&'a Kernel, &'a Stmt);
    impl Display for Text<'_> {
        fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
            block(f, self.0, std::slice::from_ref(self.1), 0)
        }
    }
    Text(k, s).to_string().lines().next().unwrap_or_default().into()
}

fn block(f: &mut Formatter<'_>, k: &Kernel, body: &[Stmt], depth: usize) -> fmt::Result {
    let pad = "  ".repeat(depth);
    let reg = |r: &super::Reg| format!("%{}", k.regs[r.0 as usize].0);
    let ty = |r: &super::Reg| k.regs[r.0 as usize].1;
    let nested = |f: &mut Formatter<'_>, head: String, body: &[Stmt]| {
        writeln!(f, "{pad}{head} {{")?;
        block(f, k, body, depth + 1)?;
        write!(f, "{pad}}}")
    };
    for s in body {
        match s {
            Stmt::Let(r, e, loc) => {
                let loc = if loc.0.is_empty() { String::new() } else { format!(" {loc}") };
                writeln!(f, "{pad}let {}: {} = {}{loc}", reg(r), ty(r), expr(k, e))?;
            }
            Stmt::Local(l) => {
                let (name, ty, len) = &k.locals[*l as usize];
                writeln!(f, "{pad}local {name}: {ty}[{len}]")?;
            }
            Stmt::Var(r, e) => writeln!(f, "{pad}var {}: {} = {}", reg(r), ty(r), expr(k, e))?,
            Stmt::Assign(r, e) => writeln!(f, "{pad}{} = {}", reg(r), expr(k, e))?,
            Stmt::Store(m, i, e) => writeln!(f, "{pad}{}[{}] = {}", mem(k, *m), expr(k, i), expr(k, e))?,
            Stmt::Update(op, m, i, e) => {
                writeln!(f, "{pad}update {op} {}[{}] by {}", mem(k, *m), expr(k, i), expr(k, e))?;
            }
            Stmt::StoreSlot(i, e) => writeln!(f, "{pad}{} = {}", k.slots[*i as usize].name, expr(k, e))?,
            Stmt::For(r, a, b, body) | Stmt::Seq(r, a, b, body) => {
                let word = if matches!(s, Stmt::For(..)) { "for" } else { "seq" };
                nested(f, format!("{word} {} = {} to {}", reg(r), expr(k, a), expr(k, b)), body)?;
                writeln!(f)?;
            }
            Stmt::While(c, body) => {
                nested(f, format!("while {}", expr(k, c)), body)?;
                writeln!(f)?;
            }
            Stmt::If(c, a, b) => {
                nested(f, format!("if {}", expr(k, c)), a)?;
                if !b.is_empty() {
                    writeln!(f, " else {{")?;
                    block(f, k, b, depth + 1)?;
                    write!(f, "{pad}}}")?;
                }
                writeln!(f)?;
            }
            Stmt::Record(site, c, at) => {
                writeln!(f, "{pad}record {site} if {} at {}", expr(k, c), expr(k, at))?
            }
            Stmt::Prefetch { array, index, wide } => {
                let wide = if *wide { "wide " } else { "" };
                writeln!(f, "{pad}prefetch {wide}{}[{}]", mem(k, *array), expr(k, index))?;
            }
            Stmt::Note(text) => writeln!(f, "{pad}note {}", quote(text))?,
            Stmt::LoadVec(regs, m, i) => {
                let list: Vec<String> = regs.iter().map(|r| format!("{}: {}", reg(r), ty(r))).collect();
                writeln!(f, "{pad}load {} = {}[{}]", list.join(", "), mem(k, *m), expr(k, i))?;
            }
            Stmt::StoreVec(m, i, values) => {
                let list: Vec<String> = values.iter().map(|e| expr(k, e)).collect();
                writeln!(f, "{pad}store {}[{}] = {}", mem(k, *m), expr(k, i), list.join(", "))?;
            }
            Stmt::Barrier => writeln!(f, "{pad}barrier")?,
            Stmt::ClusterBarrier { relaxed } => {
                writeln!(f, "{pad}barrier cluster{}", if *relaxed { " relaxed" } else { "" })?;
            }
            Stmt::StoreTo(m, i, rank, e) => {
                let (index, rank) = (expr(k, i), expr(k, rank));
                writeln!(f, "{pad}{}[{index}] of {rank} = {}", mem(k, *m), expr(k, e))?;
            }
            Stmt::CopyAsync { bytes, to, at, from, index, given } => {
                let (at, index) = (expr(k, at), expr(k, index));
                let size = if *bytes as usize == COPY_BYTES { "" } else { "element " };
                write!(f, "{pad}copy {size}{}[{at}] = {}[{index}]", mem(k, *to), mem(k, *from))?;
                match given {
                    Some(given) => writeln!(f, " if {}", expr(k, given))?,
                    None => writeln!(f)?,
                }
            }
            Stmt::Pack(r, values) => {
                let list: Vec<String> = values.iter().map(|e| expr(k, e)).collect();
                writeln!(f, "{pad}pack {} = {}", reg(r), list.join(", "))?;
            }
            Stmt::Count { old, at, index, bits } => {
                let (at, index) = (mem(k, *at), expr(k, index));
                writeln!(f, "{pad}count {} = {at}[{index}] bits {bits}", reg(old))?;
            }
            Stmt::CopyGroup => writeln!(f, "{pad}copy_group")?,
            Stmt::CopyWait(n) => writeln!(f, "{pad}copy_wait {n}")?,
            Stmt::LoadMatrices { regs, from, index, transposed } => {
                let list: Vec<String> = regs.iter().map(|r| format!("{}: {}", reg(r), ty(r))).collect();
                let (list, transposed) = (list.join(", "), if *transposed { " transposed" } else { "" });
                writeln!(f, "{pad}load_matrices {list} = {}[{}]{transposed}", mem(k, *from), expr(k, index))?;
            }
            Stmt::MultiplyMatrices { ty, sums, rows, columns } => {
                let list = |list: &[Expr]| list.iter().map(|e| expr(k, e)).collect::<Vec<_>>().join(", ");
                let sums: Vec<String> = sums.iter().map(reg).collect();
                let (rows, columns) = (list(rows), list(columns));
                writeln!(f, "{pad}multiply_matrices {ty} {} by {rows} and {columns}", sums.join(", "))?;
            }
            Stmt::MultiplyStaged { ty, sums, from, rows, columns, across } => {
                let sums: Vec<String> = sums.iter().map(reg).collect();
                let (m, across) = (mem(k, *from), if *across { " across" } else { "" });
                let (sums, rows, columns) = (sums.join(", "), expr(k, rows), expr(k, columns));
                writeln!(f, "{pad}multiply_staged {ty} {sums} by {m}[{rows}] and {m}[{columns}]{across}")?;
            }
            Stmt::MultiplyWait(n) => writeln!(f, "{pad}multiply_wait {n}")?,
            Stmt::Ticket(r, at) => writeln!(f, "{pad}ticket {} = {}", reg(r), expr(k, at))?,
            Stmt::Publish(at, value) => writeln!(f, "{pad}publish {} = {}", expr(k, at), expr(k, value))?,
            Stmt::Await(to, at, given) => {
                let (at, given) = (expr(k, at), expr(k, given));
                writeln!(f, "{pad}await {}: {} = {at} if {given}", reg(to), ty(to))?;
            }
            Stmt::Clear(at) => writeln!(f, "{pad}clear {}", expr(k, at))?,
            Stmt::Arrive(r, at, count) => {
                writeln!(f, "{pad}arrive {} = {} of {}", reg(r), expr(k, at), expr(k, count))?;
            }
        }
    }
    Ok(())
}

fn mem(k: &Kernel, m: Mem) -> &str {
    k.mem(m).0
}

fn expr(k: &Kernel, e: &Expr) -> String {
    let x = |e: &Expr| expr(k, e);
    match e {
        Expr::Lit(l) => l.to_string(),
        Expr::Reg(r) => format!("%{}", k.regs[r.0 as usize].0),
        Expr::In(i) => k.ins[*i as usize].0.clone(),
        Expr::Slot(i) => k.slots[*i as usize].name.clone(),
        Expr::Load(m, i) => format!("{}[{}]", mem(k, *m), x(i)),
        Expr::LoadIf(m, i, c) => format!("load_if({}[{}], {})", mem(k, *m), x(i), x(c)),
        Expr::Unary(op, a) => format!("{op}({})", x(a)),
        Expr::Binary(op, a, b) => format!("{op}({}, {})", x(a), x(b)),
        Expr::MulAdd(a, b, c) => format!("mul_add({}, {}, {})", x(a), x(b), x(c)),
        Expr::Select(a, b, c) => format!("select({}, {}, {})", x(a), x(b), x(c)),
        Expr::Cast(ty, a) => format!("cast {ty}({})", x(a)),
        Expr::TileBegin => "tile_begin".into(),
        Expr::TileEnd => "tile_end".into(),
        Expr::Place(g) => g.name().into(),
        Expr::ShuffleDown(a, by) => format!("shuffle_down {by}({})", x(a)),
        Expr::ShuffleUp(a, by) => format!("shuffle_up {by}({})", x(a)),
        Expr::ShuffleXor(a, by) => format!("shuffle_xor {by}({})", x(a)),
        Expr::Broadcast(a) => format!("broadcast({})", x(a)),
    }
}
