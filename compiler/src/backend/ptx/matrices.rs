//! Prints the operations of tensor cores.

use super::Emitter;
use super::regs::{List, Operand};
use crate::backend::matrices::{depth_and_type, directions};
use crate::kernel::{Expr, Mem, Reg};
use crate::scalar::Ty;

/// The units of 16 bytes of a line of a staged matrix, and of 64 lines.
const LINE: u64 = 8;
const OF_CHUNK: u64 = 64 * LINE;

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
        let (depth, ty) = depth_and_type(ty);
        let (sums, rows, columns) = (List(&sums), List(&rows), List(&columns));
        code!(
            self,
            "mma.sync.aligned.m16n8k{depth}.row.col.f32.{ty}.{ty}.f32 {{{sums}}}, {{{rows}}}, {{{columns}}}, {{{sums}}};"
        );
    }

    /// Prints the four instructions of a product of a warpgroup, each of 32 bytes of inner indices.
    pub fn multiply_staged(
        &mut self,
        ty: Ty,
        sums: &[Reg],
        (from, rows, columns): (Mem, &Expr, &Expr),
        across: bool,
    ) {
        let [rows, columns] = [(rows, 0), (columns, if across { OF_CHUNK } else { 0 })]
            .map(|(index, distance)| self.descriptor(from, index, distance));
        let names: Vec<Operand> = sums.iter().map(|r| self.regs.of(*r)).collect();
        let (directions, (depth, ty)) = (directions(ty, across), depth_and_type(ty));
        code!(self, "wgmma.fence.sync.aligned;");
        for part in 0..4 {
            // 32 bytes of each line, or 16 lines
            let [a, b] = [(rows, 2), (columns, if across { 16 * LINE } else { 2 })].map(|(at, distance)| {
                let next = self.regs.fresh(Ty::U64);
                code!(self, "add.s64 {next}, {at}, {};", part * distance);
                next
            });
            let (count, list) = (2 * sums.len(), List(&names));
            code!(
                self,
                "wgmma.mma_async.sync.aligned.m64n{count}k{depth}.f32.{ty}.{ty} {{{list}}}, {a}, {b}, 1, 1, 1{directions};"
            );
        }
        code!(self, "wgmma.commit_group.sync.aligned;");
    }

    /// Computes what describes a matrix in shared memory: its address, the distance between chunks of columns and
    /// between eights of lines, in units of 16 bytes, and that pieces of lines of 128 bytes are permuted.
    fn descriptor(&mut self, m: Mem, index: &Expr, of_chunk: u64) -> Operand<'a> {
        let address = self.address(m, index);
        let (units, descriptor) = (self.regs.fresh(Ty::U32), self.regs.fresh(Ty::U64));
        code!(self, "add.u32 {units}, {}, {};", address.register, address.offset);
        code!(self, "shr.u32 {units}, {units}, 4;");
        code!(self, "cvt.u64.u32 {descriptor}, {units};");
        let others = of_chunk << 16 | (8 * LINE) << 32 | 1 << 62;
        code!(self, "or.b64 {descriptor}, {descriptor}, {others:#x};");
        descriptor
    }
}
