//! Computes addresses. The part of an index that is not constant is computed into a register, which
//! all accesses of a block with the same part share; the constant part becomes the offset of the
//! instruction.
//!
//! In `narrow` kernels an index is an i32 and is sign-extended. Taking a constant out of it is
//! exact: the launch guarantees that indices and extents stay 2^20 below 2^31, and only constants
//! below 2^20 are taken out.

use super::regs::Operand;
use super::{DYNAMIC, Emitter};
use crate::kernel::index::split;
use crate::kernel::{Expr, Mem};
use crate::scalar::{Lit, Ty};
use crate::without::{self, Optimisation};
use std::borrow::Cow;
use std::fmt::{self, Display, Formatter, Write};

/// `[register + offset]`
#[derive(Clone, Copy)]
pub struct Address<'a> {
    pub register: Operand<'a>,
    pub offset: i64,
}

impl Address<'_> {
    /// Writes the text of the address.
    pub fn write(&self, out: &mut impl Write) -> fmt::Result {
        out.write_char('[')?;
        self.register.write(out)?;
        if self.offset != 0 {
            out.write_char('+')?;
            Operand::Literal(Lit::i64(self.offset)).write(out)?;
        }
        out.write_char(']')
    }
}

impl Display for Address<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

impl<'a> Emitter<'a> {
    /// Returns the address of an element.
    pub fn address(&mut self, m: Mem, index: &Expr) -> Address<'a> {
        let strided = matches!(m, Mem::Array(a) if self.k.arrays[a as usize].strided);
        let shares = !without::is_left_out(Optimisation::Offsets);
        let (part, constant) =
            if strided || !shares { (Some(Cow::Borrowed(index)), 0) } else { split(index) };
        let size = self.k.mem(m).1.size() as i64;
        let mut known = self.addresses.iter().flatten().filter(|_| shares);
        let known = known.find(|k| k.0 == m && k.1.as_ref() == part.as_deref());
        let register = match known {
            Some(known) => known.2,
            None => {
                let register = self.place_of(m, part.as_deref(), strided, size);
                if part.as_deref().is_none_or(|e| self.is_fixed(e))
                    && let Some(scope) = self.addresses.last_mut()
                {
                    scope.push((m, part.map(Cow::into_owned), register));
                }
                register
            }
        };
        Address { register, offset: constant * size }
    }

    /// Returns the register that holds the address of element `part`, or of element 0 if there is
    /// no `part`.
    fn place_of(&mut self, m: Mem, part: Option<&Expr>, strided: bool, size: i64) -> Operand<'a> {
        if let Mem::Shared(s) = m {
            return self.shared_place(s, part, size);
        }
        let base = match m {
            Mem::Local(i) => self.local_base(i),
            _ => self.base(m),
        };
        let Some(part) = part else { return base };
        let narrow = self.k.ty(part) == Ty::I32;
        let mut index = self.value(part);
        let address = self.regs.fresh(Ty::I64);
        if strided && let Mem::Array(a) = m {
            let stride = Operand::Arg(self.params.strides + self.strided_before(a));
            let scaled = self.regs.fresh(Ty::I64);
            if narrow {
                let low = self.regs.fresh(Ty::I32);
                code!(self, "cvt.u32.u64 {low}, {stride};");
                code!(self, "mul.wide.s32 {scaled}, {index}, {low};");
            } else {
                code!(self, "mul.lo.s64 {scaled}, {index}, {stride};");
            }
            index = scaled;
        }
        let name = if narrow && !strided { "mad.wide.s32" } else { "mad.lo.s64" };
        self.instruction(&[name], &[address, index, Operand::Literal(Lit::i64(size)), base]);
        address
    }

    fn strided_before(&self, a: u32) -> usize {
        self.k.arrays[..a as usize].iter().filter(|a| a.strided).count()
    }

    /// Returns the address of an element in shared memory, which has 32 bits.
    fn shared_place(&mut self, s: u32, part: Option<&Expr>, size: i64) -> Operand<'a> {
        let base = self.regs.fresh(Ty::U32);
        if self.shared.dynamic() > 0 {
            let offset = self.shared.offsets[s as usize];
            code!(self, "mov.u32 {base}, {DYNAMIC}+{offset};");
        } else {
            code!(self, "mov.u32 {base}, {};", self.k.shared[s as usize].0);
        }
        let Some(part) = part else { return base };
        let mut index = self.value(part);
        if self.k.ty(part) == Ty::I64 {
            let low = self.regs.fresh(Ty::U32);
            let cut = if index.is_register() { "cvt.u32.u64" } else { "mov.u32" };
            code!(self, "{cut} {low}, {index};");
            index = low;
        }
        let address = self.regs.fresh(Ty::U32);
        code!(self, "mad.lo.s32 {address}, {index}, {size}, {base};");
        address
    }

    /// Returns the address of a local array.
    fn local_base(&mut self, i: u32) -> Operand<'a> {
        let base = self.regs.fresh(Ty::I64);
        code!(self, "mov.u64 {base}, {};", self.k.locals[i as usize].0);
        base
    }

    /// Returns the address among those of all state spaces. A global address is the same there, by what `parameters`
    /// leaves out.
    pub fn generic(&mut self, m: Mem, address: Address<'a>) -> Address<'a> {
        let space = match m {
            Mem::Array(_) | Mem::Scratch(_) => return address,
            Mem::Shared(_) => "shared",
            Mem::Local(_) => "local",
        };
        let mut register = address.register;
        if space == "shared" {
            register = self.regs.fresh(Ty::I64);
            code!(self, "cvt.u64.u32 {register}, {};", address.register);
        }
        let generic = self.regs.fresh(Ty::I64);
        code!(self, "cvta.{space}.u64 {generic}, {register};");
        Address { register: generic, ..address }
    }

    fn base(&self, m: Mem) -> Operand<'a> {
        match m {
            Mem::Array(a) => Operand::Arg(a as usize),
            Mem::Scratch(s) => Operand::Arg(self.params.scratch + s as usize),
            Mem::Shared(_) | Mem::Local(_) => unreachable!("{m:?} is no parameter"),
        }
    }

    /// Whether an expression keeps its value as long as its registers are in scope.
    pub fn is_fixed(&self, e: &Expr) -> bool {
        match e {
            Expr::Lit(_) | Expr::In(_) | Expr::Place(_) => true,
            Expr::Reg(r) => !self.vars[r.0 as usize],
            Expr::Unary(_, a) | Expr::Cast(_, a) => self.is_fixed(a),
            Expr::Binary(_, a, b) => self.is_fixed(a) && self.is_fixed(b),
            Expr::MulAdd(a, b, c) | Expr::Select(a, b, c) => {
                self.is_fixed(a) && self.is_fixed(b) && self.is_fixed(c)
            }
            _ => false,
        }
    }
}
