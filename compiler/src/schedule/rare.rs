//! What is hardly ever needed: arms of a `select` whose condition is `unlikely` (the reduction of huge arguments of `sin`, say).
//!
//! A kernel computes both arms of an ordinary `select`. The first arm of an unlikely one stands in a branch, so that a warp skips it; and where a loop must
//! vectorise (`cpu/each.rs`), it is left out altogether, after a look at all conditions of the tile.

use super::lower::{Lower, Region};
use crate::core::{NodeId, Op};
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::UnaryOp;
use indexmap::IndexSet;

/// What to do with unlikely arms.
#[derive(Default)]
pub enum Rare {
    /// Compute them in a branch.
    #[default]
    Branch,
    /// Leave them out; these conditions are then assumed not to hold.
    Skip(IndexSet<NodeId>),
}

/// The condition, both arms, if the node is an unlikely `select`.
fn arms(l: &Lower, n: NodeId) -> Option<(NodeId, NodeId, NodeId)> {
    let Op::Select(c, a, b) = *l.g.op(n) else { return None };
    match *l.g.op(c) {
        Op::Unary(UnaryOp::Unlikely, condition) => Some((condition, a, b)),
        _ => None,
    }
}

/// The value of an unlikely `select`. None: it is an ordinary node.
pub(super) fn value(l: &mut Lower, n: NodeId, r: &mut Region) -> Result<Option<(Expr, u32)>> {
    let Some((condition, _, usual)) = arms(l, n) else { return Ok(None) };
    if let Rare::Skip(assumed) = &mut l.rare {
        assumed.insert(condition);
        return l.value(usual, r).map(Some);
    }
    let group = together(l, n, condition, r);
    if group.iter().any(|m| leaves_record(l, *m, r)) {
        return Ok(None);
    }
    // what is usual comes first, so that the branch finds it
    let when = l.value(condition, r)?.0;
    let mut vars = Vec::new();
    for &m in &group {
        let Some((_, rare, usual)) = arms(l, m) else { continue };
        let ty = l.g.ty(m).elem;
        let e = l.value(usual, r)?.0;
        let var = l.k.reg("rare", ty);
        vars.push((m, rare, var, e));
    }
    let (memo, loaded, cost) = (r.memo.clone(), l.loaded.clone(), l.cost);
    let before = std::mem::take(&mut r.out);
    let mut assigns = Vec::new();
    for (_, rare, var, _) in &vars {
        let e = l.value(*rare, r)?.0;
        assigns.push(Stmt::Assign(*var, e));
    }
    let mut branch = std::mem::replace(&mut r.out, before);
    branch.append(&mut assigns);
    // what the branch computed is known in it only
    (r.memo, l.loaded, l.cost) = (memo, loaded, cost);
    for (m, _, var, e) in vars {
        r.out.push(Stmt::Var(var, e));
        r.memo.insert(m, (Expr::Reg(var), 1));
    }
    r.out.push(Stmt::If(when, branch, vec![]));
    Ok(r.memo.get(&n).cloned())
}

/// The selects of the region that one branch can serve: of the same condition, none of which needs another.
fn together(l: &Lower, n: NodeId, condition: NodeId, r: &Region) -> Vec<NodeId> {
    let mut group = vec![n];
    let mut others: Vec<NodeId> =
        r.uses.keys().copied().filter(|m| *m != n && !r.memo.contains_key(m)).collect();
    others.sort_unstable();
    for m in others {
        let Some((c, a, b)) = arms(l, m) else { continue };
        let needs = |from: &[NodeId], to: NodeId| l.g.reachable(from.iter().copied()).contains(&to);
        let apart = |k: &NodeId| {
            let known = arms(l, *k).is_some_and(|(_, x, y)| needs(&[x, y], m));
            !known && !needs(&[a, b], *k)
        };
        if c == condition && group.iter().all(apart) {
            group.push(m);
        }
    }
    group
}

/// Whether the first arm leaves a record that is not left already: a branch has no place for it.
fn leaves_record(l: &Lower, m: NodeId, r: &Region) -> bool {
    let Some((_, rare, usual)) = arms(l, m) else { return false };
    let seen = l.g.reachable([usual]);
    l.g.reachable([rare])
        .into_iter()
        .any(|n| l.g.op(n).may_record(&l.g) && !r.memo.contains_key(&n) && !seen.contains(&n))
}
