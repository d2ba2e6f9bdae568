//! Bindings of variables, and the values that depend on them.

use super::values::Val;
use crate::core::{NodeId, Var};
use crate::scalar::{Lit, Ty};
use std::cell::RefCell;

/// Bindings of a lambda's variables, and the values that depend on them.
#[derive(Default)]
pub(super) struct Env<'e> {
    pub(super) params: &'e [(Var, Ty)],
    pub(super) args: &'e [Lit],
    pub(super) memo: Memo,
    pub(super) outer: Option<&'e Env<'e>>,
    /// Values with names that were shown for these bindings.
    pub(super) shown: RefCell<Vec<NodeId>>,
}

impl Env<'_> {
    pub(super) fn var(&self, v: Var) -> Lit {
        match self.params.iter().position(|p| p.0 == v) {
            Some(i) => self.args[i],
            None => self.outer.expect("verified: every variable is bound").var(v),
        }
    }

    /// The innermost bindings that a value with these free variables depends on; the outermost, if
    /// there are none.
    pub(super) fn of(&self, free: &[Var]) -> &Env<'_> {
        match self.outer {
            Some(outer) if !self.params.iter().any(|p| free.contains(&p.0)) => outer.of(free),
            _ => self,
        }
    }
}

/// The values of nodes for some bindings.
#[derive(Default)]
pub(super) struct Memo(RefCell<Entries>);

#[derive(Default)]
struct Entries {
    /// The value of each node, where it is known.
    of: Vec<Option<Val>>,
    /// The nodes whose values are known.
    known: Vec<NodeId>,
}

impl Memo {
    pub(super) fn get(&self, n: NodeId) -> Option<Val> {
        self.0.borrow().of.get(n.0 as usize).cloned().flatten()
    }

    pub(super) fn insert(&self, n: NodeId, value: Val) {
        let (mut entries, at) = (self.0.borrow_mut(), n.0 as usize);
        if entries.of.len() <= at {
            entries.of.resize(at + 1, None);
        }
        entries.of[at] = Some(value);
        entries.known.push(n);
    }

    /// Forgets all values, for other bindings.
    pub(super) fn clear(&self) {
        let Entries { of, known } = &mut *self.0.borrow_mut();
        known.drain(..).for_each(|n| of[n.0 as usize] = None);
    }
}
