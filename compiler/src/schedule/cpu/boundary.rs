//! Rows cut at their edges: the interior part of a row has code of its own, without clamps,
//! reflections and wraps of indices (`boundary/interior.rs`), which the C compiler vectorises. In a
//! row at an edge, first = last = end.
//!
//! ```text
//! begin           first                                   last       end
//!   | program's    |               interior                | program's |
//! ```

use crate::core::NodeId;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::boundary::interior::Interior;
use crate::schedule::element::opened;
use crate::schedule::groups::{FusedGroup, Item};
use crate::schedule::lower::{LaunchContext, Lower, named};

/// A fused group that has such interior code.
pub struct RowParts {
    inner: Interior,
}

/// A part of a row.
pub struct Part {
    /// The index of the part's first element along the last axis.
    pub begin: Expr,
    /// The index behind the part's last element.
    pub end: Expr,
    /// Whether all its elements are in the interior.
    pub inner: bool,
}

impl RowParts {
    /// Returns `None` if the group has no boundary, or if it does not only store arrays.
    pub fn of(l: &mut LaunchContext, fused: &FusedGroup, items: &[&Item]) -> Option<RowParts> {
        let inner = Interior::of(&mut l.g, fused);
        (items.len() == fused.items.len() && inner.widths.iter().any(|m| *m != (0, 0)))
            .then_some(RowParts { inner })
    }

    /// Returns the elements at an index in the interior.
    pub fn roots(&self, l: &mut LaunchContext, index: &[NodeId]) -> Vec<NodeId> {
        self.inner.arrays.iter().map(|x| opened(&mut l.g, *x, index)).collect()
    }

    /// Cuts a piece of a row, from `begin` to `end`, into the parts before the interior, in it, and
    /// behind it. `outer` are the row's indices along the axes before the last.
    pub fn parts(
        &self,
        l: &mut Lower,
        extents: &[Expr],
        outer: &[Expr],
        (begin, end): (&Expr, &Expr),
        out: &mut Vec<Stmt>,
    ) -> [Part; 3] {
        let both = |a: Expr, b: Expr| Expr::binary(BinaryOp::And, a, b);
        let mut kept: Option<Expr> = None;
        for ((i, n), (before, behind)) in outer.iter().zip(extents).zip(&self.inner.widths) {
            let low = Expr::binary(BinaryOp::Ge, i.clone(), Expr::int(*before));
            let high = Expr::binary(BinaryOp::Lt, i.clone(), n.clone().minus(Expr::int(*behind)));
            let test = both(low, high);
            kept = Some(kept.map_or(test.clone(), |all| both(all, test)));
        }
        let (before, behind) = self.inner.widths.last().copied().unwrap_or_default();
        let width = extents.last().cloned().unwrap_or(Expr::int(0));
        let greater = |a: Expr, b: Expr| Expr::binary(BinaryOp::Max, a, b);
        let first = greater(begin.clone(), Expr::int(before)).min(end.clone());
        let last = greater(begin.clone(), width.minus(Expr::int(behind))).min(end.clone());
        let in_row = |e: Expr| match &kept {
            Some(kept) => Expr::Select(Box::new(kept.clone()), Box::new(e), Box::new(end.clone())),
            None => e,
        };
        let first = named(l, "first", in_row(first), out);
        let last = greater(first.clone(), in_row(last));
        let last = named(l, "last", last, out);
        debug_assert_eq!(l.k_ty(&last), Ty::I64);
        let part = |begin: &Expr, end: &Expr, inner| Part { begin: begin.clone(), end: end.clone(), inner };
        [part(begin, &first, false), part(&first, &last, true), part(&last, end, false)]
    }
}
