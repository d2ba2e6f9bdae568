//! Computes division and square root of f32 without a branch (`scalar/near.rs` says for which
//! numbers and proves that the bits are right). `div.rn` and `sqrt.rn` become a test and a call
//! each: registers stay live across the call, and no other instructions take longer to assemble.

use super::Emitter;
use super::regs::Operand;
use crate::scalar::{Lit, Ty, near};

impl<'a> Emitter<'a> {
    /// Divides with one Newton step for the reciprocal and one for the quotient.
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

    /// Divides in f64. The quotient in f64 is right to its last bit but one, and no quotient of two
    /// f32 is that close to the midpoint of two neighbouring f32 without being that midpoint.
    /// Divisors whose reciprocal is 0 or not finite give the right result without Newton steps.
    pub fn div_wide(&mut self, dest: Operand<'a>, a: Operand<'a>, b: Operand<'a>) {
        let [x, z, y, minus, plain, e, q, r, size] = [(); 9].map(|()| self.regs.fresh(Ty::F64));
        let [over, inside] = [(); 2].map(|()| self.regs.fresh(Ty::Bool));
        let [zero, one, infinite] = [0.0, 1.0, f64::INFINITY].map(|c| Operand::Literal(Lit::f64(c)));
        self.instruction(&["cvt.f64.f32"], &[x, a]);
        self.instruction(&["cvt.f64.f32"], &[z, b]);
        self.instruction(&["rcp.approx.ftz.f64"], &[y, z]);
        self.instruction(&["neg.f64"], &[minus, z]);
        self.instruction(&["mul.rn.f64"], &[plain, x, y]);
        // The first approximation has 20 correct bits, the first step gives 40, and the second one
        // gives all.
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

    /// Computes the square root of a number in range, or of 0, for which the reciprocal root of the
    /// least number in range is used.
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
