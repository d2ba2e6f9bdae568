//! The order of fused groups: a group that goes on over the rows of the one before, and needs what that one
//! computes, comes next, so that one launch may keep the rows of both ([`super::resident_rows`]).
//!
//! ```text
//! maxima of a, maxima of b, sums of a, sums of b  ->  maxima of a, sums of a, maxima of b, sums of b
//! ```
//!
//! Which error record is reported follows from the order of the groups that may leave some, which stays.

use super::groups::{FusedGroup, Item, is_nested, is_store};
use super::resident_rows::MOST_GROUPS;
use crate::core::{Graph, NodeId};
use rustc_hash::FxHashMap as HashMap;

/// Moves each group that may reduce columns before the first group of its level that stores matrices with
/// such columns: a matrix may then be stored in the place of the one whose columns are reduced, and both may
/// share a launch ([`super::stored_columns`]). Groups that may leave records stay where they are.
pub fn columns_first(
    g: &Graph,
    all: Vec<(FusedGroup, Vec<NodeId>)>,
    levels: &[u32],
) -> Vec<(FusedGroup, Vec<NodeId>)> {
    let mut first: HashMap<(u32, NodeId), usize> = HashMap::default();
    let mut keyed: Vec<(usize, bool, (FusedGroup, Vec<NodeId>))> = Vec::new();
    for (at, ((fused, needs), level)) in all.into_iter().zip(levels).enumerate() {
        let are_nested = fused.items.iter().all(|it| is_store(g, it) && is_nested(g, it));
        let before = match fused.domain[..] {
            [n] if are_nested && !may_record(g, &fused) => first.get(&(*level, n)).copied(),
            [_, n] if fused.items.iter().all(|it| is_store(g, it) && !is_nested(g, it)) => {
                first.entry((*level, n)).or_insert(at);
                None
            }
            _ => None,
        };
        keyed.push((before.unwrap_or(at), before.is_none(), (fused, needs)));
    }
    keyed.sort_by_key(|(at, is_own, _)| (*at, *is_own));
    keyed.into_iter().map(|k| k.2).collect()
}

/// Returns groups, each given with what it needs, in an order in which they can run. They are given in
/// such an order, which is kept but for groups that follow others over their rows.
pub fn by_rows(g: &Graph, all: Vec<(FusedGroup, Vec<NodeId>)>) -> Vec<FusedGroup> {
    let items =
        all.iter().enumerate().flat_map(|(i, (fused, _))| fused.items.iter().map(move |it| (it.node, i)));
    let owner: HashMap<NodeId, usize> = items.collect();
    let (mut users, mut waits) = (vec![Vec::new(); all.len()], vec![0; all.len()]);
    for (i, (_, needs)) in all.iter().enumerate() {
        let mut owners: Vec<usize> = needs.iter().filter_map(|n| owner.get(n).copied()).collect();
        owners.sort_unstable();
        owners.dedup();
        waits[i] = owners.len();
        owners.into_iter().for_each(|o| users[o].push(i));
    }
    let mut records: Vec<Option<bool>> = vec![None; all.len()];
    let (mut order, mut placed) = (Vec::with_capacity(all.len()), vec![false; all.len()]);
    for first in 0..all.len() {
        let (mut next, mut begin) = (Some(first).filter(|i| !placed[*i]), order.len());
        while let Some(i) = next {
            placed[i] = true;
            order.push(i);
            users[i].iter().for_each(|u| waits[*u] -= 1);
            begin = begin.max(order.len().saturating_sub(MOST_GROUPS));
            let follows = |u: &usize| {
                let (after, fused) = (&all[i].0, &all[*u].0);
                !placed[*u]
                    && waits[*u] == 0
                    && share_rows(after, fused)
                    && !*records[*u].get_or_insert_with(|| may_record(g, fused))
            };
            next = order[begin..].iter().flat_map(|i| &users[*i]).copied().filter(follows).min();
        }
    }
    let mut all: Vec<Option<FusedGroup>> = all.into_iter().map(|(fused, _)| Some(fused)).collect();
    order.into_iter().filter_map(|i| all[i].take()).collect()
}

/// Whether a group may leave a record.
fn may_record(g: &Graph, fused: &FusedGroup) -> bool {
    let parts = |it: &Item| {
        let op = g.op(it.node);
        op.operands().chain(op.lambda().map(|l| l.body)).collect::<Vec<NodeId>>()
    };
    let is_other = |n: NodeId| g.op(n).needs_launch() && g.is_closed(n);
    let all = g.reachable_until(fused.items.iter().flat_map(parts), is_other);
    all.into_iter().any(|n| g.op(n).may_record(g))
}

/// Whether two groups go over the same rows: over the elements of one index space, or one over the rows of the
/// other's.
fn share_rows(a: &FusedGroup, b: &FusedGroup) -> bool {
    let (short, long) = if a.domain.len() < b.domain.len() { (a, b) } else { (b, a) };
    let is_loop = |fused: &FusedGroup| !fused.sequential && fused.iteration.is_none();
    let rank = short.domain.len();
    is_loop(a)
        && is_loop(b)
        && rank > 0
        && long.domain.len() <= rank + 1
        && long.domain.starts_with(&short.domain)
}
