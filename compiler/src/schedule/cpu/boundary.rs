//! Rows cut at their edges: the ranges of a row that need no tests of indices have code of their own
//! (`ranges.rs`), which the C compiler vectorises.
//!
//! ```text
//! begin           first                                   last       end
//!   | program's    |                 range                 | program's |
//! ```
//!
//! ```text
//! while at < end {
//!     if first <= at && at < last { for j = at to last { the range's element }    at = last }
//!     else { for j = at to the next range { the program's element }    at = the next range }
//! }
//! ```
//!
//! So the code of each kind of element is written once, in whatever order the ranges lie.

use super::ranges::{self, Range};
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::BinaryOp;
use crate::scalar::Ty;
use crate::schedule::groups::FusedGroup;
use crate::schedule::lower::{LaunchContext, Lower, named};

/// The ranges of the rows of a fused group.
pub struct RowParts {
    ranges: Vec<Range>,
    /// The program's own elements.
    roots: Vec<NodeId>,
}

/// A part of a row.
pub struct Part<'a> {
    /// The index of the part's first element along the last axis.
    pub begin: Expr,
    /// The index behind the part's last element.
    pub end: Expr,
    /// The elements.
    pub roots: &'a [NodeId],
    /// The values of nodes that are the same for the whole row.
    pub given: Vec<(NodeId, Expr)>,
}

/// Emits the elements of a part of a row.
pub type Work<'a> = dyn FnMut(&mut Lower, &Part) -> Result<Vec<Stmt>> + 'a;

impl RowParts {
    /// Returns the parts of rows whose elements are `roots` at `index`. Without `cut`, a row is one
    /// part.
    pub fn of(
        l: &mut LaunchContext,
        fused: &FusedGroup,
        index: &[NodeId],
        roots: &[NodeId],
        cut: bool,
    ) -> Self {
        let ranges = if cut { ranges::of(l, &fused.domain, index, roots) } else { Vec::new() };
        RowParts { ranges, roots: roots.to_vec() }
    }

    /// Emits a piece of a row, from `begin` to `end`. `outer` are the row's indices along the axes
    /// before the last.
    pub fn emit(
        &self,
        l: &mut Lower,
        outer: &[(NodeId, Expr)],
        (begin, end): (&Expr, &Expr),
        out: &mut Vec<Stmt>,
        work: &mut Work,
    ) -> Result<()> {
        let part = |begin: &Expr, end: &Expr, roots, given| Part {
            begin: begin.clone(),
            end: end.clone(),
            roots,
            given,
        };
        if self.ranges.is_empty() {
            out.append(&mut work(l, &part(begin, end, &self.roots, vec![]))?);
            return Ok(());
        }
        let binary = |op, a: &Expr, b: &Expr| Expr::binary(op, a.clone(), b.clone());
        let greater = |a: &Expr, b: &Expr| binary(BinaryOp::Max, a, b);
        let (mut bounds, mut values) = (Vec::new(), Vec::new());
        for r in &self.ranges {
            let asked: Vec<NodeId> = [r.first, r.last].into_iter().chain(r.given.iter().copied()).collect();
            let found = l.conditions(outer, &asked, out)?;
            let first = named(l, "first", greater(&found[0], begin).min(end.clone()), out);
            let last = named(l, "last", greater(&found[1].clone().min(end.clone()), &first), out);
            bounds.push((first, last));
            values.push(r.given.iter().copied().zip(found.into_iter().skip(2)).collect::<Vec<_>>());
        }
        let reg = l.k.reg("at", Ty::I64);
        let at = Expr::Reg(reg);
        // the program's elements come up to the next range
        let mut rest = Vec::new();
        let next = bounds.iter().fold(end.clone(), |next, (first, _)| {
            let is_ahead = binary(BinaryOp::Lt, &at, first);
            Expr::Select(Box::new(is_ahead), Box::new(first.clone().min(next.clone())), Box::new(next))
        });
        let next = named(l, "next", next, &mut rest);
        rest.append(&mut work(l, &part(&at, &next, &self.roots, vec![]))?);
        rest.push(Stmt::Assign(reg, next));
        for ((r, (first, last)), given) in self.ranges.iter().zip(&bounds).zip(values).rev() {
            let is_in =
                binary(BinaryOp::And, &binary(BinaryOp::Ge, &at, first), &binary(BinaryOp::Lt, &at, last));
            let mut inside = work(l, &part(&at, last, &r.roots, given))?;
            inside.push(Stmt::Assign(reg, last.clone()));
            rest = vec![Stmt::If(is_in, inside, rest)];
        }
        out.push(Stmt::Var(reg, begin.clone()));
        out.push(Stmt::While(binary(BinaryOp::Lt, &at, end), rest));
        Ok(())
    }
}
