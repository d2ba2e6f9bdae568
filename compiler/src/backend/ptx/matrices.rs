//! Prints the operations of tensor cores.

use super::Emitter;
use super::regs::{List, Operand};
use crate::kernel::{Expr, Mem, Reg};
use crate::scalar::Ty;

impl<'a> Emitter<'a> {
    pub fn pack(&mut self, r: Reg, values: &[Expr]) {
        let dest = self.regs.of(r);
        match values {
            [low, high] => {
                let (low, high) = (self.value(low), self.value(high));
                code!(self, "mov.b32 {dest}, {low};");
                code!(self, "bfi.b32 {dest}, {high}, {dest}, 16, 16;");
            }
            _ => {
                let value = self.value(&values[0]);
                let value = self.in_register(Ty::F32, value);
                code!(self, "cvt.rna.tf32.f32 {dest}, {value};");
            }
        }
    }

    pub fn load_matrices(&mut self, regs: &[Reg], from: Mem, index: &Expr, transposed: bool) {
        let address = self.address(from, index);
        let names: Vec<Operand> = regs.iter().map(|r| self.regs.of(*r)).collect();
        let transposed = if transposed { ".trans" } else { "" };
        let list = List(&names);
        code!(self, "ldmatrix.sync.aligned.m8n8.x4{transposed}.shared.b16 {{{list}}}, {address};");
    }

    pub fn multiply_matrices(&mut self, ty: Ty, sums: &[Reg], rows: &[Expr], columns: &[Expr]) {
        let mut words = |list: &[Expr]| -> Vec<Operand<'a>> {
            list.iter()
                .map(|e| {
                    let v = self.value(e);
                    self.in_register(Ty::U32, v)
                })
                .collect()
        };
        let (rows, columns) = (words(rows), words(columns));
        let sums: Vec<Operand> = sums.iter().map(|r| self.regs.of(*r)).collect();
        let (depth, ty) = match ty {
            Ty::F32 => (8, "tf32"),
            Ty::Bf16 => (16, "bf16"),
            _ => (16, "f16"),
        };
        let (sums, rows, columns) = (List(&sums), List(&rows), List(&columns));
        code!(
            self,
            "mma.sync.aligned.m16n8k{depth}.row.col.f32.{ty}.{ty}.f32 {{{sums}}}, {{{rows}}}, {{{columns}}}, {{{sums}}};"
        );
    }
}
