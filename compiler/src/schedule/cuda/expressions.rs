//! Short names for the expressions of kernel IR that most strategies need.

use crate::kernel::{Expr, Gpu, WARP};
use crate::scalar::{BinaryOp, Ty};

pub fn thread() -> Expr {
    Expr::Place(Gpu::Thread)
}

/// Returns the number of the thread's warp in its block.
pub fn warp_number() -> Expr {
    shifted(thread(), WARP.into())
}

pub fn int32(x: i32) -> Expr {
    Expr::Lit(crate::scalar::Lit::i32(x))
}

pub fn to_i64(e: Expr) -> Expr {
    Expr::Cast(Ty::I64, Box::new(e))
}

/// Returns the sum with a constant, of an i32.
pub fn offset(e: Expr, by: i64) -> Expr {
    if by == 0 { e } else { e.plus(int32(by as i32)) }
}

/// Returns the quotient by a power of two, of an i32.
pub fn shifted(e: Expr, power: i64) -> Expr {
    let shift = int32(power.ilog2() as i32);
    if power == 1 { e } else { Expr::binary(BinaryOp::Shr, e, shift) }
}

/// Returns the remainder by a power of two, of an i32.
pub fn masked(e: Expr, power: i64) -> Expr {
    Expr::binary(BinaryOp::And, e, int32(power as i32 - 1))
}
