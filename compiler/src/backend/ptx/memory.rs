//! Prints loads and stores. A load uses the read-only path if no output overlaps the array; data
//! that is stored once is marked to be evicted first from the caches.

use super::Emitter;
use super::address::Address;
use super::regs::{List, Operand, class, memory_type, operation_type};
use crate::kernel::{Expr, Mem, Reg};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::without::{self, Optimisation};

impl<'a> Emitter<'a> {
    /// Returns the load instruction without its type.
    fn load_from(&self, m: Mem) -> &'static str {
        if without::is_left_out(Optimisation::Spaces) {
            return "ld";
        }
        match m {
            Mem::Array(a) => {
                let read_only =
                    self.k.arrays[a as usize].noalias && !without::is_left_out(Optimisation::ReadOnly);
                if read_only { "ld.global.nc" } else { "ld.global" }
            }
            Mem::Shared(_) => "ld.shared",
            Mem::Scratch(_) => "ld.global",
            Mem::Local(_) => "ld.local",
        }
    }

    fn store_to(&self, m: Mem) -> &'static str {
        if without::is_left_out(Optimisation::Spaces) {
            return if let Mem::Array(_) = m { "st.cs" } else { "st" };
        }
        match m {
            Mem::Shared(_) => "st.shared",
            Mem::Local(_) => "st.local",
            Mem::Array(_) => "st.global.cs",
            _ => "st.global",
        }
    }

    /// Returns the address of an element for a load or a store.
    fn accessed(&mut self, m: Mem, index: &Expr) -> Address<'a> {
        let address = self.address(m, index);
        if without::is_left_out(Optimisation::Spaces) { self.generic(m, address) } else { address }
    }

    pub fn load(&mut self, dest: Operand<'a>, m: Mem, index: &Expr) {
        let (address, ty) = (self.accessed(m, index), self.k.mem(m).1);
        let load = self.load_from(m);
        self.load_at(dest, load, ty, address, None);
    }

    /// Loads the element if the condition holds; otherwise nothing is read and the value is 0.
    pub fn load_if(&mut self, dest: Operand<'a>, m: Mem, index: &Expr, condition: &Expr) {
        let (c, ty) = (self.value(condition), self.k.mem(m).1);
        let (address, load) = (self.accessed(m, index), self.load_from(m));
        if ty == Ty::Bool {
            let byte = self.regs.fresh(Ty::U32);
            code!(self, "mov.b32 {byte}, 0;");
            code!(self, "@{c} {load}.u8 {byte}, {address};");
            return code!(self, "setp.ne.u32 {dest}, {byte}, 0;");
        }
        let zero = Operand::Literal(Lit::zero(ty));
        code!(self, "mov.{} {dest}, {zero};", class(ty));
        self.load_at(dest, load, ty, address, Some(c));
    }

    /// Loads the element, which is not a bool, if `c` holds; otherwise `dest` keeps its value.
    pub fn load_when(&mut self, dest: Operand<'a>, m: Mem, index: &Expr, c: Operand<'a>) {
        let (address, load, ty) = (self.accessed(m, index), self.load_from(m), self.k.mem(m).1);
        self.load_at(dest, load, ty, address, Some(c));
    }

    fn load_at(&mut self, dest: Operand<'a>, load: &str, ty: Ty, address: Address, when: Option<Operand>) {
        if ty == Ty::Bool {
            let byte = self.regs.fresh(Ty::U32);
            code!(self, "{load}.u8 {byte}, {address};");
            code!(self, "setp.ne.u32 {dest}, {byte}, 0;");
        } else {
            self.load_instruction(when, &[load, ".", memory_type(ty)], dest, address);
        }
    }

    /// Writes a load of one element from the parts of its name; where there is a condition it must hold.
    fn load_instruction(&mut self, when: Option<Operand>, name: &[&str], dest: Operand, from: Address) {
        self.begin(when, name);
        let _ = dest.write(&mut self.text);
        self.text.push_str(", ");
        let _ = from.write(&mut self.text);
        self.text.push_str(";\n");
    }

    /// Writes a store of one element in the same way.
    fn store_instruction(&mut self, name: &[&str], to: Address, value: Operand) {
        self.begin(None, name);
        let _ = to.write(&mut self.text);
        self.text.push_str(", ");
        let _ = value.write(&mut self.text);
        self.text.push_str(";\n");
    }

    fn slot(&self, slot: u32) -> Address<'a> {
        Address { register: Operand::Arg(self.params.slots + slot as usize), offset: 0 }
    }

    pub fn load_slot(&mut self, dest: Operand<'a>, slot: u32) {
        let address = self.slot(slot);
        let ty = self.k.slots[slot as usize].ty;
        self.load_at(dest, "ld.global", ty, address, None);
    }

    pub fn store(&mut self, m: Mem, index: &Expr, e: &Expr) {
        let value = self.value(self.low_bits(e, self.k.mem(m).1));
        let (address, ty, store) = (self.accessed(m, index), self.k.mem(m).1, self.store_to(m));
        self.store_at(store, ty, address, value);
    }

    /// Joins a value to an element, by an operation of the memory that returns nothing.
    pub fn update(&mut self, op: BinaryOp, m: Mem, index: &Expr, e: &Expr) {
        let value = self.value(e);
        let (address, ty) = (self.address(m, index), self.k.mem(m).1);
        let space = if matches!(m, Mem::Shared(_)) { "shared" } else { "global" };
        let is_wide = ty.size() == 8;
        if op == BinaryOp::Add && is_wide && ty.is_int() && space == "shared" {
            return self.add_words(address, value);
        }
        let of = match op {
            // sums that wrap are the same of both signs, and only one of them has 64 bits
            BinaryOp::Add if ty.is_float() => memory_type(ty),
            BinaryOp::Add => {
                if is_wide {
                    "u64"
                } else {
                    "u32"
                }
            }
            BinaryOp::Min | BinaryOp::Max => memory_type(ty),
            _ => {
                if is_wide {
                    "b64"
                } else {
                    "b32"
                }
            }
        };
        code!(self, "red.{space}.{op}.{of} {address}, {value};");
    }

    /// Adds an integer of 64 bits to an element of shared memory, by an operation for each of its words, because
    /// processors have none for both: the assembler would write a loop, whose rounds wait for each other where
    /// threads have the same element. The sum of the lower words carries exactly when it wraps, whichever thread
    /// comes first.
    fn add_words(&mut self, at: Address<'a>, value: Operand<'a>) {
        let [low, high, old] = [Ty::U32; 3].map(|ty| self.regs.fresh(ty));
        let upper = Address { offset: at.offset + 4, ..at };
        let whole = self.regs.fresh(Ty::U64);
        code!(self, "mov.b64 {whole}, {value};");
        code!(self, "mov.b64 {{{low}, {high}}}, {whole};");
        code!(self, "atom.shared.add.u32 {old}, {at}, {low};");
        code!(self, "add.cc.u32 {old}, {old}, {low};");
        code!(self, "addc.u32 {high}, {high}, 0;");
        code!(self, "red.shared.add.u32 {upper}, {high};");
    }

    /// Stores to the shared memory of a block of the cluster.
    pub fn store_to_block(&mut self, m: Mem, index: &Expr, rank: &Expr, e: &Expr) {
        let value = self.value(e);
        let (own, ty) = (self.address(m, index), self.k.mem(m).1);
        let mut rank_value = self.value(rank);
        if self.k.ty(rank) == Ty::I64 {
            let low = self.regs.fresh(Ty::U32);
            let cut = if rank_value.is_register() { "cvt.u32.u64" } else { "mov.u32" };
            code!(self, "{cut} {low}, {rank_value};");
            rank_value = low;
        }
        let register = self.regs.fresh(Ty::U32);
        code!(self, "mapa.shared::cluster.u32 {register}, {}, {rank_value};", own.register);
        self.store_at("st.shared::cluster", ty, Address { register, ..own }, value);
    }

    fn store_at(&mut self, store: &str, ty: Ty, address: Address, value: Operand<'a>) {
        let value = if ty == Ty::Bool { self.byte(value) } else { value };
        self.store_instruction(&[store, ".", memory_type(ty)], address, value);
    }

    pub fn store_slot(&mut self, slot: u32, e: &Expr) {
        let value = self.value(e);
        let address = self.slot(slot);
        self.store_at("st.global", self.k.slots[slot as usize].ty, address, value);
    }

    /// Returns a predicate as 0 or 1.
    fn byte(&mut self, p: Operand<'a>) -> Operand<'a> {
        let byte = self.regs.fresh(Ty::U32);
        code!(self, "selp.b32 {byte}, 1, 0, {p};");
        byte
    }

    /// Returns how many bytes an access of global memory brings into the L2 cache, as its suffix.
    pub fn fetch(&self) -> String {
        match self.k.fetch {
            0 => String::new(),
            bytes => format!(".L2::{bytes}B"),
        }
    }

    /// Loads neighbouring elements in one access. Elements of one and two bytes are loaded packed
    /// into words.
    pub fn load_vec(&mut self, regs: &[Reg], m: Mem, index: &Expr) {
        let (address, ty) = (self.accessed(m, index), self.k.mem(m).1);
        let mut load = self.load_from(m).to_string();
        if let Mem::Array(_) = m {
            load += &self.fetch();
        }
        let names: Vec<Operand> = regs.iter().map(|r| self.regs.of(*r)).collect();
        if ty.size() >= 4 {
            return code!(
                self,
                "{load}.v{}.{} {{{}}}, {address};",
                names.len(),
                memory_type(ty),
                List(&names)
            );
        }
        let (each, bits) = (names.len().min(4 / ty.size()), 8 * ty.size());
        let words: Vec<Operand> = (0..names.len() / each).map(|_| self.regs.fresh(Ty::U32)).collect();
        // A 16-bit load fills a 32-bit register with zeros.
        let access = format!("{load}{}", packed(words.len(), each * bits));
        code!(self, "{access} {}, {address};", list(&words));
        for (i, (r, name)) in regs.iter().zip(&names).enumerate() {
            let (word, at) = (&words[i / each], i % each);
            let shift = bits * at;
            if ty == Ty::Bool {
                let byte = self.regs.fresh(Ty::U32);
                code!(self, "bfe.u32 {byte}, {word}, {shift}, 8;");
                code!(self, "setp.ne.u32 {name}, {byte}, 0;");
            } else if ty.is_int() && self.cast_to_floats[r.0 as usize] {
                code!(self, "prmt.b32 {name}, {word}, 0, {};", extension(ty, at));
            } else {
                code!(self, "bfe.{} {name}, {word}, {shift}, {bits};", operation_type(ty));
            }
        }
    }

    /// Returns an integer of up to 32 bits whose low bits are those of `e`: a store of `ty` needs no
    /// more of it.
    fn low_bits<'e>(&self, mut e: &'e Expr, ty: Ty) -> &'e Expr {
        if ty.is_int() && ty.size() < 4 {
            while let Expr::Cast(_, inner) = e
                && let from = self.k.ty(inner)
                && from.is_int()
                && (ty.size()..=4).contains(&from.size())
            {
                e = inner;
            }
        }
        e
    }

    pub fn store_vec(&mut self, m: Mem, index: &Expr, values: &[Expr]) {
        let ty = self.k.mem(m).1;
        if ty.size() >= 4 {
            let names: Vec<Operand> = values.iter().map(|e| self.value(e)).collect();
            let (address, store) = (self.accessed(m, index), self.store_to(m));
            return code!(
                self,
                "{store}.v{}.{} {address}, {{{}}};",
                names.len(),
                memory_type(ty),
                List(&names)
            );
        }
        let elements: Vec<(Operand, u32)> = values.iter().map(|e| self.part(e, ty)).collect();
        let (address, store) = (self.accessed(m, index), self.store_to(m));
        let (each, size) = (values.len().min(4 / ty.size()), ty.size() as u32);
        let words: Vec<Operand> = elements.chunks(each).map(|group| self.packed(group, size)).collect();
        let access = format!("{store}{}", packed(words.len(), each * 8 * ty.size()));
        code!(self, "{access} {address}, {};", list(&words));
    }

    /// Returns a register of 32 bits that contains an element of one or two bytes, and at which byte.
    fn part(&mut self, e: &Expr, ty: Ty) -> (Operand<'a>, u32) {
        let e = self.low_bits(e, ty);
        if let Expr::Binary(BinaryOp::Shr, whole, count) = e
            && let Expr::Lit(count) = **count
            && self.k.ty(whole).size() == 4
            && count.bits.is_multiple_of(8)
            && count.bits / 8 + ty.size() as u64 <= 4
        {
            return (self.value(whole), count.bits as u32 / 8);
        }
        let value = self.value(e);
        (if ty == Ty::Bool { self.byte(value) } else { value }, 0)
    }

    /// Packs elements of `size` bytes into a word. NVIDIA's assembler knows words that are taken apart
    /// and packed again by `bfi`, but no shifts before it; `prmt` picks any bytes of two registers.
    fn packed(&mut self, elements: &[(Operand<'a>, u32)], size: u32) -> Operand<'a> {
        if elements.iter().any(|(_, at)| *at > 0) {
            return self.picked(elements, size).0;
        }
        let word = self.regs.fresh(Ty::U32);
        code!(self, "mov.b32 {word}, {};", elements[0].0);
        for ((element, _), i) in elements.iter().zip(0..).skip(1) {
            code!(self, "bfi.b32 {word}, {element}, {word}, {}, {};", 8 * size * i, 8 * size);
        }
        word
    }

    /// Packs elements by pairs, and returns the register and the byte where the first one lies.
    fn picked(&mut self, elements: &[(Operand<'a>, u32)], size: u32) -> (Operand<'a>, u32) {
        if let [one] = elements {
            return *one;
        }
        let (low, high) = elements.split_at(elements.len() / 2);
        let bytes = size * low.len() as u32;
        let [(a, of_a), (b, of_b)] = [low, high].map(|half| self.picked(half, size));
        let [a, b] = [a, b].map(|v| self.in_register(Ty::U32, v));
        // digit i of the selector says which of the eight bytes of both registers is byte i
        let bytes = (0..bytes).map(|i| of_a + i).chain((0..bytes).map(|i| 4 + of_b + i));
        let selector = bytes.zip(0..).fold(0, |all, (byte, i)| all | byte << (4 * i));
        let word = self.regs.fresh(Ty::U32);
        code!(self, "prmt.b32 {word}, {a}, {b}, {selector};");
        (word, 0)
    }
}

/// Returns the type of an access to this many words of this many bits.
fn packed(words: usize, bits: usize) -> String {
    match (words, bits) {
        (1, 16) => ".u16".into(),
        (1, bits) => format!(".b{bits}"),
        (words, bits) => format!(".v{words}.b{bits}"),
    }
}

/// Prints one register, or several in braces.
fn list(words: &[Operand]) -> String {
    if let [one] = words { one.to_string() } else { format!("{{{}}}", List(words)) }
}

/// The selector of `prmt.b32` that extends an integer of one or two bytes, element `at` of a word, to 32 bits,
/// beside 0 as the other operand: its bytes, and then zeros, or copies of its sign. `bfe` does the same, but ptxas
/// joins it and a conversion to a float to one instruction (`I2F.U8`), of which a multiprocessor has a quarter of
/// the rate of a permutation and a conversion of 32 bits.
fn extension(ty: Ty, at: usize) -> u32 {
    const ZERO: u32 = 4;
    const SIGN: u32 = 8;
    let size = ty.size();
    let byte = |k: usize| (at * size + k) as u32;
    let above = if ty.is_signed() { byte(size - 1) | SIGN } else { ZERO };
    (0..4).rev().fold(0, |all, k| all << 4 | if k < size { byte(k) } else { above })
}
