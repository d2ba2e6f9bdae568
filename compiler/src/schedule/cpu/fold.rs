//! Fold: strict left folds in index order (semantics 5.5), as one loop on one thread, shared by all folds over one
//! index space. The accumulators are stored in the scratch arrays, from which `finish` loads them.

use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::Ty;
use crate::schedule::element::folds::Fold;
use crate::schedule::element::lower::Lower;
use crate::schedule::groups::FusedGroup;

pub(super) fn main(l: &mut Lower, fused: &FusedGroup) -> Result<Vec<Stmt>> {
    let n = l.launch.count();
    let (_, index) = l.launch.g.fresh_var(Ty::I64);
    let i = l.k.reg("i", Ty::I64);
    let (mut out, mut body, mut end) = (Vec::new(), Vec::new(), Vec::new());
    let (mut vars, mut roots, mut accumulators) = (vec![(index, Expr::Reg(i))], Vec::new(), Vec::new());
    let nodes: Vec<NodeId> = fused.items.iter().map(|it| it.node).collect();
    for fold in Fold::all(&l.launch.g, nodes.iter().copied()) {
        let (init, mut own, mut before) = (fold.init(&l.launch.g), Vec::new(), Vec::new());
        let start = l.region(&[], &init, &Expr::int(0), &mut out)?;
        for (start, ty) in start.into_iter().zip(&fold.types) {
            let acc = l.k.reg("acc", *ty);
            out.push(Stmt::Var(acc, start));
            let (_, var) = l.launch.g.fresh_var(*ty);
            vars.push((var, Expr::Reg(acc)));
            before.push(var);
            own.push(acc);
        }
        let e = fold.elements(&mut l.launch.g, index);
        roots.extend(fold.step(&mut l.launch.g, &before, &e));
        for (node, acc) in fold.values(&l.launch.g, &own) {
            let at = nodes.iter().position(|n| *n == node).expect("an item");
            let scratch = l.launch.scratch(at, l.launch.g.ty(node).elem);
            end.push(Stmt::Store(scratch, Expr::int(0), Expr::Reg(acc)));
        }
        accumulators.append(&mut own);
    }
    let values = l.region(&vars, &roots, &Expr::Reg(i), &mut body)?;
    // all new values are computed before any accumulator changes
    let mut new = Vec::new();
    for (acc, e) in accumulators.iter().zip(values) {
        let ty = l.k.kernel.regs[acc.0 as usize].1;
        let r = l.k.reg("next", ty);
        body.push(Stmt::Let(r, e, Default::default()));
        new.push(Stmt::Assign(*acc, Expr::Reg(r)));
    }
    body.append(&mut new);
    out.push(Stmt::Seq(i, Expr::int(0), n, body));
    out.append(&mut end);
    Ok(out)
}
