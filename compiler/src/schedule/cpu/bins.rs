//! Bins: the unit of work is a part of the elements, whose bins no other thread accesses. They are a row of the
//! result, and the elements are joined there one after another. The launch after this one joins the rows.

use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt};
use crate::scalar::Ty;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::facts::bins::Bins;
use crate::schedule::groups::FusedGroup;

pub(super) fn main(l: &mut Lower, fused: &FusedGroup, bins: &Bins) -> Result<Vec<Stmt>> {
    let mem = l.launch.output(&fused.items[0]);
    let [n, of_part] = bins.lengths(&mut l.launch.g).map(|n| l.launch.host(n));
    let count = l.launch.host(bins.count);
    let [part, k, i] = ["part", "k", "i"].map(|name| l.k.reg(name, Ty::I64));
    let mut body = Vec::new();
    let begin = bind(l, "begin", Expr::Reg(part).times(of_part.clone()), &mut body);
    let end = bind(l, "end", begin.clone().plus(of_part).min(n), &mut body);
    let empty = Stmt::Store(mem, bin(l, mem, part, &Expr::Reg(k)), Expr::Lit(bins.identity()));
    body.push(Stmt::For(k, Expr::int(0), count.clone(), vec![empty]));
    let (_, index) = l.launch.g.fresh_var(Ty::I64);
    let roots = bins.element(&mut l.launch.g, index);
    let mut of_element = Vec::new();
    let mut values = l.region(&[(index, Expr::Reg(i))], &roots, &Expr::Reg(i), &mut of_element)?;
    let value = values.pop().expect("the element");
    let at = bind(l, "at", values.pop().expect("its destination"), &mut of_element);
    let update = Stmt::Update(bins.op, mem, bin(l, mem, part, &at), value);
    bins.tests(&mut l.launch.g).guarded(&at, &count, vec![update], &mut of_element);
    body.push(Stmt::Seq(i, begin, end, of_element));
    Ok(vec![Stmt::For(part, Expr::TileBegin, Expr::TileEnd.min(l.launch.count()), body)])
}

/// Returns the index in memory of bin `k` of a part.
fn bin(l: &mut Lower, mem: Mem, part: Reg, k: &Expr) -> Expr {
    l.place_at(mem, &[Expr::Reg(part), k.clone()])
}
