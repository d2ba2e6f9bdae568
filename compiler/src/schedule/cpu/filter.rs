//! A whole filter on one thread, element by element: each is stored behind what was kept before it, and the next one
//! in the same place if it is not kept. So no branch depends on data, and there are no tiles and no totals. Elements
//! that take more than a few operations are computed only if they are kept.
//!
//! ```text
//! kept = 0
//! for i in 0 .. n:         y[kept] = value of element i;  kept += 1 if element i is kept
//! for i in kept .. n:      y[i] = the value of all others
//! ```

use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::canonical;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::facts::filter::Filter;
use crate::schedule::facts::work;

/// The maximum number of operations of an element that is computed whether or not it is kept. A branch that is
/// predicted wrongly takes as long.
const MAX_SPECULATED: u32 = 16;

/// Writes the kernel body. The number of kept elements is stored in scratch, from which `finish` loads it.
pub(super) fn main(l: &mut Lower, filter: &Filter) -> Result<Vec<Stmt>> {
    let n = filter.scan.length(&mut l.launch.g);
    let n = l.launch.host(n);
    let [kept, i] = ["kept", "i"].map(|name| l.k.reg(name, Ty::I64));
    let [(_, index), (_, up_to)] = [(); 2].map(|()| l.launch.g.fresh_var(Ty::I64));
    let (mut out, mut body) = (vec![Stmt::Var(kept, Expr::int(0))], Vec::new());
    l.k.kernel.in_space.push(Expr::Reg(kept));
    let known = [(index, Expr::Reg(i)), (up_to, Expr::Reg(kept).plus(Expr::int(1)))];
    let bit = filter.scan.elements(&mut l.launch.g, index);
    let bit = l.region(&known, &bit, &Expr::Reg(i), &mut body)?.remove(0);
    let bit = bind(l, "bit", bit, &mut body);
    let roots: Vec<NodeId> =
        filter.items.iter().map(|it| filter.value(&mut l.launch.g, it, index, up_to)).collect();
    let is_cheap = work::of_roots(&mut l.launch.g, roots.clone(), &[]).0 <= MAX_SPECULATED;
    let mut stores = Vec::new();
    l.in_block(|l| {
        let values = l.region(&known, &roots, &Expr::Reg(i), &mut stores)?;
        let values: Vec<Expr> = values.into_iter().map(|e| bind(l, "value", e, &mut stores)).collect();
        store(l, filter, values, &Expr::Reg(kept), &mut stores);
        Ok::<_, crate::error::Error>(())
    })?;
    let next = Expr::Reg(kept).plus(Expr::Cast(Ty::I64, Box::new(bit.clone())));
    match is_cheap {
        true => body.append(&mut stores),
        false => {
            let zero = Expr::Lit(Lit::zero(l.k_ty(&bit)));
            body.push(Stmt::If(Expr::binary(BinaryOp::Ne, bit, zero), stores, vec![]));
        }
    }
    body.push(Stmt::Assign(kept, next));
    out.push(Stmt::Seq(i, Expr::int(0), n.clone(), body));
    let (j, mut rest) = (l.k.reg("j", Ty::I64), Vec::new());
    l.k.kernel.in_space.push(Expr::Reg(j));
    let roots: Vec<NodeId> = filter.items.iter().map(|it| filter.rest(&mut l.launch.g, it)).collect();
    let values = l.region(&[], &roots, &Expr::int(0), &mut out)?;
    store(l, filter, values, &Expr::Reg(j), &mut rest);
    out.push(Stmt::For(j, Expr::Reg(kept), n, rest));
    if filter.count.is_some() {
        let scratch = l.launch.scratch(0, Ty::I64);
        out.push(Stmt::Store(scratch, Expr::int(0), Expr::Reg(kept)));
    }
    Ok(out)
}

/// Stores the value of each array at one place.
fn store(l: &mut Lower, filter: &Filter, values: Vec<Expr>, at: &Expr, out: &mut Vec<Stmt>) {
    for (it, e) in filter.items.iter().zip(values) {
        let (mem, ty) = (l.launch.output(it), l.launch.g.ty(it.node).elem);
        let e = canonical(e, ty, &mut l.k.kernel, out);
        out.push(Stmt::Store(mem, at.clone(), e));
    }
}
