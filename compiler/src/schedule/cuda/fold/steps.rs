//! Folds in registers: their accumulators, and one step of all of them.

use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::Lit;
use crate::schedule::element::folds::Fold;
use crate::schedule::element::lower::{Lower, bind};

/// The threads of a block that compute the elements of chunks.
pub const COMPUTING: u32 = 128;
/// A fold with the registers of its accumulators.
pub struct Folded {
    pub fold: Fold,
    pub accs: Vec<Reg>,
}

/// Declares the accumulators of some folds, and sets them to their initial values where `is_folding` holds.
pub fn start(
    l: &mut Lower,
    folds: Vec<Fold>,
    (known, is_folding): (&[(NodeId, Expr)], &Expr),
    out: &mut Vec<Stmt>,
) -> Result<Vec<Folded>> {
    let (mut folded, mut start) = (Vec::new(), Vec::new());
    for fold in folds {
        let accs: Vec<Reg> = fold.types.iter().map(|ty| l.k.reg("acc", *ty)).collect();
        out.extend(accs.iter().zip(&fold.types).map(|(acc, ty)| Stmt::Var(*acc, Expr::Lit(Lit::zero(*ty)))));
        let values = l.region(known, &fold.init(&l.launch.g), &Expr::int(0), &mut start)?;
        start.extend(accs.iter().zip(values).map(|(acc, e)| Stmt::Assign(*acc, e)));
        folded.push(Folded { fold, accs });
    }
    out.push(Stmt::If(is_folding.clone(), start, vec![]));
    Ok(folded)
}

/// Returns the nodes of the accumulators before a step, which are added to `vars`, and of those after it, given the
/// nodes of the elements that are folded in.
pub fn next(
    l: &mut Lower,
    folds: &[Folded],
    mut elements: &[NodeId],
    vars: &mut Vec<(NodeId, Expr)>,
) -> Vec<NodeId> {
    let mut roots = Vec::new();
    for f in folds {
        let types = f.fold.types_of_elements(&l.launch.g);
        let (own, others) = elements.split_at(types.len());
        elements = others;
        let mut before = Vec::new();
        for (acc, ty) in f.accs.iter().zip(&f.fold.types) {
            let (_, var) = l.launch.g.fresh_var(*ty);
            vars.push((var, Expr::Reg(*acc)));
            before.push(var);
        }
        roots.extend(f.fold.step(&mut l.launch.g, &before, own));
    }
    roots
}

/// Writes one step of all folds. `elements` are the nodes of the elements that are folded in; `at` is the number
/// that error records name.
pub fn step(
    l: &mut Lower,
    folds: &[Folded],
    elements: &[NodeId],
    mut vars: Vec<(NodeId, Expr)>,
    at: &Expr,
    out: &mut Vec<Stmt>,
) -> Result<()> {
    let roots = next(l, folds, elements, &mut vars);
    let values = l.region(&vars, &roots, at, out)?;
    // all new values are computed before any accumulator changes
    let values: Vec<Expr> = values.into_iter().map(|e| bind(l, "next", e, out)).collect();
    out.extend(folds.iter().flat_map(|f| &f.accs).zip(values).map(|(acc, e)| Stmt::Assign(*acc, e)));
    Ok(())
}
