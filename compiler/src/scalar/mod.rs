//! Scalars: element types, constants, operators and their exact evaluation.
//!
//! The interpreter, constant folding, the host expressions of plans and the backends all implement
//! the operators of [`ops`] as [`eval`] defines them. Section 2 of `docs/semantics.md` describes
//! the same operators in words.

pub mod elementary;
pub mod eval;
pub mod half;
mod lit;
pub mod near;
pub mod ops;
pub mod range;

pub use eval::{
    Fault, eval_binary, eval_cast, eval_known_binary, eval_known_cast, eval_known_unary, eval_mul_add,
    eval_unary,
};
pub use lit::Lit;
pub use ops::{BinaryOp, UnaryOp};

use std::fmt;

/// An element type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Ty {
    F32,
    F64,
    I32,
    I64,
    U32,
    U8,
    Bool,
    U64,
    I8,
    I16,
    U16,
    F16,
    Bf16,
}

impl Ty {
    /// Every element type, in the order of their codes in the C ABI.
    pub const ALL: [Ty; 13] = [
        Ty::F32,
        Ty::F64,
        Ty::I32,
        Ty::I64,
        Ty::U32,
        Ty::U8,
        Ty::Bool,
        Ty::U64,
        Ty::I8,
        Ty::I16,
        Ty::U16,
        Ty::F16,
        Ty::Bf16,
    ];

    /// Returns the name in the text IRs, which is Rust's name.
    pub fn name(self) -> &'static str {
        match self {
            Ty::F32 => "f32",
            Ty::F64 => "f64",
            Ty::I32 => "i32",
            Ty::I64 => "i64",
            Ty::U32 => "u32",
            Ty::U8 => "u8",
            Ty::Bool => "bool",
            Ty::U64 => "u64",
            Ty::I8 => "i8",
            Ty::I16 => "i16",
            Ty::U16 => "u16",
            Ty::F16 => "f16",
            Ty::Bf16 => "bf16",
        }
    }

    /// Returns the type with that name.
    pub fn parse(name: &str) -> Option<Ty> {
        Ty::ALL.into_iter().find(|t| t.name() == name)
    }

    /// Returns the bytes of one element in memory.
    pub fn size(self) -> usize {
        match self {
            Ty::F64 | Ty::I64 | Ty::U64 => 8,
            Ty::F32 | Ty::I32 | Ty::U32 => 4,
            Ty::I16 | Ty::U16 | Ty::F16 | Ty::Bf16 => 2,
            Ty::I8 | Ty::U8 | Ty::Bool => 1,
        }
    }

    /// Returns whether the type is f32, f64, f16 or bf16.
    pub fn is_float(self) -> bool {
        matches!(self, Ty::F32 | Ty::F64) || self.is_half()
    }

    /// Returns whether the type is f16 or bf16. Their operations are computed in f32 and rounded
    /// (semantics 2.9).
    pub fn is_half(self) -> bool {
        matches!(self, Ty::F16 | Ty::Bf16)
    }

    /// Returns whether the type is an integer type; bool is not.
    pub fn is_int(self) -> bool {
        !self.is_float() && self != Ty::Bool
    }

    /// Returns whether the type is a signed integer or a float.
    pub fn is_signed(self) -> bool {
        self.is_float() || matches!(self, Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64)
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
