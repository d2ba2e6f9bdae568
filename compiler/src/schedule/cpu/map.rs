//! Map: every element on its own, one loop.
//!
//! Contiguous: a single loop from the first to the last element of the call's tiles, which the C compiler vectorises. Staged: tile by tile through
//! local buffers (see `Stores`).

use super::{Stores, TILE};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::Ty;
use crate::schedule::element::element;
use crate::schedule::items::{Item, Pass};
use crate::schedule::lower::Lower;

pub(super) fn main(l: &mut Lower, pass: &Pass, staged: bool) -> Result<Vec<Stmt>> {
    let items: Vec<&Item> = pass.items.iter().collect();
    let n = l.count();
    let stores = Stores::new(l, &items);
    let (_, index) = l.g.fresh_var(Ty::I64);
    let roots: Vec<_> = items.iter().map(|it| element(l, it.node, index)).collect();
    let mut body = Vec::new();
    if !staged {
        let lo = l.k.reg("lo", Ty::I64);
        let hi = l.k.reg("hi", Ty::I64);
        let i = l.k.reg("i", Ty::I64);
        body.push(Stmt::Let(lo, Expr::TileBegin.times(Expr::int(TILE)), Default::default()));
        body.push(Stmt::Let(hi, Expr::TileEnd.times(Expr::int(TILE)).min(n), Default::default()));
        let i_expr = Expr::Reg(i);
        let mut inner = Vec::new();
        let values = l.region(&[(index, i_expr.clone())], &roots, Some(index), &i_expr, &mut inner)?;
        stores.store(l, values, &i_expr, &i_expr, &mut inner);
        body.push(Stmt::For(i, Expr::Reg(lo), Expr::Reg(hi), inner));
        return Ok(body);
    }
    let t = l.k.reg("t", Ty::I64);
    let base = l.k.reg("base", Ty::I64);
    let count = l.k.reg("count", Ty::I64);
    let j = l.k.reg("j", Ty::I64);
    let i = l.k.reg("i", Ty::I64);
    let mut tile = vec![
        Stmt::Let(base, Expr::Reg(t).times(Expr::int(TILE)), Default::default()),
        Stmt::Let(count, n.minus(Expr::Reg(base)).min(Expr::int(TILE)), Default::default()),
    ];
    let stores = stores.begin(l, &mut tile);
    let mut inner = vec![Stmt::Let(i, Expr::Reg(base).plus(Expr::Reg(j)), Default::default())];
    let values = l.region(&[(index, Expr::Reg(i))], &roots, Some(index), &Expr::Reg(i), &mut inner)?;
    stores.store(l, values, &Expr::Reg(i), &Expr::Reg(j), &mut inner);
    tile.push(Stmt::For(j, Expr::int(0), Expr::Reg(count), inner));
    stores.flush(l, &Expr::Reg(base), &Expr::Reg(count), &mut tile);
    Ok(vec![Stmt::For(t, Expr::TileBegin, Expr::TileEnd, tile)])
}
