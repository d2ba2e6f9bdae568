//! Fast path and slow path: how the first arm of a `select` is compiled whose condition is marked
//! `unlikely` (for example the reduction of huge arguments of `sin`).
//!
//! A kernel computes both arms of an ordinary `select`. The first arm of an unlikely one is left out of the fast path
//! where one test covers the conditions of several elements: those of a tile on a CPU (`cpu/element_loop.rs`), those
//! of one thread on a GPU (`cuda/elements.rs`). If one of these conditions holds, or if the kernel has no such test,
//! the slow path computes the arm: in a branch if the arm is expensive, else unconditionally, as an ordinary operand.

use super::lower::{Arm, LaunchContext, Lower, Region, UnlikelyArms};
use super::unlikely::arms;
use crate::core::graph::marks::Visited;
use crate::core::{Graph, NodeId, Op};
use crate::error::{Error, Result};
use crate::kernel::{Expr, Reg, Stmt};
use crate::scalar::BinaryOp;
use crate::schedule::facts::work;
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use std::collections::BinaryHeap;

/// The number of operations of an arm above which it becomes a branch, because a branch then costs less than always
/// computing the arm.
const EXPENSIVE: u32 = 24;

/// Returns the conditions of all unlikely selects that the fast-path values of `roots` need, and
/// those that these conditions need in turn.
pub fn conditions(l: &LaunchContext, roots: &[NodeId]) -> Vec<NodeId> {
    let mut seen = Visited::begin();
    let mut found = IndexSet::<NodeId, FxBuildHasher>::default();
    let mut stack: Vec<NodeId> = roots.iter().rev().copied().collect();
    while let Some(n) = stack.pop() {
        if !seen.insert(n.0) {
            continue;
        }
        match arms(&l.g, n) {
            Some((condition, _, likely)) => {
                found.insert(condition);
                stack.extend([condition, likely]);
            }
            None => stack.extend(l.g.op(n).operands()),
        }
    }
    found.into_iter().collect()
}

/// Returns the value and the expression depth of an unlikely `select`. Returns `None` if the node
/// is to be lowered as an ordinary node.
pub(in crate::schedule) fn value(l: &mut Lower, n: NodeId, r: &mut Region) -> Result<Option<(Expr, u32)>> {
    let Some((condition, _, likely)) = arms(&l.launch.g, n) else { return Ok(None) };
    match &mut l.scope.path {
        UnlikelyArms::Skip(assumed) => {
            assumed.insert(condition);
            return l.value(likely, r).map(Some);
        }
        UnlikelyArms::Flag(any, _) => {
            let any = *any;
            note(l, any, condition, r)?;
            return l.value(likely, r).map(Some);
        }
        UnlikelyArms::Compute(_) => {}
    }
    if !arm(l.launch, n).is_expensive {
        return Ok(None);
    }
    let group = together(l.launch, n, condition, r);
    if group.iter().any(|m| leaves_record(l.launch, *m, r)) {
        return Ok(None);
    }
    l.scope.path = UnlikelyArms::Compute(true);
    // the likely arms are computed before the branch, so that the branch can use their values
    let when = l.value(condition, r)?.0;
    let mut vars = Vec::new();
    for &m in &group {
        let Some((_, unlikely, likely)) = arms(&l.launch.g, m) else { continue };
        let ty = l.launch.g.ty(m).elem;
        let e = l.value(likely, r)?.0;
        let var = l.k.reg("unlikely", ty);
        vars.push((m, unlikely, var, e));
    }
    let (branch, before) = (r.memo.enter_branch(), std::mem::take(&mut r.out));
    let mut assigns = Vec::new();
    let made = l.in_block(|l| {
        for (_, unlikely, var, _) in &vars {
            let e = l.value(*unlikely, r)?.0;
            assigns.push(Stmt::Assign(*var, e));
        }
        Ok::<_, Error>(())
    });
    // values that were computed in the branch are not available after it
    r.memo.leave_branch(branch);
    made?;
    let mut branch = std::mem::replace(&mut r.out, before);
    branch.append(&mut assigns);
    for (m, _, var, e) in vars {
        r.out.push(Stmt::Var(var, e));
        r.memo.insert(m, (Expr::Reg(var), 1));
    }
    r.out.push(Stmt::If(when, branch, vec![]));
    Ok(r.memo.get(&n).cloned())
}

/// Emits the tests of a condition into the register `any`, except for tests that it has already: elements with the
/// same divisor have some in common. A disjunction is split into its comparisons, each of which is then one
/// instruction.
fn note(l: &mut Lower, any: Reg, condition: NodeId, r: &mut Region) -> Result<()> {
    if let UnlikelyArms::Flag(_, seen) = &mut l.scope.path
        && !seen.insert(condition)
    {
        return Ok(());
    }
    if let Op::Binary(BinaryOp::Or, a, b) = *l.launch.g.op(condition) {
        note(l, any, a, r)?;
        return note(l, any, b, r);
    }
    let when = l.value(condition, r)?.0;
    r.out.push(Stmt::Assign(any, Expr::binary(BinaryOp::Or, Expr::Reg(any), when)));
    Ok(())
}

/// Returns what only the unlikely arm of a select needs. It is computed once for each launch, because all variants
/// and their paths lower the same nodes.
fn arm<'l>(l: &'l mut LaunchContext, n: NodeId) -> &'l Arm {
    let LaunchContext { g, unlikely_arms, .. } = l;
    unlikely_arms.entry(n).or_insert_with(|| {
        let Some((_, unlikely, likely)) = arms(g, n) else { return Arm::default() };
        let own = own(g, unlikely, likely);
        Arm {
            is_expensive: own.iter().map(|m| work::of_node(g.op(*m))).sum::<u32>() > EXPENSIVE,
            records: own.into_iter().filter(|m| g.op(*m).may_record(g)).collect(),
        }
    })
}

/// Returns the selects of the region that one branch can serve together with `n`: those with the
/// same condition, none of which needs another.
fn together(l: &LaunchContext, n: NodeId, condition: NodeId, r: &mut Region) -> Vec<NodeId> {
    let mut group = vec![n];
    for m in r.uses.unlikely(&l.g, condition) {
        if m == n || r.memo.contains_key(&m) {
            continue;
        }
        let Some((_, a, b)) = arms(&l.g, m) else { continue };
        let apart = |k: &NodeId| {
            let known = arms(&l.g, *k).is_some_and(|(_, x, y)| needs(&l.g, [x, y], m));
            !known && !needs(&l.g, [a, b], *k)
        };
        if group.iter().all(apart) {
            group.push(m);
        }
    }
    group
}

/// Whether one of two values is computed from `to`. Operands have lower numbers than their users.
fn needs(g: &Graph, from: [NodeId; 2], to: NodeId) -> bool {
    g.reachable_until(from, |n| n < to).contains(&to)
}

/// Whether the unlikely arm leaves an error record that has not been emitted already: records
/// cannot be emitted in a branch.
fn leaves_record(l: &mut LaunchContext, m: NodeId, r: &Region) -> bool {
    arm(l, m).records.iter().any(|n| !r.memo.contains_key(n))
}

/// Returns the nodes that `first` needs and `second` does not. The nodes that either of them needs are visited from
/// the last one back, as long as some are left that only `first` may need: the two arms of an elementary function
/// have in common what comes before the function. A constant that `second` needs only before that counts as one of
/// `first`.
fn own(g: &Graph, first: NodeId, second: NodeId) -> Vec<NodeId> {
    let is_leaf =
        |n: NodeId| matches!(g.op(n), Op::Const(_) | Op::Param(_) | Op::Var(..) | Op::Turn | Op::Checked);
    // the nodes that are waiting or were visited, and those of them that `second` needs
    let (mut seen, mut known) = (Visited::begin(), Visited::begin());
    let mut waiting = BinaryHeap::from([second]);
    seen.insert(second.0);
    known.insert(second.0);
    let mut only = 0;
    if seen.insert(first.0) {
        waiting.push(first);
        only = usize::from(!is_leaf(first));
    }
    let mut own = Vec::new();
    while only > 0
        && let Some(n) = waiting.pop()
    {
        let is_known = known.contains(n.0);
        if !is_known {
            only -= usize::from(!is_leaf(n));
            own.push(n);
        }
        let op = g.op(n);
        let is_load = op.needs_launch() && g.is_closed(n);
        for o in op.operands().chain(op.lambda().map(|l| l.body)).filter(|_| !is_load) {
            let is_new = seen.insert(o.0);
            if is_new {
                waiting.push(o);
                only += usize::from(!is_known && !is_leaf(o));
            }
            if is_known && known.insert(o.0) {
                only -= usize::from(!is_new && !is_leaf(o));
            }
        }
    }
    own.extend(waiting.into_iter().filter(|n| !known.contains(n.0)));
    own
}
