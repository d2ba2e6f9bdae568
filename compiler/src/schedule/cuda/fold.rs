//! Sequential fold: left folds in index order (semantics 5.5), by one block. Its threads together compute the
//! elements of a chunk into shared memory, and thread 0 folds them. Chosen for groups of folds whose order matters.
//! The cost is that of one step after another, in one thread of the device.
//!
//! If an element may leave an error record, thread 0 computes the elements, too, because the step
//! decides whether it needs the element at all (semantics 6). So it does if the elements of a chunk, tuples of many
//! components, have no room in shared memory.

use super::expressions::{int32, thread, to_i64};
use crate::core::NodeId;
use crate::core::records::may_record_here;
use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, STATIC_SHARED, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::folds::Fold;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::nested_loop::read;
use crate::schedule::element::scalars as values;
use crate::schedule::groups::FusedGroup;

/// Threads of a block.
pub const THREADS: u32 = 128;
/// The maximum number of elements of a chunk that each thread computes.
const MAX_PER_THREAD: u32 = 4;

/// Returns the number of elements of a chunk that each thread computes, if chunks have room in shared memory.
fn per_thread(types: &[Ty]) -> Option<u32> {
    let bytes = THREADS * types.iter().map(|ty| ty.size() as u32).sum::<u32>();
    let counts = std::iter::successors(Some(MAX_PER_THREAD), |n| (*n > 1).then_some(n / 2));
    counts.into_iter().find(|n| n * bytes <= STATIC_SHARED)
}

/// A fold with the registers of its accumulators.
struct Folded {
    fold: Fold,
    accs: Vec<Reg>,
}

pub fn main(l: &mut Lower, fused: &FusedGroup, scalars: &[u32]) -> Result<Vec<Stmt>> {
    let n = l.launch.count();
    let mut out = Vec::new();
    let leader = bind(l, "leader", Expr::binary(BinaryOp::Eq, thread(), int32(0)), &mut out);
    let (mut folds, mut start) = (Vec::new(), Vec::new());
    let nodes: Vec<NodeId> = fused.items.iter().map(|it| it.node).collect();
    for fold in Fold::all(&l.launch.g, nodes) {
        let accs: Vec<Reg> = fold.types.iter().map(|ty| l.k.reg("acc", *ty)).collect();
        out.extend(accs.iter().zip(&fold.types).map(|(acc, ty)| Stmt::Var(*acc, Expr::Lit(Lit::zero(*ty)))));
        let values = l.region(&[], &fold.init(&l.launch.g), &Expr::int(0), &mut start)?;
        start.extend(accs.iter().zip(values).map(|(acc, e)| Stmt::Assign(*acc, e)));
        folds.push(Folded { fold, accs });
    }
    out.push(Stmt::If(leader.clone(), start, vec![]));
    let (_, index) = l.launch.g.fresh_var(Ty::I64);
    let elements: Vec<NodeId> = folds.iter().flat_map(|f| f.fold.elements(&mut l.launch.g, index)).collect();
    let types: Vec<Ty> = folds.iter().flat_map(|f| f.fold.types_of_elements(&l.launch.g)).collect();
    let may_record =
        !l.launch.signature.sites.is_empty() || may_record_here(&l.launch.g, elements.iter().copied());
    if let Some(count) = per_thread(&types).filter(|_| !may_record) {
        chunks(l, &folds, (&types, count), (&n, &leader), &mut out)?;
    } else {
        let i = l.k.reg("i", Ty::I64);
        let mut body = Vec::new();
        steps(l, &folds, &elements, vec![(index, Expr::Reg(i))], &Expr::Reg(i), &mut body)?;
        out.push(Stmt::If(leader.clone(), vec![Stmt::Seq(i, Expr::int(0), n, body)], vec![]));
    }
    l.k.once = true;
    let known: Vec<(NodeId, Expr)> =
        folds.iter().flat_map(|f| f.fold.values(&l.launch.g, &read(&f.accs))).collect();
    let mut end = Vec::new();
    values::store(l, &known, scalars, &mut end)?;
    out.push(Stmt::If(leader, end, vec![]));
    Ok(out)
}

/// Folds chunk by chunk through shared memory: elements of these types, so many a thread.
fn chunks(
    l: &mut Lower,
    folds: &[Folded],
    (types, count): (&[Ty], u32),
    (n, leader): (&Expr, &Expr),
    out: &mut Vec<Stmt>,
) -> Result<()> {
    let threads = i64::from(THREADS);
    let chunk = threads * i64::from(count);
    let shared: Vec<Mem> = types.iter().map(|ty| l.k.share("chunk", *ty, chunk as u32)).collect();
    let base = l.k.reg("base", Ty::I64);
    let mut body = Vec::new();
    for u in 0..i64::from(count) {
        let at = to_i64(thread()).plus(Expr::int(u * threads));
        let at = bind(l, "at", at, &mut body);
        let i = bind(l, "i", Expr::Reg(base).plus(at.clone()), &mut body);
        let (_, index) = l.launch.g.fresh_var(Ty::I64);
        let roots: Vec<NodeId> = folds.iter().flat_map(|f| f.fold.elements(&mut l.launch.g, index)).collect();
        let mut inner = Vec::new();
        let values = l.region(&[(index, i.clone())], &roots, &i, &mut inner)?;
        inner.extend(shared.iter().zip(values).map(|(m, e)| Stmt::Store(*m, at.clone(), e)));
        body.push(Stmt::If(Expr::binary(BinaryOp::Lt, i, n.clone()), inner, vec![]));
    }
    body.push(Stmt::Barrier);
    let j = l.k.reg("j", Ty::I64);
    let (mut vars, mut elements, mut inner) = (Vec::new(), Vec::new(), Vec::new());
    for (m, ty) in shared.iter().zip(types) {
        let e = bind(l, "e", Expr::load(*m, Expr::Reg(j)), &mut inner);
        let (_, node) = l.launch.g.fresh_var(*ty);
        vars.push((node, e));
        elements.push(node);
    }
    steps(l, folds, &elements, vars, &Expr::Reg(j), &mut inner)?;
    let left = n.clone().minus(Expr::Reg(base)).min(Expr::int(chunk));
    body.push(Stmt::If(leader.clone(), vec![Stmt::Seq(j, Expr::int(0), left, inner)], vec![]));
    body.push(Stmt::Barrier);
    body.push(Stmt::Assign(base, Expr::Reg(base).plus(Expr::int(chunk))));
    out.push(Stmt::Var(base, Expr::int(0)));
    out.push(Stmt::While(Expr::binary(BinaryOp::Lt, Expr::Reg(base), n.clone()), body));
    Ok(())
}

/// Writes one step of all folds. `elements` are the nodes of the elements that are folded in.
fn steps(
    l: &mut Lower,
    folds: &[Folded],
    elements: &[NodeId],
    mut vars: Vec<(NodeId, Expr)>,
    at: &Expr,
    out: &mut Vec<Stmt>,
) -> Result<()> {
    let (mut roots, mut elements) = (Vec::new(), elements);
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
    let values = l.region(&vars, &roots, at, out)?;
    // all new values are computed before any accumulator changes
    let values: Vec<Expr> = values.into_iter().map(|e| bind(l, "next", e, out)).collect();
    out.extend(folds.iter().flat_map(|f| &f.accs).zip(values).map(|(acc, e)| Stmt::Assign(*acc, e)));
    Ok(())
}
