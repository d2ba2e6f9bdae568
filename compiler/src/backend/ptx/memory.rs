//! Loads and stores. The read-only path is taken where no output overlaps the array; what is stored once is the first to leave the caches.

use super::Emitter;
use super::regs::{class, memory_type};
use crate::kernel::{Expr, Mem, Reg};
use crate::scalar::Ty;

impl Emitter<'_> {
    /// The instruction without its type.
    fn load_from(&self, m: Mem) -> &'static str {
        match m {
            Mem::Array(a) => {
                let a = &self.k.arrays[a as usize];
                if a.noalias { "ld.global.nc" } else { "ld.global" }
            }
            Mem::Shared(_) => "ld.shared",
            Mem::Scratch(_) => "ld.global",
            Mem::Local(_) => unreachable!("verified: no local memory on a GPU"),
        }
    }

    fn store_to(&self, m: Mem) -> &'static str {
        match m {
            Mem::Shared(_) => "st.shared",
            Mem::Array(_) => "st.global.cs",
            _ => "st.global",
        }
    }

    pub fn load(&mut self, dest: &str, m: Mem, index: &Expr) {
        let (address, ty) = (self.address(m, index), self.k.mem(m).1);
        let load = self.load_from(m);
        self.load_at(dest, load, ty, &address, "");
    }

    /// The element, or 0: then nothing is read.
    pub fn load_if(&mut self, dest: &str, m: Mem, index: &Expr, condition: &Expr) {
        let (c, ty) = (self.value(condition), self.k.mem(m).1);
        let (address, load) = (self.address(m, index), self.load_from(m));
        if ty == Ty::Bool {
            let byte = self.regs.fresh(Ty::U32);
            self.line(&format!("mov.b32 {byte}, 0;"));
            self.line(&format!("@{c} {load}.u8 {byte}, {address};"));
            return self.line(&format!("setp.ne.u32 {dest}, {byte}, 0;"));
        }
        let zero = super::expr::literal(crate::scalar::Lit::zero(ty));
        self.line(&format!("mov.{} {dest}, {zero};", class(ty)));
        self.load_at(dest, load, ty, &address, &format!("@{c} "));
    }

    /// The element (no bool), if `c` holds; else `dest` keeps its value.
    pub fn load_when(&mut self, dest: &str, m: Mem, index: &Expr, c: &str) {
        let (address, load, ty) = (self.address(m, index), self.load_from(m), self.k.mem(m).1);
        self.load_at(dest, load, ty, &address, &format!("@{c} "));
    }

    fn load_at(&mut self, dest: &str, load: &str, ty: Ty, address: &str, when: &str) {
        if ty == Ty::Bool {
            let byte = self.regs.fresh(Ty::U32);
            self.line(&format!("{load}.u8 {byte}, {address};"));
            self.line(&format!("setp.ne.u32 {dest}, {byte}, 0;"));
        } else {
            self.line(&format!("{when}{load}.{} {dest}, {address};", memory_type(ty)));
        }
    }

    pub fn load_slot(&mut self, dest: &str, slot: u32) {
        let address = format!("[%arg{}]", self.params.slots + slot as usize);
        let ty = self.k.slots[slot as usize].ty;
        self.load_at(dest, "ld.global", ty, &address, "");
    }

    pub fn store(&mut self, m: Mem, index: &Expr, e: &Expr) {
        let value = self.value(e);
        let (address, ty, store) = (self.address(m, index), self.k.mem(m).1, self.store_to(m));
        self.store_at(store, ty, &address, &value);
    }

    fn store_at(&mut self, store: &str, ty: Ty, address: &str, value: &str) {
        let value = if ty == Ty::Bool { self.byte(value) } else { value.into() };
        self.line(&format!("{store}.{} {address}, {value};", memory_type(ty)));
    }

    pub fn store_slot(&mut self, slot: u32, e: &Expr) {
        let value = self.value(e);
        let address = format!("[%arg{}]", self.params.slots + slot as usize);
        self.store_at("st.global", self.k.slots[slot as usize].ty, &address, &value);
    }

    /// A predicate as 0 or 1.
    fn byte(&mut self, p: &str) -> String {
        let byte = self.regs.fresh(Ty::U32);
        self.line(&format!("selp.b32 {byte}, 1, 0, {p};"));
        byte
    }

    /// Neighbours in one access. Bytes come in words.
    pub fn load_vec(&mut self, regs: &[Reg], m: Mem, index: &Expr) {
        let (address, load, ty) = (self.address(m, index), self.load_from(m), self.k.mem(m).1);
        let names: Vec<String> = regs.iter().map(|r| self.regs.of(*r)).collect();
        if ty.size() > 1 {
            return self.line(&format!(
                "{load}.v{}.{} {{{}}}, {address};",
                names.len(),
                memory_type(ty),
                names.join(", ")
            ));
        }
        let bytes = names.len().min(4);
        let words: Vec<String> = (0..names.len() / bytes).map(|_| self.regs.fresh(Ty::U32)).collect();
        let width = format!("b{}", 8 * bytes);
        match words.as_slice() {
            [word] if bytes == 2 => {
                // a 16-bit load fills a 32-bit register with zeros
                self.line(&format!("{load}.u16 {word}, {address};"));
            }
            [word] => self.line(&format!("{load}.{width} {word}, {address};")),
            words => {
                self.line(&format!("{load}.v{}.{width} {{{}}}, {address};", words.len(), words.join(", ")))
            }
        }
        for (i, name) in names.iter().enumerate() {
            let (word, shift) = (&words[i / bytes], 8 * (i % bytes));
            if ty == Ty::Bool {
                let byte = self.regs.fresh(Ty::U32);
                self.line(&format!("bfe.u32 {byte}, {word}, {shift}, 8;"));
                self.line(&format!("setp.ne.u32 {name}, {byte}, 0;"));
            } else {
                self.line(&format!("bfe.u32 {name}, {word}, {shift}, 8;"));
            }
        }
    }

    pub fn store_vec(&mut self, m: Mem, index: &Expr, values: &[Expr]) {
        let ty = self.k.mem(m).1;
        let mut names: Vec<String> = values.iter().map(|e| self.value(e)).collect();
        let (address, store) = (self.address(m, index), self.store_to(m));
        if ty.size() > 1 {
            return self.line(&format!(
                "{store}.v{}.{} {address}, {{{}}};",
                names.len(),
                memory_type(ty),
                names.join(", ")
            ));
        }
        if ty == Ty::Bool {
            names = names.iter().map(|p| self.byte(p)).collect();
        }
        let bytes = names.len().min(4);
        let mut words = Vec::new();
        for group in names.chunks(bytes) {
            let word = self.regs.fresh(Ty::U32);
            self.line(&format!("mov.b32 {word}, {};", group[0]));
            for (i, byte) in group.iter().enumerate().skip(1) {
                self.line(&format!("bfi.b32 {word}, {byte}, {word}, {}, 8;", 8 * i));
            }
            words.push(word);
        }
        let width = 8 * bytes;
        let text = match words.as_slice() {
            [word] if bytes == 2 => format!("{store}.u16 {address}, {word};"),
            [word] => format!("{store}.b{width} {address}, {word};"),
            words => format!("{store}.v{}.b{width} {address}, {{{}}};", words.len(), words.join(", ")),
        };
        self.line(&text);
    }
}
