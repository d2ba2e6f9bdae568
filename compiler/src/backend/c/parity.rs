//! Comparisons of the last bit of an integer, which C compilers must not see as such.

use crate::kernel::{Expr, Kernel};
use crate::scalar::{BinaryOp, Ty};

/// If an expression compares the last bit of a signed integer with 0, returns the integer, and whether the bit is to
/// be 0. GCC makes a bit of such a comparison, and has no vectors for the conjunction of a bit and another
/// comparison. Remainders of 2 have a helper of their own for the same reason.
pub fn parity<'e>(k: &Kernel, e: &'e Expr) -> Option<(&'e Expr, bool)> {
    let Expr::Binary(op @ (BinaryOp::Eq | BinaryOp::Ne), bit, zero) = e else { return None };
    let Expr::Binary(BinaryOp::And, x, mask) = &**bit else { return None };
    let is_parity = zero.constant() == Some(0) && mask.constant() == Some(1);
    (is_parity && matches!(k.ty(x), Ty::I32 | Ty::I64)).then_some((&**x, *op == BinaryOp::Eq))
}
