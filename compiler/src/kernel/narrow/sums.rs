//! Registers that are sums of terms in 32 bits, and where registers get their values: what `sides.rs` needs to know.

use crate::kernel::{Expr, Reg};

/// A term of a sum of i64: it fits in 32 bits.
#[derive(Clone)]
pub struct Term {
    /// The term itself.
    pub value: Expr,
    /// Whether it is subtracted.
    pub is_subtracted: bool,
}

impl Term {
    /// Returns the term with the other sign.
    pub fn negated(self) -> Term {
        Term { is_subtracted: !self.is_subtracted, ..self }
    }
}

/// Where registers get their values, and those that are sums.
#[derive(Default)]
pub struct Sums {
    /// The terms of a register that is a sum beyond 32 bits.
    terms: Vec<Option<Vec<Term>>>,
    /// Registers that are assigned more than once: what was computed from one may differ from it later.
    variables: Vec<bool>,
    /// The number of loops around the definition of a register.
    depths: Vec<u32>,
    /// The number of loops around the statement that the pass is at.
    depth: u32,
}

impl Sums {
    /// Goes into a loop.
    pub fn enter(&mut self) {
        self.depth += 1;
    }

    /// Leaves a loop.
    pub fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Notes that a register is assigned more than once.
    pub fn changes(&mut self, r: Reg) {
        set(&mut self.variables, r, true);
    }

    /// Notes the terms of a register that is a sum of them, if their values stay what they are.
    pub fn note(&mut self, r: Reg, terms: Vec<Term>) {
        if terms.iter().all(|t| self.is_fixed(&t.value)) {
            set(&mut self.terms, r, Some(terms));
        }
    }

    /// Returns the terms of a register that is a sum.
    pub fn terms_of(&self, r: Reg) -> Option<Vec<Term>> {
        self.terms.get(r.0 as usize)?.clone()
    }

    /// Whether an expression has the same value wherever its registers have one.
    pub fn is_fixed(&self, e: &Expr) -> bool {
        let mut fixed = match e {
            Expr::Reg(r) => !self.variables.get(r.0 as usize).copied().unwrap_or_default(),
            Expr::Lit(_) | Expr::In(_) | Expr::Place(_) => true,
            Expr::Unary(..) | Expr::Binary(..) | Expr::Select(..) | Expr::Cast(..) => true,
            _ => false,
        };
        e.children(|child| fixed = fixed && self.is_fixed(child));
        fixed
    }

    /// Notes where a register gets its value.
    pub fn define(&mut self, r: Reg) {
        set(&mut self.depths, r, self.depth);
    }

    /// Returns the number of loops that change the value of an expression.
    pub fn depth_of(&self, e: &Expr) -> u32 {
        let mut depth = match e {
            Expr::Reg(r) => self.depths.get(r.0 as usize).copied().unwrap_or_default(),
            Expr::Load(..) | Expr::LoadIf(..) => self.depth,
            _ => 0,
        };
        e.children(|child| depth = depth.max(self.depth_of(child)));
        depth
    }
}

fn set<T: Clone + Default>(list: &mut Vec<T>, r: Reg, value: T) {
    let at = r.0 as usize;
    if list.len() <= at {
        list.resize(at + 1, T::default());
    }
    list[at] = value;
}
