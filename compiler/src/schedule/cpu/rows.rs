//! Map over an index space of several dimensions, row by row: one loop over the neighbouring
//! elements of each row, which the C compiler vectorises. The units of work are ranges of elements
//! in row-major order, so that a call may begin and end in the middle of a row.
//!
//! This strategy is not needed if every array is read at the element's own indices only, and has no
//! gaps between its rows: then `map` counts through all elements.

use super::boundary::{Part, RowOf, RowParts};
use super::stores::Stores;
use super::windows::{Stored, Windows};
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::opened;
use crate::schedule::groups::{FusedGroup, Item};

pub(super) fn main(l: &mut Lower, fused: &FusedGroup, staged: bool) -> Result<Vec<Stmt>> {
    let items: Vec<&Item> = fused.items.iter().collect();
    let grain = l.launch.facts.grain;
    let stores = Stores::new(l, &items);
    let index: Vec<NodeId> = fused.domain.iter().map(|_| l.launch.g.fresh_var(Ty::I64).1).collect();
    let roots: Vec<NodeId> = items.iter().map(|it| opened(&mut l.launch.g, it.node, &index)).collect();
    let extents: Vec<Expr> = fused.domain.iter().map(|n| l.launch.host(*n)).collect();
    let t = l.k.reg("t", Ty::I64);
    let mut body = Vec::new();
    let units = match staged {
        true => (Expr::Reg(t), Expr::Reg(t).plus(Expr::int(1))),
        false => (Expr::TileBegin, Expr::TileEnd),
    };
    let (lo, hi) = range(l, units, &mut body);
    let walk = Walk { extents: &extents, lo, hi };
    let stores = match staged {
        true => {
            let stores = stores.begin(l, &mut body);
            if grain == 1 {
                // C compilers cannot see that a single element is written before it is copied, so it is set to 0
                // first
                stores.clear(&mut body);
            }
            stores
        }
        false => stores,
    };
    // the staged variants compute every element by the program's own code
    let row_parts = RowParts::of(l.launch, fused, &index, &roots, !staged && !l.k.strided);
    walk.rows(l, &mut body, &mut |l, piece, out| {
        let outer: Vec<(NodeId, Expr)> = index.iter().copied().zip(piece.outer.iter().cloned()).collect();
        let row = RowOf { extents: &extents, outer: &outer };
        row_parts.emit(l, &row, (&piece.begin, &piece.end), out, &mut |l, part| {
            let own = index[outer.len()];
            let elements = |l: &mut Lower, part: &Part, stored: Option<&Stored>| {
                part.elements(l, "j", &mut |l, j, conditions, out| {
                    let mut vars: Vec<(NodeId, Expr)> = outer.iter().chain(&part.given).cloned().collect();
                    vars.push((own, j.clone()));
                    vars.extend(stored.map_or(vec![], |stored| stored.of(l, j, out)));
                    if let Some(conditions) = conditions {
                        return l.conditions(&vars, conditions, out);
                    }
                    let at = piece.row.clone().plus(j.clone());
                    let values = l.region(&vars, part.roots, &at, out)?;
                    let in_tile = at.minus(walk.lo.clone());
                    stores.store_at(l, values, &piece.indices(j), &in_tile, out);
                    Ok(vec![])
                })
            };
            if !staged
                && !l.k.strided
                && part.range().is_some()
                && let Some(windows) = Windows::of(l.launch, part.roots, own)
            {
                let known: Vec<(NodeId, Expr)> = outer.iter().chain(&part.given).cloned().collect();
                return windows.pieces(l, (part, own), &known, &mut |l, part, stored| {
                    Ok(elements(l, part, Some(stored))?.0)
                });
            }
            Ok(elements(l, part, None)?.0)
        })
    })?;
    if staged {
        walk.rows(l, &mut body, &mut |l, piece, out| {
            let j = l.k.reg("j", Ty::I64);
            let in_tile = piece.row.clone().plus(Expr::Reg(j)).minus(walk.lo.clone());
            let copy = stores.copy_at(l, &piece.indices(&Expr::Reg(j)), &in_tile);
            out.push(Stmt::For(j, piece.begin.clone(), piece.end.clone(), copy));
            Ok(())
        })?;
        return Ok(vec![Stmt::For(t, Expr::TileBegin, Expr::TileEnd, body)]);
    }
    Ok(body)
}

/// Returns the number of the first element of these units of work, and one past the last.
pub(super) fn range(l: &mut Lower, (begin, end): (Expr, Expr), out: &mut Vec<Stmt>) -> (Expr, Expr) {
    let (n, grain) = (l.launch.count(), Expr::int(l.launch.facts.grain.into()));
    let lo = bind(l, "lo", begin.times(grain.clone()), out);
    (lo, bind(l, "hi", end.times(grain).min(n), out))
}

/// A walk row by row over the elements from `lo` up to `hi`.
pub(super) struct Walk<'a> {
    pub extents: &'a [Expr],
    pub lo: Expr,
    pub hi: Expr,
}

/// Emits the code of a piece of a row.
type Work<'a> = dyn FnMut(&mut Lower, &Piece, &mut Vec<Stmt>) -> Result<()> + 'a;

/// A piece of a row.
pub(super) struct Piece {
    /// The row's indices along all axes but the last.
    pub outer: Vec<Expr>,
    /// The number of the row's first element, in row-major order.
    pub row: Expr,
    /// The range of the piece along the last axis.
    pub begin: Expr,
    pub end: Expr,
}

impl Piece {
    pub fn indices(&self, j: &Expr) -> Vec<Expr> {
        self.outer.iter().cloned().chain([j.clone()]).collect()
    }
}

impl Walk<'_> {
    pub fn rows(&self, l: &mut Lower, out: &mut Vec<Stmt>, work: &mut Work) -> Result<()> {
        if self.extents.len() == 1 {
            let (begin, end) = (self.lo.clone(), self.hi.clone());
            return work(l, &Piece { outer: vec![], row: Expr::int(0), begin, end }, out);
        }
        let at = l.k.reg("at", Ty::I64);
        let mut body = Vec::new();
        let (width, outer) = self.extents.split_last().expect("it has several axes");
        // counting the rows avoids a division for each row, which would take as long as a short row
        let counter = l.k.reg("counter", Ty::I64);
        let number = bind(l, "number", Expr::Reg(counter), &mut body);
        let row = bind(l, "row", number.clone().times(width.clone()), &mut body);
        let begin = bind(l, "begin", Expr::Reg(at).minus(row.clone()), &mut body);
        let left = begin.clone().plus(self.hi.clone().minus(Expr::Reg(at)));
        let end = bind(l, "end", left.min(width.clone()), &mut body);
        let (mut rest, mut indices) = (number, Vec::new());
        for n in outer[1..].iter().rev() {
            let i = Expr::binary(BinaryOp::Rem, rest.clone(), n.clone());
            indices.push(bind(l, "i", i, &mut body));
            rest = bind(l, "rest", Expr::binary(BinaryOp::Div, rest, n.clone()), &mut body);
        }
        indices.push(rest);
        indices.reverse();
        let piece = Piece { outer: indices, row, begin: begin.clone(), end: end.clone() };
        work(l, &piece, &mut body)?;
        body.push(Stmt::Assign(at, Expr::Reg(at).plus(end.minus(begin))));
        body.push(Stmt::Assign(counter, Expr::Reg(counter).plus(Expr::int(1))));
        out.push(Stmt::Var(at, self.lo.clone()));
        out.push(Stmt::Var(counter, Expr::binary(BinaryOp::Div, self.lo.clone(), width.clone())));
        out.push(Stmt::While(Expr::binary(BinaryOp::Lt, Expr::Reg(at), self.hi.clone()), body));
        Ok(())
    }
}
