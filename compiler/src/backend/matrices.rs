//! The parts of PTX's instructions on matrices that depend on types: CUDA C++ has the same instructions inline.

use crate::scalar::Ty;

/// Returns the inner extent of one instruction on elements of a type, and its name of the type. f32 are rounded to
/// tf32.
pub fn depth_and_type(ty: Ty) -> (u32, &'static str) {
    match ty {
        Ty::F32 => (8, "tf32"),
        Ty::Bf16 => (16, "bf16"),
        _ => (16, "f16"),
    }
}

/// Returns the last operands of a warpgroup's instruction, which say for elements of 16 bits whether the columns lie
/// across the inner index.
pub fn directions(ty: Ty, across: bool) -> &'static str {
    match (ty, across) {
        (Ty::F32, _) => "",
        (_, true) => ", 0, 1",
        (_, false) => ", 0, 0",
    }
}
