//! Short names for the expressions of kernel IR that most strategies need.

use crate::kernel::{Expr, Gpu};
use crate::scalar::Ty;

pub fn thread() -> Expr {
    Expr::Place(Gpu::Thread)
}

pub fn int32(x: i32) -> Expr {
    Expr::Lit(crate::scalar::Lit::i32(x))
}

pub fn to_i64(e: Expr) -> Expr {
    Expr::Cast(Ty::I64, Box::new(e))
}
