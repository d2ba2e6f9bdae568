//! Checks updates, which join values to elements of memories.

use super::{Check, Check1, Scope};
use crate::core::bins;
use crate::kernel::{Expr, Mem};
use crate::scalar::BinaryOp;

impl Check<'_> {
    /// Checks an update of an element of a memory by an operator.
    pub(super) fn update(&self, (op, m): (BinaryOp, Mem), at: &Expr, e: &Expr, scope: &Scope) -> Check1 {
        self.index(at, scope)?;
        let ty = self.mem(m, scope)?;
        self.want(e, ty, scope)?;
        let is_ours = match m {
            Mem::Array(a) => !scope.finish && self.k.arrays[a as usize].write,
            Mem::Shared(_) => self.gpu(),
            Mem::Local(_) | Mem::Scratch(_) => false,
        };
        match is_ours && bins::is_joined(op, ty) {
            true => Ok(()),
            false => Err(format!("update of {m:?}, {ty}, by {op}")),
        }
    }
}
