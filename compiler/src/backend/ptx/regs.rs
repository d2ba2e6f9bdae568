//! Virtual registers: one for each register of the kernel, and temporaries. `ptxas` assigns the real ones.

use crate::kernel::{Gpu, Kernel, Reg};
use crate::scalar::Ty;
use std::fmt::Write;

/// The kind of register that holds a value: integers of 8 and 16 bits live in 32 bits, extended as their sign says; halves as their bits in 32;
/// bool in a predicate.
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

/// The registers of one entry.
pub struct Regs {
    /// (name, class) of the kernel's, in order.
    named: Vec<(String, &'static str)>,
    /// Names of arguments and places.
    special: Vec<(String, &'static str)>,
    /// How many temporaries of each class.
    temporaries: [(&'static str, &'static str, u32); 6],
}

impl Regs {
    pub fn new(k: &Kernel) -> Regs {
        let named = k.regs.iter().map(|(name, ty)| (format!("%{name}"), class(*ty))).collect();
        let mut special: Vec<(String, &'static str)> =
            k.ins.iter().enumerate().map(|(i, (_, ty))| (format!("%in{i}"), class(*ty))).collect();
        let params = super::Params::of(k);
        for (i, p) in params.list.iter().enumerate() {
            if p.pointer.is_some() || i < params.ins {
                special.push((format!("%arg{i}"), "b64"));
            }
        }
        special.extend(Gpu::ALL.map(|g| (place(g), "b32")));
        let temporaries = [
            ("pred", "%_p", 0),
            ("b32", "%_r", 0),
            ("b64", "%_d", 0),
            ("f32", "%_f", 0),
            ("f64", "%_g", 0),
            ("b16", "%_h", 0),
        ];
        Regs { named, special, temporaries }
    }

    /// The register of a kernel's register.
    pub fn of(&self, r: Reg) -> String {
        self.named[r.0 as usize].0.clone()
    }

    /// A new temporary.
    pub fn fresh(&mut self, ty: Ty) -> String {
        self.of_class(class(ty))
    }

    /// A new temporary of 16 bits, which conversions of halves want.
    pub fn fresh_half(&mut self) -> String {
        self.of_class("b16")
    }

    fn of_class(&mut self, class: &str) -> String {
        for (name, prefix, count) in &mut self.temporaries {
            if *name == class {
                *count += 1;
                return format!("{prefix}{}", *count - 1);
            }
        }
        unreachable!("every class is listed")
    }

    /// Their declarations.
    pub fn declare(&self, out: &mut String) {
        for (class, prefix, count) in &self.temporaries {
            if *count > 0 {
                let _ = writeln!(out, "    .reg .{class} {prefix}<{count}>;");
            }
            let names: Vec<&str> = self
                .named
                .iter()
                .chain(&self.special)
                .filter(|r| r.1 == *class)
                .map(|r| r.0.as_str())
                .collect();
            for line in names.chunks(12) {
                let _ = writeln!(out, "    .reg .{class} {};", line.join(", "));
            }
        }
    }
}

/// The register of a place.
pub fn place(g: Gpu) -> String {
    format!("%{}", g.name())
}
