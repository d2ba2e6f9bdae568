//! Division and square root of f32 without a branch (`scalar/near.rs` says for which numbers, and why the bits are right). `div.rn` and `sqrt.rn` become a test and a call each:
//! registers live across it, and assembling them takes longest of all instructions.

use super::Emitter;
use super::expr::literal;
use crate::scalar::{Lit, Ty, near};

const ONE: &str = "0f3F800000";
const ONE_WIDE: &str = "0d3FF0000000000000";

impl Emitter<'_> {
    /// One step from the reciprocal, one from the quotient.
    pub fn div_near(&mut self, dest: &str, a: &str, b: &str) {
        let [y, minus, e, q, r] = [(); 5].map(|()| self.regs.fresh(Ty::F32));
        self.line(&format!("rcp.approx.ftz.f32 {y}, {b};"));
        self.line(&format!("neg.f32 {minus}, {b};"));
        self.line(&format!("fma.rn.f32 {e}, {minus}, {y}, {ONE};"));
        self.line(&format!("fma.rn.f32 {y}, {y}, {e}, {y};"));
        if a == ONE {
            self.line(&format!("fma.rn.f32 {r}, {minus}, {y}, {ONE};"));
            return self.line(&format!("fma.rn.f32 {dest}, {r}, {y}, {y};"));
        }
        self.line(&format!("mul.rn.f32 {q}, {a}, {y};"));
        self.line(&format!("fma.rn.f32 {r}, {minus}, {q}, {a};"));
        self.line(&format!("fma.rn.f32 {dest}, {r}, {y}, {q};"));
    }

    /// The quotient in f64 is right to its last bit but one, and no quotient of two f32 comes so near to the middle between two others without being it. What has
    /// no finite reciprocal, and what has it of 0, is right without steps.
    pub fn div_wide(&mut self, dest: &str, a: &str, b: &str) {
        let [x, z, y, minus, plain, e, q, r, size] = [(); 9].map(|()| self.regs.fresh(Ty::F64));
        let [over, under] = [(); 2].map(|()| self.regs.fresh(Ty::Bool));
        let (zero, infinite) = (literal(Lit::f64(0.0)), literal(Lit::f64(f64::INFINITY)));
        self.line(&format!("cvt.f64.f32 {x}, {a};"));
        self.line(&format!("cvt.f64.f32 {z}, {b};"));
        self.line(&format!("rcp.approx.ftz.f64 {y}, {z};"));
        self.line(&format!("neg.f64 {minus}, {z};"));
        self.line(&format!("mul.rn.f64 {plain}, {x}, {y};"));
        // 20 bits, 40, all
        for _ in 0..2 {
            self.line(&format!("fma.rn.f64 {e}, {minus}, {y}, {ONE_WIDE};"));
            self.line(&format!("fma.rn.f64 {y}, {y}, {e}, {y};"));
        }
        self.line(&format!("mul.rn.f64 {q}, {x}, {y};"));
        self.line(&format!("fma.rn.f64 {r}, {minus}, {q}, {x};"));
        self.line(&format!("fma.rn.f64 {q}, {r}, {y}, {q};"));
        self.line(&format!("abs.f64 {size}, {plain};"));
        self.line(&format!("setp.gt.f64 {over}, {size}, {zero};"));
        self.line(&format!("setp.lt.and.f64 {under}, {size}, {infinite}, {over};"));
        self.line(&format!("selp.f64 {q}, {q}, {plain}, {under};"));
        self.line(&format!("cvt.rn.f32.f64 {dest}, {q};"));
    }

    /// Of 0, too: there the reciprocal root is that of the least number.
    pub fn sqrt_near(&mut self, dest: &str, v: &str) {
        let [y, s, half, minus, r] = [(); 5].map(|()| self.regs.fresh(Ty::F32));
        let (least, one_half) = (literal(Lit::f32(near::SQRT[0])), literal(Lit::f32(0.5)));
        self.line(&format!("max.f32 {y}, {v}, {least};"));
        self.line(&format!("rsqrt.approx.ftz.f32 {y}, {y};"));
        self.line(&format!("mul.rn.f32 {s}, {v}, {y};"));
        self.line(&format!("mul.rn.f32 {half}, {y}, {one_half};"));
        self.line(&format!("neg.f32 {minus}, {s};"));
        self.line(&format!("fma.rn.f32 {r}, {minus}, {s}, {v};"));
        self.line(&format!("fma.rn.f32 {dest}, {r}, {half}, {s};"));
    }
}
