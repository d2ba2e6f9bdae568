//! Ranges of integers in kernels whose indices fit in 32 bits: of indices and extents of the index space, and of
//! values that are computed from these and constants.

use crate::kernel::{Expr, Gpu, Kernel, Reg};
use crate::scalar::range::Range;
use crate::scalar::{BinaryOp, Ty, UnaryOp};
use rustc_hash::FxHashMap;

/// The maximum index or extent of the index space. The launch policy's limit is lower (`plan::policy::NARROW`),
/// because threads of the last block compute indices beyond the end.
const MAX_INDEX: i64 = (1 << 31) - (1 << 19);
/// The greatest number of threads of a block.
const MAX_THREADS: i64 = 1024;

/// The ranges of registers and of scalar parameters.
pub struct Bounds {
    registers: Vec<Option<Range>>,
    /// Registers that are not negative, and what they do not exceed.
    bounded: FxHashMap<Reg, Expr>,
    ins: Vec<Option<Range>>,
}

impl Bounds {
    /// Takes the indices and extents that the kernel has noted (`Kernel::in_space` and others) out of it.
    pub fn of(k: &mut Kernel) -> Bounds {
        let bounded = std::mem::take(&mut k.bounded).into_iter().collect();
        let (registers, ins) = (vec![None; k.regs.len()], vec![None; k.ins.len()]);
        let mut bounds = Bounds { registers, bounded, ins };
        for e in std::mem::take(&mut k.in_space) {
            match e {
                Expr::Reg(r) => bounds.set(r, Range::new(0, MAX_INDEX)),
                Expr::In(i) => bounds.ins[i as usize] = Some(Range::new(0, MAX_INDEX)),
                _ => {}
            }
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

    /// Returns the range of a register that `let` defines, if it fits in 32 bits, and notes it.
    pub fn of_let(&mut self, k: &Kernel, r: Reg, e: &Expr) -> Option<Range> {
        let known = [self.known(k, e), self.of_register(k, r)];
        let range = known.into_iter().flatten().reduce(Range::intersection)?;
        self.set(r, range);
        Some(range).filter(|range| range.fits(Ty::I32))
    }

    /// Returns the range of a register, as far as it is noted.
    fn of_register(&self, k: &Kernel, r: Reg) -> Option<Range> {
        let noted = self.registers.get(r.0 as usize).copied().flatten();
        let most = self.bounded.get(&r).and_then(|most| self.known(k, most));
        [noted, most.map(|most| Range::new(0, most.most))].into_iter().flatten().reduce(Range::intersection)
    }

    /// Returns the range of an integer; `None` if none is known that fits in 32 bits.
    pub fn range(&self, k: &Kernel, e: &Expr) -> Option<Range> {
        self.known(k, e).filter(|range| range.fits(Ty::I32))
    }

    /// Returns the range of an integer; that of an i64 may be beyond 32 bits.
    pub fn known(&self, k: &Kernel, e: &Expr) -> Option<Range> {
        let range = match e {
            // operations on narrower types may wrap inside of the range
            Expr::Lit(l) if matches!(l.ty, Ty::I32 | Ty::U32 | Ty::I64 | Ty::U64) => Range::from(*l),
            Expr::Reg(r) => self.of_register(k, *r)?,
            Expr::In(i) => self.ins.get(*i as usize).copied().flatten()?,
            Expr::Place(Gpu::Thread) => Range::new(0, MAX_THREADS - 1),
            Expr::Cast(Ty::I64 | Ty::I32, a) => self.known(k, a)?,
            Expr::Cast(Ty::U32, a) => self.known(k, a).filter(|a| a.least >= 0)?,
            Expr::Select(_, a, b) => self.known(k, a)?.union(self.known(k, b)?),
            Expr::Unary(UnaryOp::Neg, a) => {
                let a = self.known(k, a)?;
                Range::new(a.most.checked_neg()?, a.least.checked_neg()?)
            }
            Expr::Binary(op, a, b) => binary(*op, self.known(k, a)?, self.known(k, b)?)?,
            _ => return None,
        };
        // a value that does not fit might wrap in its type, and a difference of unsigned integers wraps below 0
        let is_kept = match k.ty(e) {
            Ty::I64 => true,
            Ty::U32 | Ty::U64 => range.least >= 0 && range.fits(Ty::I32),
            _ => range.fits(Ty::I32),
        };
        is_kept.then_some(range)
    }
}

/// Returns the range of an operation that has one; `None` for others, or if nothing is known.
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
