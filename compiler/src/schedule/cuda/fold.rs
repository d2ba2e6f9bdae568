//! Sequential fold: left folds in index order (semantics 5.5), by one block. The threads of four warps together
//! compute the elements of a chunk into shared memory, while thread 0, which is in a warp of its own, folds the chunk
//! before (`fold/chunks.rs`). Chosen for groups of folds whose order matters. The cost is that of one step after
//! another, in one thread of the device.
//!
//! If an element may leave an error record, thread 0 computes the elements, too, because the step
//! decides whether it needs the element at all (semantics 6). If such elements leave records only where they read out
//! of bounds, there are both versions, and the host tests whether all reads are in bounds. Thread 0 also computes the
//! elements if those of a chunk, tuples of many components, have no room in shared memory.

mod chunks;
pub mod staged;
pub mod steps;

use super::expressions::{int32, thread};
use crate::core::records::may_record_here;
use crate::core::{NodeId, Var};
use crate::error::Result;
use crate::kernel::{Expr, Stmt, WARP};
use crate::scalar::{BinaryOp, Ty};
use crate::schedule::element::folds::Fold;
use crate::schedule::element::in_bounds::{self, Range};
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::element::nested_loop::read;
use crate::schedule::element::scalars as values;
use crate::schedule::groups::FusedGroup;
use chunks::Chunks;
use steps::{COMPUTING, Folded, start, step};

/// Threads of a block.
pub const THREADS: u32 = WARP + COMPUTING;

pub fn main(l: &mut Lower, fused: &FusedGroup, scalars: &[u32]) -> Result<Vec<Stmt>> {
    let n = l.launch.count();
    let mut out = Vec::new();
    let leader = bind(l, "leader", Expr::binary(BinaryOp::Eq, thread(), int32(0)), &mut out);
    let folds = Fold::all(&l.launch.g, fused.items.iter().map(|it| it.node));
    let folds = start(l, folds, (&[], &leader), &mut out)?;
    whole(l, &folds, (&n, &leader), &mut out)?;
    l.k.once = true;
    let known: Vec<(NodeId, Expr)> =
        folds.iter().flat_map(|f| f.fold.values(&l.launch.g, &read(&f.accs))).collect();
    let mut end = Vec::new();
    values::store(l, &known, scalars, &mut end)?;
    out.push(Stmt::If(leader, end, vec![]));
    Ok(out)
}

/// Folds all elements: by chunks, by thread 0, or as the host finds reads in bounds.
fn whole(l: &mut Lower, folds: &[Folded], (n, leader): (&Expr, &Expr), out: &mut Vec<Stmt>) -> Result<()> {
    let (var, index) = l.launch.g.fresh_var(Ty::I64);
    let elements: Vec<NodeId> = folds.iter().flat_map(|f| f.fold.elements(&mut l.launch.g, index)).collect();
    let mut by_chunks = None;
    if let Some((roots, condition)) = without_records(l, &elements, var)
        && let Some(chunks) = Chunks::of(l, folds, (index, &roots))
    {
        by_chunks = Some((chunks.all(l, (n, leader))?, condition));
    }
    if let Some((code, None)) = by_chunks {
        out.extend(code);
        return Ok(());
    }
    let i = l.k.reg("i", Ty::I64);
    let mut body = Vec::new();
    step(l, folds, &elements, vec![(index, Expr::Reg(i))], &Expr::Reg(i), &mut body)?;
    let by_leader = Stmt::If(leader.clone(), vec![Stmt::Seq(i, Expr::int(0), n.clone(), body)], vec![]);
    out.push(match by_chunks {
        Some((code, Some(in_bounds))) => Stmt::If(in_bounds, code, vec![by_leader]),
        _ => by_leader,
    });
    Ok(())
}

/// Returns the elements at an index in a form that leaves no records, and the condition, which the host computes,
/// under which they have that form; `None` for the condition if they never leave any.
fn without_records(l: &mut Lower, elements: &[NodeId], var: Var) -> Option<(Vec<NodeId>, Option<Expr>)> {
    if !may_record_here(&l.launch.g, elements.iter().copied()) {
        return Some((elements.to_vec(), None));
    }
    let count = l.launch.count_node();
    let all = Range::below(l.launch, var, count);
    let plain = in_bounds::of(l.launch, elements, &[all])?;
    let is_plain = !may_record_here(&l.launch.g, plain.roots.iter().copied());
    (is_plain && l.launch.is_host(plain.condition))
        .then(|| (plain.roots, Some(l.launch.host(plain.condition))))
}
