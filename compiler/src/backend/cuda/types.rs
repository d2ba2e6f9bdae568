//! The types of values, and what a printer asks of kernels and expressions.

use crate::kernel::{Expr, Kernel, Mem};
use crate::scalar::Ty;

/// Returns the C++ type of a value. A 16-bit float is held as its bits, because it is only moved and converted.
pub fn ctype(ty: Ty) -> &'static str {
    match ty {
        Ty::F32 => "float",
        Ty::F64 => "double",
        Ty::I32 => "int",
        Ty::I64 => "int64_t",
        Ty::U32 => "unsigned",
        Ty::U64 => "uint64_t",
        Ty::I8 => "int8_t",
        Ty::U8 => "uint8_t",
        Ty::I16 => "int16_t",
        Ty::U16 | Ty::F16 | Ty::Bf16 => "uint16_t",
        Ty::Bool => "bool",
    }
}

/// Returns the C++ type of an element in memory.
pub fn memtype(ty: Ty) -> &'static str {
    if ty == Ty::Bool { "uint8_t" } else { ctype(ty) }
}

/// Returns the type in which a shuffle moves a value.
pub fn moved(ty: Ty) -> &'static str {
    if ty.size() < 4 { "int" } else { ctype(ty) }
}

/// Whether all lanes of the warp have to compute it.
pub fn has_shuffle(e: &Expr) -> bool {
    let mut found =
        matches!(e, Expr::ShuffleDown(..) | Expr::ShuffleUp(..) | Expr::ShuffleXor(..) | Expr::Broadcast(_));
    e.children(&mut |child: &Expr| found |= has_shuffle(child));
    found
}

/// Whether the memory is an array that no output overlaps, so that a load may use the read-only path.
pub fn is_read_only(k: &Kernel, m: Mem) -> bool {
    matches!(m, Mem::Array(a) if k.arrays[a as usize].noalias && !k.arrays[a as usize].write)
}
