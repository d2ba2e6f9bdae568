//! Ranges of integers in kernels whose indices fit in 32 bits: of indices and extents of the index space, and of
//! values that are computed from these and constants.

use crate::kernel::range::Range;
use crate::kernel::{Expr, Gpu, Kernel, Reg};
use crate::scalar::{BinaryOp, Ty, UnaryOp};

/// The maximum index or extent of the index space. The launch policy's limit is lower (`plan::policy::NARROW`),
/// because threads of the last block compute indices beyond the end.
const MAX_INDEX: i64 = (1 << 31) - (1 << 19);
/// The greatest number of threads of a block.
const MAX_THREADS: i64 = 1024;

/// The ranges of registers and of scalar parameters.
pub struct Bounds {
    registers: Vec<Option<Range>>,
    ins: Vec<Option<Range>>,
}

impl Bounds {
    /// Takes the indices and extents that the kernel has noted (`Kernel::in_space` and others) out of it.
    pub fn of(k: &mut Kernel) -> Bounds {
        let mut bounds = Bounds { registers: vec![None; k.regs.len()], ins: vec![None; k.ins.len()] };
        for e in std::mem::take(&mut k.in_space) {
            match e {
                Expr::Reg(r) => bounds.set(r, Range::new(0, MAX_INDEX)),
                Expr::In(i) => bounds.ins[i as usize] = Some(Range::new(0, MAX_INDEX)),
                _ => {}
            }
        }
        for (r, most) in std::mem::take(&mut k.bounded) {
            bounds.set(r, Range::new(0, most));
        }
        for i in std::mem::take(&mut k.last_indices) {
            bounds.ins[i as usize] = Some(Range::new(-1, MAX_INDEX));
        }
        bounds
    }

    /// Notes the range of a register.
    pub fn set(&mut self, r: Reg, range: Range) {
        let at = r.0 as usize;
        if self.registers.len() <= at {
            self.registers.resize(at + 1, None);
        }
        self.registers[at] = Some(range);
    }

    /// Returns the range of a register that `let` defines, and notes it.
    pub fn of_let(&mut self, k: &Kernel, r: Reg, e: &Expr) -> Option<Range> {
        let known = self.registers.get(r.0 as usize).copied().flatten();
        let range = [self.range(k, e), known].into_iter().flatten().reduce(Range::intersection)?;
        self.set(r, range);
        Some(range)
    }

    /// Returns the range of an integer; `None` if none is known that fits in 32 bits.
    pub fn range(&self, k: &Kernel, e: &Expr) -> Option<Range> {
        let range = match e {
            // operations on narrower types may wrap inside of the range
            Expr::Lit(l) if matches!(l.ty, Ty::I32 | Ty::U32 | Ty::I64 | Ty::U64) => Range::from(*l),
            Expr::Reg(r) => self.registers.get(r.0 as usize).copied().flatten()?,
            Expr::In(i) => self.ins.get(*i as usize).copied().flatten()?,
            Expr::Place(Gpu::Thread) => Range::new(0, MAX_THREADS - 1),
            Expr::Cast(Ty::I64 | Ty::I32, a) => self.range(k, a)?,
            Expr::Cast(Ty::U32, a) => self.range(k, a).filter(|a| a.least >= 0)?,
            Expr::Select(_, a, b) => self.range(k, a)?.union(self.range(k, b)?),
            Expr::Unary(UnaryOp::Neg, a) => {
                let a = self.range(k, a)?;
                Range::new(-a.most, -a.least)
            }
            Expr::Binary(op, a, b) => binary(*op, self.range(k, a)?, self.range(k, b)?)?,
            _ => return None,
        };
        // a value that does not fit might wrap in 32 bits, and a difference of unsigned integers wraps below 0
        let wraps = || range.least < 0 && k.ty(e) == Ty::U32;
        (range.fits(Ty::I32) && !wraps()).then_some(range)
    }
}

/// Returns the range of an operation that can be done in 32 bits; `None` for others, or if nothing is known.
fn binary(op: BinaryOp, a: Range, b: Range) -> Option<Range> {
    use BinaryOp::{Add, And, Div, Max, Min, Mul, Rem, Shr, Sub};
    let divides = a.least >= 0 && b.least >= 0;
    match op {
        // a quotient by 0 is 0
        Div if divides => Some(Range::new(0, a.most / b.least.max(1))),
        Rem if divides => Some(Range::new(0, a.most.min((b.most - 1).max(0)))),
        Add | Sub | Mul | And | Min | Max => Range::binary(op, a, b),
        Shr if b.most < 31 => Range::binary(op, a, b),
        _ => None,
    }
}
