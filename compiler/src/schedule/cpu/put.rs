//! Elements that are stored at their destinations: one loop over the elements of the call's units of work.

use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::Ty;
use crate::schedule::element::lower::Lower;
use crate::schedule::element::put_stores::stores;
use crate::schedule::facts::put::Put;
use crate::schedule::groups::FusedGroup;

pub(super) fn main(l: &mut Lower, fused: &FusedGroup, put: &Put) -> Result<Vec<Stmt>> {
    let (n, grain) = (l.launch.count(), Expr::int(l.launch.facts.grain.into()));
    let i = l.k.reg("i", Ty::I64);
    let (_, index) = l.launch.g.fresh_var(Ty::I64);
    let roots = put.element(&mut l.launch.g, &fused.items, index);
    let mut body = Vec::new();
    let values = l.region(&[(index, Expr::Reg(i))], &roots, &Expr::Reg(i), &mut body)?;
    stores(l, *put, &fused.items, values, &mut body);
    let (begin, end) = (Expr::TileBegin.times(grain.clone()), Expr::TileEnd.times(grain).min(n));
    Ok(vec![Stmt::For(i, begin, end, body)])
}
