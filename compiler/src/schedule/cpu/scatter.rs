//! Elements that go to destinations, on one thread: what the result has where none goes, in a loop over all of it, and
//! then each element at its destination, in order. It is joined there to those before it, or stored, so that the last
//! one stays.

use super::bins;
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::Ty;
use crate::schedule::element::canonical;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::facts::scatter::Scatter;

/// Writes the kernel body.
pub(super) fn main(l: &mut Lower, scatter: &Scatter) -> Result<Vec<Stmt>> {
    let bins = &scatter.bins;
    let [n, _] = bins.lengths(&mut l.launch.g).map(|n| l.launch.host(n));
    let count = l.launch.host(bins.count);
    if let Some(begin) = scatter.joined {
        return joined(l, scatter, begin, [n, count]);
    }
    let [k, i] = ["k", "i"].map(|name| l.k.reg(name, Ty::I64));
    let [(_, at), (_, last)] = [(); 2].map(|()| l.launch.g.fresh_var(Ty::I64));
    let mut rest = Vec::new();
    let roots = scatter.values_without(&mut l.launch.g, at);
    stores(l, scatter, (&roots, &[(at, Expr::Reg(k))]), &Expr::Reg(k), &mut rest)?;
    let mut body = Vec::new();
    let to = bins.element(&mut l.launch.g, last)[0];
    let to = l.region(&[(last, Expr::Reg(i))], &[to], &Expr::Reg(i), &mut body)?.remove(0);
    let to = bind(l, "to", to, &mut body);
    l.k.kernel.in_space.push(to.clone());
    let mut stored = Vec::new();
    let roots = scatter.values(&mut l.launch.g, at, last);
    l.in_block(|l| {
        let known = [(at, to.clone()), (last, Expr::Reg(i))];
        stores(l, scatter, (&roots, &known), &to, &mut stored)
    })?;
    bins.tests(&mut l.launch.g).guarded(&to, &count, stored, &mut body);
    Ok(vec![Stmt::For(k, Expr::int(0), count, rest), Stmt::Seq(i, Expr::int(0), n, body)])
}

/// Writes the kernel body for elements that are joined, given their number and that of the bins.
fn joined(l: &mut Lower, scatter: &Scatter, begin: NodeId, [n, count]: [Expr; 2]) -> Result<Vec<Stmt>> {
    let (bins, mem) = (&scatter.bins, l.launch.output(&scatter.items[0]));
    let (k, mut out) = (l.k.reg("k", Ty::I64), Vec::new());
    let begin = l.region(&[], &[begin], &Expr::int(0), &mut out)?.remove(0);
    let begin = bind(l, "begin", begin, &mut out);
    out.push(Stmt::For(k, Expr::int(0), count.clone(), vec![Stmt::Store(mem, Expr::Reg(k), begin)]));
    let join = |l: &mut Lower, at: Expr, value: Expr| {
        let update = Stmt::Update(bins.op, mem, at.clone(), value);
        let mut out = Vec::new();
        bins.tests(&mut l.launch.g).guarded(&at, &count, vec![update], &mut out);
        out
    };
    out.extend(bins::joined(l, bins, [&Expr::int(0), &n], &join, false)?);
    Ok(out)
}

/// Computes values, and stores one in each array of the result.
fn stores(
    l: &mut Lower,
    scatter: &Scatter,
    (roots, known): (&[NodeId], &[(NodeId, Expr)]),
    at: &Expr,
    out: &mut Vec<Stmt>,
) -> Result<()> {
    let values = l.region(known, roots, at, out)?;
    for (it, e) in scatter.items.iter().zip(values) {
        let (mem, ty) = (l.launch.output(it), l.launch.g.ty(it.node).elem);
        let e = bind(l, "value", e, out);
        let e = canonical(e, ty, &mut l.k.kernel, out);
        out.push(Stmt::Store(mem, at.clone(), e));
    }
    Ok(())
}
