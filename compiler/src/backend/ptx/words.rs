//! Tickets, and values that blocks publish for others in words at counters (`kernel/mod.rs`).
//!
//! An access of 8 bytes at a multiple of 8 is one access (PTX ISA, memory consistency model), so a word is there with
//! the number that says so, or not at all; relaxed accesses of one word are ordered, and no fence is needed.

use super::Emitter;
use super::regs::Operand;
use crate::kernel::{Expr, Reg};
use crate::scalar::{Lit, Ty};

impl<'a> Emitter<'a> {
    /// Computes the address of a counter.
    pub(super) fn counter(&mut self, at: &Expr) -> Operand<'a> {
        let (ty, at) = (self.k.ty(at), self.value(at));
        let address = self.regs.fresh(Ty::I64);
        let counters = Operand::Arg(self.params.counters);
        let wide = if ty == Ty::I32 { "mad.wide.s32" } else { "mad.lo.s64" };
        code!(self, "{wide} {address}, {at}, 4, {counters};");
        address
    }

    /// Takes the next ticket.
    pub(super) fn ticket(&mut self, r: Reg, at: &Expr) {
        let (address, dest) = (self.counter(at), self.regs.of(r));
        code!(self, "atom.relaxed.gpu.global.add.u32 {dest}, [{address}], 1;");
    }

    /// Publishes a value: each 4 bytes of it in the low half of a word.
    pub(super) fn publish(&mut self, at: &Expr, value: &Expr) {
        let ty = self.k.ty(value);
        let (address, whole) = (self.counter(at), self.regs.fresh(ty));
        self.compute(whole, value);
        let halves: Vec<Operand> = (0..ty.size() / 4).map(|_| self.regs.fresh(Ty::U32)).collect();
        match halves[..] {
            [low, high] => code!(self, "mov.b64 {{{low}, {high}}}, {whole};"),
            _ => code!(self, "mov.b32 {}, {whole};", halves[0]),
        }
        let (one, word) = (self.regs.fresh(Ty::U32), self.regs.fresh(Ty::I64));
        code!(self, "mov.u32 {one}, 1;");
        for (half, offset) in halves.iter().zip([0, 8]) {
            code!(self, "mov.b64 {word}, {{{half}, {one}}};");
            code!(self, "st.relaxed.gpu.global.u64 [{address}+{offset}], {word};");
        }
    }

    /// Waits for a value, and takes it.
    pub(super) fn await_words(&mut self, r: Reg, at: &Expr, given: &Expr) {
        let (ty, dest) = (self.k.regs[r.0 as usize].1, self.regs.of(r));
        let given = self.value(given);
        let end = self.label();
        self.compute(dest, &Expr::Lit(Lit::zero(ty)));
        code!(self, "@!{given} bra {end};");
        self.scope(|e| {
            let address = e.counter(at);
            let halves: Vec<Operand> = (0..ty.size() / 4).map(|_| e.regs.fresh(Ty::U32)).collect();
            for (half, offset) in halves.iter().zip([0, 8]) {
                let (again, word) = (e.label(), e.regs.fresh(Ty::I64));
                let (flag, is_none) = (e.regs.fresh(Ty::U32), e.regs.fresh(Ty::Bool));
                code!(e, "{again}:");
                code!(e, "ld.relaxed.gpu.global.u64 {word}, [{address}+{offset}];");
                code!(e, "mov.b64 {{{half}, {flag}}}, {word};");
                code!(e, "setp.eq.u32 {is_none}, {flag}, 0;");
                code!(e, "@{is_none} bra {again};");
            }
            match halves[..] {
                [low, high] => code!(e, "mov.b64 {dest}, {{{low}, {high}}};"),
                _ => code!(e, "mov.b32 {dest}, {};", halves[0]),
            }
        });
        code!(self, "{end}:");
    }
}
