//! Ranges of integers in kernels whose indices fit in 32 bits: of indices and extents of the index space, and of values
//! that are computed from these and constants.

use crate::kernel::{Expr, Gpu, Kernel, Reg};
use crate::scalar::{BinaryOp, Ty, UnaryOp};

/// The maximum index or extent of the index space. The launch policy's limit is lower (`plan::policy::NARROW`),
/// because threads of the last block compute indices beyond the end.
const MAX_INDEX: i64 = (1 << 31) - (1 << 19);
/// The greatest number of threads of a block.
const MAX_THREADS: i64 = 1024;

/// The values that an integer may have.
#[derive(Clone, Copy)]
pub struct Range {
    pub least: i64,
    pub most: i64,
}

impl Range {
    /// Returns the range unless a value does not fit in an i32: then sums and products of the values might wrap.
    fn in_32_bits(self) -> Option<Range> {
        (self.least >= i32::MIN.into() && self.most <= i32::MAX.into()).then_some(self)
    }

    fn not_negative(self) -> Option<Range> {
        (self.least >= 0).then_some(self)
    }

    /// Returns the values that are in both ranges.
    fn both(self, other: Range) -> Range {
        Range { least: self.least.max(other.least), most: self.most.min(other.most) }
    }

    /// Returns whether a comparison holds for all values, or for none of them.
    pub fn compare(self, op: BinaryOp, other: Range) -> Option<bool> {
        let is_less = |a: Range, b: Range| match () {
            _ if a.most < b.least => Some(true),
            _ if a.least >= b.most => Some(false),
            _ => None,
        };
        match op {
            BinaryOp::Lt => is_less(self, other),
            BinaryOp::Gt => is_less(other, self),
            BinaryOp::Ge => is_less(self, other).map(|holds| !holds),
            BinaryOp::Le => is_less(other, self).map(|holds| !holds),
            _ => None,
        }
    }
}

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
                Expr::Reg(r) => bounds.set(r, Range { least: 0, most: MAX_INDEX }),
                Expr::In(i) => bounds.ins[i as usize] = Some(Range { least: 0, most: MAX_INDEX }),
                _ => {}
            }
        }
        for (r, most) in std::mem::take(&mut k.bounded) {
            bounds.set(r, Range { least: 0, most });
        }
        for i in std::mem::take(&mut k.last_indices) {
            bounds.ins[i as usize] = Some(Range { least: -1, most: MAX_INDEX });
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
        let range = [self.range(k, e), known].into_iter().flatten().reduce(Range::both)?;
        self.set(r, range);
        Some(range)
    }

    /// Returns the range of an integer; `None` if none is known that fits in 32 bits.
    pub fn range(&self, k: &Kernel, e: &Expr) -> Option<Range> {
        let range = match e {
            // operations on narrower types may wrap inside of the range
            Expr::Lit(l) if matches!(l.ty, Ty::I32 | Ty::U32 | Ty::I64 | Ty::U64) => {
                Range { least: l.as_int()?, most: l.as_int()? }
            }
            Expr::Reg(r) => self.registers.get(r.0 as usize).copied().flatten()?,
            Expr::In(i) => self.ins.get(*i as usize).copied().flatten()?,
            Expr::Place(Gpu::Thread) => Range { least: 0, most: MAX_THREADS - 1 },
            Expr::Cast(Ty::I64 | Ty::I32, a) => self.range(k, a)?,
            Expr::Cast(Ty::U32, a) => self.range(k, a)?.not_negative()?,
            Expr::Select(_, a, b) => {
                let (a, b) = (self.range(k, a)?, self.range(k, b)?);
                Range { least: a.least.min(b.least), most: a.most.max(b.most) }
            }
            Expr::Unary(UnaryOp::Neg, a) => {
                let a = self.range(k, a)?;
                Range { least: -a.most, most: -a.least }
            }
            Expr::Binary(op, a, b) => binary(*op, self.range(k, a)?, self.range(k, b)?)?,
            _ => return None,
        };
        let range = range.in_32_bits()?;
        // a difference of unsigned integers wraps below 0
        if range.least < 0 && k.ty(e) == Ty::U32 { None } else { Some(range) }
    }
}

/// Returns the range of an operation's result; `None` if it may not fit, or for other operations.
fn binary(op: BinaryOp, a: Range, b: Range) -> Option<Range> {
    use BinaryOp::{Add, And, Div, Max, Min, Mul, Rem, Shr, Sub};
    let of = |least, most| Some(Range { least, most });
    match op {
        Add => of(a.least + b.least, a.most + b.most),
        Sub => of(a.least - b.most, a.most - b.least),
        Mul => {
            let products = [a.least * b.least, a.least * b.most, a.most * b.least, a.most * b.most];
            of(*products.iter().min()?, *products.iter().max()?)
        }
        // a quotient by 0 is 0
        Div => of(0, a.not_negative()?.most / b.not_negative()?.least.max(1)),
        Rem => of(0, a.not_negative()?.most.min((b.not_negative()?.most - 1).max(0))),
        And => of(0, a.not_negative()?.most.min(b.not_negative()?.most)),
        Min => of(a.least.min(b.least), a.most.min(b.most)),
        Max => of(a.least.max(b.least), a.most.max(b.most)),
        Shr if b.least == b.most && (0..31).contains(&b.least) => of(a.least >> b.least, a.most >> b.least),
        _ => None,
    }
}
