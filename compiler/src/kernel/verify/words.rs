//! Checks the statements on counters: arrivals, tickets, and words that blocks publish for others.

use super::{Check, Check1, Scope};
use crate::kernel::Stmt;
use crate::scalar::Ty;

impl Check<'_> {
    /// Checks one of these statements.
    pub(super) fn exchanges(&self, s: &Stmt, scope: &mut Scope) -> Check1 {
        match s {
            Stmt::Ticket(r, at) => {
                self.index(at, scope)?;
                let fresh = self.reg(*r)? == Ty::I32 && scope.define(*r, false);
                if fresh { Ok(()) } else { Err(format!("{r:?} is no fresh i32")) }
            }
            Stmt::Publish(at, value) => {
                self.index(at, scope)?;
                self.word(self.expr(value, scope)?)
            }
            Stmt::Await(to, at, given) => {
                self.index(at, scope)?;
                self.want(given, Ty::Bool, scope)?;
                self.word(self.reg(*to)?)?;
                if scope.define(*to, false) { Ok(()) } else { Err(format!("{to:?} is not fresh")) }
            }
            Stmt::Clear(at) => self.index(at, scope).map(|_| ()),
            Stmt::Arrive(r, at, count) => {
                self.index(at, scope)?;
                self.index(count, scope)?;
                let fresh = self.reg(*r)? == Ty::Bool && scope.define(*r, false);
                if fresh { Ok(()) } else { Err(format!("{r:?} is no fresh bool")) }
            }
            _ => Err(format!("{s:?} is no access of counters")),
        }
    }

    /// Checks the type of a value that is published.
    fn word(&self, ty: Ty) -> Check1 {
        if matches!(ty.size(), 4 | 8) { Ok(()) } else { Err(format!("a published value of type {ty}")) }
    }
}
