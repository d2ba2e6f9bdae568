//! Division and square root of f32 without a branch (`scalar/near.rs` says for which numbers, and
//! why the bits are right). `div.rn` and `sqrt.rn` become a test and a call each: registers live
//! across it, and assembling them takes longest of all instructions.

use super::Emitter;
use super::regs::Operand;
use crate::scalar::{Lit, Ty, near};

impl<'a> Emitter<'a> {
    /// One step from the reciprocal, one from the quotient.
    pub fn div_near(&mut self, dest: Operand<'a>, a: Operand<'a>, b: Operand<'a>) {
        let [y, minus, e, q, r] = [(); 5].map(|()| self.regs.fresh(Ty::F32));
        let one = Operand::Literal(Lit::f32(1.0));
        self.instruction(&["rcp.approx.ftz.f32"], &[y, b]);
        self.instruction(&["neg.f32"], &[minus, b]);
        self.instruction(&["fma.rn.f32"], &[e, minus, y, one]);
        self.instruction(&["fma.rn.f32"], &[y, y, e, y]);
        if matches!(a, Operand::Literal(l) if l == Lit::f32(1.0)) {
            self.instruction(&["fma.rn.f32"], &[r, minus, y, one]);
            return self.instruction(&["fma.rn.f32"], &[dest, r, y, y]);
        }
        self.instruction(&["mul.rn.f32"], &[q, a, y]);
        self.instruction(&["fma.rn.f32"], &[r, minus, q, a]);
        self.instruction(&["fma.rn.f32"], &[dest, r, y, q]);
    }

    /// The quotient in f64 is right to its last bit but one, and no quotient of two f32 comes so
    /// near to the middle between two others without being it. What has no finite reciprocal, and
    /// what has it of 0, is right without steps.
    pub fn div_wide(&mut self, dest: Operand<'a>, a: Operand<'a>, b: Operand<'a>) {
        let [x, z, y, minus, plain, e, q, r, size] = [(); 9].map(|()| self.regs.fresh(Ty::F64));
        let [over, inside] = [(); 2].map(|()| self.regs.fresh(Ty::Bool));
        let [zero, one, infinite] = [0.0, 1.0, f64::INFINITY].map(|c| Operand::Literal(Lit::f64(c)));
        self.instruction(&["cvt.f64.f32"], &[x, a]);
        self.instruction(&["cvt.f64.f32"], &[z, b]);
        self.instruction(&["rcp.approx.ftz.f64"], &[y, z]);
        self.instruction(&["neg.f64"], &[minus, z]);
        self.instruction(&["mul.rn.f64"], &[plain, x, y]);
        // 20 bits, 40, all
        for _ in 0..2 {
            self.instruction(&["fma.rn.f64"], &[e, minus, y, one]);
            self.instruction(&["fma.rn.f64"], &[y, y, e, y]);
        }
        self.instruction(&["mul.rn.f64"], &[q, x, y]);
        self.instruction(&["fma.rn.f64"], &[r, minus, q, x]);
        self.instruction(&["fma.rn.f64"], &[q, r, y, q]);
        self.instruction(&["abs.f64"], &[size, plain]);
        self.instruction(&["setp.gt.f64"], &[over, size, zero]);
        self.instruction(&["setp.lt.and.f64"], &[inside, size, infinite, over]);
        self.instruction(&["selp.f64"], &[q, q, plain, inside]);
        self.instruction(&["cvt.rn.f32.f64"], &[dest, q]);
    }

    /// The square root of a number in range, or of 0, where the reciprocal root is that of the least number.
    pub fn sqrt_near(&mut self, dest: Operand<'a>, v: Operand<'a>) {
        let [y, s, half, minus, r] = [(); 5].map(|()| self.regs.fresh(Ty::F32));
        let [least, one_half] = [near::SQRT[0], 0.5].map(|c| Operand::Literal(Lit::f32(c)));
        self.instruction(&["max.f32"], &[y, v, least]);
        self.instruction(&["rsqrt.approx.ftz.f32"], &[y, y]);
        self.instruction(&["mul.rn.f32"], &[s, v, y]);
        self.instruction(&["mul.rn.f32"], &[half, y, one_half]);
        self.instruction(&["neg.f32"], &[minus, s]);
        self.instruction(&["fma.rn.f32"], &[r, minus, s, v]);
        self.instruction(&["fma.rn.f32"], &[dest, r, half, s]);
    }
}
