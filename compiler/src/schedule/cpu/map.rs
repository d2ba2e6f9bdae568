//! Map: one loop that computes every element independently. The unit of work is a tile, or fewer
//! elements if each takes many operations (`Launch::grain`).
//!
//! The contiguous variant is a single loop from the first to the last element of the call's units,
//! which the C compiler vectorises. The staged variants go unit by unit through local buffers (see
//! `Stores`).

use super::boundary::{RowOf, RowParts};
use super::element_loop::each;
use super::stores::Stores;
use crate::core::{NodeId, TILE};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::Ty;
use crate::schedule::element::element;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::reduction::tiles;
use crate::schedule::groups::{FusedGroup, Item};

pub(super) fn main(l: &mut Lower, fused: &FusedGroup, staged: bool) -> Result<Vec<Stmt>> {
    let index = l.launch.index();
    let roots: Vec<_> = fused.items.iter().map(|it| element(&mut l.launch.g, it.node, index)).collect();
    of_roots(l, fused, (index, &roots), staged, false)
}

/// Emits a map whose elements have these values at an index. If an element takes `few` operations, though the group's
/// elements as a whole take many, loops go through more elements at a time than a unit of work has.
pub(super) fn of_roots(
    l: &mut Lower,
    fused: &FusedGroup,
    (index, roots): (NodeId, &[NodeId]),
    staged: bool,
    few: bool,
) -> Result<Vec<Stmt>> {
    let items: Vec<&Item> = fused.items.iter().collect();
    let n = l.launch.count();
    let grain = i64::from(l.launch.facts.grain);
    let stores = Stores::new(l, &items);
    let mut body = Vec::new();
    if !staged {
        let lo = l.k.reg("lo", Ty::I64);
        let hi = l.k.reg("hi", Ty::I64);
        let row_parts = RowParts::of(l.launch, fused, &[index], roots, fused.domain.len() == 1);
        let (mut elements, mut looks) = (Vec::new(), false);
        let whole = (&Expr::Reg(lo), &Expr::Reg(hi));
        let row = RowOf { extents: std::slice::from_ref(&n), outer: &[] };
        row_parts.emit(l, &row, whole, &mut elements, &mut |l, part| {
            let (loops, tests) = part.elements(l, "i", &mut |l, i, conditions, out| {
                let own = [(index, i.clone())];
                let vars: Vec<_> = own.iter().chain(&part.given).cloned().collect();
                if let Some(conditions) = conditions {
                    return l.conditions(&vars, conditions, out);
                }
                let values = l.region(&vars, part.roots, i, out)?;
                stores.store(l, values, i, i, out);
                Ok(vec![])
            })?;
            looks |= tests;
            Ok(loops)
        })?;
        let t = l.k.reg("t", Ty::I64);
        let grain = Expr::int(grain);
        if looks && few {
            let first = bind(l, "first", Expr::TileBegin.times(grain.clone()), &mut body);
            let end = bind(l, "end", Expr::TileEnd.times(grain).min(n), &mut body);
            let begin = first.clone().plus(Expr::Reg(t).times(Expr::int(TILE)));
            let mut tile = vec![Stmt::Let(lo, begin, Default::default())];
            tile.push(Stmt::Let(
                hi,
                Expr::Reg(lo).plus(Expr::int(TILE)).min(end.clone()),
                Default::default(),
            ));
            tile.append(&mut elements);
            body.push(Stmt::For(t, Expr::int(0), tiles(end.minus(first)), tile));
            return Ok(body);
        }
        // if conditions are tested first, both loops go tile by tile, so that the tile is in a cache when its
        // elements are computed
        let (begin, end) = match looks {
            false => (Expr::TileBegin, Expr::TileEnd),
            true => (Expr::Reg(t), Expr::Reg(t).plus(Expr::int(1))),
        };
        body.push(Stmt::Let(lo, begin.times(grain.clone()), Default::default()));
        body.push(Stmt::Let(hi, end.times(grain).min(n), Default::default()));
        body.append(&mut elements);
        return Ok(if looks { vec![Stmt::For(t, Expr::TileBegin, Expr::TileEnd, body)] } else { body });
    }
    let t = l.k.reg("t", Ty::I64);
    let base = l.k.reg("base", Ty::I64);
    let count = l.k.reg("count", Ty::I64);
    let mut tile = vec![
        Stmt::Let(base, Expr::Reg(t).times(Expr::int(grain)), Default::default()),
        Stmt::Let(count, n.minus(Expr::Reg(base)).min(Expr::int(grain)), Default::default()),
    ];
    let stores = stores.begin(l, &mut tile);
    tile.extend(each(l, "j", &Expr::int(0), &Expr::Reg(count), &mut |l, j, conditions, out| {
        let i = l.k.reg("i", Ty::I64);
        out.push(Stmt::Let(i, Expr::Reg(base).plus(j.clone()), Default::default()));
        let (i, vars) = (Expr::Reg(i), [(index, Expr::Reg(i))]);
        if let Some(conditions) = conditions {
            return l.conditions(&vars, conditions, out);
        }
        let values = l.region(&vars, roots, &i, out)?;
        stores.store(l, values, &i, j, out);
        Ok(vec![])
    })?);
    stores.flush(l, &Expr::Reg(base), &Expr::Reg(count), &mut tile);
    Ok(vec![Stmt::For(t, Expr::TileBegin, Expr::TileEnd, tile)])
}
