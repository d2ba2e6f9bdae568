//! The accumulators of a reduction.

use crate::core::NodeId;
use crate::kernel::Expr;
use crate::scalar::{Lit, Ty};
use crate::schedule::element::lower::LaunchContext;
use crate::schedule::identity;

/// One accumulator of a reduction.
#[derive(Clone, Copy)]
pub struct Accumulator {
    /// Its type.
    pub ty: Ty,
    /// A node of its reduction.
    pub(super) node: NodeId,
    /// Whether the first accumulator of its reduction is a count.
    pub(super) is_counted: bool,
}

impl Accumulator {
    /// Returns the operator's identity, exact in every bit (-0 for sums of floats): the value of the
    /// accumulator of a column that has no elements. Returns `None` if the operator has no such value.
    pub fn identity(&self, l: &LaunchContext) -> Option<Lit> {
        match self.is_counted {
            true => Some(Lit::zero(self.ty)),
            false => identity::of(&l.g, self.node),
        }
    }

    /// Returns the value with which a column's accumulator is initialised: the operator's identity,
    /// or 0 if the operator has none. In the latter case the column's first value replaces it.
    pub fn absent(&self, l: &LaunchContext) -> Expr {
        Expr::Lit(self.identity(l).unwrap_or(Lit::zero(self.ty)))
    }
}
