//! Elements in other places: one loop over the elements of the source, each of which is stored where it goes.

use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::Ty;
use crate::schedule::element::canonical;
use crate::schedule::groups::FusedGroup;
use crate::schedule::lower::{Lower, named as bind};
use crate::schedule::placed::Placed;

pub(super) fn main(l: &mut Lower, fused: &FusedGroup, placed: Placed) -> Result<Vec<Stmt>> {
    let (n, grain) = (l.launch.count(), i64::from(l.launch.facts.grain));
    let (index, i) = (l.launch.index(), l.k.reg("i", Ty::I64));
    let roots = placed.of_element(&mut l.launch.g, fused, index);
    let (mut out, mut body) = (Vec::new(), Vec::new());
    let mut values = l.region(&[(index, Expr::Reg(i))], &roots, &Expr::Reg(i), &mut body)?.into_iter();
    let at = values.next().expect("the place");
    let at = bind(l, "to", at, &mut body);
    for (it, e) in fused.items.iter().zip(values) {
        let (mem, ty) = (l.launch.output(it), l.launch.g.ty(it.node).elem);
        let e = canonical(e, ty, &mut l.k.kernel, &mut body);
        body.push(Stmt::Store(mem, at.clone(), e));
    }
    let lo = bind(l, "lo", Expr::TileBegin.times(Expr::int(grain)), &mut out);
    let hi = bind(l, "hi", Expr::TileEnd.times(Expr::int(grain)).min(n), &mut out);
    out.push(Stmt::For(i, lo, hi, body));
    Ok(out)
}
