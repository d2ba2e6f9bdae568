//! Loads and stores. The read-only path is taken where no output overlaps the array; what is stored once is the first to leave the caches.

use super::Emitter;
use super::regs::{class, memory_type, operation_type};
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

    /// Neighbours in one access. Elements of one and two bytes come in words.
    pub fn load_vec(&mut self, regs: &[Reg], m: Mem, index: &Expr) {
        let (address, ty) = (self.address(m, index), self.k.mem(m).1);
        let mut load = self.load_from(m).to_string();
        if let (Mem::Array(_), 1..) = (m, self.k.fetch) {
            load += &format!(".L2::{}B", self.k.fetch);
        }
        let names: Vec<String> = regs.iter().map(|r| self.regs.of(*r)).collect();
        if ty.size() >= 4 {
            return self.line(&format!(
                "{load}.v{}.{} {{{}}}, {address};",
                names.len(),
                memory_type(ty),
                names.join(", ")
            ));
        }
        let (each, bits) = (names.len().min(4 / ty.size()), 8 * ty.size());
        let words: Vec<String> = (0..names.len() / each).map(|_| self.regs.fresh(Ty::U32)).collect();
        // a 16-bit load fills a 32-bit register with zeros
        let access = format!("{load}{}", packed(words.len(), each * bits));
        self.line(&format!("{access} {}, {address};", list(&words)));
        for (i, name) in names.iter().enumerate() {
            let (word, shift) = (&words[i / each], bits * (i % each));
            if ty == Ty::Bool {
                let byte = self.regs.fresh(Ty::U32);
                self.line(&format!("bfe.u32 {byte}, {word}, {shift}, 8;"));
                self.line(&format!("setp.ne.u32 {name}, {byte}, 0;"));
            } else {
                self.line(&format!("bfe.{} {name}, {word}, {shift}, {bits};", operation_type(ty)));
            }
        }
    }

    pub fn store_vec(&mut self, m: Mem, index: &Expr, values: &[Expr]) {
        let ty = self.k.mem(m).1;
        let mut names: Vec<String> = values.iter().map(|e| self.value(e)).collect();
        let (address, store) = (self.address(m, index), self.store_to(m));
        if ty.size() >= 4 {
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
        let (each, bits) = (names.len().min(4 / ty.size()), 8 * ty.size());
        let mut words = Vec::new();
        for group in names.chunks(each) {
            let word = self.regs.fresh(Ty::U32);
            self.line(&format!("mov.b32 {word}, {};", group[0]));
            for (i, element) in group.iter().enumerate().skip(1) {
                self.line(&format!("bfi.b32 {word}, {element}, {word}, {}, {bits};", bits * i));
            }
            words.push(word);
        }
        let access = format!("{store}{}", packed(words.len(), each * bits));
        self.line(&format!("{access} {address}, {};", list(&words)));
    }
}

/// The type of an access to so many words of so many bits.
fn packed(words: usize, bits: usize) -> String {
    match (words, bits) {
        (1, 16) => ".u16".into(),
        (1, bits) => format!(".b{bits}"),
        (words, bits) => format!(".v{words}.b{bits}"),
    }
}

/// One register, or several in braces.
fn list(words: &[String]) -> String {
    if let [one] = words { one.clone() } else { format!("{{{}}}", words.join(", ")) }
}
