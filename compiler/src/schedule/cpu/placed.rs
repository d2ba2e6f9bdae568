//! Elements in other places: one loop over the elements of the source, each of which is stored where it goes.

use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::Ty;
use crate::schedule::groups::FusedGroup;
use crate::schedule::lower::{Lower, named as bind};
use crate::schedule::placed::{Placed, stores};

pub(super) fn main(l: &mut Lower, fused: &FusedGroup, placed: Placed) -> Result<Vec<Stmt>> {
    let (n, grain) = (l.launch.count(), i64::from(l.launch.facts.grain));
    let (index, i) = (l.launch.index(), l.k.reg("i", Ty::I64));
    let roots = placed.of_element(&mut l.launch.g, &fused.items, index);
    let (mut out, mut body) = (Vec::new(), Vec::new());
    let values = l.region(&[(index, Expr::Reg(i))], &roots, &Expr::Reg(i), &mut body)?;
    let stores = stores(l, &fused.items, values, &mut body);
    body.extend(stores);
    let lo = bind(l, "lo", Expr::TileBegin.times(Expr::int(grain)), &mut out);
    let hi = bind(l, "hi", Expr::TileEnd.times(Expr::int(grain)).min(n), &mut out);
    out.push(Stmt::For(i, lo, hi, body));
    Ok(out)
}
