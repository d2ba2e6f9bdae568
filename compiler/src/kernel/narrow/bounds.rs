//! Upper bounds of integers that are known not to be negative, in kernels whose indices fit in 32 bits: indices and
//! extents of the index space, and values that are computed from these and constants.

use crate::kernel::{Expr, Gpu, Kernel, Reg};
use crate::scalar::{BinaryOp, Ty};

/// The greatest i32. Greater bounds are dropped, so that no sum or product of bounded values wraps in 32 bits.
const MOST: i64 = i32::MAX as i64;
/// The maximum index or extent of the index space. The launch policy's limit is lower (`plan::policy::NARROW`),
/// because threads of the last block compute indices beyond the end.
const MAX_INDEX: i64 = (1 << 31) - (1 << 19);
/// The greatest number of threads of a block.
const MAX_THREADS: i64 = 1024;

/// The bounds of registers and of scalar parameters.
pub struct Bounds {
    registers: Vec<Option<i64>>,
    ins: Vec<Option<i64>>,
}

impl Bounds {
    /// Takes the indices and extents that the kernel has noted (`Kernel::in_space`) out of it.
    pub fn of(k: &mut Kernel) -> Bounds {
        let mut bounds = Bounds { registers: vec![None; k.regs.len()], ins: vec![None; k.ins.len()] };
        for e in std::mem::take(&mut k.in_space) {
            match e {
                Expr::Reg(r) => bounds.set(r, MAX_INDEX),
                Expr::In(i) => bounds.ins[i as usize] = Some(MAX_INDEX),
                _ => {}
            }
        }
        bounds
    }

    /// Notes the bound of a register.
    pub fn set(&mut self, r: Reg, most: i64) {
        let at = r.0 as usize;
        if self.registers.len() <= at {
            self.registers.resize(at + 1, None);
        }
        self.registers[at] = Some(most);
    }

    /// Returns the bound of a register that `let` defines, and notes it.
    pub fn of_let(&mut self, r: Reg, e: &Expr) -> Option<i64> {
        let known = self.registers.get(r.0 as usize).copied().flatten();
        let most = [self.most(e), known].into_iter().flatten().min()?;
        self.set(r, most);
        Some(most)
    }

    /// Returns an upper bound of an integer; `None` if none is known, or if the integer may be negative.
    pub fn most(&self, e: &Expr) -> Option<i64> {
        use BinaryOp::{Add, And, Div, Max, Min, Mul, Rem, Shr};
        let most = match e {
            // operations on narrower types may wrap below the bound
            Expr::Lit(l) if matches!(l.ty, Ty::I32 | Ty::U32 | Ty::I64 | Ty::U64) => l.as_int()?,
            Expr::Reg(r) => self.registers.get(r.0 as usize).copied().flatten()?,
            Expr::In(i) => self.ins.get(*i as usize).copied().flatten()?,
            Expr::Place(Gpu::Thread) => MAX_THREADS - 1,
            Expr::Cast(Ty::I64 | Ty::I32 | Ty::U32, a) => self.most(a)?,
            Expr::Select(_, a, b) => self.most(a)?.max(self.most(b)?),
            Expr::Binary(op, a, b) => {
                let (a, b, divisor) = (self.most(a)?, self.most(b)?, constant(b));
                match op {
                    Add => a + b,
                    Mul => a.checked_mul(b)?,
                    // a quotient by 0 is 0
                    Div => a / divisor.unwrap_or(1).max(1),
                    Rem => a.min((b - 1).max(0)),
                    Min | And => a.min(b),
                    Max => a.max(b),
                    Shr => a >> divisor.filter(|n| *n < 31)?,
                    _ => return None,
                }
            }
            _ => return None,
        };
        (0..=MOST).contains(&most).then_some(most)
    }
}

fn constant(e: &Expr) -> Option<i64> {
    if let Expr::Lit(l) = e { l.as_int() } else { None }
}
