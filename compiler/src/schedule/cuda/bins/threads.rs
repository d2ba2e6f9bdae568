//! The threads of a block that joins elements to bins, or stores them at places, and the loop that they share.

use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::lower::{Lower, bind};

/// Threads of a block.
pub const THREADS: u32 = 256;

/// Writes a loop that the threads of the block share, from a thread's own first index up to an end.
pub fn each(
    l: &mut Lower,
    (from, end): (Expr, Expr),
    out: &mut Vec<Stmt>,
    body: impl FnOnce(&mut Lower, Expr, &mut Vec<Stmt>) -> Result<()>,
) -> Result<()> {
    let next: Reg = l.k.reg("next", Ty::I64);
    out.push(Stmt::Var(next, from));
    let mut inner = Vec::new();
    let at = bind(l, "k", Expr::Reg(next), &mut inner);
    body(l, at, &mut inner)?;
    inner.push(Stmt::Assign(next, Expr::Reg(next).plus(Expr::int(THREADS.into()))));
    out.push(Stmt::While(Expr::binary(BinaryOp::Lt, Expr::Reg(next), end), inner));
    Ok(())
}
