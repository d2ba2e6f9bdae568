//! Which kernels have counters in device memory as a parameter.

use super::{Kernel, Stmt};

impl Kernel {
    /// Whether the kernel takes counters: it does if its blocks communicate, through scratch, or by arrivals, tickets
    /// or published words.
    pub fn has_counters(&self) -> bool {
        fn is_any(body: &[Stmt]) -> bool {
            let is_one = |s: &Stmt| {
                matches!(
                    s,
                    Stmt::Arrive(..)
                        | Stmt::Ticket(..)
                        | Stmt::Publish(..)
                        | Stmt::Await(..)
                        | Stmt::Clear(_)
                )
            };
            body.iter().any(|s| is_one(s) || s.blocks().into_iter().any(is_any))
        }
        !self.scratch.is_empty() || self.main.as_deref().is_some_and(is_any)
    }
}
