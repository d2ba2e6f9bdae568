//! Addresses: the part of an index that is not constant makes a register, shared by all accesses of a block that have it; the constant becomes the
//! instruction's offset.
//!
//! In `narrow` kernels an index is i32 and sign-extended. Taking a constant out of it is exact: index and extent stay 2^20 below 2^31 (the launch's
//! promise), and only constants below that are taken out.

use super::Emitter;
use super::expr::literal;
use crate::kernel::{Expr, Mem};
use crate::scalar::{BinaryOp, Lit, Ty};

/// Greater constants stay in the index.
const MAX_OFFSET: i64 = 1 << 20;

impl Emitter<'_> {
    /// `[register + offset]` of an element.
    pub fn address(&mut self, m: Mem, index: &Expr) -> String {
        let strided = matches!(m, Mem::Array(a) if self.k.arrays[a as usize].strided);
        let (part, constant) = if strided { (Some(index.clone()), 0) } else { split(index) };
        let size = self.k.mem(m).1.size() as i64;
        let known = self.addresses.iter().flatten().find(|k| k.0 == m && k.1 == part);
        let register = match known {
            Some(known) => known.2.clone(),
            None => {
                let register = self.place_of(m, part.as_ref(), strided, size);
                if part.as_ref().is_none_or(|e| self.is_fixed(e))
                    && let Some(scope) = self.addresses.last_mut()
                {
                    scope.push((m, part, register.clone()));
                }
                register
            }
        };
        match constant * size {
            0 => format!("[{register}]"),
            offset => format!("[{register}+{offset}]"),
        }
    }

    /// The register with the address of element `part` (0 without).
    fn place_of(&mut self, m: Mem, part: Option<&Expr>, strided: bool, size: i64) -> String {
        if let Mem::Shared(s) = m {
            return self.shared_place(s, part, size);
        }
        let base = self.base(m);
        let Some(part) = part else { return base };
        let narrow = self.k.ty(part) == Ty::I32;
        let mut index = self.value(part);
        let address = self.regs.fresh(Ty::I64);
        if strided && let Mem::Array(a) = m {
            let stride = format!("%arg{}", self.params.strides + self.strided_before(a));
            let scaled = self.regs.fresh(Ty::I64);
            if narrow {
                let low = self.regs.fresh(Ty::I32);
                self.line(&format!("cvt.u32.u64 {low}, {stride};"));
                self.line(&format!("mul.wide.s32 {scaled}, {index}, {low};"));
            } else {
                self.line(&format!("mul.lo.s64 {scaled}, {index}, {stride};"));
            }
            index = scaled;
        }
        if narrow && !strided {
            self.line(&format!("mad.wide.s32 {address}, {index}, {size}, {base};"));
        } else {
            self.line(&format!("mad.lo.s64 {address}, {index}, {size}, {base};"));
        }
        address
    }

    fn strided_before(&self, a: u32) -> usize {
        self.k.arrays[..a as usize].iter().filter(|a| a.strided).count()
    }

    /// Shared memory has 32-bit addresses.
    fn shared_place(&mut self, s: u32, part: Option<&Expr>, size: i64) -> String {
        let base = self.regs.fresh(Ty::U32);
        self.line(&format!("mov.u32 {base}, {};", self.k.shared[s as usize].0));
        let Some(part) = part else { return base };
        let mut index = self.value(part);
        if self.k.ty(part) == Ty::I64 {
            let low = self.regs.fresh(Ty::U32);
            let text = if index.starts_with('%') {
                format!("cvt.u32.u64 {low}, {index};")
            } else {
                format!("mov.u32 {low}, {index};")
            };
            self.line(&text);
            index = low;
        }
        let address = self.regs.fresh(Ty::U32);
        self.line(&format!("mad.lo.s32 {address}, {index}, {size}, {base};"));
        address
    }

    fn base(&self, m: Mem) -> String {
        match m {
            Mem::Array(a) => format!("%arg{a}"),
            Mem::Scratch(s) => format!("%arg{}", self.params.scratch + s as usize),
            Mem::Shared(_) | Mem::Local(_) => unreachable!("verified: no local memory on a GPU"),
        }
    }

    /// Whether an expression has one value as long as its registers are in scope.
    pub fn is_fixed(&self, e: &Expr) -> bool {
        match e {
            Expr::Lit(_) | Expr::In(_) | Expr::Place(_) => true,
            Expr::Reg(r) => !self.vars.contains(r),
            Expr::Unary(_, a) | Expr::Cast(_, a) => self.is_fixed(a),
            Expr::Binary(_, a, b) => self.is_fixed(a) && self.is_fixed(b),
            Expr::MulAdd(a, b, c) | Expr::Select(a, b, c) => {
                self.is_fixed(a) && self.is_fixed(b) && self.is_fixed(c)
            }
            _ => false,
        }
    }
}

/// An index as a part that is not constant, and a constant.
fn split(index: &Expr) -> (Option<Expr>, i64) {
    match index {
        Expr::Lit(l) if l.as_int().is_some_and(|c| c.unsigned_abs() < MAX_OFFSET as u64) => {
            (None, l.as_int().unwrap_or(0))
        }
        Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
            let (part, c) = split(a);
            let of_b = if let Expr::Lit(l) = &**b { l.as_int() } else { None };
            match of_b {
                Some(k) if k.unsigned_abs() < MAX_OFFSET as u64 => {
                    let sum = if *op == BinaryOp::Add { c + k } else { c - k };
                    if sum.abs() < MAX_OFFSET { (part, sum) } else { (Some(index.clone()), 0) }
                }
                _ if *op == BinaryOp::Add && c != 0 => match part {
                    Some(part) => (Some(part.plus((**b).clone())), c),
                    None => (Some((**b).clone()), c),
                },
                _ => (Some(index.clone()), 0),
            }
        }
        e => (Some(e.clone()), 0),
    }
}

/// `[register + offset]` of the i-th of some 32-bit or 64-bit cells.
pub fn cell(base: &str, i: i64, size: i64) -> String {
    if i == 0 { format!("[{base}]") } else { format!("[{base}+{}]", literal(Lit::i64(i * size))) }
}
