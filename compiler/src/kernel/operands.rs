//! Access to the operands of an expression, and shorthands for expressions of indices.

use super::{Expr, Mem};
use crate::scalar::{BinaryOp, Lit};

/// Calls `$f` on each direct operand of an expression, borrowed as the expression is.
macro_rules! operands {
    ($e:expr, $f:expr) => {
        match $e {
            Expr::Load(_, a)
            | Expr::Unary(_, a)
            | Expr::Cast(_, a)
            | Expr::ShuffleDown(a, _)
            | Expr::ShuffleUp(a, _)
            | Expr::ShuffleXor(a, _)
            | Expr::Broadcast(a) => $f(a),
            Expr::LoadIf(_, a, b) | Expr::Binary(_, a, b) => {
                $f(a);
                $f(b);
            }
            Expr::MulAdd(a, b, c) | Expr::Select(a, b, c) => {
                $f(a);
                $f(b);
                $f(c);
            }
            Expr::Lit(_)
            | Expr::Reg(_)
            | Expr::In(_)
            | Expr::Slot(_)
            | Expr::TileBegin
            | Expr::TileEnd
            | Expr::Place(_) => {}
        }
    };
}

/// Access to the operands of an expression.
impl Expr {
    /// Calls `f` on each direct operand.
    #[inline]
    pub fn children<'e>(&'e self, mut f: impl FnMut(&'e Expr)) {
        operands!(self, f)
    }

    /// Calls `f` on each direct operand, for mutation.
    #[inline]
    pub fn children_mut(&mut self, mut f: impl FnMut(&mut Expr)) {
        operands!(self, f)
    }
}

/// Shorthands for expressions of indices.
#[allow(missing_docs)]
impl Expr {
    pub fn int(x: i64) -> Expr {
        Expr::Lit(Lit::i64(x))
    }
    /// Returns the value of an integer constant.
    pub fn constant(&self) -> Option<i64> {
        if let Expr::Lit(l) = self { l.as_int() } else { None }
    }
    pub fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
        Expr::Binary(op, Box::new(a), Box::new(b))
    }
    pub fn plus(self, b: Expr) -> Expr {
        Expr::binary(BinaryOp::Add, self, b)
    }
    pub fn minus(self, b: Expr) -> Expr {
        Expr::binary(BinaryOp::Sub, self, b)
    }
    pub fn times(self, b: Expr) -> Expr {
        Expr::binary(BinaryOp::Mul, self, b)
    }
    pub fn min(self, b: Expr) -> Expr {
        Expr::binary(BinaryOp::Min, self, b)
    }
    /// Returns `a` if the condition holds, else `b`.
    pub fn select(self, a: Expr, b: Expr) -> Expr {
        Expr::Select(Box::new(self), Box::new(a), Box::new(b))
    }
    pub fn load(m: Mem, i: Expr) -> Expr {
        Expr::Load(m, Box::new(i))
    }
}
