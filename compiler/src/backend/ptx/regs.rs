//! Virtual registers: one for each register of the kernel, and temporaries. `ptxas` assigns
//! hardware registers.

use super::params::Params;
use crate::kernel::name::{Name, write_decimal};
use crate::kernel::{Gpu, Kernel, Reg};
use crate::scalar::{Lit, Ty};
use std::fmt::{self, Display, Formatter, Write};

/// Returns the class of the register that holds a value. Integers of 8 and 16 bits are held in 32
/// bits, sign-extended or zero-extended; 16-bit floats as their bits in 32 bits; a bool as a
/// predicate.
pub fn class(ty: Ty) -> &'static str {
    match ty {
        Ty::F32 => "f32",
        Ty::F64 => "f64",
        Ty::I64 | Ty::U64 => "b64",
        Ty::I8 | Ty::I16 | Ty::I32 | Ty::U8 | Ty::U16 | Ty::U32 | Ty::F16 | Ty::Bf16 => "b32",
        Ty::Bool => "pred",
    }
}

/// Returns the type suffix of instructions that compute with values of a type.
pub fn operation_type(ty: Ty) -> &'static str {
    match ty {
        Ty::F32 => "f32",
        Ty::F64 => "f64",
        Ty::I8 | Ty::I16 | Ty::I32 => "s32",
        Ty::I64 => "s64",
        Ty::U8 | Ty::U16 | Ty::U32 | Ty::F16 | Ty::Bf16 => "u32",
        Ty::U64 => "u64",
        Ty::Bool => "pred",
    }
}

/// Returns the type suffix of a load or store of one element.
pub fn memory_type(ty: Ty) -> &'static str {
    match ty {
        Ty::U8 | Ty::Bool => "u8",
        Ty::I8 => "s8",
        Ty::U16 | Ty::F16 | Ty::Bf16 => "u16",
        Ty::I16 => "s16",
        ty => operation_type(ty),
    }
}

/// An operand of an instruction: a register or a constant. Its text is written only when it is
/// printed.
#[derive(Clone, Copy)]
pub enum Operand<'a> {
    /// A register of the kernel.
    Named(&'a Name),
    /// A temporary: the index of its class in [`TEMPORARIES`], and its number in that class.
    Temporary(u8, u32),
    /// An "in" scalar.
    In(usize),
    /// A parameter: an address, or a stride.
    Arg(usize),
    Place(Gpu),
    Literal(Lit),
}

impl Operand<'_> {
    /// Whether the operand is not a constant.
    pub fn is_register(self) -> bool {
        !matches!(self, Operand::Literal(_))
    }
}

impl Operand<'_> {
    /// Writes the text of the operand.
    pub fn write(self, out: &mut impl Write) -> fmt::Result {
        match self {
            Operand::Named(name) => {
                out.write_char('%')?;
                name.write(out)
            }
            Operand::Temporary(class, number) => {
                out.write_str(TEMPORARIES[usize::from(class)].1)?;
                write_decimal(out, number.into())
            }
            Operand::In(i) => {
                out.write_str("%in")?;
                write_decimal(out, i as u64)
            }
            Operand::Arg(i) => {
                out.write_str("%arg")?;
                write_decimal(out, i as u64)
            }
            Operand::Place(g) => {
                out.write_char('%')?;
                out.write_str(g.name())
            }
            Operand::Literal(l) => literal(out, l),
        }
    }
}

impl Display for Operand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

/// Writes a constant by its bits, so that it is exact.
fn literal(out: &mut impl Write, l: Lit) -> fmt::Result {
    match l.ty {
        Ty::F32 => {
            out.write_str("0f")?;
            write_hex(out, l.bits, 8)
        }
        Ty::F64 => {
            out.write_str("0d")?;
            write_hex(out, l.bits, 16)
        }
        Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => write!(out, "{}", l.as_int().unwrap_or(0)),
        Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 | Ty::F16 | Ty::Bf16 | Ty::Bool => write_decimal(out, l.bits),
    }
}

fn write_hex(out: &mut impl Write, bits: u64, digits: u32) -> fmt::Result {
    let digit = |at: u32| char::from(b"0123456789ABCDEF"[(bits >> (4 * at) & 15) as usize]);
    (0..digits).rev().try_for_each(|at| out.write_char(digit(at)))
}

/// Several operands, which are printed with commas between them.
pub struct List<'a>(pub &'a [Operand<'a>]);

impl Display for List<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, operand) in self.0.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { ", " })?;
            operand.write(f)?;
        }
        Ok(())
    }
}

/// The classes of registers, each with the name of its temporaries.
const TEMPORARIES: [(&str, &str); 6] =
    [("pred", "%_p"), ("b32", "%_r"), ("b64", "%_d"), ("f32", "%_f"), ("f64", "%_g"), ("b16", "%_h")];

/// The registers of one entry.
pub struct Regs<'a> {
    k: &'a Kernel,
    /// The operands that stand for arguments and positions, with their classes.
    special: Vec<(Operand<'a>, &'static str)>,
    /// Number of temporaries of each class.
    temporaries: [u32; TEMPORARIES.len()],
}

impl<'a> Regs<'a> {
    pub fn new(k: &'a Kernel, params: &Params) -> Regs<'a> {
        let mut special: Vec<_> =
            k.ins.iter().enumerate().map(|(i, (_, ty))| (Operand::In(i), class(*ty))).collect();
        for (i, p) in params.list.iter().enumerate() {
            if p.pointer.is_some() || i < params.ins {
                special.push((Operand::Arg(i), "b64"));
            }
        }
        special.extend(Gpu::ALL.map(|g| (Operand::Place(g), "b32")));
        Regs { k, special, temporaries: [0; TEMPORARIES.len()] }
    }

    /// Returns the operand of a kernel's register.
    pub fn of(&self, r: Reg) -> Operand<'a> {
        Operand::Named(&self.k.regs[r.0 as usize].0)
    }

    /// Returns a new temporary.
    pub fn fresh(&mut self, ty: Ty) -> Operand<'a> {
        self.of_class(class(ty))
    }

    /// Returns a new 16-bit temporary, which conversions of 16-bit floats need.
    pub fn fresh_half(&mut self) -> Operand<'a> {
        self.of_class("b16")
    }

    fn of_class(&mut self, class: &str) -> Operand<'a> {
        let i = TEMPORARIES.iter().position(|t| t.0 == class).expect("every class is listed");
        self.temporaries[i] += 1;
        Operand::Temporary(i as u8, self.temporaries[i] - 1)
    }

    /// Writes the declarations of all registers.
    pub fn declare(&self, out: &mut String) {
        for ((class, prefix), count) in TEMPORARIES.iter().zip(self.temporaries) {
            if count > 0 {
                let _ = writeln!(out, "    .reg .{class} {prefix}<{count}>;");
            }
            let named = self.k.regs.iter().map(|(name, ty)| (Operand::Named(name), self::class(*ty)));
            let all = named.chain(self.special.iter().copied());
            let names: Vec<Operand> = all.filter(|r| r.1 == *class).map(|r| r.0).collect();
            for line in names.chunks(12) {
                let _ = writeln!(out, "    .reg .{class} {};", List(line));
            }
        }
    }
}
