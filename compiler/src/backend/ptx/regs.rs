//! Virtual registers: one for each register of the kernel, and temporaries. `ptxas` assigns
//! hardware registers.

use super::params::Params;
use crate::kernel::name::{Name, write_decimal};
use crate::kernel::{Gpu, Kernel, Reg};
use crate::scalar::{Lit, Ty};
use indexmap::IndexMap;
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
        Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => {
            let n = l.as_int().unwrap_or(0);
            out.write_str(if n < 0 { "-" } else { "" })?;
            write_decimal(out, n.unsigned_abs())
        }
        Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 | Ty::F16 | Ty::Bf16 | Ty::Bool => write_decimal(out, l.bits),
    }
}

fn write_hex(out: &mut impl Write, bits: u64, digits: u32) -> fmt::Result {
    let digit = |at: u32| char::from(b"0123456789ABCDEF"[(bits >> (4 * at) & 15) as usize]);
    (0..digits).rev().try_for_each(|at| out.write_char(digit(at)))
}

/// Several operands, which are printed with commas between them.
pub struct List<'a>(pub &'a [Operand<'a>]);

impl List<'_> {
    /// Writes the text of the operands.
    pub fn write(&self, out: &mut impl Write) -> fmt::Result {
        for (i, operand) in self.0.iter().enumerate() {
            out.write_str(if i == 0 { "" } else { ", " })?;
            operand.write(out)?;
        }
        Ok(())
    }
}

impl Display for List<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

/// The classes of registers, each with the name of its temporaries.
const TEMPORARIES: [(&str, &str); 6] =
    [("pred", "%_p"), ("b32", "%_r"), ("b64", "%_d"), ("f32", "%_f"), ("f64", "%_g"), ("b16", "%_h")];

/// Registers of one class whose names are one text and the numbers below an end.
struct Range<'a> {
    class: &'static str,
    text: &'a str,
    end: u32,
}

impl Range<'_> {
    fn has(&self, operand: &Operand) -> bool {
        match operand {
            Operand::Named(name) => name.parts().is_some_and(|(text, _)| text == self.text),
            Operand::Arg(_) => self.text == "arg",
            _ => false,
        }
    }
}

/// Returns the index of a class in [`TEMPORARIES`].
fn number_of(class: &str) -> usize {
    match class.as_bytes() {
        b"pred" => 0,
        b"b32" => 1,
        b"b64" => 2,
        b"f32" => 3,
        b"f64" => 4,
        _ => 5,
    }
}

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
        let i = number_of(class);
        self.temporaries[i] += 1;
        Operand::Temporary(i as u8, self.temporaries[i] - 1)
    }

    /// The numbered registers whose names have one text and that are of one class.
    fn ranges(&self) -> Vec<Range<'a>> {
        let mut found: IndexMap<&'a str, (Option<&'static str>, u32)> = IndexMap::new();
        // names that were read from a text may equal any of a range
        if self.k.regs.iter().any(|(name, _)| name.was_read()) {
            return Vec::new();
        }
        let named = self.k.regs.iter().filter_map(|(name, ty)| Some((name.parts()?, class(*ty))));
        let args = self.special.iter().filter_map(|(operand, class)| match operand {
            Operand::Arg(i) => Some((("arg", *i as u32), *class)),
            _ => None,
        });
        for ((text, number), class) in named.chain(args) {
            let (of, end) = found.entry(text).or_insert((Some(class), 0));
            *of = of.filter(|of| *of == class);
            *end = (*end).max(number + 1);
        }
        // "in" scalars have such names, too
        let found = found.into_iter().filter(|(text, _)| *text != "in");
        found.filter_map(|(text, (class, end))| Some(Range { class: class?, text, end })).collect()
    }

    /// Writes the declarations of all registers. If they are `short`, names that differ in their numbers only are
    /// declared together, with numbers that no register has.
    pub fn declare(&self, short: bool, out: &mut String) {
        let ranges = if short { self.ranges() } else { Vec::new() };
        let is_alone = |operand: &Operand| !ranges.iter().any(|range| range.has(operand));
        let named = self.k.regs.iter().map(|(name, ty)| (Operand::Named(name), class(*ty)));
        let mut names = TEMPORARIES.map(|_| Vec::new());
        for (operand, class) in named.chain(self.special.iter().copied()).filter(|r| is_alone(&r.0)) {
            names[number_of(class)].push(operand);
        }
        for Range { class, text, end } in &ranges {
            let _ = writeln!(out, "    .reg .{class} %{text}<{end}>;");
        }
        for (((class, prefix), count), names) in TEMPORARIES.iter().zip(self.temporaries).zip(names) {
            if count > 0 {
                let _ = writeln!(out, "    .reg .{class} {prefix}<{count}>;");
            }
            for line in names.chunks(12) {
                out.push_str("    .reg .");
                out.push_str(class);
                out.push(' ');
                let _ = List(line).write(out);
                out.push_str(";\n");
            }
        }
    }
}
