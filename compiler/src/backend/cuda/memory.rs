//! Prints accesses: elements, neighbours in one access, copies, and operands of tensor cores.

use super::expr::Printer;
use super::types::{ctype, is_read_only, memtype};
use crate::backend::matrices::{depth_and_type, directions};
use crate::kernel::index::split;
use crate::kernel::{Expr, Mem, Reg};
use crate::scalar::{BinaryOp, Ty};
use std::fmt::Write;

/// The words of an access to neighbours: their type, their number, and how many elements each has.
struct Words {
    ty: Ty,
    count: usize,
    each: usize,
}

impl Words {
    fn of(ty: Ty, elements: usize) -> Words {
        let each = (4 / ty.size()).clamp(1, elements);
        let word = match (each, each * ty.size()) {
            (1, 4..) => ty,
            (_, 2) => Ty::U16,
            _ => Ty::U32,
        };
        Words { ty: word, count: elements / each, each }
    }

    /// The type of CUDA C++ for all words.
    fn name(&self) -> String {
        let name = match self.ty {
            Ty::I64 => "longlong",
            Ty::U64 => "ulonglong",
            Ty::U32 => "uint",
            ty => ctype(ty),
        };
        if self.count == 1 { ctype(self.ty).into() } else { format!("{name}{}", self.count) }
    }

    /// The letter of inline PTX for a register with a word, and its type in instructions.
    fn operand(&self) -> (&'static str, String) {
        let letter = match self.ty {
            Ty::F32 => "f",
            Ty::F64 => "d",
            ty if ty.size() == 8 => "l",
            Ty::U16 => "h",
            _ => "r",
        };
        let vector = if self.count == 1 { String::new() } else { format!(".v{}", self.count) };
        (letter, format!("{vector}.b{}", 8 * self.ty.size()))
    }

    /// The expression of a word of the value `name`.
    fn word(&self, name: &str, i: usize) -> String {
        if self.count == 1 { name.into() } else { format!("{name}.{}", ["x", "y", "z", "w"][i]) }
    }
}

/// The numbers of operands of inline PTX, from the first one on.
fn numbers(first: usize, count: usize) -> String {
    (first..first + count).map(|i| format!("%{i}")).collect::<Vec<_>>().join(", ")
}

impl Printer<'_> {
    /// Prints an element as a place.
    pub fn element(&mut self, m: Mem, index: &Expr) {
        let _ = write!(self.out, "{}[", self.k.mem(m).0);
        if let Mem::Array(a) = m
            && self.k.arrays[a as usize].strided
        {
            // indices and strides of 32 bits have a product of 64
            let cut = if self.k.ty(index) == Ty::I32 { "(int)" } else { "" };
            self.out.push_str(if cut.is_empty() { "" } else { "(int64_t)" });
            self.atom(index);
            let _ = write!(self.out, " * {cut}stride_of_{}]", self.k.arrays[a as usize].name);
            return;
        }
        // the launch guarantees that an index with such a constant does not overflow
        let (part, constant) = split(index);
        match (part, constant) {
            (None, c) => {
                let _ = write!(self.out, "{c}");
            }
            (Some(part), 0) => self.expr(&part),
            (Some(part), c) => {
                self.atom(&part);
                let _ = write!(self.out, " {} {}", if c < 0 { '-' } else { '+' }, c.unsigned_abs());
            }
        }
        self.out.push(']');
    }

    fn list(&mut self, values: &[Expr]) {
        for (i, e) in values.iter().enumerate() {
            self.out.push_str(if i == 0 { "" } else { ", " });
            self.expr(e);
        }
    }

    /// Prints a store. What an array gets is stored once, so it is marked to be evicted first from the caches.
    pub fn store(&mut self, m: Mem, index: &Expr, e: &Expr) {
        if let Mem::Array(_) = m {
            self.out.push_str("__stcs(&");
            self.element(m, index);
            self.out.push_str(", ");
            self.expr(e);
            return self.out.push_str(");");
        }
        self.element(m, index);
        self.out.push_str(" = ");
        self.expr(e);
        self.out.push(';');
    }

    /// Prints a join of a value to an element.
    pub fn update(&mut self, op: BinaryOp, m: Mem, index: &Expr, e: &Expr) {
        let ty = self.k.mem(m).1;
        let (name, is_signed) = match op {
            BinaryOp::Add => ("Add", false),
            BinaryOp::Min => ("Min", ty.is_signed()),
            BinaryOp::Max => ("Max", ty.is_signed()),
            BinaryOp::And => ("And", false),
            BinaryOp::Or => ("Or", false),
            _ => ("Xor", false),
        };
        let of = match (is_signed, ty.size()) {
            (_, 4) if ty.is_float() => "float",
            (_, _) if ty.is_float() => "double",
            (true, 4) => "int",
            (true, _) => "long long",
            (false, 4) => "unsigned",
            (false, _) => "unsigned long long",
        };
        let _ = write!(self.out, "atomic{name}(({of} *)&");
        self.element(m, index);
        let _ = write!(self.out, ", ({of})(");
        self.expr(e);
        self.out.push_str("));");
    }

    /// Prints a load of neighbours. With a hint how much of them comes into the cache it is inline PTX.
    pub fn load_vec(&mut self, regs: &[Reg], m: Mem, index: &Expr, pad: &str) {
        let (k, ty) = (self.k, self.k.mem(m).1);
        let words = Words::of(ty, regs.len());
        let (all, value) = (words.name(), format!("{}_v", k.regs[regs[0].0 as usize].0));
        if let (Mem::Array(_), 1..) = (m, k.fetch) {
            let (letter, access) = words.operand();
            // what no output overlaps may be read at any time
            let (volatile, path, clobber) = match is_read_only(k, m) {
                true => ("", ".nc", ""),
                false => (" volatile", "", " : \"memory\""),
            };
            let (list, at) = (numbers(0, words.count), words.count);
            let list = if words.count == 1 { list } else { format!("{{{list}}}") };
            let _ = write!(
                self.out,
                "{all} {value};\n{pad}asm{volatile}(\"ld.global{path}.L2::{}B{access} {list}, [%{at}];\" : ",
                k.fetch
            );
            let out: Vec<String> =
                (0..words.count).map(|i| format!("\"={letter}\"({})", words.word(&value, i))).collect();
            let _ = write!(self.out, "{} : \"l\"(&", out.join(", "));
            self.element(m, index);
            let _ = write!(self.out, "){clobber});");
        } else {
            let _ = write!(self.out, "const {all} {value} = ");
            self.out.push_str(if is_read_only(k, m) { "__ldg((const " } else { "*(const " });
            let _ = write!(self.out, "{all} *)&");
            self.element(m, index);
            self.out.push_str(if is_read_only(k, m) { ");" } else { ";" });
        }
        for (i, r) in regs.iter().enumerate() {
            let _ = match i % 4 {
                0 => write!(self.out, "\n{pad}const {} ", ctype(ty)),
                _ => write!(self.out, ", "),
            };
            let (word, shift) = (words.word(&value, i / words.each), 8 * ty.size() * (i % words.each));
            let part = match (words.each, shift) {
                (1, _) => word,
                (_, 0) => format!("({}){word}", memtype(ty)),
                _ => format!("({})({word} >> {shift})", memtype(ty)),
            };
            let nonzero = if ty == Ty::Bool { " != 0" } else { "" };
            let _ = write!(self.out, "{} = {part}{nonzero}", k.regs[r.0 as usize].0);
            self.out.push_str(if i % 4 == 3 || i + 1 == regs.len() { ";" } else { "" });
        }
    }

    /// Prints a store of neighbours.
    pub fn store_vec(&mut self, m: Mem, index: &Expr, values: &[Expr]) {
        let ty = self.k.mem(m).1;
        let words = Words::of(ty, values.len());
        let (all, is_array) = (words.name(), matches!(m, Mem::Array(_)));
        let _ = write!(self.out, "{}({all} *)&", if is_array { "__stcs(" } else { "*" });
        self.element(m, index);
        self.out.push_str(if is_array { ", " } else { " = " });
        if words.count > 1 {
            let _ = write!(self.out, "make_{all}(");
        }
        for (i, group) in values.chunks(words.each).enumerate() {
            self.out.push_str(if i == 0 { "" } else { ", " });
            match (group.len(), ty.size()) {
                (1, _) => self.expr(&group[0]),
                (2, 1) => {
                    self.out.push_str("(uint16_t)__byte_perm(");
                    self.list(group);
                    self.out.push_str(", 0x40)");
                }
                (count, _) => {
                    self.out.push_str(if count == 4 { "agpu_bytes(" } else { "agpu_halves(" });
                    self.list(group);
                    self.out.push(')');
                }
            }
        }
        self.out.push_str(if words.count > 1 { ")" } else { "" });
        self.out.push_str(if is_array { ");" } else { ";" });
    }

    /// Prints a word as tensor cores take it: two halves, or one f32 rounded to tf32.
    pub fn pack(&mut self, r: Reg, values: &[Expr]) {
        let name = if values.len() == 2 { "agpu_halves" } else { "agpu_tf32" };
        let _ = write!(self.out, "const unsigned {} = {name}(", self.k.regs[r.0 as usize].0);
        self.list(values);
        self.out.push_str(");");
    }

    pub fn load_matrices(&mut self, regs: &[Reg], from: Mem, index: &Expr, transposed: bool, pad: &str) {
        let names: Vec<String> = regs.iter().map(|r| self.k.regs[r.0 as usize].0.to_string()).collect();
        let transposed = if transposed { ".trans" } else { "" };
        let _ = write!(
            self.out,
            "unsigned {};\n{pad}asm volatile(\"ldmatrix.sync.aligned.m8n8.x4{transposed}.shared.b16 {{{}}}, [%{}];\" : ",
            names.join(", "),
            numbers(0, names.len()),
            names.len()
        );
        let out: Vec<String> = names.iter().map(|name| format!("\"=r\"({name})")).collect();
        let _ = write!(self.out, "{} : \"r\"((unsigned)__cvta_generic_to_shared(&", out.join(", "));
        self.element(from, index);
        self.out.push_str(")) : \"memory\");");
    }

    pub fn multiply_matrices(&mut self, ty: Ty, sums: &[Reg], rows: &[Expr], columns: &[Expr]) {
        let (depth, ty) = depth_and_type(ty);
        let n = [0, sums.len(), sums.len() + rows.len()];
        let (d, a, b) = (numbers(n[0], sums.len()), numbers(n[1], rows.len()), numbers(n[2], columns.len()));
        let _ = write!(
            self.out,
            "asm volatile(\"mma.sync.aligned.m16n8k{depth}.row.col.f32.{ty}.{ty}.f32 {{{d}}}, {{{a}}}, {{{b}}}, {{{d}}};\" : "
        );
        let out: Vec<String> =
            sums.iter().map(|r| format!("\"+f\"({})", self.k.regs[r.0 as usize].0)).collect();
        let _ = write!(self.out, "{} : ", out.join(", "));
        for (i, e) in rows.iter().chain(columns).enumerate() {
            self.out.push_str(if i == 0 { "\"r\"(" } else { ", \"r\"(" });
            self.expr(e);
            self.out.push(')');
        }
        self.out.push_str(");");
    }

    /// Prints the four instructions of a product of a warpgroup, each of 32 bytes of inner indices. The descriptors
    /// of the matrices are those of the PTX backend.
    pub fn multiply_staged(
        &mut self,
        ty: Ty,
        sums: &[Reg],
        (from, rows, columns): (Mem, &Expr, &Expr),
        across: bool,
        pad: &str,
    ) {
        let (directions, (depth, ty)) = (directions(ty, across), depth_and_type(ty));
        let (count, distances) = (sums.len(), if across { (512, 128) } else { (0, 2) });
        self.out.push_str("asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");");
        for part in 0..4 {
            let _ = write!(
                self.out,
                "\n{pad}asm volatile(\"wgmma.mma_async.sync.aligned.m64n{}k{depth}.f32.{ty}.{ty} {{{}}}, %{count}, %{}, 1, 1, 1{directions};\" : ",
                2 * count,
                numbers(0, count),
                count + 1
            );
            let out: Vec<String> =
                sums.iter().map(|r| format!("\"+f\"({})", self.k.regs[r.0 as usize].0)).collect();
            let _ = write!(self.out, "{} : ", out.join(", "));
            for (index, of_chunk, step, end) in
                [(rows, 0, 2, ", "), (columns, distances.0, distances.1, " : \"memory\");")]
            {
                self.out.push_str("\"l\"(agpu_matrix(&");
                self.element(from, index);
                let _ = write!(self.out, ", {of_chunk}) + {}){end}", part * step);
            }
        }
        let _ = write!(self.out, "\n{pad}asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");");
    }
}
