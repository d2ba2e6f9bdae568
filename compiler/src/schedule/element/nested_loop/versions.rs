//! The versions of a nested loop (multi-versioning).

use super::batches;
use super::lanes::{assign, read};
use crate::core::{NodeId, Op, tuples};
use crate::error::Result;
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::Lit;
use crate::schedule::element::in_bounds;
use crate::schedule::element::lower::{Lower, Region};

/// The values of an operation's nodes, and the statements that compute them.
pub(super) type Computed = (Vec<Expr>, Vec<Stmt>);

/// Returns the initial value of a reduction or fold, and its sequence.
pub(super) fn parts(op: &Op) -> (NodeId, NodeId) {
    match *op {
        Op::Reduce { init, src, .. } | Op::Fold { init, src, .. } | Op::SquaredDeviations { init, src } => {
            (init, src)
        }
        Op::Dot { init, a, .. } | Op::PanelDot { init, a, .. } => (init, a),
        ref op => unreachable!("{op:?} is no reduction"),
    }
}

/// Returns a branch in which `values` get what `code` computes. Other values that are computed there are not
/// available after it.
pub(super) fn in_branch(
    l: &mut Lower,
    r: &mut Region,
    values: &[Reg],
    code: impl FnOnce(&mut Lower, &mut Region) -> Result<Computed>,
) -> Result<Vec<Stmt>> {
    let (mark, before) = (r.memo.enter_branch(), std::mem::take(&mut r.out));
    let made = l.in_block(|l| code(l, r));
    r.memo.leave_branch(mark);
    let mut out = std::mem::replace(&mut r.out, before);
    let (computed, mut rest) = made?;
    out.append(&mut rest);
    assign(l, values, computed, &mut out);
    Ok(out)
}

/// Returns the values of the operation, one for each of its `nodes`, and what `loops` writes: the loops that compute
/// them. There is a second version for total reads that are all in bounds, and, on a GPU, for clamps that do not act.
/// On a GPU only the outermost loop has two versions, and only in kernels of contiguous arrays that stage no tiles.
pub(super) fn versions(
    l: &mut Lower,
    nodes: &[NodeId],
    r: &mut Region,
    loops: impl Fn(&mut Lower, &[NodeId], &mut Region) -> Result<Computed>,
) -> Result<Computed> {
    let is_own = matches!(l.launch.g.op(nodes[0]), Op::Loop { .. });
    let is_single = is_own || l.k.is_gpu() && (!batches::has_room(l) || l.scope.depth > 0);
    if is_single {
        return loops(l, nodes, r);
    }
    // on CPUs, passes over the kernel leave clamps out (`kernel/clamps.rs`)
    let interior = if l.k.is_gpu() { in_bounds::interior(l.launch, nodes) } else { None };
    let version = interior.or_else(|| in_bounds::of(l.launch, nodes, &[]));
    let Some(version) = version else { return loops(l, nodes, r) };
    // the initial value is computed before both versions, and leaves its records there; so does a number of elements
    // that may leave some
    let (init, src) = parts(l.launch.g.op(nodes[0]));
    for init in tuples::components(&l.launch.g, init) {
        l.value(init, r)?;
    }
    if let Op::Generate(extents, _) = l.launch.g.op(src).clone()
        && l.launch.may_record(extents[0])
    {
        l.value(extents[0], r)?;
    }
    let mut plain = Vec::new();
    for root in &version.roots {
        let mut op = l.launch.g.op(*root).clone();
        match &mut op {
            Op::Reduce { init: own, .. }
            | Op::Fold { init: own, .. }
            | Op::SquaredDeviations { init: own, .. } => *own = init,
            Op::Dot { init: own, .. } | Op::PanelDot { init: own, .. } => *own = init,
            op => unreachable!("{op:?} is no reduction"),
        }
        plain.push(l.launch.g.add(op));
    }
    if plain == nodes {
        return loops(l, nodes, r);
    }
    // the reads in the condition leave no records
    let (known, mut before) = (r.known(), Vec::new());
    let condition = l.conditions(&known, &[version.condition], &mut before)?.remove(0);
    r.out.append(&mut before);
    let values: Vec<Reg> = nodes.iter().map(|n| l.k.reg("value", l.launch.g.ty(*n).elem)).collect();
    let mut branch = |l: &mut Lower, nodes: &[NodeId]| in_branch(l, r, &values, |l, r| loops(l, nodes, r));
    let (fast, slow) = (branch(l, &plain)?, branch(l, nodes)?);
    let zeros = values.iter().zip(nodes);
    let zeros = zeros.map(|(v, n)| Stmt::Var(*v, Expr::Lit(Lit::zero(l.launch.g.ty(*n).elem))));
    Ok((read(&values), zeros.chain([Stmt::If(condition, fast, slow)]).collect()))
}
