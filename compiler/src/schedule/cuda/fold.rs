//! Sequential fold: left folds in index order (semantics 5.5), by one block. Its threads compute
//! the elements of a chunk into shared memory together, and thread 0 folds them. Chosen for groups
//! of folds whose order matters; the cost is one step after another, in one thread of the device.
//!
//! If an element may leave an error record, thread 0 computes the elements, too, because the step
//! decides whether it needs the element at all (semantics 6).

use super::expressions::{int32, thread, to_i64};
use crate::core::{NodeId, Op};
use crate::error::Result;
use crate::kernel::{Expr, Mem, Reg, Stmt};
use crate::scalar::{BinaryOp, Lit, Ty};
use crate::schedule::element::element;
use crate::schedule::groups::FusedGroup;
use crate::schedule::lower::{Lower, named as bind};
use crate::schedule::scalars as values;

/// Threads of a block: chunks of eight folds of 8-byte elements fit into 48 KB of shared memory.
pub const THREADS: u32 = 128;
/// The number of elements of a chunk that each thread computes.
const PER_THREAD: i64 = 4;

struct Fold {
    node: NodeId,
    src: NodeId,
    step: crate::core::Lambda,
    acc: Reg,
}

pub fn main(l: &mut Lower, fused: &FusedGroup, scalars: &[u32]) -> Result<Vec<Stmt>> {
    let n = l.launch.count();
    let mut out = Vec::new();
    let leader = bind(l, "leader", Expr::binary(BinaryOp::Eq, thread(), int32(0)), &mut out);
    let (mut folds, mut start) = (Vec::new(), Vec::new());
    let nodes: Vec<NodeId> = fused.items.iter().map(|it| it.node).collect();
    for node in nodes {
        let Op::Fold { step, init, src } = l.launch.g.op(node).clone() else { continue };
        let ty = l.launch.g.ty(node).elem;
        let acc = l.k.reg("acc", ty);
        out.push(Stmt::Var(acc, Expr::Lit(Lit::zero(ty))));
        let e = l.region(&[], &[init], &Expr::int(0), &mut start)?.remove(0);
        start.push(Stmt::Assign(acc, e));
        folds.push(Fold { node, src, step, acc });
    }
    out.push(Stmt::If(leader.clone(), start, vec![]));
    let (_, index) = l.launch.g.fresh_var(Ty::I64);
    let elements: Vec<NodeId> = folds.iter().map(|f| element(&mut l.launch.g, f.src, index)).collect();
    if l.launch.signature.sites.is_empty() && !may_record(l, &elements) {
        chunks(l, &folds, &n, &leader, &mut out)?;
    } else {
        let i = l.k.reg("i", Ty::I64);
        let mut body = Vec::new();
        steps(l, &folds, &elements, vec![(index, Expr::Reg(i))], &Expr::Reg(i), &mut body)?;
        out.push(Stmt::If(leader.clone(), vec![Stmt::Seq(i, Expr::int(0), n, body)], vec![]));
    }
    l.k.once = true;
    let known: Vec<(NodeId, Expr)> = folds.iter().map(|f| (f.node, Expr::Reg(f.acc))).collect();
    let mut end = Vec::new();
    values::store(l, &known, scalars, &mut end)?;
    out.push(Stmt::If(leader, end, vec![]));
    Ok(out)
}

/// Whether an element may leave an error record, needed or not.
fn may_record(l: &Lower, elements: &[NodeId]) -> bool {
    l.launch
        .g
        .reachable(elements.iter().copied())
        .into_iter()
        .any(|n| l.launch.g.op(n).may_record(&l.launch.g))
}

/// Folds chunk by chunk through shared memory.
fn chunks(l: &mut Lower, folds: &[Fold], n: &Expr, leader: &Expr, out: &mut Vec<Stmt>) -> Result<()> {
    let threads = i64::from(l.k.kernel.threads);
    let chunk = threads * PER_THREAD;
    let types: Vec<Ty> = folds.iter().map(|f| l.launch.g.ty(f.src).elem).collect();
    let shared: Vec<Mem> = types.iter().map(|ty| l.k.share("chunk", *ty, chunk as u32)).collect();
    let base = l.k.reg("base", Ty::I64);
    let mut body = Vec::new();
    for u in 0..PER_THREAD {
        let at = to_i64(thread()).plus(Expr::int(u * threads));
        let at = bind(l, "at", at, &mut body);
        let i = bind(l, "i", Expr::Reg(base).plus(at.clone()), &mut body);
        let (_, index) = l.launch.g.fresh_var(Ty::I64);
        let roots: Vec<NodeId> = folds.iter().map(|f| element(&mut l.launch.g, f.src, index)).collect();
        let mut inner = Vec::new();
        let values = l.region(&[(index, i.clone())], &roots, &i, &mut inner)?;
        inner.extend(shared.iter().zip(values).map(|(m, e)| Stmt::Store(*m, at.clone(), e)));
        body.push(Stmt::If(Expr::binary(BinaryOp::Lt, i, n.clone()), inner, vec![]));
    }
    body.push(Stmt::Barrier);
    let j = l.k.reg("j", Ty::I64);
    let (mut vars, mut elements, mut inner) = (Vec::new(), Vec::new(), Vec::new());
    for (m, ty) in shared.iter().zip(&types) {
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
    folds: &[Fold],
    elements: &[NodeId],
    mut vars: Vec<(NodeId, Expr)>,
    at: &Expr,
    out: &mut Vec<Stmt>,
) -> Result<()> {
    let mut roots = Vec::new();
    for (f, e) in folds.iter().zip(elements) {
        let (_, acc) = l.launch.g.fresh_var(l.launch.g.ty(f.node).elem);
        vars.push((acc, Expr::Reg(f.acc)));
        roots.push(l.launch.g.open(&f.step, &[acc, *e]));
    }
    let values = l.region(&vars, &roots, at, out)?;
    // all new values are computed before any accumulator changes
    let values: Vec<Expr> = values.into_iter().map(|e| bind(l, "next", e, out)).collect();
    out.extend(folds.iter().zip(values).map(|(f, e)| Stmt::Assign(f.acc, e)));
    Ok(())
}
