//! Virtual registers: one for each register of the kernel, and temporaries. `ptxas` assigns the
//! real ones.

use super::params::Params;
use crate::kernel::name::{Name, write_decimal};
use crate::kernel::{Gpu, Kernel, Reg};
use crate::scalar::{Lit, Ty};
use std::fmt::{self, Display, Formatter, Write};

/// The kind of register that holds a value: integers of 8 and 16 bits live in 32 bits, extended as
/// their sign says; halves as their bits in 32; bool in a predicate.
pub fn class(ty: Ty) -> &'static str {
    match ty {
        Ty::F32 => "f32",
        Ty::F64 => "f64",
        Ty::I64 | Ty::U64 => "b64",
        Ty::I8 | Ty::I16 | Ty::I32 | Ty::U8 | Ty::U16 | Ty::U32 | Ty::F16 | Ty::Bf16 => "b32",
        Ty::Bool => "pred",
    }
}

/// The type of an instruction that computes with values of a type.
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

/// The type of a load or store of one element.
pub fn memory_type(ty: Ty) -> &'static str {
    match ty {
        Ty::U8 | Ty::Bool => "u8",
        Ty::I8 => "s8",
        Ty::U16 | Ty::F16 | Ty::Bf16 => "u16",
        Ty::I16 => "s16",
        ty => operation_type(ty),
    }
}

/// What an instruction is given: a register, or a constant. Written where it is printed.
#[derive(Clone, Copy)]
pub enum Operand<'a> {
    /// A register of the kernel.
    Named(&'a Name),
    /// A temporary: the place of its class in [`TEMPORARIES`], and its number there.
    Temporary(u8, u32),
    /// An "in" scalar.
    In(usize),
    /// A parameter: an address, or a stride.
    Arg(usize),
    Place(Gpu),
    Literal(Lit),
}

impl Operand<'_> {
    /// Whether it is no constant.
    pub fn is_register(self) -> bool {
        !matches!(self, Operand::Literal(_))
    }
}

impl Operand<'_> {
    /// Its text.
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

/// A constant with exactly its bits.
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

/// Several operands, with commas between them.
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

/// Classes of registers, and what temporaries of each are called.
const TEMPORARIES: [(&str, &str); 6] =
    [("pred", "%_p"), ("b32", "%_r"), ("b64", "%_d"), ("f32", "%_f"), ("f64", "%_g"), ("b16", "%_h")];

/// The registers of one entry.
pub struct Regs<'a> {
    k: &'a Kernel,
    /// Arguments and places, with their classes.
    special: Vec<(Operand<'a>, &'static str)>,
    /// How many temporaries of each class.
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

    /// The register of a kernel's register.
    pub fn of(&self, r: Reg) -> Operand<'a> {
        Operand::Named(&self.k.regs[r.0 as usize].0)
    }

    /// A new temporary.
    pub fn fresh(&mut self, ty: Ty) -> Operand<'a> {
        self.of_class(class(ty))
    }

    /// A new temporary of 16 bits, which conversions of halves want.
    pub fn fresh_half(&mut self) -> Operand<'a> {
        self.of_class("b16")
    }

    fn of_class(&mut self, class: &str) -> Operand<'a> {
        let i = TEMPORARIES.iter().position(|t| t.0 == class).expect("every class is listed");
        self.temporaries[i] += 1;
        Operand::Temporary(i as u8, self.temporaries[i] - 1)
    }

    /// Their declarations.
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
