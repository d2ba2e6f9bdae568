//! Loops over the elements of a reduction that a condition leaves ([`crate::schedule::facts::needed_range`]).

use super::lanes::{Lanes, assign, read};
use super::tree::Tile;
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Lit};
use crate::schedule::element::lower::Lower;
use crate::schedule::facts::needed_range::NeededRange;

/// The range of the elements that are needed, in the code of an element.
pub struct Needed {
    /// The first index, where it is bounded.
    pub first: Option<Expr>,
    /// The index after the last one, where it is bounded.
    pub end: Option<Expr>,
    /// The value of other elements, and of tiles of these.
    pub otherwise: Lit,
}

impl Needed {
    /// Returns the range, given the code of a bound.
    pub fn of(range: &NeededRange, mut bound: impl FnMut(NodeId) -> Result<Expr>) -> Result<Needed> {
        let [first, end] = [range.first, range.end].map(|n| n.map(&mut bound).transpose());
        Ok(Needed { first: first?, end: end?, otherwise: range.otherwise })
    }

    /// Returns whether a tile of `left` elements from index `base` on has elements that are needed.
    pub fn has_some(&self, base: &Expr, left: &Expr) -> Expr {
        let lt = |a: &Expr, b: Expr| Expr::binary(BinaryOp::Lt, a.clone(), b);
        let first = self.first.as_ref().map(|first| lt(first, base.clone().plus(left.clone())));
        let end = self.end.as_ref().map(|end| lt(base, end.clone()));
        let both = first.into_iter().chain(end).reduce(|a, b| Expr::binary(BinaryOp::And, a, b));
        both.unwrap_or(Expr::Lit(Lit::bool(true)))
    }

    /// Emits a tile of a reduction with one lane, if it has elements that are needed.
    pub(super) fn tile(
        &self,
        l: &mut Lower,
        lanes: &mut Lanes,
        (base, left): (Expr, Expr),
        out: &mut Vec<Stmt>,
        tile: &mut Tile,
    ) -> Result<Vec<Expr>> {
        let value = l.k.reg("tile", self.otherwise.ty);
        out.push(Stmt::Var(value, Expr::Lit(self.otherwise)));
        let (is_needed, mut body) = (self.has_some(&base, &left), Vec::new());
        let values = l.in_block(|l| tile(l, lanes, base, left, &mut body))?;
        assign(l, &[value], values, &mut body);
        out.push(Stmt::If(is_needed, body, vec![]));
        Ok(read(&[value]))
    }
}
