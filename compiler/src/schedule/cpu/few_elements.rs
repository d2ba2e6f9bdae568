//! Nested reductions of sequences whose lengths are data, such as segments: few elements are joined by straight-line
//! code, a tree of tests whether there are further elements. Up to 128 elements are columns of one element each, so
//! that their order (semantics 5.1) is a tree of neighbours.
//!
//! ```text
//! var %a = x[0]  if gt(%n, 1) { %a = f(%a, x[1]) }
//! if gt(%n, 2) { var %b = x[2]  if gt(%n, 3) { %b = f(%b, x[3]) }  %a = f(%a, %b) }
//! ```

use super::column_tree::Tile;
use crate::core::Op;
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::lower::Lower;
use crate::schedule::element::nested_loop::assign;
use crate::schedule::element::reduction::Reduction;
use crate::schedule::facts::work::of_roots;

/// The maximum number of elements, a power of two.
pub const MOST: i64 = 16;
/// The maximum number of operations of an element and of a join: their code is written for each of the elements.
const CHEAP: u32 = 6;

/// Whether a tile is a whole sequence whose length is data, and its elements and joins are cheap.
pub fn serves(l: &mut Lower, tile: &Tile) -> bool {
    let (r, g) = (tile.r, &l.launch.g);
    let Op::Reduce { src, .. } = *g.op(r.nodes[0]) else { return false };
    let Op::Generate(extents, _) = g.op(src) else { return false };
    if g.is_closed(extents[0]) || tile.base != Expr::int(0) || r.joins_by_loops(l.launch) {
        return false;
    }
    let (var, index) = l.launch.g.fresh_var(Ty::I64);
    let first = r.first(l.launch, index);
    let of_element = of_roots(&mut l.launch.g, first, &[var]).0;
    let mut sides = || -> (Vec<_>, Vec<_>) { r.types.iter().map(|ty| l.launch.g.fresh_var(*ty)).unzip() };
    let ((mut own, a), (others, b)) = (sides(), sides());
    own.extend(others);
    let join = r.join(l.launch, &a, &b);
    let of_join = of_roots(&mut l.launch.g, join, &own).0;
    of_element <= CHEAP && of_join <= CHEAP
}

/// Emits the reduction of 1 to [`MOST`] elements, and returns its value.
pub fn tree(l: &mut Lower, tile: &Tile, out: &mut Vec<Stmt>) -> Result<Vec<Expr>> {
    let all = part(l, tile, (0, MOST), out)?;
    Ok(values(tile.r, &all))
}

/// The values of accumulators, of a part that has elements.
fn values(r: &Reduction, of: &[Reg]) -> Vec<Expr> {
    r.with_elements(of.iter().map(|reg| Expr::Reg(*reg)).collect())
}

/// Emits the reduction of the elements from number `first` on, which exists, up to `width` ones.
fn part(l: &mut Lower, tile: &Tile, (first, width): (i64, i64), out: &mut Vec<Stmt>) -> Result<Vec<Reg>> {
    let Tile { r, place, count, .. } = tile;
    if width == 1 {
        let (_, index) = l.launch.g.fresh_var(Ty::I64);
        let roots = r.first(l.launch, index);
        let vars = [place.vars, &[(index, Expr::int(first))]].concat();
        let elements = l.region(&vars, &roots, place.at, out)?;
        let own = r.registers(l, "few");
        out.extend(own.iter().zip(elements).map(|(reg, e)| Stmt::Var(*reg, e)));
        return Ok(own);
    }
    let half = width / 2;
    let low = part(l, tile, (first, half), out)?;
    let mut others = Vec::new();
    let high = part(l, tile, (first + half, half), &mut others)?;
    let mut vars = place.vars.to_vec();
    let [a, b] = [&low, &high].map(|of| r.nodes(l.launch, &values(r, of), &mut vars));
    let join = r.join(l.launch, &a, &b);
    let joined = l.region(&vars, &join, place.at, &mut others)?;
    assign(l, &low, joined, &mut others);
    let are_there = Expr::binary(BinaryOp::Gt, count.clone(), Expr::int(first + half));
    out.push(Stmt::If(are_there, others, vec![]));
    Ok(low)
}
